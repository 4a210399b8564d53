#include "cli/command/chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/base/number.h"
#include "strategy/strategies/strategy.h"
#include "viz/export/export.h"
#include "viz/scene/chart.h"

struct exported {
	struct chart chart;
	enum export_format format;
};

static enum status write_chart(void *context, FILE *out)
{
	struct exported *e = context;
	struct picture size = {.width = 1280, .height = 720, .scale = 1};
	return export_drawing(chart_draw, &e->chart, e->format, &size, out);
}

static enum status capacity_of(struct chart *chart, const struct options *o, int64_t ranks)
{
	struct cluster c;
	enum status s = cluster_open(&c, option_text(o, OPTION_CLUSTER), ranks);
	if (s)
		return s;
	if (c.kind == DEVICE_GPU) /* a node's memory is shared: how much a rank has depends on their number */
		chart->capacity = c.device_memory - c.overhead.value;
	cluster_release(&c);
	return STATUS_OK;
}

/* batch: of a step, the same for all; 0: it grows with the ranks. samples: of a rank at once; "" if that differs. */
static void describe(struct chart *chart, const struct report *r, int64_t batch, const char *samples, const char *what)
{
	char parameters[32], text[40] = "the batch grows with the ranks";
	snprintf(chart->title, sizeof chart->title, "%s", what);
	if (batch)
		snprintf(text, sizeof text, "batch %" PRId64, batch);
	snprintf(chart->subtitle, sizeof chart->subtitle, "%.60s, %s parameters · %s · %s%s · simulated on %.60s%s%s%s",
	         r->model, number_format_count(parameters, r->parameters), type_name(r->precision), text, samples,
	         r->cluster, *r->grain ? ", grain " : "", r->grain, r->rates_measured ? "" : ", assumed rates");
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

/* The same micro-batch on 1, 2, 4 … up to --ranks. Numbers of ranks that make no sense are left out. */
static enum status add_series(struct chart *chart, const struct options *o, const struct members *members, bool time)
{
	int64_t micro_batch = -1;
	chart->time = time;
	for (int i = 0; i < members->count && chart->series_count < CHART_SERIES; i++) {
		const struct settings *m = &members->member[i];
		struct chart_series *s = &chart->series[chart->series_count];
		if (!strcmp(m->strategy, "single") && members->count > 1) /* one rank has no line */
			continue;
		snprintf(s->label, sizeof s->label, "%.60s", m->strategy);
		for (int64_t ranks = 1; ranks <= option_whole(o, OPTION_RANKS) && s->count < CHART_POINTS; ranks *= 2) {
			struct settings settings = *m;
			struct report r = {0};
			settings.ranks = ranks;
			settings.batch = 0;
			enum status status = settings_resolve(&settings, strategy_data_ranks(&settings));
			if (!status)
				status = job_simulate(&settings, option_text(o, OPTION_CLUSTER), GRAIN_OPERATION, &r);
			if (status == STATUS_INPUT)
				continue;
			if (status)
				return status;
			s->ranks[s->count] = ranks;
			s->value[s->count++] = time ? r.time.step : show_fullest(&r)->memory[SPACE_DEVICE].peak_bytes;
			micro_batch = micro_batch < 0 || micro_batch == r.micro_batch ? r.micro_batch : 0;
			char samples[64] = "";
			if (micro_batch)
				snprintf(samples, sizeof samples, ", %" PRId64 " sample%s a rank at once", micro_batch,
				         micro_batch == 1 ? "" : "s");
			describe(chart, &r, 0, samples,
			         time ? "Time of a step, by the number of ranks"
			              : "Memory of a rank at its peak, by the number of ranks");
			if (time && 2 * ranks > option_whole(o, OPTION_RANKS))
				note_bubble(chart, &r);
			report_release(&r);
		}
		chart->series_count += s->count > 0;
		if (!s->count)
			*s = (struct chart_series){0};
	}
	return chart->series_count ? STATUS_OK
	                           : status_fail(STATUS_INPUT, "--chart: none of the strategies can be simulated");
}

enum status chart_make(struct chart *chart, const struct options *o, const struct members *members,
                       const struct column *columns, int count)
{
	const char *what = option_text(o, OPTION_CHART);
	enum status s = capacity_of(chart, o, option_whole(o, OPTION_RANKS));
	if (!s && !strcmp(what, "memory"))
		add_bars(chart, columns, count);
	else if (!s)
		s = add_series(chart, o, members, !strcmp(what, "time-by-ranks"));
	return s;
}

enum status chart_export(const struct options *o, const struct members *members, const struct column *columns,
                         int count, const char *path)
{
	struct fonts fonts = {0};
	struct exported *e = calloc(1, sizeof *e);
	if (!e)
		return status_fail(STATUS_MEMORY, "out of memory");
	e->chart.theme = THEME_PAPER;
	e->chart.fonts = &fonts;
	enum status s = export_parse(path, &e->format) ? fonts_open(&fonts) : STATUS_INPUT;
	if (!s)
		s = chart_make(&e->chart, o, members, columns, count);
	if (!s)
		s = file_write(path, "{export}", write_chart, e);
	fonts_release(&fonts);
	free(e);
	return s;
}
