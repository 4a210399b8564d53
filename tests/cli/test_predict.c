/* Commands that use predictions: the number of threads, the figures of charts. */
#include <string.h>

#include "cli/command/chart.h"
#include "cli/command/job.h"
#include "tests/support/arguments.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

static int64_t step_with(int64_t threads)
{
	struct options o;
	struct members members;
	struct job j;
	struct report r = {0};
	arguments_parse(&o, COMMAND_COMPARE, "--model gpt --strategy ddp --ranks 2");
	must(members_from_options(&members, &o));
	must(job_open(&j, &members.member[0]));
	must(job_predict(&j, "laptop", GRAIN_OPERATION, threads, NULL, &r));
	int64_t step = r.time.compute;
	report_release(&r);
	job_release(&j);
	return step;
}

/* On two cores two ranks of two threads each have half of what they ask for. */
START_TEST(threads_share_the_cores)
{
	int64_t one = step_with(1), two = step_with(2);
	ck_assert_int_eq(step_with(0), one);
	ck_assert_int_gt(two, one * 19 / 10);
	ck_assert_int_lt(two, one * 21 / 10);
}

/* ---- charts ---- */

static struct members members;
static struct chart chart;

static void make_chart(const char *arguments)
{
	struct options o;
	memset(&chart, 0, sizeof chart);
	arguments_parse(&o, COMMAND_COMPARE, arguments);
	must(members_from_options(&members, &o));
	must(chart_make(&chart, &o, &members, NULL, 0));
}

/* The largest of the roles' peaks, of the same plan; first: the first role's. */
static int64_t peak_on(int64_t ranks, int64_t *first)
{
	struct settings settings = members.member[0];
	struct job j;
	int64_t most = 0;
	settings.ranks = ranks;
	settings.batch = 0;
	ck_assert_int_eq(settings_resolve(&settings, 1), STATUS_OK);
	must(job_open(&j, &settings));
	for (int i = 0; i < j.plan.role_count; i++) {
		struct memory_use use;
		plan_memory(&j.plan, &j.plan.roles[i], SPACE_DEVICE, &use);
		most = use.peak_bytes > most ? use.peak_bytes : most;
		*first = i ? *first : use.peak_bytes;
	}
	job_release(&j);
	return most;
}

START_TEST(line_shows_the_fullest_role)
{
	int others = 0;
	make_chart("--model mlp:sizes=784-16-512-10 --strategy pipeline --ranks 2 --cluster laptop --chart "
	           "memory-by-ranks");
	ck_assert_int_eq(chart.series_count, 1);
	ck_assert_str_eq(chart.series[0].label, "pipeline");
	ck_assert_int_eq(chart.series[0].count, 2);
	for (int i = 0; i < 2; i++) {
		int64_t first = 0;
		ck_assert_int_eq(chart.series[0].at[i], 1 + i);
		ck_assert_int_eq(chart.series[0].value[i], peak_on(1 + i, &first));
		others += chart.series[0].value[i] != first;
	}
	ck_assert_int_gt(others, 0);
	ck_assert_int_eq(chart.capacity, 0); /* of a node with CPUs, each rank has a part */
}

/* Bars of one batch, which `single` has at once; lines over the ranks have a batch that grows. */
START_TEST(charts_say_their_batch)
{
	static struct report reports[2];
	struct column columns[] = {{"single", &reports[0]}, {"ddp", &reports[1]}};
	struct options o;
	for (int i = 0; i < 2; i++)
		reports[i] = (struct report){.ranks = i ? 8 : 1, .batch = 32, .micro_batch = i ? 4 : 32};
	memset(&chart, 0, sizeof chart);
	arguments_parse(&o, COMMAND_COMPARE, "--model mlp --ranks 8 --cluster laptop");
	must(members_from_options(&members, &o));
	must(chart_make(&chart, &o, &members, columns, 2));
	ck_assert_msg(strstr(chart.subtitle, " · batch 32, 4 samples a rank at once (single: 32) · "), "%s",
	              chart.subtitle);
	make_chart("--model mlp --strategy ddp --ranks 2 --cluster laptop --chart time-by-ranks");
	ck_assert_msg(strstr(chart.subtitle, " · the batch grows with the ranks, "), "%s", chart.subtitle);
	ck_assert_msg(!strstr(chart.subtitle, "sequence"), "%s", chart.subtitle);
	make_chart("--model gpt --strategy ddp --ranks 2 --cluster laptop --sequence 64 --chart time-by-ranks");
	ck_assert_msg(strstr(chart.subtitle, " · sequence 64 · simulated on laptop"), "%s", chart.subtitle);
}

