/* shardlab validate: the same plans, simulated and run, figure by figure. */
#define _GNU_SOURCE /* sched_getaffinity */

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/calibrate.h"
#include "cli/command/check.h"
#include "cli/command/command.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/command/run.h"
#include "cli/show/progress.h"
#include "cli/show/show.h"
#include "cli/show/show_overhead.h"
#include "cli/show/table.h"
#include "strategy/base/file.h"
#include "strategy/base/number.h"

/* Without --steps: as many as take two seconds, since the median of a few short steps says little. */
enum { FEWEST_STEPS = 5, MOST_STEPS = 100, STEPS_NS = 2000000000 };

/* Rates drift with what else a machine does: those it had ten minutes ago may be a third off. */
enum { RATES_LAST_S = 60 };

/* A run whose time is off is repeated so often. */
enum { RUNS_AGAIN = 2 };

enum { PROGRESS = 1000 }; /* of one strategy */

struct result {
	char skipped[512]; /* why; "": it was not */
	struct report predicted, measured;
	struct checks checks;
};

struct validation {
	const struct options *options;
	struct members members;
	struct result result[MEMBERS];
	struct progress progress;
	int current;
	int64_t steps;            /* of the strategy at hand */
	const struct report *any; /* of those that ran; NULL: none */
	bool pass;
};

