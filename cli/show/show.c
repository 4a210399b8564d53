#include "cli/show/show.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/table.h"
#include "cli/show/text.h"
#include "strategy/base/memory.h"
#include "strategy/base/number.h"
#include "strategy/cluster/cluster.h"

/* Few train on longer samples from the first step on: whoever gets one unasked should see it. */
enum { LONG_SEQUENCE = 8192 };

/* `colour` is the terminal's for which it is written. */
static void write_heading(const struct report *r, unsigned settings, bool colour, FILE *out)
{
	char n[32];
	fprintf(out, "%s%s%s on %" PRId64 " rank%s · %s%s%s, %s parameters", style_begin(STYLE_HEAD, colour),
	        r->strategy, style_end(STYLE_HEAD, colour), r->ranks, r->ranks == 1 ? "" : "s", r->model,
	        *r->asked.model_keys ? ":" : "", r->asked.model_keys, number_format_count(n, r->parameters));
	if (settings & SHOW_PRECISION)
		fprintf(out, " · %s%s%s", type_name(r->precision),
		        r->tf32  ? ", products in tf32"
		        : r->fp8 ? ", products in fp8"
		                 : "",
		        r->stochastic_rounding ? ", rounded stochastically" : "");
	bool split = settings & SHOW_MICRO;
	int64_t data_ranks = r->batch / (r->micro_batch * r->accumulate);
	bool same = data_ranks == 1 && r->ranks > 1; /* samples on all ranks */
	fprintf(out, " · batch %s", number_format_count(n, r->batch));
	if (split && data_ranks > 1)
		fprintf(out, " = %" PRId64 " %sranks × %s", data_ranks, data_ranks < r->ranks ? "data " : "",
		        number_format_count(n, r->micro_batch));
	else if (split && r->accumulate > 1)
		fprintf(out, " = %s", number_format_count(n, r->micro_batch));
	if (split && r->accumulate > 1)
		fprintf(out, " × %" PRId64 " micro-batches", r->accumulate);
	if (split && same)
		fprintf(out, ", the same on all ranks");
	if (r->sequence > 1)
		fprintf(out, " · sequence %" PRId64 "%s", r->sequence,
		        r->whole_context && r->sequence > LONG_SEQUENCE ? ", the model's whole context (--sequence T)"
		                                                        : "");
	if ((settings & SHOW_CHECKPOINTING) && strcmp(r->checkpointing.setting, "none") != 0)
		fprintf(out, " · checkpointing %s", r->checkpointing.setting);
	if ((settings & SHOW_OFFLOAD) && strcmp(r->offload, "none") != 0)
		fprintf(out, " · offload %s", r->offload);
	if ((settings & SHOW_OTHERS) && *r->asked.others)
		fprintf(out, " · %s", r->asked.others);
	fprintf(out, " · cluster %s", r->cluster);
	if (*r->stack)
		fprintf(out, " · stack %s", r->stack);
	if (*r->grain)
		fprintf(out, " · grain %s", r->grain);
	if (*r->asked.version)
		fprintf(out, " · shardlab %s", r->asked.version);
}

void show_heading(const struct report *r, unsigned settings, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = memory_stream(&text, &size);
	write_heading(r, settings, terminal_colour(out), memory);
	memory_stream_close(memory);
	text_items(out, text, " · ", 0, text_columns(out, INT_MAX));
	free(text);
}

static const char *hint_of(const char *cluster)
{
	if (!strcmp(cluster, CLUSTER_LOCAL))
		return "; shardlab calibrate measures those of this machine";
	if (!strcmp(cluster, CLUSTER_LOCAL_CUDA))
		return "; shardlab calibrate --device cuda measures those of this machine";
	return "";
}

static void show_basis(const struct report *r, FILE *out)
{
	char text[400];
	snprintf(text, sizeof text, "* %s; nine of ten measured steps lie in the range%s", r->basis,
	         hint_of(r->cluster));
	text_wrapped(out, text, 2, text_columns(out, INT_MAX));
}

void show_rates(const struct report *r, FILE *out)
{
	if (r->rates_measured)
		return;
	if (*r->basis)
		show_basis(r, out);
	else
		fprintf(out, "* rests on assumed rates%s\n", hint_of(r->cluster));
}

