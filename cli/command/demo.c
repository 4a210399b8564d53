/* shardlab demo: an MLP learns Fashion-MNIST under each strategy; what was predicted stands beside what was measured.
 */
#define _GNU_SOURCE /* program_invocation_name */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/calibrate.h"
#include "cli/command/check.h"
#include "cli/command/command.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/command/run.h"
#include "cli/show/figure.h"
#include "cli/show/progress.h"
#include "cli/show/show.h"
#include "cli/show/table.h"
#include "real/train/train.h"

/* Nearly three times through the training images; buckets so small that there are several of them to overlap. */
enum { BATCH = 512, WARMUP = 30, BUCKET = 1 << 20 };
#define LEARNING_RATE 4e-3

struct result {
	struct report predicted, measured;
	bool equal; /* every byte count */
};

struct demo {
	const struct options *options;
	struct members members;
	struct result result[MEMBERS];
	struct progress progress;
	int current;
};

static int64_t steps_of(const struct demo *d)
{
	return option_whole(d->options, OPTION_STEPS);
}

static void show_progress(struct demo *d, int64_t step)
{
	char label[300];
	snprintf(label, sizeof label, "%s, step %" PRId64, d->members.member[d->current].strategy, step);
	progress_show(&d->progress, d->current * steps_of(d) + step, label);
}

static void on_step(void *context, const struct train_step *step)
{
	show_progress(context, step->step);
}

/* ---- running ---- */

static enum status run_member(struct demo *d, const struct settings *s, struct report *measured)
{
	struct arguments a;
	arguments_begin(&a, "train");
	arguments_set(&a, OPTION_MODEL, "%s", s->model);
	arguments_set(&a, OPTION_STRATEGY, "%s", s->strategy);
	arguments_set(&a, OPTION_RANKS, "%" PRId64, s->ranks);
	arguments_set(&a, OPTION_BATCH, "%" PRId64, s->batch);
	arguments_set(&a, OPTION_STEPS, "%" PRId64, steps_of(d));
	arguments_set(&a, OPTION_LEARNING_RATE, "%.17g", s->learning_rate);
	arguments_set(&a, OPTION_WARMUP, "%" PRId64, s->warmup);
	arguments_set(&a, OPTION_DECAY, "%" PRId64, s->decay);
	arguments_set(&a, OPTION_BUCKET, "%" PRId64, s->bucket);
	arguments_flag(&a, OPTION_JSON);
	arguments_pass(&a, COMMAND_TRAIN, d->options);
	struct run run = {.ranks = s->ranks, .arguments = a.list, .on_step = on_step, .context = d};
	enum status status = run_start(&run, measured);
	arguments_release(&a);
	return status;
}

static enum status demonstrate(struct demo *d, const struct settings *settings, struct result *r)
{
	struct job j;
	struct checks checks;
	enum status s = job_open(&j, settings);
	if (s)
		return s;
	s = job_predict(&j, "local", GRAIN_OPERATION, 0, NULL, &r->predicted);
	if (!s)
		report_add_ranks(&r->predicted, &j.plan);
	job_release(&j);
	if (!s)
		s = run_member(d, settings, &r->measured);
	if (s)
		return s;
	checks_make(&checks, &r->predicted, &r->measured, -1);
	r->equal = checks.pass;
	checks_release(&checks);
	return STATUS_OK;
}

static enum status demonstrate_all(struct demo *d)
{
	progress_begin(&d->progress, d->members.count * steps_of(d));
	for (d->current = 0; d->current < d->members.count; d->current++) {
		const struct member *m = &d->members.member[d->current];
		struct result *r = &d->result[d->current];
		show_progress(d, 0);
		enum status s = demonstrate(d, &m->settings, r);
		if (s) {
			progress_clear(&d->progress);
			return s == STATUS_INTERRUPTED ? s : status_prefix(s, "%s", m->strategy);
		}
	}
	progress_clear(&d->progress);
	return STATUS_OK;
}

/* ---- the table ---- */

/* Two lines: the figure as predicted and as measured. Of several roles the first: the root, which bears most. */
static void pair_rows(struct table *t, const struct demo *d, int figure, struct scale scale)
{
	for (int line = 0; line < 2; line++) {
		table_add_row(t, line ? STYLE_PLAIN : STYLE_FAINT);
		if (!line)
			table_cell(t, 0, "  %s", figure_at(figure)->name);
		table_cell_style(t, 0, figure_at(figure)->total ? STYLE_HEAD : STYLE_PLAIN);
		table_cell(t, 1, "%s", line ? "measured" : "predicted");
		for (int i = 0; i < d->members.count; i++) {
			const struct report *r = line ? &d->result[i].measured : &d->result[i].predicted;
			table_scaled(t, 2 + i, figure_value(figure, r, 0), scale);
		}
	}
}

static bool shown(const struct figure *f)
{
	return strcmp(f->key, "arena_bytes") != 0 && strcmp(f->key, "received_bytes") != 0 &&
	       (f->group == GROUP_PEAK || f->group == GROUP_TRAFFIC || !strcmp(f->key, "step_ns"));
}

