#include "cli/show/show_advice.h"

#include <inttypes.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "strategy/base/number.h"
#include "strategy/base/version.h"
#include "strategy/trace/ratio.h"

/* Without --verbose. */
enum { LINES = 12 };

/* ---- names of strategies ---- */

enum { SHORT = 24 };

void advice_strategy(const char *strategy, char *out, size_t size)
{
	if (strlen(strategy) <= SHORT)
		snprintf(out, size, "%s", strategy);
	else
		snprintf(out, size, "%.*s:…", (int)strcspn(strategy, ":"), strategy);
}

/* Those that the tables shorten, once in full. */
static void show_strategies(const struct advise_request *q, FILE *out)
{
	for (int i = 0; i < q->strategies; i++)
		if (strlen(q->strategy[i]) > SHORT)
			fprintf(out, "%.*s:… below is %s\n", (int)strcspn(q->strategy[i], ":"), q->strategy[i],
			        q->strategy[i]);
}

/* "not searched: precision bf16 (ds.json) · micro-batch 2 (--micro-batch)" */
static void show_fixed(const struct advise_request *q, FILE *out)
{
	char text[900] = "";
	for (int i = 0; i < q->fixed_count; i++) {
		const struct advise_fixed *x = &q->fixed[i];
		size_t n = strlen(text);
		char name[48];
		snprintf(name, sizeof name, "{%s}", setting_rows[x->setting].name);
		const char *option = status_words(name);
		option += strspn(option, "-");
		snprintf(text + n, sizeof text - n, "%s%s %.100s (%.100s)", n ? " · " : "not searched: ", option,
		         x->value, x->by);
	}
	if (q->fixed_count)
		text_items(out, text, " · ", 2, text_columns(out, 110));
}

static void show_head(const struct advice *a, const char *model, FILE *out)
{
	char text[900], n[32];
	const struct advise_request *q = &a->request;
	struct report_asked asked;
	report_asked(&asked, &q->given);
	snprintf(text, sizeof text,
	         "%.200s on %" PRId64 " rank%s · batch %s · sequence %" PRId64
	         "%s%s · cluster %.100s%s%s · %g %% of each memory left to the allocator · shardlab %s",
	         model, q->given.ranks, q->given.ranks == 1 ? "" : "s", number_format_count(n, q->given.batch),
	         a->tokens, *asked.others ? " · " : "", asked.others, q->cluster, *a->stack ? " · stack " : "",
	         a->stack, 100 * q->margin, SHARDLAB_VERSION);
	text_items(out, text, " · ", 0, text_columns(out, 110));
	int strategies = q->asked ? q->asked : q->strategies;
	fprintf(out, "%" PRId64 " candidates, %d strateg%s in %d precision%s%s: %d line%s fit%s\n", a->candidates,
	        strategies, strategies == 1 ? "y" : "ies", q->precisions, q->precisions == 1 ? "" : "s",
	        q->strategies > strategies ? " and in ways that the file can say" : "", a->fit_count,
	        a->fit_count == 1 ? "" : "s", a->fit_count == 1 ? "s" : "");
	show_fixed(q, out);
	show_strategies(q, out);
	fputc('\n', out);
}

/* ---- what fits ---- */

static void setting_cells(struct table *t, const struct advice *a, const struct settings *s)
{
	char offload[OFFLOAD_TEXT], strategy[40], bucket[32];
	offload_print(&s->offload, offload, sizeof offload);
	advice_strategy(s->strategy, strategy, sizeof strategy);
	number_exact_bytes(bucket, sizeof bucket, s->bucket);
	if (s->bucket == a->request.given.bucket)
		table_cell(t, 1, "%s", strategy);
	else
		table_cell(t, 1, "%s, bucket %s", strategy, bucket);
	table_cell(t, 2, "%s", type_name(s->precision));
	table_cell(t, 3, "%s", s->checkpointing);
	table_cell(t, 4, "%s", offload);
}

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* The bytes it needs are a device's, unless the line says otherwise. */
static const char *mark_of(const struct advised *x)
{
	return x->tightest.space == SPACE_HOST ? "n " : x->tightest.space == SPACE_DISK ? "d " : "";
}

