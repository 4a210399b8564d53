/* shardlab train: starts the ranks and reads their output; or, started by mpirun, is one of them. */
#include "real/train/train.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/command/run.h"
#include "cli/show/progress.h"
#include "cli/show/show.h"
#include "strategy/base/file.h"

/* ---- what the user sees ---- */

struct viewer {
	bool json;
	int64_t steps;
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

static void view_step(void *context, const struct train_step *step)
{
	struct viewer *v = context;
	int64_t every = (v->steps + 9) / 10;
	if (v->json) {
		run_print_step(step);
		return;
	}
	if (step->skipped || step->next_loss_scale > step->loss_scale)
		view_loss_scale(v, step);
	if (step->step == 1 || step->step % every == 0 || step->step == v->steps) {
		progress_clear(&v->progress);
		printf("step %*" PRId64 "   loss %.6f   %.0f %s/s\n", step_width(v), step->step, step->loss,
		       step->units_per_s, step->is_text ? "tokens" : "samples");
		fflush(stdout);
	}
	progress_show(&v->progress, step->step, "training");
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

/* ---- the three ways to run ---- */

/* In this process: a rank under mpirun, or one rank alone. */
static enum status run_here(const struct train_options *t, struct viewer *v, int rank, struct report *measured)
{
	struct train_options own = *t;
	own.on_step = view_step;
	own.context = v;
	enum status s = train_run(&own, measured);
	if (v->json && !rank && measured->role_count && (!s || s == STATUS_INTERRUPTED))
		run_print_summary(measured);
	/* One report is enough, and mpirun ends all ranks as soon as one exits with a status other than 0. */
	return rank && s == STATUS_INTERRUPTED ? STATUS_OK : s;
}

/* Under mpirun, which this process starts. */
static enum status run_ranks(const struct options *o, const struct job *j, struct viewer *v, struct report *measured)
{
	struct arguments a;
	arguments_begin(&a, "train");
	arguments_flag(&a, OPTION_JSON);
	arguments_pass(&a, COMMAND_TRAIN, o);
	struct run run = {.ranks = j->plan.ranks,
	                  .arguments = a.list,
	                  .pass_on = v->json,
	                  .on_step = v->json ? NULL : view_step,
	                  .context = v};
	enum status s = run_start(&run, measured);
	arguments_release(&a);
	if (s == STATUS_INTERRUPTED && measured->role_count)
		status_fail(s, "stopped by the user after step %" PRId64, measured->loss_count);
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

/* Finds every mistake before anything is printed or started. */
static enum status prepare(const struct options *o, bool joined, struct job *j, struct train_options *t,
                           struct report *predicted)
{
	enum status s = job_from_options(j, o);
	if (s)
		return s;
	*t = run_options(o, &j->settings);
	s = train_check(t);
	if (!s && t->trace_file)
		s = file_check_writable(t->trace_file, "{trace}");
	if (!s && !joined && j->plan.ranks > 1)
		s = launch_check(j->plan.ranks);
	return s ? s : job_predict_run(j, o, predicted);
}

enum status command_train(const struct options *given)
{
	struct options o = *given;
	struct job j = {0};
	struct train_options t;
	struct report predicted = {0}, measured = {0};
	int rank = 0, ranks = 1;
	bool joined = train_under_mpi(&rank, &ranks);
	if (!joined && !launch_is_child())
		launch_stop_on_signals();
	enum status s = joined ? check_world(&o, ranks) : STATUS_OK;
	if (!s)
		s = prepare(&o, joined, &j, &t, &predicted);
	s = say_once(s, rank);
	if (!s) {
		struct viewer v = {.json = option_given(&o, OPTION_JSON), .steps = t.steps};
		progress_begin(&v.progress, t.steps);
		if (!v.json && !rank) {
			show_heading(&predicted, SHOW_ALL, stdout);
			fputc('\n', stdout);
			fflush(stdout);
		}
		s = joined || j.plan.ranks == 1 ? run_here(&t, &v, rank, &measured) : run_ranks(&o, &j, &v, &measured);
		progress_clear(&v.progress);
		if (!v.json && !rank && measured.role_count && (!s || s == STATUS_INTERRUPTED))
			view_summary(&predicted, &measured);
	}
	report_release(&predicted);
	report_release(&measured);
	job_release(&j);
	return s;
}
