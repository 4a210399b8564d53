#include "cli/command/chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/number.h"
#include "strategy/base/version.h"
#include "strategy/cluster/effective.h"
#include "strategy/strategies/strategy.h"
#include "viz/export/export.h"
#include "viz/scene/chart.h"

/* ---- kinds ---- */

static int64_t peak_of(const struct report *r)
{
	return show_fullest(r)->memory[SPACE_DEVICE].peak_bytes;
}

/* The traffic of the role that sends most. */
static int64_t sent_of(const struct report *r)
{
	int64_t most = 0;
	for (int i = 0; i < r->role_count; i++)
		most = r->roles[i].sent_bytes > most ? r->roles[i].sent_bytes : most;
	return most;
}

static int64_t step_of(const struct report *r)
{
	return r->time.step;
}

/* The charts with lines. */
static const struct kind {
	const char *name, *title;
	enum chart_axis axis;
	bool time, from_two; /* one rank has no such figure */
	int64_t (*value)(const struct report *);
} kinds[] = {
        {"memory-by-ranks", "Memory of a rank at its peak, by the number of ranks", CHART_RANKS, .value = peak_of},
        {"traffic-by-ranks", "Bytes that the busiest rank sends in a step, by the number of ranks", CHART_RANKS,
         .from_two = true, .value = sent_of},
        {"time-by-ranks", "Time of a step, by the number of ranks", CHART_RANKS, .time = true, .value = step_of},
        {"time-by-link", "Time of a step, by the bandwidth of the links", CHART_BANDWIDTH, .time = true,
         .value = step_of},
};

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

/* Notes what the figures rest on: "seed 7 · stack fused · shardlab 0.1". */
static void note_basis(struct chart *chart, const struct options *o, const struct cluster *c)
{
	char seed[40] = "";
	int64_t given = option_whole(o, (enum option)SETTING_SEED);
	if (given != 1)
		snprintf(seed, sizeof seed, "seed %" PRId64 " · ", given);
	snprintf(chart->note, sizeof chart->note, "%s%s%.60s%sshardlab %s", seed, *c->stack.name ? "stack " : "",
	         c->stack.name, *c->stack.name ? " · " : "", SHARDLAB_VERSION);
}

/* kind: NULL for bars. */
static enum status ask_cluster(struct chart *chart, const struct options *o, const struct kind *kind)
{
	struct cluster c;
	char word[32];
	TRY(cluster_open(&c, option_text(o, OPTION_CLUSTER), option_whole(o, OPTION_RANKS)));
	bool traffic = kind && kind->value == sent_of;
	if (c.kind == DEVICE_GPU &&
	    !traffic) /* a node's memory is shared: how much a rank has depends on their number */
		chart->capacity = c.device_memory - effective_overhead(&c);
	number_format_bytes(word, sizeof word, cluster_has_stack(&c) ? c.unscaled.link : c.link.bandwidth.value);
	note_basis(chart, o, &c);
	size_t at = strlen(chart->note);
	if (kind && kind->axis == CHART_BANDWIDTH)
		snprintf(chart->note + at, sizeof chart->note - at, " · %s has %s/s%s", c.name, word,
		         c.network.bandwidth.value ? "; the network between nodes stays as it is" : "");
	cluster_release(&c);
	return STATUS_OK;
}

/* ---- bars ---- */

/* batch: of a step, the same for all; 0: it grows with the ranks. samples: of a rank at once; "" if that differs. */
static void describe(struct chart *chart, const struct report *r, int64_t batch, const char *samples, const char *what)
{
	char parameters[32], text[40] = "the batch grows with the ranks", sequence[40] = "";
	size_t own = strcspn(r->cluster, ":"); /* links that a chart changes are not the cluster's */
	int length = (int)(chart->axis == CHART_BANDWIDTH ? own : strlen(r->cluster));
	snprintf(chart->title, sizeof chart->title, "%s", what);
	if (batch)
		snprintf(text, sizeof text, "batch %" PRId64, batch);
	if (r->sequence > 1)
		snprintf(sequence, sizeof sequence, " · sequence %" PRId64, r->sequence);
	snprintf(chart->subtitle, sizeof chart->subtitle,
	         "%.60s%s%.40s, %s parameters · %s · %s%s%s · simulated on %.*s%s%s%s", r->model,
	         *r->asked.model_keys ? ":" : "", r->asked.model_keys, number_format_count(parameters, r->parameters),
	         type_name(r->precision), text, samples, sequence, length < 60 ? length : 60, r->cluster,
	         *r->grain ? ", grain " : "", r->grain, r->rates_measured ? "" : ", assumed rates");
}