bool show_is_states_only(const struct report *r)
{
	return !strncmp(r->model, "params=", 7);
}

void show_model_note(const struct report *r, FILE *out)
{
	if (!show_is_states_only(r))
		return;
	char text[256];
	snprintf(text, sizeof text,
	         "%s is model states alone: no activations, and no time for the passes. It has %" PRId64
	         " unit%s, and what is gathered is a unit: units=N makes it as many as the model has layers.",
	         r->model, r->units, r->units == 1 ? "" : "s");
	text_wrapped(out, text, 0, text_columns(out, 110));
}

/* ---- one report ---- */

const char *show_memory_name(const struct report_tightest *t)
{
	static const char *const names[SPACE_COUNT] = {
	        [SPACE_DEVICE] = "device", [SPACE_HOST] = "node", [SPACE_DISK] = "disk"};
	return names[t->space];
}

/* No other strategy, checkpointing, micro-batch or offload is enough, nor are more ranks: the work itself is too large.
 * LONG_ENOUGH is what such models are mostly trained with. */
static void show_way_out(const struct report *r, FILE *out)
{
	enum { LONG_ENOUGH = 4096 };
	bool shorter = r->sequence > LONG_ENOUGH, halves = r->precision == TYPE_FP32 && r->change.halves != TYPE_FP32;
	fprintf(out, "  nothing that was tried would fit: take %s", shorter ? "a shorter --sequence" : "");
	if (shorter)
		fprintf(out, " (%d%s)", LONG_ENOUGH,
		        r->whole_context ? " is usual; this is the model's whole context" : " is usual");
	if (halves)
		fprintf(out, "%s--precision %s\n", shorter ? " and " : "", type_name(r->change.halves));
	else
		fprintf(out, "%s\n", shorter ? "" : "devices with more memory, or a smaller model");
}

/* Beside a configuration its options cannot be given, so there the change is a command of its own. */
static void show_command(const struct report_change *c, const char *step, FILE *out)
{
	fprintf(out, "  would fit, in %s a step, in place of the file: %s\n", step, c->command);
	if (*c->emit)
		fprintf(out, "  with --emit %s:FILE it writes a file of the same kind\n", c->emit);
}

void show_change(const struct report *r, FILE *out)
{
	char step[32];
	number_format_time(step, sizeof step, r->change.step);
	if (*r->change.command) {
		show_command(&r->change, step, out);
	} else if (*r->change.words) {
		fprintf(out, "  would fit with: %s, in %s a step\n", r->change.words, step);
	}
	if (r->change.close)
		fputs("  that is close: within a twentieth of all of a device's memory, and nothing that was tried "
		      "leaves "
		      "more\n",
		      out);
	if (*r->change.near) {
		number_format_time(step, sizeof step, r->change.near_step);
		fprintf(out, "  faster, but close to all of a device's memory: %s, in %s a step\n", r->change.near,
		        step);
	}
	if (r->change.none && !r->change.cut)
		show_way_out(r, out);
	if (r->change.cut)
		fprintf(out,
		        "  the search for it ended at its limit: %s; fewer micro-batches a step make it complete\n",
		        *r->change.words ? "a cheaper change may fit too" : "a change may fit that it has not tried");
}

enum style show_fit_style(const struct report *r)
{
	static const enum style styles[] = {[FIT_YES] = STYLE_GOOD, [FIT_CLOSE] = STYLE_PLAIN, [FIT_NO] = STYLE_BAD};
	return styles[report_fit(r)];
}

/* Shows how much is over, or how much is left where that is close. */
static void show_apart(const struct report *r, FILE *out)
{
	char apart[32];
	number_format_bytes(apart, sizeof apart, llabs(r->tightest.needed_bytes - r->tightest.capacity_bytes));
	if (report_fit(r) == FIT_CLOSE)
		fprintf(out, ": predicted %s %s, which is within the prediction's error", apart,
		        r->fits ? "to spare" : "over");
	else if (!r->fits)
		fprintf(out, ": %s are missing", apart);
}

