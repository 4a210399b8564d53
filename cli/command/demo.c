/* shardlab demo: an MLP learns Fashion-MNIST under each strategy; what was predicted stands beside what was measured.
 */
#define _GNU_SOURCE /* program_invocation_name */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/calibrate.h"
#include "cli/command/command.h"
#include "cli/command/trial.h"
#include "cli/show/figure.h"
#include "cli/show/show.h"

/* Nearly three epochs; buckets small enough that there are several to overlap. */
enum { BATCH = 512, WARMUP = 30, BUCKET = 1 << 20 };
#define LEARNING_RATE 4e-3

/* ---- the table ---- */

/* Two lines: the figure as predicted and as measured. With several roles it is the first, the root, which bears most.
 */
static void pair_rows(struct table *t, const struct trials *d, const struct figure *f, struct scale scale)
{
	for (int line = 0; line < 2; line++) {
		if (line)
			table_row(t, STYLE_PLAIN, "\tmeasured");
		else
			table_row(t, STYLE_FAINT, "  %s\tpredicted", f->name);
		table_cell_style(t, 0, f->total ? STYLE_HEAD : STYLE_PLAIN);
		for (int i = 0; i < d->members.count; i++) {
			const struct report *r = line ? &d->trial[i].measured : &d->trial[i].predicted;
			table_scaled(t, 2 + i, figure_value(f, r, 0), scale);
		}
	}
}

static bool shown(const struct figure *f)
{
	return strcmp(f->key, "arena_bytes") != 0 && strcmp(f->key, "received_bytes") != 0 &&
	       (f->group == GROUP_PEAK || f->group == GROUP_TRAFFIC || !strcmp(f->key, "step_ns"));
}

static void group_rows(struct table *t, const struct trials *d, enum figure_group g)
{
	const struct report *all[2 * MEMBERS];
	for (int i = 0; i < d->members.count; i++) {
		all[2 * i] = &d->trial[i].predicted;
		all[2 * i + 1] = &d->trial[i].measured;
	}
	struct scale scale = group_scale(g, all, 2 * d->members.count);
	table_gap(t);
	table_row(t, STYLE_HEAD, "%s, %s", group_titles[g], scale.name);
	for (const struct figure *f = report_figures(); f->name; f++)
		if (f->group == g && shown(f))
			pair_rows(t, d, f, scale);
}

static void run_row(struct table *t, const struct trials *d, const char *name, double (*value)(const struct report *),
                    int decimals)
{
	table_row(t, STYLE_PLAIN, "%s\tmeasured", name);
	table_cell_style(t, 0, STYLE_HEAD);
	for (int i = 0; i < d->members.count; i++)
		table_cell(t, 2 + i, "%.*f", decimals, value(&d->trial[i].measured));
}

static double last_loss(const struct report *r)
{
	return r->loss_count ? r->losses[r->loss_count - 1] : (double)NAN;
}

static double accuracy(const struct report *r)
{
	return 100 * r->validation_accuracy;
}

static void show_table(const struct trials *d)
{
	struct table t;
	table_init(&t, stdout, 2 + d->members.count, 2);
	table_row(&t, STYLE_HEAD, "\t");
	for (int i = 0; i < d->members.count; i++)
		table_cell(&t, 2 + i, "%s", d->members.member[i].strategy);
	group_rows(&t, d, GROUP_PEAK);
	group_rows(&t, d, GROUP_TRAFFIC);
	group_rows(&t, d, GROUP_TIME);
	table_gap(&t);
	run_row(&t, d, "loss, last step", last_loss, 4);
	run_row(&t, d, "test accuracy, %", accuracy, 2);
	table_end(&t, 0);
}

static enum status check_accuracies(const struct trials *d)
{
	for (int i = 0; i < d->members.count; i++)
		TRY(check_accuracy(d->members.member[i].strategy, &d->trial[i].measured));
	return STATUS_OK;
}

/* Names the program as it was called, so that the lines can be pasted. */
static void suggest(void)
{
	static const struct {
		const char *command, *remark;
	} lines[] = {
	        {"sim --model gpt --strategy zero3 --ranks 4", "where the memory and the time go"},
	        {"compare --model gpt2-1558m --precision bf16 --ranks 64 --cluster a100-80gb", ""},
	        {"train --model gpt --strategy fsdp --ranks 4", "a language model, for real"},
	        {"plan --strategy zero2 --ranks 4 | less", "the program that every rank carries out"},
	        {"view", "a step in a window"},
	};
	puts("\nTo go on:\n");
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		if (*lines[i].remark)
			printf("  %s %-44s # %s\n", program_invocation_name, lines[i].command, lines[i].remark);
		else
			printf("  %s %s\n", program_invocation_name, lines[i].command);
}

static enum status show(const struct trials *d)
{
	struct report heading = d->trial[d->members.count - 1].predicted;
	snprintf(heading.strategy, sizeof heading.strategy, "seven strategies");
	show_heading(&heading, SHOW_ALL, stdout);
	fputc('\n', stdout);
	show_table(d);
	puts("\nsingle is one rank with the whole batch; of dp, the root is shown. Memory and bytes are of the busiest "
	     "rank.");
	puts(d->pass ? "Every byte was predicted exactly. Each strategy computes the same thing: look at the loss."
	             : "Some byte counts are not as predicted.");
	suggest();
	return d->pass ? STATUS_OK
	               : status_fail(STATUS_CHECK, "predicted and measured byte counts differ; see: shardlab validate");
}

/* ---- the command ---- */

/* The demo is a `validate` with these options. Their texts belong to `a`. */
static enum status make_options(struct options *out, struct arguments *a, const struct options *o)
{
	int64_t ranks = option_whole(o, OPTION_RANKS), steps = option_whole(o, OPTION_STEPS);
	if (BATCH % ranks)
		return status_fail(STATUS_INPUT,
		                   "--ranks %" PRId64
		                   ": the demo's batch of %d is not divisible by it; use 1, 2, 4, 8 or 16",
		                   ranks, BATCH);
	arguments_begin(a, "validate");
	arguments_set(a, OPTION_STRATEGY, "all");
	arguments_set(a, OPTION_RANKS, "%" PRId64, ranks);
	arguments_set(a, OPTION_STEPS, "%" PRId64, steps);
	arguments_set(a, OPTION_DECAY, "%" PRId64, steps);
	arguments_set(a, OPTION_BATCH, "%d", BATCH);
	arguments_set(a, OPTION_WARMUP, "%d", WARMUP);
	arguments_set(a, OPTION_BUCKET, "%d", BUCKET);
	arguments_set(a, OPTION_LEARNING_RATE, "%g", LEARNING_RATE);
	arguments_pass(a, COMMAND_VALIDATE, o);
	return options_parse(out, COMMAND_VALIDATE, a->count - 1, a->list + 1);
}

enum status command_demo(const struct options *o)
{
	struct options all;
	struct arguments a = {0};
	struct trials *d = NULL;
	enum status s = make_options(&all, &a, o);
	if (!s)
		s = trials_open(&d, &all, "demo");
	if (!s) {
		d->for_demo = true;
		s = calibrate_if_older(DEVICE_CPU, CALIBRATE_AGAIN_S, NULL);
	}
	if (!s)
		s = trials_run(d);
	if (!s)
		s = show(d);
	/* With other steps or data nothing is expected. */
	if (!s && !option_given(o, OPTION_STEPS) && !option_given(o, OPTION_DATA))
		s = check_accuracies(d);
	trials_close(d);
	arguments_release(&a);
	return s;
}
