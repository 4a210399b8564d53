/* shardlab train: starts the ranks and reads their output; or, started by mpirun, is one of them. */
#include "real/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command/apart.h"
#include "cli/command/command.h"
#include "cli/command/emit.h"
#include "cli/command/interval.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/command/run.h"
#include "cli/command/run_log.h"
#include "cli/command/run_plot.h"
#include "cli/command/written.h"
#include "cli/show/curve.h"
#include "cli/show/progress.h"
#include "cli/show/show.h"
#include "cli/show/text.h"
#include "real/data/weights_writer.h"
#include "strategy/base/number.h"
#include "strategy/base/output.h"

/* ---- what the user sees ---- */

struct viewer {
	bool json;
	bool draws;             /* the losses as text at the end */
	bool validates;         /* while it trains */
	int64_t steps, first;   /* first: 0 until it is done */
	const char *log, *plot; /* files; NULL: none */
	struct run_log lines;
	struct curves curves;
	struct progress progress;
};

static int step_width(const struct viewer *v)
{
	return v->steps >= 10000 ? 8 : 5;
}

/* A step that was skipped, or that raised the loss scale. */
static void view_loss_scale(struct viewer *v, const struct train_step *step)
{
	progress_clear(&v->progress);
	printf("step %*" PRId64 "   ", step_width(v), step->step);
	if (!step->skipped)
		printf("loss scale %.10g, from now on %.10g\n", step->loss_scale, step->next_loss_scale);
	else if (step->next_loss_scale < step->loss_scale)
		printf("skipped: gradients overflowed at loss scale %.10g, from now on %.10g\n", step->loss_scale,
		       step->next_loss_scale);
	else
		printf("skipped: gradients overflowed at loss scale %.10g, which stays for this time\n",
		       step->loss_scale);
	fflush(stdout);
}

static const char *units_of(const struct train_step *step)
{
	return step->is_text ? "tokens" : "samples";
}

static void print_speed(const struct train_step *step)
{
	char flops[32];
	printf("   %.0f %s/s", step->units_per_s, units_of(step));
	if (step->tflops_per_device > 0) {
		number_format_flops(flops, sizeof flops, 1e12 * step->tflops_per_device);
		printf("   %s", flops);
	}
	if (step->mfu > 0)
		printf("   MFU %.1f %%", 100 * step->mfu);
}

static void view_line(struct viewer *v, const struct train_step *step)
{
	progress_clear(&v->progress);
	printf("step %*" PRId64 "   loss %.6f", step_width(v), step->step, step->loss);
	print_speed(step);
	putchar('\n');
	fflush(stdout);
}

static void view_validation(struct viewer *v, const struct train_step *step)
{
	progress_clear(&v->progress);
	printf("step %*" PRId64 "   validation loss %.6f", step_width(v), step->step, step->validation_loss);
	if (isfinite(step->validation_accuracy))
		printf("   accuracy %.2f %%", 100 * step->validation_accuracy);
	putchar('\n');
	fflush(stdout);
}

/* What comes last is left out first where a terminal is narrow. */
static void view_progress(struct viewer *v, const struct train_step *step)
{
	char label[200], flops[32];
	number_format_flops(flops, sizeof flops, 1e12 * step->tflops_per_device);
	int n = snprintf(label, sizeof label, "step %" PRId64 "/%" PRId64 " · loss %.4f · %.0f %s/s", step->step,
	                 v->steps, step->loss, step->units_per_s, units_of(step));
	if (step->mfu > 0)
		n += snprintf(label + n, sizeof label - (size_t)n, " · MFU %.1f %%", 100 * step->mfu);
	if (step->tflops_per_device > 0)
		snprintf(label + n, sizeof label - (size_t)n, " · %s", flops);
	progress_show(&v->progress, step->step, label);
}

static bool has_line(const struct viewer *v, const struct train_step *step)
{
	int64_t every = (v->steps + 9) / 10;
	return step->step == v->first || step->step % every == 0 || step->step == v->steps;
}

static void view_step(void *context, const struct train_step *step)
{
	struct viewer *v = context;
	bool resumed = !v->first && step->step > 1;
	v->first = v->first ? v->first : step->step;
	run_log_step(&v->lines, step);
	curves_add(&v->curves, step->step, step->loss, step->validation_loss);
	if (v->json) {
		run_print_step(step);
		return;
	}
	if (resumed)
		printf("goes on after step %" PRId64 "\n", step->step - 1);
	if (step->skipped || step->next_loss_scale > step->loss_scale)
		view_loss_scale(v, step);
	if (has_line(v, step))
		view_line(v, step);
	if (v->validates && isfinite(step->validation_loss))
		view_validation(v, step);
	view_progress(v, step);
}

