/* shardlab validate: the same plans, simulated and run, figure by figure. */
#include <inttypes.h>
#include <string.h>

#include "cli/command/apart.h"
#include "cli/command/calibrate.h"
#include "cli/command/command.h"
#include "cli/command/elastic.h"
#include "cli/command/hosts.h"
#include "cli/command/run.h"
#include "cli/command/trial.h"
#include "cli/show/show.h"
#include "cli/show/table.h"
#include "real/communicator/kind.h"
#include "strategy/base/number.h"
#include "strategy/base/output.h"
#include "strategy/cluster/links.h"

/* ---- JSON ---- */

/* One for each role; null on a CPU, where nothing was measured. */
static json_t *overheads_to_json(const struct report *r)
{
	json_t *o = json_object();
	for (int i = 0; i < r->role_count; i++)
		json_object_set_new(o, r->roles[i].role, report_overhead_to_json(&r->roles[i].overhead));
	return o;
}

static json_t *to_json(const struct trials *v)
{
	json_t *results = json_array();
	for (int i = 0; i < v->members.count; i++) {
		const struct trial *r = &v->trial[i];
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

/* The first of the times, which come last. */
static const struct check *check_of_step(const struct trial *r)
{
	const struct check *c = r->checks.list;
	while (!c->is_time)
		c++;
	return c;
}

static void summary_row(struct table *t, const char *strategy, const struct trial *r)
{
	size_t exact = 0, unequal = 0;
	const struct check *step = check_of_step(r);
	for (size_t i = 0; i < r->checks.count; i++) {
		exact += !r->checks.list[i].is_time;
		unequal += !r->checks.list[i].is_time && !r->checks.list[i].pass;
	}
	table_row(t, STYLE_PLAIN, "%s\t%" PRId64 "\t%zu\t%zu\t\t\t%+.1f %%%s\t\t\t%s", strategy, r->predicted.ranks,
	          exact, unequal,
	          100 * (double)(step->predicted - step->measured) / (double)(step->measured ? step->measured : 1),
	          step->limited ? "" : " °", r->checks.pass ? "holds" : "fails");
	table_time(t, 4, step->predicted);
	table_time(t, 5, step->measured);
	table_time(t, 7, r->predicted.time.exposed);
	table_time(t, 8, r->measured.time.exposed);
	if (unequal)
		table_cell_style(t, 3, STYLE_BAD);
	if (!step->pass)
		table_cell_style(t, 6, STYLE_BAD);
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

static void show_details(const struct trials *v, bool all)
{
	struct table t;
	table_init(&t, stdout, 8, 3);
	for (int i = 0; i < v->members.count; i++)
		for (size_t k = 0; k < v->trial[i].checks.count; k++) {
			const struct check *c = &v->trial[i].checks.list[k];
			if (c->pass && !(all && (c->predicted || c->measured)))
				continue;
			if (!t.row_count) {
				table_gap(&t);
				table_row(&t, STYLE_HEAD,
				          "strategy\trole\tquantity\tpredicted\tmeasured\terror\tlimit");
			}
			table_row(&t, c->pass ? STYLE_PLAIN : STYLE_BAD, "%s\t%s\t%s\t\t\t%.4g %%\t\t%s",
			          v->members.member[i].strategy, c->role, c->quantity, 100 * check_error(c),
			          c->pass ? "" : "fails");
			detail_value(&t, 3, c, c->predicted);
			detail_value(&t, 4, c, c->measured);
			if (c->limited)
				table_cell(&t, 6, "%.4g %%", 100 * c->limit);
		}
	table_end(&t, 0);
}

static void show_memory_beside(const struct trials *v)
{
	struct column columns[MEMBERS];
	int count = 0;
	for (int i = 0; i < v->members.count; i++)
		if (!*v->trial[i].skipped)
			columns[count++] = (struct column){v->members.member[i].strategy, &v->trial[i].measured};
	show_overhead(columns, count, stdout);
}

/* Shows the bubbles of pipelines, each below its closed form. */
static void show_bubbles_beside(const struct trials *v)
{
	for (int i = 0; i < v->members.count; i++) {
		const struct trial *r = &v->trial[i];
		char whose[2][300];
		snprintf(whose[0], sizeof whose[0], "%s, predicted: ", v->members.member[i].strategy);
		snprintf(whose[1], sizeof whose[1], "%s, measured: ", v->members.member[i].strategy);
		if (*r->skipped)
			continue;
		show_bubble(&r->predicted, whose[0], stdout);
		show_bubble(&r->measured, whose[1], stdout);
	}
}

static void show(const struct trials *v)
{
	struct table t;
	bool unlimited = false;
	table_init(&t, stdout, 10, 1);
	table_row(&t, STYLE_HEAD, "\t\tbytes and\t\tstep\tstep\t\texposed\texposed");
	table_row(&t, STYLE_HEAD, "strategy\tranks\tcalls\tunequal\tpredicted\tmeasured\terror\tpredicted\tmeasured");
	for (int i = 0; i < v->members.count; i++) {
		const struct trial *r = &v->trial[i];
		if (*r->skipped)
			continue;
		summary_row(&t, v->members.member[i].strategy, r);
		unlimited |= !check_of_step(r)->limited;
	}
	struct report heading = *v->any;
	snprintf(heading.strategy, sizeof heading.strategy, "predicted and measured");
	show_heading(&heading, SHOW_ALL, stdout);
	fputc('\n', stdout);
	table_end(&t, 0);
	show_bubbles_beside(v);
	show_details(v, option_given(v->options, OPTION_VERBOSE));
	show_memory_beside(v);
	fputc('\n', stdout);
	if (unlimited && trials_on_gpu(v))
		puts("° several ranks on GPUs: printed, not judged");
	else if (unlimited)
		printf("° more threads than the %" PRId64 " cores, or a disk: printed, not judged\n", trial_cores());
	if (communicator_kind(option_text(v->options, OPTION_COMM))->library)
		puts("bytes sent inside the library cannot be counted: calls and payload were compared");
	for (int i = 0; i < v->members.count; i++)
		if (*v->trial[i].skipped)
			printf("skipped %s: %s\n", v->members.member[i].strategy, v->trial[i].skipped);
	puts(v->pass ? "all checks hold" : "some checks fail");
}

/* A trace holds one run. */
static enum status check_trace(const struct trials *v)
{
	const char *path = option_text(v->options, OPTION_TRACE);
	if (!path)
		return outputs_are_apart(v->options);
	if (v->members.count > 1)
		return status_fail(STATUS_INPUT, "--trace: a file holds one run, and --strategy names %d; give one",
		                   v->members.count);
	if (strlen(path) > 1000)
		return status_fail(STATUS_INPUT, "--trace: the path is too long");
	enum status s = outputs_are_apart(v->options);
	return s ? s : output_check(path, "{trace}");
}

static enum status take_ranks(struct elastic *e, struct options *o, int *rank)
{
	int ranks;
	return train_under_mpi(rank, &ranks) ? elastic_join(e, o, ranks) : hosts_set_ranks(o);
}

/* Runs as rank 0, or as the process that starts the ranks. */
static enum status measure_and_compare(struct trials *v)
{
	const struct options *o = v->options;
	enum status s = STATUS_OK;
	if (links_named(job_cluster(o), CLUSTER_LOCAL_CUDA)) /* nothing else runs there: what was measured once lasts */
		s = trials_calibrate(v, DEVICE_GPU, CALIBRATE_ONCE);
	else if (!option_given(o, OPTION_CLUSTER))
		s = trials_calibrate(v, DEVICE_CPU, CALIBRATE_AGAIN_S);
	if (!s)
		s = trials_run(v);
	if (!s && option_given(o, OPTION_JSON))
		print_json(to_json(v), false);
	else if (!s)
		show(v);
	if (!s && !v->pass)
		s = status_fail(STATUS_CHECK, "predicted and measured differ");
	return s;
}

static enum status validate(struct trials *v)
{
	TRY(v->joined ? trials_join(v) : STATUS_OK);
	return v->rank ? trials_follow(v) : measure_and_compare(v);
}

enum status command_validate(const struct options *given)
{
	struct options all = *given;
	struct elastic e = {0};
	struct trials *v = NULL;
	int rank = 0;
	enum status s = inputs_are_files(&all);
	if (!s)
		s = take_ranks(&e, &all, &rank);
	if (!s)
		s = trials_open(&v, &all, NULL);
	if (!s)
		s = check_trace(v);
	s = s ? run_say_once(s, rank) : validate(v);
	trials_close(v);
	elastic_release(&e);
	return s;
}