enum { STEP = 8, FROM, TO, TOKENS, MFU, FRONTIER, COLUMNS };

static void show_line(struct table *t, const struct advice *a, const struct advised *x, struct scale memory,
                      struct scale time)
{
	char count[32];
	table_row(t, STYLE_PLAIN, "%d%s", x->place, x->tied ? " =" : "");
	setting_cells(t, a, &x->settings);
	table_cell(t, 5, "%" PRId64 " × %" PRId64, x->settings.micro_batch, x->settings.accumulate);
	table_scaled(t, 6, x->tightest.needed_bytes, memory);
	table_cell(t, 7, "%s%.0f %%", mark_of(x), percent(x->tightest.needed_bytes, x->tightest.capacity_bytes));
	table_scaled(t, STEP, x->step, time);
	table_scaled(t, FROM, x->range_low, time);
	table_scaled(t, TO, x->range_high, time);
	table_cell(t, TOKENS, "%s", number_format_count(count, (int64_t)(x->tokens_per_s + 0.5)));
	if (x->speed.mfu > 0)
		table_cell(t, MFU, "%.1f %%", 100 * x->speed.mfu);
	table_cell(t, FRONTIER, "%s", x->frontier ? "*" : "");
}

/* Explains the signs that the lines use. */
static void show_legend(const struct advice *a, int lines, FILE *out)
{
	char text[400];
	bool ties = false, marks = false;
	for (int i = 0; i < lines; i++) {
		ties |= a->fit[i].tied;
		marks |= *mark_of(&a->fit[i]) != 0;
	}
	snprintf(text, sizeof text, "* no line is faster with as little memory");
	text_wrapped(out, text, 2, text_columns(out, 110));
	snprintf(text, sizeof text, "= as fast as the first line of its place, within %g %%%s",
	         100 * ratio_spread(a->has_ranges),
	         a->has_ranges
	                 ? ": so far off were ratios of published steps, in nine of ten pairs of one model and card"
	                 : "");
	if (ties)
		text_wrapped(out, text, 2, text_columns(out, 110));
	snprintf(text, sizeof text,
	         "n, d of a node's memory or disk, for all its ranks, which is fuller for its size than a device's "
	         "memory");
	if (marks)
		text_wrapped(out, text, 2, text_columns(out, 110));
}

static void show_fitting(const struct advice *a, int lines, FILE *out)
{
	struct table t;
	int64_t memory = 0;
	for (int i = 0; i < lines; i++)
		memory = a->fit[i].tightest.needed_bytes > memory ? a->fit[i].tightest.needed_bytes : memory;
	struct scale m = scale_of_bytes(memory), s = scale_of_time(a->fit[lines - 1].step);
	table_init(&t, out, COLUMNS, 5);
	t.hidden[FROM] = t.hidden[TO] = !a->has_ranges;
	table_row(&t, STYLE_HEAD,
	          "place\tstrategy\tprecision\tcheckpointing\toffload\tmicro-\tneeds\tfills\tstep\trange\t\t%s\tMFU",
	          a->tokens > 1 ? "tokens" : "samples");
	table_row(&t, STYLE_HEAD, "\t\t\t\t\tbatches\t%s\t\t%s\tfrom\tto\ta second", m.name, s.name);
	for (int i = 0; i < lines; i++)
		show_line(&t, a, &a->fit[i], m, s);
	table_end(&t, 0);
	if (lines < a->fit_count)
		fprintf(out, "… %d more; --verbose lists all\n", a->fit_count - lines);
	show_legend(a, lines, out);
}

/* Says what keeps the micro-batch from being larger, if that is not the memory. */
static const char *limit_of(const struct advice *a, const struct settings *s)
{
	if (a->request.given.micro_batch || a->request.given.accumulate)
		return ", as was asked for";
	if (a->held_micro)
		return ", all of a rank's batch";
	return advise_takes_all(s) ? ", all of a rank's batch, and memory would hold no more" : "";
}