static void view_summary(const struct report *predicted, const struct report *measured)
{
	struct column columns[] = {{"predicted", predicted}, {"measured", measured}};
	fputc('\n', stdout);
	show_columns(columns, 2, stdout);
	show_checkpointing(columns, 2, stdout);
	show_overhead(&columns[1], 1, stdout);
	fputc('\n', stdout);
	show_run(measured, stdout);
}

static void view_end(const struct viewer *v, const struct report *predicted, const struct report *measured)
{
	view_summary(predicted, measured);
	if (!v->draws)
		return;
	fputc('\n', stdout);
	show_curve(&v->curves, text_columns(stdout, 80), text_is_utf8(), stdout);
}

static void viewer_begin(struct viewer *v, const struct options *o, const struct train_options *t)
{
	*v = (struct viewer){.json = option_given(o, OPTION_JSON),
	                     .draws = option_given(o, OPTION_CURVE) || isatty(STDOUT_FILENO),
	                     .validates = t->eval_every > 0,
	                     .steps = t->steps,
	                     .log = option_text(o, OPTION_LOG),
	                     .plot = option_text(o, OPTION_PLOT)};
	curves_begin(&v->curves);
	progress_begin(&v->progress, t->steps);
}

/* ---- the three ways to run ---- */

/* The picture of a run that was stopped shows what was done. */
static enum status write_plot(const struct viewer *v, const struct report *measured)
{
	return v->plot && measured->role_count ? run_plot_write(v->plot, &v->curves, measured) : STATUS_OK;
}

/* Rank 0 writes the files, wherever it runs. A file that could not be written makes no good run of a failed one. */
static enum status run_and_record(const struct train_options *t, struct viewer *v, int rank, struct report *measured)
{
	if (v->log && !rank)
		v->lines = run_log_named(v->log, t->resume != NULL);
	enum status s = train_run(t, measured);
	if (rank || (s && s != STATUS_INTERRUPTED)) {
		run_log_release(&v->lines);
		return s;
	}
	enum status plotted = write_plot(v, measured), logged = run_log_close(&v->lines);
	if (v->json && measured->role_count)
		run_print_summary(measured);
	return s ? s : logged ? logged : plotted;
}

/* In this process: a rank under mpirun, or one rank alone. */
static enum status run_here(const struct train_options *t, struct viewer *v, int rank, struct report *measured)
{
	struct train_options own = *t;
	own.on_step = view_step;
	own.context = v;
	enum status s = run_and_record(&own, v, rank, measured);
	/* One report is enough, and mpirun ends all ranks as soon as one exits with a status other than 0. */
	return rank && s == STATUS_INTERRUPTED ? STATUS_OK : s;
}

/* A rank that was killed leaves temporaries. */
static void sweep_outputs(const struct options *o)
{
	const char *trace = option_text(o, OPTION_TRACE), *save = option_text(o, OPTION_SAVE);
	if (trace)
		output_sweep(trace);
	if (save && weights_writer_takes_folder(save))
		new_folder_sweep(save);
	else if (save)
		output_sweep(save);
}

/* Under mpirun, which this process starts. */
static enum status run_ranks(const struct options *o, const struct job *j, struct viewer *v, struct report *measured)
{
	struct arguments a;
	arguments_begin(&a, "train");
	arguments_flag(&a, OPTION_JSON);
	arguments_drop(&a, OPTION_CURVE);
	arguments_drop(&a, OPTION_EMIT);
	arguments_pass(&a, COMMAND_TRAIN, o);
	struct run run = {.ranks = j->plan.ranks,
	                  .arguments = a.list,
	                  .pass_on = v->json,
	                  .on_step = v->json ? NULL : view_step,
	                  .context = v};
	enum status s = run_start(&run, measured);
	arguments_release(&a);
	if (s)
		sweep_outputs(o);
	if (s == STATUS_INTERRUPTED && measured->role_count)
		status_fail(s, "stopped by the user after step %" PRId64, measured->steps);
	return s;
}

/* Under mpirun all ranks find the same mistake and rank 0 reports it; the others wait, so that mpirun does not end rank
 * 0 before it has. */
static enum status say_once(enum status s, int rank)
{
	if (s && rank) {
		sleep(1);
		_exit(status_exit_code(s));
	}
	return s;
}