/* ", 4 samples a rank at once (single: 32)": those that divide the batch into larger parts are named. */
static const char *samples_at_once(char *out, size_t size, const struct column *columns, int count)
{
	const struct report *first = columns[count - 1].report;
	for (int i = count - 1; i >= 0; i--)
		first = columns[i].report->micro_batch < first->micro_batch ? columns[i].report : first;
	size_t at = (size_t)snprintf(out, size, ", %" PRId64 " sample%s a rank at once", first->micro_batch,
	                             first->micro_batch == 1 ? "" : "s");
	const char *before = " (";
	for (int i = 0; i < count && at < size; i++) {
		const struct report *r = columns[i].report;
		if (r->micro_batch == first->micro_batch)
			continue;
		at += (size_t)snprintf(out + at, size - at, "%s%.20s: %" PRId64, before, columns[i].heading,
		                       r->micro_batch);
		before = ", ";
	}
	if (*before == ',' && at < size)
		snprintf(out + at, size - at, ")");
	return out;
}

static void add_bars(struct chart *chart, const struct column *columns, int count)
{
	char title[160], samples[96];
	const struct report *last = columns[count - 1].report;
	snprintf(title, sizeof title, "Memory of a rank at its peak, %" PRId64 " rank%s", last->ranks,
	         last->ranks == 1 ? "" : "s");
	describe(chart, last, last->batch, samples_at_once(samples, sizeof samples, columns, count), title);
	for (int i = 0; i < count; i++) {
		const struct report *report = columns[i].report;
		for (int role = 0; role < report->role_count && chart->bar_count < CHART_BARS; role++) {
			struct chart_bar *bar = &chart->bars[chart->bar_count++];
			const struct report_role *r = &report->roles[role];
			snprintf(bar->label, sizeof bar->label, "%s", columns[i].heading);
			snprintf(bar->role, sizeof bar->role, "%s%.40s", r->ranks > 1 ? "each " : "", r->role);
			memcpy(bar->bytes, r->memory[SPACE_DEVICE].at_peak, sizeof bar->bytes);
		}
	}
}

/* A pipeline's bubble in closed form, beside what it has, on the most ranks of the chart. */
static void note_bubble(struct chart *chart, const struct report *r)
{
	char text[BUBBLE_TEXT];
	size_t at = strlen(chart->note);
	if (r->bubble.stages > 1)
		snprintf(chart->note + at, sizeof chart->note - at, "%s%.40s on %" PRId64 " ranks: %s, here %.1f %%",
		         at ? " · " : "", r->strategy, r->ranks, bubble_text(text, &r->bubble),
		         100 * (double)r->time.bubble / (double)(r->time.step ? r->time.step : 1));
}

/* ---- lines ---- */

static const int64_t least_bandwidth = 1000000000, most_bandwidth = 512000000000;

/* A strategy at a place of the axis: the same micro-batch on so many ranks, or all else the same with such links. */
static enum status simulate_at(const struct kind *kind, const struct settings *m, const char *cluster, int64_t at,
                               struct report *out)
{
	struct settings settings = *m;
	char changed[4200];
	if (kind->axis == CHART_BANDWIDTH) {
		snprintf(changed, sizeof changed, "%.4000s:link=%" PRId64, cluster, at);
		return job_simulate(&settings, changed, GRAIN_OPERATION, out);
	}
	settings.ranks = at;
	settings.batch = 0;
	enum status s = settings_resolve(&settings, strategy_data_ranks(&settings));
	return s ? s : job_simulate(&settings, cluster, GRAIN_OPERATION, out);
}