static void show_largest(const struct advice *a, FILE *out)
{
	char options[ADVISE_OPTIONS];
	const struct advised *most = advise_largest(a);
	advise_options(&most->settings, options);
	fprintf(out, "largest micro-batch: %" PRId64 "%s, with %s\n", most->settings.micro_batch,
	        limit_of(a, &most->settings), options);
	if (!a->request.given.micro_batch && !a->request.given.accumulate && a->held_micro)
		fprintf(out,
		        "  memory would hold %" PRId64 ": the same with --micro-batch %" PRId64 " --batch %" PRId64
		        "\n",
		        a->held_micro, a->held_micro, a->held_batch);
}

/* "1.93 times as fast", "12 % slower" */
static void compare_speed(char *out, size_t size, int64_t step, int64_t before)
{
	double ratio = (double)before / (double)(step ? step : 1);
	if (ratio >= 1.5)
		snprintf(out, size, "%.2f times as fast", ratio);
	else if (ratio >= 1.005)
		snprintf(out, size, "%.0f %% faster", 100 * (ratio - 1));
	else if (ratio > 0.995)
		snprintf(out, size, "no faster");
	else if (ratio > 1 / 1.5)
		snprintf(out, size, "%.0f %% slower", 100 * (1 / ratio - 1));
	else
		snprintf(out, size, "%.2f times as long", 1 / ratio);
}

/* " (1.79 … 2.08)": of the speed, beside that of the best line. */
static void show_ratio_range(const struct advice *a, int64_t step, FILE *out)
{
	const struct ratio r = ratio_of(advise_best(a)->step, step, a->has_ranges);
	if (a->has_ranges)
		fprintf(out, " (%.2f … %.2f times as fast)", r.low, r.high);
}

/* The choice that lacks the least is still too large, or is small enough then. */
static void show_next_memory(const struct advise_next *n, FILE *out)
{
	char bytes[32];
	number_format_bytes(bytes, sizeof bytes, n->missing_bytes);
	if (n->missing_bytes)
		fprintf(out, "; does not fit, %s more would be needed", bytes);
}

static void show_next(const struct advice *a, FILE *out)
{
	const struct advised *best = advise_best(a);
	for (int i = 0; i < a->next_count; i++) {
		const struct advise_next *n = &a->next[i];
		char time[32], speed[40];
		number_format_time(time, sizeof time, n->step);
		fprintf(out, "%s%s: %s a step", i ? "      " : "next: ", n->what, time);
		if (best) {
			compare_speed(speed, sizeof speed, n->step, best->step);
			fprintf(out, ", %s", speed);
			show_ratio_range(a, n->step, out);
		}
		show_next_memory(n, out);
		fputc('\n', out);
	}
}

/* Nothing fits: then the next step is what would. */
static void show_way_out(const struct advice *a, FILE *out)
{
	fputs("nothing fits\n", out);
	show_next(a, out);
}

/* ---- what does not ---- */

static bool is_plain(const struct settings *s)
{
	return !strcmp(s->checkpointing, "none") && !s->offload.optimizer && !s->offload.parameters;
}

static void show_lack(struct table *t, const struct advice *a, const struct advise_lack *x)
{
	char time[32];
	table_row(t, STYLE_PLAIN, " ");
	setting_cells(t, a, &x->settings);
	table_bytes(t, 5, x->tightest.needed_bytes - x->tightest.capacity_bytes);
	table_cell(t, 6, "%s,", category_name(x->category));
	table_bytes(t, 7, x->category_bytes);
	table_cell(t, 8, "%s", x->peak_at);
	number_format_time(time, sizeof time, x->mend_step);
	if (*x->mend)
		table_cell(t, 9, "%s, %s a step", x->change, time);
}

static void show_lacking(const struct advice *a, bool all, FILE *out)
{
	struct table t;
	int shown = 0;
	for (int i = 0; i < a->lack_count; i++)
		shown += all || is_plain(&a->lack[i].settings);
	if (!shown)
		return;
	table_init(&t, out, 10, 5);
	t.left[8] = t.left[9] = true;
	t.hidden[9] = !a->fit_count;
	table_row(&t, STYLE_HEAD, "does not fit, with micro-batches of one sample or the smallest that was asked for");
	table_row(&t, STYLE_HEAD,
	          "\tstrategy\tprecision\tcheckpointing\toffload\tmissing\tmost of\tthe peak\tpeak at\twould fit with");
	for (int i = 0; i < a->lack_count; i++)
		if (all || is_plain(&a->lack[i].settings))
			show_lack(&t, a, &a->lack[i]);
	fputc('\n', out);
	table_end(&t, 0);
	if (shown < a->lack_count)
		fprintf(out, "… %d more; --verbose lists all\n", a->lack_count - shown);
}