static enum status check_world(struct options *o, int ranks)
{
	if (!option_given(o, OPTION_RANKS) && !option_given(o, OPTION_PLAN_FILE))
		o->value[OPTION_RANKS].whole = ranks;
	else if (option_given(o, OPTION_RANKS) && option_whole(o, OPTION_RANKS) != ranks)
		return status_fail(STATUS_INPUT,
		                   "mpirun started %d ranks, and --ranks is %" PRId64 "; leave --ranks out", ranks,
		                   option_whole(o, OPTION_RANKS));
	return STATUS_OK;
}

static enum status take_checkpoints(const struct options *o, struct train_options *t)
{
	static const enum option needy[] = {OPTION_CHECKPOINT_EVERY, OPTION_CHECKPOINT_KEEP};
	for (size_t i = 0; i < sizeof needy / sizeof *needy; i++)
		if (option_given(o, needy[i]) && !t->checkpoint)
			return status_fail(STATUS_INPUT, "--%s: there are no checkpoints; give {checkpoint} DIR too",
			                   option_name(needy[i]));
	return t->checkpoint ? interval_read("{checkpoint_every}", option_text(o, OPTION_CHECKPOINT_EVERY),
	                                     &t->checkpoint_every, &t->checkpoint_seconds)
	                     : STATUS_OK;
}

/* Finds every mistake before anything is printed or started. */
static enum status prepare(const struct options *o, bool joined, struct job *j, struct train_options *t,
                           struct report *predicted, struct train_found *found)
{
	enum status s = inputs_are_files(o);
	if (s || (s = emit_check_option(o)) || (s = job_from_options(j, o)))
		return s;
	*t = run_options(o, &j->settings);
	s = take_checkpoints(o, t);
	if (!s)
		s = outputs_are_apart(o);
	if (!s)
		s = train_look(t, found);
	if (!s && t->trace_file)
		s = output_check(t->trace_file, "{trace}");
	if (!s && option_given(o, OPTION_LOG))
		s = run_log_check(option_text(o, OPTION_LOG));
	if (!s && option_given(o, OPTION_PLOT))
		s = run_plot_check(option_text(o, OPTION_PLOT));
	if (!s && !joined && j->plan.ranks > 1)
		s = launch_check(j->plan.ranks);
	if (!s)
		s = job_predict_run(j, o, predicted);
	return s || joined ? s : job_check_fits(j, o, predicted);
}

/* Nothing is trained. */
static enum status emit_alone(const struct options *o)
{
	struct job j;
	enum status s = emit_check_option(o);
	if (s || (s = job_from_options(&j, o)))
		return s;
	s = emit_settings(o, &j.settings);
	job_release(&j);
	return s;
}

/* A pipe whose reader ends, as head does, must not end a training: it goes on, and prints for nobody. Ranks print for
 * the process that started them, which is another matter. */
static void outlive_reader(bool joined)
{
	if (!joined && !launch_is_child())
		signal(SIGPIPE, SIG_IGN);
}

/* What nobody wanted to read is no failure to write. */
static void forget_reader(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO};
	fflush(stdout);
	if (poll(&output, 1, 0) > 0 && output.revents & (POLLERR | POLLHUP) && !freopen("/dev/null", "w", stdout))
		clearerr(stdout);
}

enum status command_train(const struct options *given)
{
	struct options o = *given;
	struct job j = {0};
	struct train_options t;
	struct train_found found = {.data = ""};
	struct report predicted = {0}, measured = {0};
	int rank = 0, ranks = 1;
	if (emit_is_all(&o))
		return emit_alone(&o);
	bool joined = train_under_mpi(&rank, &ranks);
	launch_stop_on_signals();
	outlive_reader(joined);
	enum status s = joined ? check_world(&o, ranks) : launch_check_alone();
	if (!s)
		s = prepare(&o, joined, &j, &t, &predicted, &found);
	if (!s && !rank)
		s = emit_settings(&o, &j.settings);
	s = say_once(s, rank);
	if (!s) {
		struct viewer v;
		viewer_begin(&v, &o, &t);
		if (!v.json && !rank) {
			show_heading(&predicted, SHOW_ALL, stdout);
			if (option_given(&o, OPTION_DATA) || found.bytes_as_ids)
				text_wrapped(stdout, found.data, 0, text_columns(stdout, 110));
			fputc('\n', stdout);
			fflush(stdout);
		}
		s = joined || j.plan.ranks == 1 ? run_here(&t, &v, rank, &measured) : run_ranks(&o, &j, &v, &measured);
		progress_clear(&v.progress);
		if (!v.json && !rank && measured.role_count && (!s || s == STATUS_INTERRUPTED)) {
			view_end(&v, &predicted, &measured);
			written_show(&o, stdout);
		}
		curves_release(&v.curves);
	}
	report_release(&predicted);
	report_release(&measured);
	job_release(&j);
	forget_reader();
	return s;
}