static void show_fits(const struct report *r, FILE *out)
{
	const struct report_tightest *t = &r->tightest;
	bool colour = terminal_colour(out);
	enum style style = show_fit_style(r);
	char needed[32], there[64];
	number_format_bytes(needed, sizeof needed, t->needed_bytes);
	number_format_capacity(there, sizeof there, t->capacity_bytes);
	fprintf(out, "  fits: %s%s%s", style_begin(style, colour), report_fit_word(r), style_end(style, colour));
	fprintf(out, ", with libraries %s %s of its %s%s",
	        t->space == SPACE_DEVICE ? "a rank takes" : "the ranks of a node take", needed,
	        t->space == SPACE_DEVICE ? "device's "
	        : t->space == SPACE_DISK ? "disk's "
	                                 : "",
	        there);
	show_apart(r, out);
	fputc('\n', out);
	show_change(r, out);
}

static void show_peaks(const struct report *r, FILE *out)
{
	for (int i = 0; i < r->role_count; i++) {
		fprintf(out, "  peak at: %s", r->roles[i].memory[SPACE_DEVICE].peak_at);
		if (r->role_count > 1)
			fprintf(out, " (%s)", r->roles[i].role);
		fputc('\n', out);
	}
}

static void time_row(struct table *t, const char *name, int64_t ns, int64_t step, enum style style)
{
	table_row(t, style, "  %s", name);
	table_time(t, 1, ns);
	if (step)
		table_cell(t, 2, "%.1f %%", 100.0 * (double)ns / (double)step);
}

/* "1.79 … 1.98 s", in the unit of the step: the range of a step under a stack, nothing of others. */
static void show_range_cell(struct table *t, int column, const struct report *r)
{
	char low[32], high[32];
	if (!*r->basis)
		return;
	number_format_time(low, sizeof low, r->range_low);
	number_format_time(high, sizeof high, r->range_high);
	size_t unit = strcspn(low, " ");
	if (!strcmp(low + unit, high + strcspn(high, " ")))
		low[unit] = 0;
	table_cell(t, column, "(%s … %s)", low, high);
}

void show_bubble(const struct report *r, const char *whose, FILE *out)
{
	char text[BUBBLE_TEXT];
	if (r->bubble.stages)
		fprintf(out, "%s%s; here %.1f %%\n", whose, bubble_text(text, &r->bubble),
		        100 * (double)r->time.bubble / (double)(r->time.step ? r->time.step : 1));
}

const char *show_units(const struct report *r)
{
	return r->sequence > 1 ? "tokens" : "samples";
}

/* The device's speed in this step. */
static void show_speed(const struct report *r, FILE *out)
{
	const struct report_speed *v = &r->speed;
	char text[32];
	if (!(v->tflops_per_device > 0))
		return;
	fprintf(out, "  %s %s a second; ", number_format_count(text, (int64_t)(v->units_per_s + 0.5)), show_units(r));
	number_format_flops(text, sizeof text, 1e12 * v->tflops_per_device);
	fprintf(out, "model FLOPs: %s a device", text);
	if (v->mfu > 0)
		fprintf(out, ", MFU %.1f %%", 100 * v->mfu);
	fputc('\n', out);
}

static void show_time(const struct report *r, FILE *out)
{
	struct table t;
	const struct times *n = &r->time;
	char whose[48] = "";
	if (r->role_count > 1)
		snprintf(whose, sizeof whose, ", of rank %" PRId64, n->rank);
	table_init(&t, out, 3, 1);
	table_row(&t, STYLE_HEAD, "time of a step%s%s", whose, r->rates_measured ? "" : " *");
	time_row(&t, "computing", n->compute, n->step, STYLE_PLAIN);
	time_row(&t, "waiting for communication", n->exposed, n->step, STYLE_PLAIN);
	time_row(&t, "waiting for anything else", n->bubble, n->step, STYLE_PLAIN);
	time_row(&t, "step", n->step, 0, STYLE_HEAD);
	show_range_cell(&t, 2, r);
	time_row(&t, "communicating, hidden or not", n->communication, n->step, STYLE_FAINT);
	table_end(&t, 0);
	show_speed(r, out);
	show_bubble(r, "  ", out);
}

enum { MOST_ROLES = 4 };