/* The settings that all lines share, such as " --clip 1", but for those that are among a line's options. */
static void print_given(const struct settings *s, FILE *out)
{
	static const enum setting others[] = {SETTING_LOSS_SCALER,
	                                      SETTING_LOSS_SCALE,
	                                      SETTING_LOSS_SCALE_WINDOW,
	                                      SETTING_STOCHASTIC_ROUNDING,
	                                      SETTING_OPTIMIZER,
	                                      SETTING_LEARNING_RATE,
	                                      SETTING_WARMUP,
	                                      SETTING_DECAY,
	                                      SETTING_WEIGHT_DECAY,
	                                      SETTING_CLIP,
	                                      SETTING_REPRODUCIBLE,
	                                      SETTING_SEED};
	for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
		char value[SETTING_TEXT], name[48];
		enum setting i = others[k];
		if (setting_is_rule(i, s) || !setting_differs(i, s))
			continue;
		snprintf(name, sizeof name, "{%s}", setting_rows[i].name);
		setting_print_short(i, s, value, sizeof value);
		bool flag = setting_rows[i].type == TAKES_FLAG;
		fprintf(out, " %s%s%s", status_words(name), flag ? "" : " ", flag ? "" : value);
	}
}

/* The whole command that simulates the best line. */
static void show_command(const struct advice *a, const char *model, FILE *out)
{
	const struct settings *given = &a->request.given;
	char options[ADVISE_OPTIONS], sequence[40] = "";
	advise_options(&advise_best(a)->settings, options);
	if (given->sequence)
		snprintf(sequence, sizeof sequence, " --sequence %" PRId64, given->sequence);
	fprintf(out, "%s: shardlab sim --model %s%s --ranks %" PRId64 " --cluster %s %s",
	        a->fit[0].tied ? "as fast as any, with the least offload" : "fastest", model, sequence, given->ranks,
	        advise_cluster(&a->request, advise_best(a)->settings.strategy), options);
	print_given(&advise_best(a)->settings, out);
	fputc('\n', out);
}

void show_advice(const struct advice *a, const char *model, bool all, FILE *out)
{
	int lines = all || a->fit_count < LINES ? a->fit_count : LINES;
	show_head(a, model, out);
	if (lines) {
		show_fitting(a, lines, out);
		fputc('\n', out);
		show_largest(a, out);
		show_command(a, model, out);
		show_next(a, out);
	} else if (a->next_count) {
		show_way_out(a, out);
	}
	show_lacking(a, all, out);
	for (int i = 0; i < a->skipped_count; i++)
		fprintf(out, "skipped %s: %s\n", a->skipped[i].strategy, a->skipped[i].why);
	if (a->cut)
		fputs("the search of a strategy ended at its limit, so that there may be more\n", out);
}

void show_own(const struct advice *a, const struct report *own, FILE *out)
{
	char step[32], missing[32];
	const struct advised *best = advise_best(a);
	number_format_time(step, sizeof step, own->time.step);
	number_format_bytes(missing, sizeof missing, own->tightest.needed_bytes - own->tightest.capacity_bytes);
	fprintf(out, "the file itself, %s: %s a step", own->strategy, step);
	if (!own->fits) {
		fprintf(out,
		        report_fit(own) == FIT_CLOSE
		                ? "; close: predicted %s over, which is within the prediction's error\n"
		                : "; does not fit, %s are missing\n",
		        missing);
		show_change(own, out);
	} else if (best && own->batch == best->settings.batch)
		fprintf(out, ", %.2f times as long as the best line\n", (double)own->time.step / (double)best->step);
	else if (best)
		fprintf(out, " of batch %" PRId64 ": a sample takes %.2f times as long as on the best line\n",
		        own->batch,
		        (double)own->time.step / (double)own->batch * (double)best->settings.batch /
		                (double)best->step);
	else
		fputc('\n', out);
}

/* ---- JSON ---- */
