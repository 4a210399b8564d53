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
	         "%s%s · cluster %.100s%s%s · %g %% of each memory left to the allocator",
	         model, q->given.ranks, q->given.ranks == 1 ? "" : "s", number_format_count(n, q->given.batch),
	         a->tokens, *asked.others ? " · " : "", asked.others, q->cluster, *a->stack ? " · stack " : "",
	         a->stack, 100 * q->margin);
	text_items(out, text, " · ", 0, text_columns(out, 110));
	fprintf(out, "%" PRId64 " candidates, %d strateg%s in %d precision%s: %d line%s fit%s\n", a->candidates,
	        q->strategies, q->strategies == 1 ? "y" : "ies", q->precisions, q->precisions == 1 ? "" : "s",
	        a->fit_count, a->fit_count == 1 ? "" : "s", a->fit_count == 1 ? "s" : "");
	show_fixed(q, out);
	fputc('\n', out);
}

/* ---- what fits ---- */

static void setting_cells(struct table *t, const struct settings *s)
{
	char offload[OFFLOAD_TEXT];
	offload_print(&s->offload, offload, sizeof offload);
	table_cell(t, 1, "%s", s->strategy);
	table_cell(t, 2, "%s", type_name(s->precision));
	table_cell(t, 3, "%s", s->checkpointing);
	table_cell(t, 4, "%s", offload);
}

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

enum { STEP = 8, FROM, TO, TOKENS, MFU, FRONTIER, COLUMNS };

static void show_line(struct table *t, const struct advised *x, struct scale memory, struct scale time)
{
	char count[32];
	table_row(t, STYLE_PLAIN, "%d%s", x->place, x->tied ? " =" : "");
	setting_cells(t, &x->settings);
	table_cell(t, 5, "%" PRId64 " × %" PRId64, x->settings.micro_batch, x->settings.accumulate);
	table_scaled(t, 6, x->tightest.needed_bytes, memory);
	table_cell(t, 7, "%.0f %%", percent(x->tightest.needed_bytes, x->tightest.capacity_bytes));
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
	bool ties = false;
	for (int i = 0; i < lines; i++)
		ties |= a->fit[i].tied;
	snprintf(text, sizeof text, "* no line is faster with as little memory");
	text_wrapped(out, text, 2, text_columns(out, 110));
	snprintf(text, sizeof text, "= as fast as the first line of its place, within %g %%%s",
	         100 * ratio_spread(a->has_ranges),
	         a->has_ranges
	                 ? ": so far off were ratios of published steps, in nine of ten pairs of one model and card"
	                 : "");
	if (ties)
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
		show_line(&t, &a->fit[i], m, s);
	table_end(&t, 0);
	if (lines < a->fit_count)
		fprintf(out, "… %d more; --verbose lists all\n", a->fit_count - lines);
	show_legend(a, lines, out);
}

/* What keeps the micro-batch from being larger, if that is not the memory. */
static const char *largest_limit(const struct advice *a, const struct settings *s)
{
	if (a->request.given.micro_batch || a->request.given.accumulate)
		return ", as was asked for";
	return advise_takes_all(s) ? ", all of a rank's batch: a larger batch would allow more" : "";
}

static void show_largest(const struct advice *a, FILE *out)
{
	char options[ADVISE_OPTIONS];
	const struct advised *most = &a->fit[0];
	for (int i = 1; i < a->fit_count; i++)
		if (a->fit[i].settings.micro_batch > most->settings.micro_batch)
			most = &a->fit[i];
	advise_options(&most->settings, options);
	fprintf(out, "largest micro-batch: %" PRId64 "%s, with %s\n", most->settings.micro_batch,
	        largest_limit(a, &most->settings), options);
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

/* What lacks least is still too large, or is small enough then. */
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

static void show_lack(struct table *t, const struct advise_lack *x)
{
	char time[32];
	table_row(t, STYLE_PLAIN, " ");
	setting_cells(t, &x->settings);
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
			show_lack(&t, &a->lack[i]);
	fputc('\n', out);
	table_end(&t, 0);
	if (shown < a->lack_count)
		fprintf(out, "… %d more; --verbose lists all\n", a->lack_count - shown);
}

/* The settings that all lines share, such as " --clip 1 --bucket 1048576". */
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
	                                      SETTING_BUCKET,
	                                      SETTING_AS,
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
		fprintf(out, "; does not fit, %s are missing\n", missing);
		show_change(own, out);
	} else if (best)
		fprintf(out, ", %.2f times as long as the best line\n", (double)own->time.step / (double)best->step);
	else
		fputc('\n', out);
}

/* ---- JSON ---- */

json_t *own_to_json(const struct report *own)
{
	int64_t missing = own->tightest.needed_bytes - own->tightest.capacity_bytes;
	json_t *change = *own->change.words ? json_pack("{s:s, s:s, s:s, s:f}", "options", own->change.words, "command",
	                                                own->change.command, "fit", own->change.close ? "close" : "yes",
	                                                "step_s", 1e-9 * (double)own->change.step)
	                                    : json_null();
	return json_pack("{s:s, s:f, s:b, s:I, s:o}", "strategy", own->strategy, "step_s",
	                 1e-9 * (double)own->time.step, "fits", own->fits, "missing_bytes",
	                 (json_int_t)(own->fits ? 0 : missing), "would_fit_with", change);
}