static int64_t cores(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* ---- one strategy ---- */

static void on_step(void *context, const struct train_step *step)
{
	struct validation *v = context;
	progress_show(&v->progress, v->current * PROGRESS + PROGRESS * step->step / v->steps,
	              v->members.member[v->current].strategy);
}

/* trace: where to record it; NULL: nowhere. */
static enum status run_member(struct validation *v, const struct settings *settings, const char *trace,
                              struct report *measured)
{
	struct arguments a;
	arguments_begin(&a, "train");
	arguments_set(&a, OPTION_STRATEGY, "%s", settings->strategy);
	arguments_set(&a, OPTION_RANKS, "%" PRId64, settings->ranks);
	arguments_set(&a, OPTION_BATCH, "%" PRId64, settings->batch);
	arguments_set(&a, OPTION_ACCUMULATE, "%" PRId64, settings->accumulate);
	arguments_set(&a, OPTION_STEPS, "%" PRId64, v->steps);
	arguments_set(&a, OPTION_EVALUATE, "no");
	if (!option_given(v->options, OPTION_JSON))
		arguments_flag(&a, OPTION_JSON);
	arguments_drop(&a, OPTION_MICRO_BATCH); /* follows from the others */
	arguments_drop(&a, OPTION_CLUSTER);
	if (trace)
		arguments_set(&a, OPTION_TRACE, "%s", trace);
	else
		arguments_drop(&a, OPTION_TRACE);
	arguments_pass(&a, COMMAND_TRAIN, v->options);
	struct run run = {.ranks = settings->ranks, .arguments = a.list, .on_step = on_step, .context = v};
	enum status s = run_start(&run, measured);
	arguments_release(&a);
	return s;
}

static int64_t choose_steps(const struct validation *v, const struct report *predicted)
{
	int64_t fit = predicted->time.step > 0 ? STEPS_NS / predicted->time.step : MOST_STEPS;
	if (option_given(v->options, OPTION_STEPS))
		return option_whole(v->options, OPTION_STEPS);
	return fit < FEWEST_STEPS ? FEWEST_STEPS : fit > MOST_STEPS ? MOST_STEPS : fit;
}

static bool is_on_gpu(const struct validation *v)
{
	return !strcmp(option_text(v->options, OPTION_DEVICE), "cuda");
}

static double time_limit(const struct validation *v)
{
	return is_on_gpu(v) ? CHECK_GPU_TIME_LIMIT : CHECK_TIME_LIMIT;
}

static bool time_holds(const struct validation *v, const struct result *r)
{
	struct check step = {.predicted = r->predicted.time.step, .measured = r->measured.time.step};
	return check_error(&step) <= time_limit(v);
}

static enum status run_again(struct validation *v, const struct member *m, struct result *r)
{
	struct report other;
	const char *trace = option_text(v->options, OPTION_TRACE);
	char again[1024];
	snprintf(again, sizeof again, "%s.again", trace ? trace : "");
	enum status s = run_member(v, &m->settings, trace ? again : NULL, &other);
	if (s)
		return s;
	if (check_run_is_faster(&other, &r->measured)) {
		report_release(&r->measured);
		r->measured = other;
		if (trace && rename(again, trace))
			s = status_fail(STATUS_RUN, "--trace: cannot write '%s': %s", trace, strerror(errno));
	} else {
		report_release(&other);
		if (trace)
			unlink(again);
	}
	return s;
}

/* Of a rank. With offload the host's update and the copies have threads of their own; and what a disk takes is not
 * calibrated, so no number of cores is enough to judge it. */
static int64_t threads_at_work(const struct settings *s, int64_t threads)
{
	const struct offload *o = &s->offload;
	if (o->optimizer_on_disk || o->parameters_on_disk)
		return INT32_MAX;
	return o->optimizer ? 2 * threads + 1 : o->activations ? threads + 1 : threads;
}

static enum status validate_member(struct validation *v, const struct member *m, struct result *r)
{
	struct job j;
	const struct options *o = v->options;
	int64_t threads = option_whole(o, OPTION_THREADS);
	enum status s = job_open(&j, &m->settings);
	if (s)
		return s;
	j.tf32 = option_given(o, OPTION_TF32);
	s = job_predict(&j, job_cluster(o), GRAIN_OPERATION, option_given(o, OPTION_THREADS) ? threads : 0, NULL,
	                &r->predicted);
	if (!s)
		report_add_ranks(&r->predicted, &j.plan);
	job_release(&j);
	v->steps = choose_steps(v, &r->predicted);
	/* Ranks that share a GPU by way of the host's memory are no link that a cluster describes. */
	bool judged = is_on_gpu(v) ? m->settings.ranks == 1
	                           : m->settings.ranks * threads_at_work(&m->settings, threads) <= cores();
	if (!s)
		s = run_member(v, &m->settings, option_text(o, OPTION_TRACE), &r->measured);
	for (int again = 0; again < RUNS_AGAIN && judged && !s && !time_holds(v, r); again++)
		s = run_again(v, m, r);
	if (s)
		return s;
	if (r->predicted.role_count != r->measured.role_count || r->predicted.ranks != r->measured.ranks)
		return status_fail(
		        STATUS_RUN, "the run reports %d roles on %" PRId64 " ranks, the plan has %d on %" PRId64,
		        r->measured.role_count, r->measured.ranks, r->predicted.role_count, r->predicted.ranks);
	checks_make(&r->checks, &r->predicted, &r->measured, judged ? time_limit(v) : -1);
	return STATUS_OK;
}

/* What is wrong for all of them (the data, the precision) is found before anything is measured. */
static enum status check_first(const struct validation *v)
{
	for (int i = 0; i < v->members.count; i++) {
		struct job j;
		if (job_open(&j, &v->members.member[i].settings))
			continue;
		job_release(&j);
		struct train_options t = run_options(v->options, &v->members.member[i].settings);
		enum status s = train_check(&t);
		int64_t ranks = option_whole(v->options, OPTION_RANKS); /* `single` among several has one */
		return !s && ranks > 1 ? launch_check(ranks) : s;
	}
	return STATUS_OK; /* each will be skipped with its reason */
}

static enum status validate_all(struct validation *v)
{
	enum status first = STATUS_OK;
	v->pass = true;
	progress_begin(&v->progress, v->members.count * PROGRESS);
	for (v->current = 0; v->current < v->members.count; v->current++) {
		const struct member *m = &v->members.member[v->current];
		struct result *r = &v->result[v->current];
		progress_show(&v->progress, v->current * PROGRESS, m->strategy);
		enum status s = validate_member(v, m, r);
		if (s == STATUS_INPUT) {
			first = first ? first : s;
			snprintf(r->skipped, sizeof r->skipped, "%s", status_message());
			continue;
		}
		if (s) {
			progress_clear(&v->progress);
			return s == STATUS_INTERRUPTED ? s : status_prefix(s, "%s", m->strategy);
		}
		v->any = &r->predicted;
		v->pass &= r->checks.pass;
	}
	progress_clear(&v->progress);
	return v->any ? STATUS_OK : status_fail(first, "%s", v->result[0].skipped);
}

/* ---- JSON ---- */

/* By role; null where nothing was measured: on a CPU. */
static json_t *overheads_to_json(const struct report *r)
{
	json_t *o = json_object();
	for (int i = 0; i < r->role_count; i++)
		json_object_set_new(o, r->roles[i].role, report_overhead_to_json(&r->roles[i].overhead));
	return o;
}

static json_t *to_json(const struct validation *v)
{
	json_t *results = json_array();
	for (int i = 0; i < v->members.count; i++) {
		const struct result *r = &v->result[i];
		const char *strategy = v->members.member[i].strategy;
		json_array_append_new(results,
		                      *r->skipped ? json_pack("{s:s, s:s}", "strategy", strategy, "skipped", r->skipped)
		                                  : json_pack("{s:s, s:I, s:o, s:o, s:b}", "strategy", strategy,
		                                              "ranks", (json_int_t)r->predicted.ranks, "checks",
		                                              checks_to_json(&r->checks), "overhead",
		                                              overheads_to_json(&r->measured), "pass", r->checks.pass));
	}
	return json_pack("{s:o, s:b}", "results", results, "pass", v->pass);
}

/* ---- text ---- */

static void summary_row(struct table *t, const char *strategy, const struct result *r)
{
	size_t exact = 0, unequal = 0;
	const struct check *step = NULL;
	for (size_t i = 0; i < r->checks.count; i++) {
		const struct check *c = &r->checks.list[i];
		if (!c->is_time) {
			exact++;
			unequal += !c->pass;
		} else if (!step) {
			step = c; /* the step comes first */
		}
	}
	table_add_row(t, STYLE_PLAIN);
	table_cell(t, 0, "%s", strategy);
	table_cell(t, 1, "%" PRId64, r->predicted.ranks);
	table_cell(t, 2, "%zu", exact);
	table_cell(t, 3, "%zu", unequal);
	if (unequal)
		table_cell_style(t, 3, STYLE_BAD);
	if (step) {
		table_time(t, 4, step->predicted);
		table_time(t, 5, step->measured);
		table_cell(t, 6, "%+.1f %%%s",
		           100 * (double)(step->predicted - step->measured) /
		                   (double)(step->measured ? step->measured : 1),
		           step->limited ? "" : " °");
		if (!step->pass)
			table_cell_style(t, 6, STYLE_BAD);
	}
	table_time(t, 7, r->predicted.time.exposed);
	table_time(t, 8, r->measured.time.exposed);
	table_cell(t, 9, "%s", r->checks.pass ? "holds" : "fails");
	table_cell_style(t, 9, r->checks.pass ? STYLE_GOOD : STYLE_BAD);
}

static void detail_value(struct table *t, int column, const struct check *c, int64_t v)
{
	char text[32];
	if (c->is_time)
		table_time(t, column, v);
	else
		table_cell(t, column, "%s", number_format_count(text, v));
}

static void show_details(const struct validation *v, bool all)
{
	struct table t;
	static const char *const heads[] = {"strategy", "role",  "quantity", "predicted",
	                                    "measured", "error", "limit",    ""};
	table_init(&t, stdout, 8);
	t.text_columns = 3;
	for (int i = 0; i < v->members.count; i++)
		for (size_t k = 0; k < v->result[i].checks.count; k++) {
			const struct check *c = &v->result[i].checks.list[k];
			if (c->pass && !(all && (c->predicted || c->measured)))
				continue;
			if (!t.row_count) {
				table_gap(&t);
				table_add_row(&t, STYLE_HEAD);
				for (int h = 0; h < 8; h++)
					table_cell(&t, h, "%s", heads[h]);
			}
			table_add_row(&t, c->pass ? STYLE_PLAIN : STYLE_BAD);
			table_cell(&t, 0, "%s", v->members.member[i].strategy);
			table_cell(&t, 1, "%s", c->role);
			table_cell(&t, 2, "%s", c->quantity);
			detail_value(&t, 3, c, c->predicted);
			detail_value(&t, 4, c, c->measured);
			table_cell(&t, 5, "%.4g %%", 100 * check_error(c));
			if (c->limited)
				table_cell(&t, 6, "%.4g %%", 100 * c->limit);
			table_cell(&t, 7, "%s", c->pass ? "" : "fails");
		}
	table_print(&t, 0);
	table_release(&t);
}

static void show_memory_beside(const struct validation *v)
{
	struct column columns[MEMBERS];
	int count = 0;
	for (int i = 0; i < v->members.count; i++)
		if (!*v->result[i].skipped)
			columns[count++] = (struct column){v->members.member[i].strategy, &v->result[i].measured};
	show_overhead(columns, count, stdout);
}

/* Of pipelines, below the closed form of each. */
static void show_bubbles_beside(const struct validation *v)
{
	for (int i = 0; i < v->members.count; i++) {
		const struct result *r = &v->result[i];
		char whose[2][300];
		snprintf(whose[0], sizeof whose[0], "%s, predicted: ", v->members.member[i].strategy);
		snprintf(whose[1], sizeof whose[1], "%s, measured: ", v->members.member[i].strategy);
		if (*r->skipped)
			continue;
		show_bubble(&r->predicted, whose[0], stdout);
		show_bubble(&r->measured, whose[1], stdout);
	}
}

static void show(const struct validation *v)
{
	struct table t;
	static const char *const heads[2][10] = {
	        {"", "", "bytes and", "", "step", "step", "", "exposed", "exposed", ""},
	        {"strategy", "ranks", "calls", "unequal", "predicted", "measured", "error", "predicted", "measured",
	         ""}};
	bool unlimited = false;
	table_init(&t, stdout, 10);
	for (int line = 0; line < 2; line++) {
		table_add_row(&t, STYLE_HEAD);
		for (int c = 0; c < 10; c++)
			table_cell(&t, c, "%s", heads[line][c]);
	}
	for (int i = 0; i < v->members.count; i++) {
		const struct result *r = &v->result[i];
		if (*r->skipped)
			continue;
		summary_row(&t, v->members.member[i].strategy, r);
		for (size_t k = 0; k < r->checks.count; k++)
			unlimited |= !strcmp(r->checks.list[k].quantity, "time.step_s") && !r->checks.list[k].limited;
	}
	struct report heading = *v->any;
	snprintf(heading.strategy, sizeof heading.strategy, "predicted and measured");
	show_heading(&heading, SHOW_ALL, stdout);
	fputc('\n', stdout);
	table_print(&t, 0);
	table_release(&t);
	show_bubbles_beside(v);
	show_details(v, option_given(v->options, OPTION_VERBOSE));
	show_memory_beside(v);
	fputc('\n', stdout);
	if (unlimited && is_on_gpu(v))
		puts("° several ranks on GPUs: printed, not judged");
	else if (unlimited)
		printf("° more threads than the %" PRId64 " cores, or a disk: printed, not judged\n", cores());
	if (strcmp(option_text(v->options, OPTION_COMM), "ring") != 0)
		puts("bytes sent inside the library cannot be counted: calls and payload were compared");
	for (int i = 0; i < v->members.count; i++)
		if (*v->result[i].skipped)
			printf("skipped %s: %s\n", v->members.member[i].strategy, v->result[i].skipped);
	puts(v->pass ? "all checks hold" : "some checks fail");
}

/* A trace is of one run, the one that is reported. */
static enum status check_trace(const struct validation *v)
{
	const char *path = option_text(v->options, OPTION_TRACE);
	if (!path)
		return STATUS_OK;
	if (v->members.count > 1)
		return status_fail(STATUS_INPUT, "--trace: a file holds one run, and --strategy names %d; give one",
		                   v->members.count);
	if (strlen(path) > 1000)
		return status_fail(STATUS_INPUT, "--trace: the path is too long");
	return file_check_writable(path, "{trace}");
}

enum status command_validate(const struct options *o)
{
	struct validation *v = calloc(1, sizeof *v);
	int rank, ranks;
	if (!v)
		return status_fail(STATUS_MEMORY, "out of memory");
	launch_stop_on_signals();
	v->options = o;
	enum status s = members_from_options(&v->members, o);
	if (!s && train_under_mpi(&rank, &ranks))
		s = status_fail(STATUS_INPUT, "validate starts its ranks by itself; run it without mpirun");
	if (!s)
		s = check_trace(v);
	if (!s)
		s = check_first(v);
	if (!s &&
	    !strcmp(job_cluster(o), CLUSTER_LOCAL_CUDA)) /* nothing else runs there: what was measured once lasts */
		s = calibrate_if_needed(DEVICE_GPU);
	else if (!s && !option_given(o, OPTION_CLUSTER))
		s = calibrate_if_older(DEVICE_CPU, RATES_LAST_S);
	if (!s)
		s = validate_all(v);
	if (!s) {
		if (option_given(o, OPTION_JSON))
			print_json(to_json(v), false);
		else
			show(v);
		if (!v->pass)
			s = status_fail(STATUS_CHECK, "predicted and measured differ");
	}
	for (int i = 0; i < MEMBERS; i++) {
		report_release(&v->result[i].predicted);
		report_release(&v->result[i].measured);
		checks_release(&v->result[i].checks);
	}
	free(v);
	return s;
}