/* micro_batch: the same of all points so far; 0: it differs. */
static void describe_lines(struct chart *chart, const struct kind *kind, const struct report *r, int64_t micro_batch)
{
	char samples[64] = "";
	if (micro_batch)
		snprintf(samples, sizeof samples, ", %" PRId64 " sample%s a rank at once", micro_batch,
		         micro_batch == 1 ? "" : "s");
	describe(chart, r, kind->axis == CHART_RANKS ? 0 : r->batch, samples, kind->title);
}

/* One strategy's line. Places that make no sense for it are left out. */
static enum status add_line(struct chart *chart, const struct kind *kind, const struct options *o,
                            const struct settings *m, int64_t *micro_batch)
{
	struct chart_series *s = &chart->series[chart->series_count];
	bool ranks = kind->axis == CHART_RANKS;
	int64_t last = ranks ? option_whole(o, OPTION_RANKS) : most_bandwidth;
	snprintf(s->label, sizeof s->label, "%.60s", m->strategy);
	for (int64_t at = ranks ? 1 + kind->from_two : least_bandwidth; at <= last && s->count < CHART_POINTS;
	     at *= 2) {
		struct report r = {0};
		enum status status = simulate_at(kind, m, option_text(o, OPTION_CLUSTER), at, &r);
		if (status == STATUS_INPUT)
			continue;
		if (status)
			return status;
		s->at[s->count] = at;
		s->value[s->count++] = kind->value(&r);
		*micro_batch = *micro_batch < 0 || *micro_batch == r.micro_batch ? r.micro_batch : 0;
		describe_lines(chart, kind, &r, *micro_batch);
		if (kind->time && ranks && 2 * at > last)
			note_bubble(chart, &r);
		report_release(&r);
	}
	chart->series_count += s->count > 0;
	if (!s->count)
		*s = (struct chart_series){0};
	return STATUS_OK;
}

static enum status add_lines(struct chart *chart, const struct options *o, const struct members *members,
                             const struct kind *kind)
{
	enum status s = STATUS_OK;
	int64_t micro_batch = -1;
	chart->time = kind->time;
	chart->axis = kind->axis;
	if (kind->axis == CHART_BANDWIDTH && strstr(option_text(o, OPTION_CLUSTER), ":link="))
		return status_fail(STATUS_INPUT, "--chart %s: leave out :link= of the cluster, which the chart changes",
		                   kind->name);
	for (int i = 0; !s && i < members->count && chart->series_count < CHART_SERIES; i++) {
		if (!strcmp(members->member[i].strategy, "single") && members->count > 1) /* one rank has no line */
			continue;
		s = add_line(chart, kind, o, &members->member[i], &micro_batch);
	}
	if (s || chart->series_count)
		return s;
	return status_fail(STATUS_INPUT, "--chart: none of the strategies can be simulated");
}

enum status chart_make(struct chart *chart, const struct options *o, const struct members *members,
                       const struct column *columns, int count)
{
	const struct kind *kind = kind_of(option_text(o, OPTION_CHART));
	enum status s = ask_cluster(chart, o, kind);
	if (!s && kind)
		s = add_lines(chart, o, members, kind);
	else if (!s)
		add_bars(chart, columns, count);
	return s;
}

enum status chart_export(const struct options *o, const struct members *members, const struct column *columns,
                         int count, const char *path)
{
	struct fonts fonts = {0};
	struct chart *chart = array_make(1, sizeof *chart);
	chart->theme = THEME_PAPER;
	chart->fonts = &fonts;
	enum status s = fonts_open(&fonts);
	if (!s)
		s = chart_make(chart, o, members, columns, count);
	if (!s)
		s = export_chart(path, "{export}", chart_draw, chart);
	fonts_release(&fonts);
	free(chart);
	return s;
}