START_TEST(capacity_excludes_libraries)
{
	struct cluster c;
	make_chart("--model mlp --strategy ddp --ranks 2 --cluster a100-80gb --chart time-by-ranks");
	must(cluster_open(&c, "a100-80gb", 2));
	ck_assert_int_gt(c.overhead.value, 0);
	int64_t libraries = c.overhead.value + c.stack.value[STACK_LIBRARIES_WORKSPACE];
	ck_assert_int_eq(chart.capacity, c.device_memory - libraries);
	ck_assert(chart.time);
	ck_assert_int_gt(chart.series[0].value[1], 0);
	cluster_release(&c);
}

/* DDP sends 2 (N - 1)/N of the gradients, ZeRO-3 3 (N - 1)/N, DP's root (N - 1) times the weights and more; one rank
 * sends nothing and has no point. */
START_TEST(traffic_over_ranks)
{
	make_chart("--model mlp:sizes=16-16-16 --strategy ddp,zero3,dp --ranks 8 --cluster a100-80gb --chart "
	           "traffic-by-ranks");
	ck_assert_int_eq(chart.series_count, 3);
	ck_assert_int_eq(chart.axis, CHART_RANKS);
	ck_assert_int_eq(chart.capacity, 0);
	ck_assert(!chart.time);
	const int64_t gradients = 4 * 2 * (16 * 16 + 16);
	for (int i = 0; i < 3; i++) {
		int64_t n = 2 << i;
		ck_assert_int_eq(chart.series[0].at[i], n);
		ck_assert_int_eq(chart.series[0].value[i], 2 * gradients * (n - 1) / n);
		ck_assert_int_eq(chart.series[1].value[i], 3 * gradients * (n - 1) / n);
		ck_assert_int_ge(chart.series[2].value[i], (n - 1) * gradients);
	}
}

/* More bandwidth is never slower, and at the cluster's own it is the time that `sim` has. */
START_TEST(time_over_bandwidth)
{
	struct report r;
	make_chart(
	        "--model gpt2-124m --strategy ddp --ranks 8 --micro-batch 1 --cluster a100-80gb --chart time-by-link");
	const struct chart_series *s = &chart.series[0];
	ck_assert_int_eq(chart.axis, CHART_BANDWIDTH);
	ck_assert(chart.time);
	ck_assert_int_eq(s->count, 10);
	ck_assert_int_eq(s->at[0], 1000000000);
	for (int i = 1; i < s->count; i++) {
		ck_assert_int_eq(s->at[i], 2 * s->at[i - 1]);
		ck_assert_int_le(s->value[i], s->value[i - 1]);
	}
	ck_assert_int_gt(s->value[0], 2 * s->value[9]);
	must(job_simulate(&members.member[0], "a100-80gb:link=64GB", GRAIN_OPERATION, &r));
	ck_assert_int_eq(s->value[6], r.time.step);
	report_release(&r);
	ck_assert_msg(strstr(chart.subtitle, "simulated on a100-80gb,") != NULL, "%s", chart.subtitle);
	ck_assert_msg(strstr(chart.note, "a100-80gb has 240") != NULL, "%s", chart.note);
}

SUITE("predict", 0)