const struct report_role *show_fullest(const struct report *r)
{
	const struct report_role *most = &r->roles[0];
	for (int i = 1; i < r->role_count; i++)
		if (r->roles[i].memory[SPACE_DEVICE].peak_bytes > most->memory[SPACE_DEVICE].peak_bytes)
			most = &r->roles[i];
	return most;
}

bool show_has_role(const struct report *r, int role)
{
	return r->role_count <= MOST_ROLES || !role || role == r->role_count - 1 || &r->roles[role] == show_fullest(r);
}

static void show_whole(const struct report *r, FILE *out)
{
	show_heading(r, SHOW_ALL, out);
	fputc('\n', out);
	show_space(r, SPACE_DEVICE, out);
	show_peaks(r, out);
	show_fits(r, out);
	show_spaces(r, out);
	show_traffic(r, out);
	fputc('\n', out);
	show_time(r, out);
	show_checkpointing(&(struct column){.report = r}, 1, out);
	show_gathering(r, out);
	if (!r->rates_measured || r->roles[0].memory[SPACE_DEVICE].overhead_assumed) {
		fputc('\n', out);
		show_rates(r, out);
	}
	show_model_note(r, out);
}

void show_report(const struct report *r, FILE *out)
{
	struct report some = *r;
	some.role_count = 0;
	for (int i = 0; i < r->role_count; i++)
		if (show_has_role(r, i))
			some.roles[some.role_count++] = r->roles[i];
	show_whole(&some, out);
	if (some.role_count < r->role_count)
		fprintf(out, "\n%d of %d roles are shown: the first, the fullest and the last; --json has all\n",
		        some.role_count, r->role_count);
}

/* ---- a run ---- */

void show_run(const struct report *r, FILE *out)
{
	struct table t;
	table_init(&t, out, 2, 1);
	if (r->loss_count)
		table_row(&t, STYLE_PLAIN, "loss, first and last step\t%.6f → %.6f", r->losses[0],
		          r->losses[r->loss_count - 1]);
	if (isfinite(r->validation_loss))
		table_row(&t, STYLE_PLAIN, "validation loss\t%.6f", r->validation_loss);
	if (isfinite(r->validation_accuracy))
		table_row(&t, STYLE_PLAIN, "validation accuracy\t%.2f %%", 100 * r->validation_accuracy);
	if (r->loss_scale > 0)
		table_row(&t, STYLE_PLAIN, "steps skipped, loss scale at the end\t%" PRId64 ", %.10g", r->skipped_steps,
		          r->loss_scale);
	if (*r->slowed.products_by)
		table_row(&t, STYLE_PLAIN, "kernels of products, as they were put on streams\t%s",
		          r->slowed.products_by);
	if (*r->slowed.attention_forward)
		table_row(&t, STYLE_PLAIN, "kernels of attention, forward and backward\t%s; %s",
		          r->slowed.attention_forward, r->slowed.attention_backward);
	if (*r->slowed.attention_times)
		table_row(&t, STYLE_PLAIN, "… the fastest, as was measured\t%s", r->slowed.attention_times);
	if (*r->slowed.bias_times)
		table_row(&t, STYLE_PLAIN, "gradients of biases, the faster way as was measured\t%s",
		          r->slowed.bias_times);
	if (r->slowed.plain_products > 0)
		table_row(&t, STYLE_PLAIN,
		          "products computed without cuBLASLt\t%" PRId64 ", hundreds of times slower; the first: %s",
		          r->slowed.plain_products, r->slowed.plain_why);
	if (r->slowed.gelu_passes > 0)
		table_row(&t, STYLE_PLAIN,
		          "GELU's gradient in a pass of its own\t%" PRId64
		          " times: cuBLASLt cannot fuse it in this type or shape",
		          r->slowed.gelu_passes);
	if (r->resident_bytes) {
		table_row(&t, STYLE_PLAIN, "resident memory of the largest rank");
		table_bytes(&t, 1, r->resident_bytes);
	}
	table_row(&t, STYLE_PLAIN, "checksum of the weights\t%s", r->weights_checksum);
	table_end(&t, 0);
	if (strstr(r->offload, "delayed=yes"))
		fputs("delayed update: step i computes with the weights that the gradients of steps 1 to i − 2 made; "
		      "those of the last step are not in the weights\n",
		      out);
}