static json_t *settings_to_json(const struct settings *s)
{
	char offload[OFFLOAD_TEXT], options[ADVISE_OPTIONS];
	offload_print(&s->offload, offload, sizeof offload);
	advise_options(s, options);
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s}", "strategy", s->strategy, "precision",
	                 type_name(s->precision), "activation_checkpointing", s->checkpointing, "offload", offload,
	                 "micro_batch", (json_int_t)s->micro_batch, "accumulate", (json_int_t)s->accumulate, "options",
	                 options);
}

static void add_memory(json_t *object, const struct report_tightest *t)
{
	json_object_set_new(object, "space", json_string(space_name(t->space)));
	json_object_set_new(object, "needed_bytes", json_integer(t->needed_bytes));
	json_object_set_new(object, "capacity_bytes", json_integer(t->capacity_bytes));
}

static double seconds(int64_t ns)
{
	return 1e-9 * (double)ns;
}

static json_t *range_to_json(bool there, double low, double high)
{
	return there ? json_pack("[f, f]", low, high) : json_null();
}

/* The time of a step as a multiple of the first line's. */
static void add_ratio(json_t *object, const struct advice *a, const struct advised *x)
{
	const struct ratio ratio = ratio_of(x->step, a->fit[0].step, a->has_ranges);
	json_object_set_new(object, "range_s",
	                    range_to_json(a->has_ranges, seconds(x->range_low), seconds(x->range_high)));
	ratio_to_json(object, &ratio, a->has_ranges);
}

static json_t *fit_to_json(const struct advice *a, const struct advised *x)
{
	json_t *object = settings_to_json(&x->settings);
	add_ratio(object, a, x);
	add_memory(object, &x->tightest);
	json_object_update_new(object,
	                       json_pack("{s:i, s:b, s:b, s:f, s:f, s:f, s:o}", "place", x->place, "tied", x->tied,
	                                 "frontier", x->frontier, "step_s", seconds(x->step), "tokens_per_s",
	                                 x->tokens_per_s, "tflops_per_device", x->speed.tflops_per_device, "mfu",
	                                 x->speed.mfu > 0 ? json_real(x->speed.mfu) : json_null()));
	return object;
}

static json_t *lack_to_json(const struct advise_lack *x)
{
	json_t *object = settings_to_json(&x->settings);
	add_memory(object, &x->tightest);
	json_object_update_new(object, json_pack("{s:I, s:s, s:I, s:s}", "missing_bytes",
	                                         (json_int_t)(x->tightest.needed_bytes - x->tightest.capacity_bytes),
	                                         "category", category_name(x->category), "category_bytes",
	                                         (json_int_t)x->category_bytes, "peak_at", x->peak_at));
	json_object_set_new(object, "would_fit_with",
	                    *x->mend ? json_pack("{s:s, s:s, s:f}", "options", x->mend, "change", x->change, "step_s",
	                                         seconds(x->mend_step))
	                             : json_null());
	return object;
}

static json_t *fixed_to_json(const struct advise_request *q)
{
	json_t *list = json_array();
	for (int i = 0; i < q->fixed_count; i++)
		json_array_append_new(list,
		                      json_pack("{s:s, s:s, s:s}", "setting", setting_rows[q->fixed[i].setting].name,
		                                "value", q->fixed[i].value, "by", q->fixed[i].by));
	return list;
}

/* What was asked for besides, as a report has it. */
static void add_asked(json_t *object, const struct settings *given)
{
	struct report_asked asked;
	report_asked(&asked, given);
	json_object_update_new(object, json_pack("{s:I, s:s, s:s}", "seed", (json_int_t)given->seed, "settings",
	                                         asked.others, "version", SHARDLAB_VERSION));
}

json_t *advice_to_json(const struct advice *a)
{
	json_t *fits = json_array(), *lacks = json_array(), *next = json_array(), *skipped = json_array();
	for (int i = 0; i < a->fit_count; i++)
		json_array_append_new(fits, fit_to_json(a, &a->fit[i]));
	for (int i = 0; i < a->lack_count; i++)
		json_array_append_new(lacks, lack_to_json(&a->lack[i]));
	for (int i = 0; i < a->next_count; i++)
		json_array_append_new(next, json_pack("{s:s, s:f, s:I}", "with", a->next[i].what, "step_s",
		                                      seconds(a->next[i].step), "missing_bytes",
		                                      (json_int_t)a->next[i].missing_bytes));
	for (int i = 0; i < a->skipped_count; i++)
		json_array_append_new(skipped, json_pack("{s:s, s:s}", "strategy", a->skipped[i].strategy, "skipped",
		                                         a->skipped[i].why));
	json_t *o = json_pack("{s:s, s:I, s:s, s:I, s:I, s:f, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "model", a->model,
	                      "ranks", (json_int_t)a->request.given.ranks, "cluster", a->request.cluster, "batch",
	                      (json_int_t)a->request.given.batch, "sequence", (json_int_t)a->tokens, "margin",
	                      a->request.margin, "candidates", (json_int_t)a->candidates, "search_cut", a->cut, "fits",
	                      fits, "does_not_fit", lacks, "next", next, "skipped", skipped, "fixed",
	                      fixed_to_json(&a->request));
	add_asked(o, &a->request.given);
	return o;
}