static void group_rows(struct table *t, const struct demo *d, enum figure_group g)
{
	const struct report *all[2 * MEMBERS];
	for (int i = 0; i < d->members.count; i++) {
		all[2 * i] = &d->result[i].predicted;
		all[2 * i + 1] = &d->result[i].measured;
	}
	struct scale scale = group_scale(g, all, 2 * d->members.count);
	table_gap(t);
	table_add_row(t, STYLE_HEAD);
	table_cell(t, 0, "%s, %s", group_title(g), scale.name);
	for (int i = 0; figure_at(i); i++)
		if (figure_at(i)->group == g && shown(figure_at(i)))
			pair_rows(t, d, i, scale);
}

static void run_row(struct table *t, const struct demo *d, const char *name, double (*value)(const struct report *),
                    int decimals)
{
	table_add_row(t, STYLE_PLAIN);
	table_cell(t, 0, "%s", name);
	table_cell_style(t, 0, STYLE_HEAD);
	table_cell(t, 1, "measured");
	for (int i = 0; i < d->members.count; i++)
		table_cell(t, 2 + i, "%.*f", decimals, value(&d->result[i].measured));
}

static double last_loss(const struct report *r)
{
	return r->loss_count ? r->losses[r->loss_count - 1] : (double)NAN;
}

static double accuracy(const struct report *r)
{
	return 100 * r->validation_accuracy;
}

static void show_table(const struct demo *d)
{
	struct table t;
	table_init(&t, stdout, 2 + d->members.count);
	t.text_columns = 2;
	table_add_row(&t, STYLE_HEAD);
	for (int i = 0; i < d->members.count; i++)
		table_cell(&t, 2 + i, "%s", d->members.member[i].strategy);
	group_rows(&t, d, GROUP_PEAK);
	group_rows(&t, d, GROUP_TRAFFIC);
	group_rows(&t, d, GROUP_TIME);
	table_gap(&t);
	run_row(&t, d, "loss, last step", last_loss, 4);
	run_row(&t, d, "test accuracy, %", accuracy, 2);
	table_print(&t, 0);
	table_release(&t);
}

/* With other steps or data there is nothing to be expected. */
static enum status check_accuracies(const struct demo *d)
{
	if (option_given(d->options, OPTION_STEPS) || option_given(d->options, OPTION_DATA))
		return STATUS_OK;
	for (int i = 0; i < d->members.count; i++) {
		enum status s = check_accuracy(d->members.member[i].strategy, &d->result[i].measured);
		if (s)
			return s;
	}
	return STATUS_OK;
}

/* As this program was called, so that the lines can be pasted. */
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

static enum status show(const struct demo *d)
{
	struct report heading = d->result[d->members.count - 1].predicted;
	bool equal = true;
	for (int i = 0; i < d->members.count; i++)
		equal &= d->result[i].equal;
	snprintf(heading.strategy, sizeof heading.strategy, "seven strategies");
	show_heading(&heading, SHOW_ALL, stdout);
	fputc('\n', stdout);
	show_table(d);
	puts("\nsingle is one rank with the whole batch; of dp, the root is shown. Memory and bytes are of the busiest "
	     "rank.");
	puts(equal ? "Every byte was predicted exactly. Each strategy computes the same thing: look at the loss."
	           : "Some byte counts are not as predicted.");
	suggest();
	if (!equal)
		return status_fail(STATUS_CHECK, "predicted and measured byte counts differ; see: shardlab validate");
	return check_accuracies(d);
}

/* ---- the command ---- */

static enum status settle(struct demo *d)
{
	struct options o = *d->options;
	o.value[OPTION_STRATEGY].text = "all";
	o.value[OPTION_BATCH].whole = BATCH;
	o.value[OPTION_WARMUP].whole = WARMUP;
	o.value[OPTION_DECAY].whole = steps_of(d);
	o.value[OPTION_LEARNING_RATE].real = LEARNING_RATE;
	o.value[OPTION_BUCKET].whole = BUCKET;
	if (BATCH % option_whole(d->options, OPTION_RANKS))
		return status_fail(STATUS_INPUT,
		                   "--ranks %" PRId64
		                   ": the demo's batch of %d does not divide by it; use 1, 2, 4, 8 or 16",
		                   option_whole(d->options, OPTION_RANKS), BATCH);
	return members_from_options(&d->members, &o);
}

/* What every run needs, looked at once: the data, and mpirun. */
static enum status check(const struct demo *d)
{
	struct train_options t = train_options_default();
	int rank, ranks;
	if (train_under_mpi(&rank, &ranks))
		return status_fail(STATUS_INPUT, "demo starts its ranks by itself; run it without mpirun");
	enum status s = launch_check(option_whole(d->options, OPTION_RANKS));
	t.settings = d->members.member[0].settings;
	t.data = option_text(d->options, OPTION_DATA);
	return s ? s : train_check(&t);
}

enum status command_demo(const struct options *o)
{
	struct demo *d = calloc(1, sizeof *d);
	if (!d)
		return status_fail(STATUS_MEMORY, "out of memory");
	launch_stop_on_signals();
	d->options = o;
	enum status s = settle(d);
	if (!s)
		s = check(d);
	if (!s)
		s = calibrate_if_needed(DEVICE_CPU);
	if (!s)
		s = demonstrate_all(d);
	if (!s)
		s = show(d);
	for (int i = 0; i < MEMBERS; i++) {
		report_release(&d->result[i].predicted);
		report_release(&d->result[i].measured);
	}
	free(d);
	return s;
}
