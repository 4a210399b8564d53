#define _GNU_SOURCE /* sched_getaffinity */
#include "cli/command/trial.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command/calibrate.h"
#include "cli/command/hosts.h"
#include "cli/command/launch.h"
#include "cli/command/run.h"
#include "strategy/base/arena.h"
#include "strategy/base/output.h"

/* Without --steps, a run takes two seconds: the median of a few short steps says little. */
enum { FEWEST_STEPS = 5, MOST_STEPS = 100, STEPS_NS = 2000000000 };

/* How often a run whose time is off is repeated. */
enum { RUNS_AGAIN = 2 };

enum { PROGRESS = 1000 }; /* of one strategy */

int64_t trial_cores(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* ---- progress ---- */

static void show_progress(struct trials *t, int64_t step)
{
	char label[300];
	snprintf(label, sizeof label, "%s, step %" PRId64, t->members.member[t->current].strategy, step);
	progress_show(&t->progress, t->current * PROGRESS + (step ? PROGRESS * step / t->steps : 0), label);
}

static void on_step(void *context, const struct train_step *step)
{
	show_progress(context, step->step);
}

/* ---- ranks of a user's mpirun ---- */

/* Rank 0's orders to the other ranks. */
struct order {
	enum { ORDER_END, ORDER_CALIBRATE, ORDER_TRAIN } does;
	int member;
	int64_t steps;
};

static enum status tell(const struct trials *t, struct order o)
{
	return world_hear(t->world, &o, sizeof o);
}

/* In this process, as one of the ranks. */
static enum status train_here(struct trials *t, const struct settings *settings, struct report *measured)
{
	struct train_options o = run_options(t->options, settings);
	o.steps = t->steps;
	o.evaluate = false;
	o.on_step = on_step;
	o.context = t;
	return train_run(&o, measured);
}

static enum status train_all(struct trials *t, const struct settings *settings, struct report *measured)
{
	enum status s = tell(t, (struct order){.does = ORDER_TRAIN, .member = t->current, .steps = t->steps});
	return s ? s : train_here(t, settings, measured);
}

static enum status carry_out(struct trials *t, struct order o)
{
	struct report none = {0};
	if (o.does == ORDER_CALIBRATE)
		return calibrate_in_ranks(option_text(t->options, OPTION_DEVICE));
	t->steps = o.steps;
	enum status s = train_here(t, &t->members.member[o.member], &none);
	report_release(&none);
	return s;
}

enum status trials_join(struct trials *t)
{
	hosts_say_joined(t->rank, t->ranks);
	return world_open(&t->world);
}

enum status trials_follow(struct trials *t)
{
	struct order o = {.does = ORDER_END};
	enum status s = world_hear(t->world, &o, sizeof o);
	while (!s && o.does != ORDER_END)
		if (!(s = carry_out(t, o)))
			s = world_hear(t->world, &o, sizeof o);
	return status_has_report(s) ? STATUS_OK : s; /* rank 0 says so */
}

enum status trials_calibrate(struct trials *t, enum device_kind kind, int64_t seconds)
{
	if (!t->joined)
		return calibrate_if_older(kind, seconds, option_text(t->options, OPTION_HOSTS));
	if (!calibrate_is_older(kind, seconds))
		return STATUS_OK;
	enum status s = tell(t, (struct order){.does = ORDER_CALIBRATE});
	return s ? s : calibrate_in_ranks(option_text(t->options, OPTION_DEVICE));
}

/* ---- opening ---- */

/* Finds what is wrong for all strategies (the data, the precision) before anything is measured. */
static enum status check_first(const struct trials *t)
{
	for (int i = 0; i < t->members.count; i++) {
		struct job j;
		if (job_open(&j, &t->members.member[i]))
			continue;
		job_release(&j);
		struct train_options run = run_options(t->options, &t->members.member[i]);
		enum status s = train_check(&run);
		int64_t ranks = option_whole(t->options, OPTION_RANKS); /* `single` among several has one */
		return !s && !t->joined && ranks > 1 ? launch_check(ranks, option_text(t->options, OPTION_HOSTS)) : s;
	}
	return STATUS_OK; /* each will be skipped with its reason */
}

enum status trials_open(struct trials **out, const struct options *o, const char *command)
{
	struct trials *t = *out = array_make(1, sizeof *t);
	launch_stop_on_signals();
	t->options = o;
	enum status s = members_from_options(&t->members, o);
	t->joined = train_under_mpi(&t->rank, &t->ranks);
	if (!s && !t->joined)
		s = launch_check_alone();
	else if (!s && command)
		s = status_fail(STATUS_INPUT, "%s starts its ranks by itself; run it without mpirun", command);
	return s ? s : check_first(t);
}

void trials_close(struct trials *t)
{
	const struct order end = {.does = ORDER_END};
	if (t && t->world && !t->rank)
		tell(t, end);
	for (int i = 0; t && i < MEMBERS; i++) {
		report_release(&t->trial[i].predicted);
		report_release(&t->trial[i].measured);
		checks_release(&t->trial[i].checks);
	}
	if (t)
		world_close(t->world);
	free(t);
}

/* ---- one strategy ---- */

/* trace: where to record it; NULL: nowhere. The ranks of a user's mpirun know of the one that was asked for. */
static enum status run_member(struct trials *t, const struct settings *settings, const char *trace,
                              struct report *measured)
{
	struct arguments a;
	if (t->joined)
		return train_all(t, settings, measured);
	arguments_begin(&a, "train");
	arguments_set(&a, OPTION_STRATEGY, "%s", settings->strategy);
	arguments_set(&a, OPTION_RANKS, "%" PRId64, settings->ranks);
	arguments_set(&a, OPTION_BATCH, "%" PRId64, settings->batch);
	arguments_set(&a, OPTION_ACCUMULATE, "%" PRId64, settings->accumulate);
	arguments_set(&a, OPTION_STEPS, "%" PRId64, t->steps);
	arguments_set(&a, OPTION_EVALUATE, "%s", t->for_demo ? "yes" : "no");
	arguments_flag(&a, OPTION_JSON);
	arguments_drop(&a, OPTION_MICRO_BATCH); /* follows from the others */
	arguments_drop(&a, OPTION_CLUSTER);
	arguments_drop(&a, OPTION_HOSTS);
	if (trace)
		arguments_set(&a, OPTION_TRACE, "%s", trace);
	else
		arguments_drop(&a, OPTION_TRACE);
	arguments_pass(&a, COMMAND_TRAIN, t->options);
	struct run run = {.ranks = settings->ranks,
	                  .arguments = a.list,
	                  .hosts = option_text(t->options, OPTION_HOSTS),
	                  .on_step = on_step,
	                  .context = t};
	enum status s = run_start(&run, measured);
	arguments_release(&a);
	return s;
}

static int64_t choose_steps(const struct trials *t, const struct report *predicted)
{
	int64_t fit = predicted->time.step > 0 ? STEPS_NS / predicted->time.step : MOST_STEPS;
	if (option_given(t->options, OPTION_STEPS))
		return option_whole(t->options, OPTION_STEPS);
	return fit < FEWEST_STEPS ? FEWEST_STEPS : fit > MOST_STEPS ? MOST_STEPS : fit;
}

bool trials_on_gpu(const struct trials *t)
{
	return !strcmp(option_text(t->options, OPTION_DEVICE), "cuda");
}

static bool time_holds(const struct trial *r)
{
	struct check step = {.predicted = r->predicted.time.step, .measured = r->measured.time.step};
	return check_error(&step) <= CHECK_TIME_LIMIT;
}

/* A device or FIFO has the trace of the first run, and is not written into again. */
static const char *trace_to_replace(const struct trials *t)
{
	const char *trace = t->joined ? NULL : option_text(t->options, OPTION_TRACE);
	struct stat info;
	return trace && (stat(trace, &info) || S_ISREG(info.st_mode)) ? trace : NULL;
}

static void replace(struct report *kept, struct report *other)
{
	report_release(kept);
	*kept = *other;
	*other = (struct report){0};
}

static enum status predict(const struct trials *t, const struct settings *m, struct report *out)
{
	struct job j;
	TRY(job_open(&j, m));
	enum status s = job_predict_run(&j, t->options, out);
	if (!s)
		s = job_check_fits(&j, t->options, out);
	if (!s)
		report_add_ranks(out, &j.plan);
	job_release(&j);
	return s;
}

/* The rates of a machine that other programs use drift: they are measured again beside each further run, unless they
 * were asked for. Without that `out` stays empty. */
static enum status predict_again(struct trials *t, const struct settings *m, struct report *out)
{
	if (option_given(t->options, OPTION_CLUSTER) || trials_on_gpu(t))
		return STATUS_OK;
	progress_clear(&t->progress);
	enum status s = trials_calibrate(t, DEVICE_CPU, 0);
	return s ? s : predict(t, m, out);
}

/* A trace that all ranks write is of the run that is reported: there is one. */
static int most_again(const struct trials *t)
{
	return t->joined && option_given(t->options, OPTION_TRACE) ? 0 : RUNS_AGAIN;
}

/* A run that is faster counts, with what was predicted for it. */
static enum status run_again(struct trials *t, const struct settings *m, struct trial *r)
{
	struct report predicted = {0}, measured = {0};
	struct output *o = NULL;
	const char *trace = trace_to_replace(t);
	enum status s = predict_again(t, m, &predicted);
	if (!s && trace)
		s = output_open(&o, trace, "{trace}");
	if (!s)
		s = run_member(t, m, o ? output_temporary(o) : NULL, &measured);
	bool faster = !s && check_run_is_faster(&measured, &r->measured);
	if (faster && predicted.role_count)
		replace(&r->predicted, &predicted);
	if (faster)
		replace(&r->measured, &measured);
	if (faster && o)
		s = output_finish(o);
	report_release(&predicted);
	report_release(&measured);
	output_close(o);
	return s;
}

/* The threads of a rank. With offload the host's update and the copies have threads of their own. A disk's rates are
 * not calibrated, so no number of cores is enough to judge it. */
static int64_t threads_at_work(const struct settings *s, int64_t threads)
{
	const struct offload *o = &s->offload;
	if (o->optimizer_on_disk || o->parameters_on_disk)
		return INT32_MAX;
	return o->optimizer ? 2 * threads + 1 : o->activations ? threads + 1 : threads;
}

/* No cluster describes a link between ranks that share a GPU through the host's memory. machine: ranks of one. */
static bool time_is_judged(const struct trials *t, const struct settings *s, int64_t machine)
{
	if (t->for_demo)
		return false;
	return trials_on_gpu(t)
	               ? s->ranks == 1
	               : machine * threads_at_work(s, option_whole(t->options, OPTION_THREADS)) <= trial_cores();
}

static enum status run_trial(struct trials *t, const struct settings *m, struct trial *r)
{
	enum status s = software_check_runs(m->software);
	if (!s && t->joined && m->ranks != t->ranks)
		s = status_fail(STATUS_INPUT, "mpirun started %d ranks, and this is for %" PRId64, t->ranks, m->ranks);
	if (s || (s = predict(t, m, &r->predicted)))
		return s;
	bool judged = time_is_judged(t, m, r->predicted.machine_ranks);
	t->steps = choose_steps(t, &r->predicted);
	s = run_member(t, m, option_text(t->options, OPTION_TRACE), &r->measured);
	for (int again = 0; again < most_again(t) && judged && !s && !time_holds(r); again++)
		s = run_again(t, m, r);
	if (s)
		return s;
	if (r->predicted.role_count != r->measured.role_count || r->predicted.ranks != r->measured.ranks)
		return status_fail(
		        STATUS_RUN, "the run reports %d roles on %" PRId64 " ranks, the plan has %d on %" PRId64,
		        r->measured.role_count, r->measured.ranks, r->predicted.role_count, r->predicted.ranks);
	checks_make(&r->checks, &r->predicted, &r->measured, judged ? CHECK_TIME_LIMIT : -1);
	return STATUS_OK;
}

enum status trials_run(struct trials *t)
{
	t->pass = true;
	progress_begin(&t->progress, t->members.count * PROGRESS);
	for (t->current = 0; t->current < t->members.count; t->current++) {
		const struct settings *m = &t->members.member[t->current];
		struct trial *r = &t->trial[t->current];
		show_progress(t, 0);
		enum status s = run_trial(t, m, r);
		if (s == STATUS_INPUT && !t->for_demo) {
			snprintf(r->skipped, sizeof r->skipped, "%s", status_message());
			continue;
		}
		if (s) {
			progress_clear(&t->progress);
			return status_is_stop(s) ? STATUS_INTERRUPTED : status_prefix(s, "%s", m->strategy);
		}
		t->any = &r->predicted;
		t->pass &= r->checks.pass;
	}
	progress_clear(&t->progress);
	return t->any ? STATUS_OK : status_fail(STATUS_INPUT, "%s", t->trial[0].skipped);
}
