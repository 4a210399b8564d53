/* Calibration: the fit of a link, curves from points, and a whole calibration on one rank. What the rates are is the
 * machine's business; here they only have to be there, to be marked as measured, and to come back from a file.
 *
 * cores: all
 */
#include <stdlib.h>

#include "real/calibrate/internal.h"
#include "tests/support/cluster_text.h"
#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

/* ---- the fit ---- */

static struct link_sample exchange(int64_t rounds, int64_t bytes, int64_t latency, double bytes_a_ns)
{
	return (struct link_sample){rounds, bytes, rounds * (latency + (int64_t)((double)bytes / bytes_a_ns))};
}

START_TEST(a_link_that_follows_the_formula_is_recovered)
{
	struct link_sample samples[24];
	struct link link;
	int count = 0;
	for (int64_t bytes = 64; bytes <= 64 << 20; bytes *= 8)
		for (int64_t rounds = 1; rounds <= 2; rounds++)
			samples[count++] = exchange(rounds, bytes, 2500, 4.0);
	link_fit(samples, count, &link);
	ck_assert_int_ge(link.latency.value, 2500);
	ck_assert_int_le(link.latency.value, 2500 + 64 / 4);
	ck_assert_double_eq_tol((double)link.bandwidth.value, 4e9, 4e7);
	ck_assert(link.latency.measured && link.bandwidth.measured);
}

START_TEST(a_links_bandwidth_is_the_median_of_large_messages)
{
	const struct link_sample samples[] = {exchange(1, 1024, 1000, 1000.0), exchange(2, 1 << 24, 1000, 2.0),
	                                      exchange(1, 1 << 24, 1000, 4.0), exchange(1, 1 << 24, 1000, 8.0),
	                                      exchange(1, 1 << 16, 1000, 100.0)};
	struct link link;
	link_fit(samples, 5, &link);
	ck_assert_double_eq_tol((double)link.bandwidth.value, 4e9, 4e7);
	ck_assert_double_eq_tol((double)link.bandwidth.low, 2e9, 4e7);
	ck_assert_double_eq_tol((double)link.bandwidth.high, 8e9, 8e7);
}

/* A message that took no longer than the smallest one: no division by nothing. */
START_TEST(a_link_survives_impossible_samples)
{
	const struct link_sample samples[] = {{1, 64, 5000}, {1, 1 << 20, 4000}};
	struct link link;
	link_fit(samples, 2, &link);
	ck_assert_int_eq(link.latency.value, 5000);
	ck_assert_int_gt(link.bandwidth.value, 0);
}

/* ---- figures and points ---- */

START_TEST(a_rate_is_the_median_with_its_spread)
{
	int64_t ns[] = {4000, 1000, 2000};
	struct rate r = calibrate_rate(6000, ns, 3);
	ck_assert_int_eq(r.value, 3000000000);
	ck_assert_int_eq(r.low, 1500000000);
	ck_assert_int_eq(r.high, 6000000000);
	ck_assert(r.measured);
	r = calibrate_rate(0, ns, 3);
	ck_assert_int_eq(r.value, 2000);
	ck_assert_int_eq(r.low, 1000);
	ck_assert_int_eq(r.high, 4000);
	int64_t nothing[] = {0};
	ck_assert_int_gt(calibrate_rate(INT64_MAX / 2, nothing, 1).value, 0);
}

START_TEST(curves_ascend_and_have_bounded_length)
{
	struct curve_points points = {0};
	struct cluster c = {0};
	for (int64_t work = (int64_t)1 << 40; work; work /= 2) /* largest first, and more than there is room for */
		curve_points_add(&points, OP_LINEAR_FORWARD, TYPE_FP32, work, rate_measured(work, work, work));
	curve_points_add(&points, OP_ADAMW, TYPE_FP32, 100, rate_measured(7, 6, 8));
	curve_points_fill(&points, &c);
	const struct curve *curve = &c.compute[OP_LINEAR_FORWARD][TYPE_FP32];
	ck_assert_int_eq(curve->count, CURVE_POINTS);
	for (int i = 1; i < curve->count; i++)
		ck_assert_int_gt(curve->point[i].work, curve->point[i - 1].work);
	ck_assert_int_eq(c.compute[OP_ADAMW][TYPE_FP32].count, 1);
	ck_assert_int_eq(curve_rate(&c.compute[OP_ADAMW][TYPE_FP32], 100).value, 7);
	curve_points_release(&points);
}

START_TEST(a_point_near_another_is_dropped_and_an_equal_one_averaged)
{
	struct curve_points points = {0};
	curve_points_add(&points, OP_ADAMW, TYPE_FP32, 1000, rate_measured(100, 50, 200));
	curve_points_add(&points, OP_ADAMW, TYPE_FP32, 1050, rate_measured(999, 999, 999));
	curve_points_add(&points, OP_SGD, TYPE_FP32, 1050, rate_measured(5, 5, 5));
	curve_points_add(&points, OP_ADAMW, TYPE_FP32, 0, rate_measured(5, 5, 5));
	ck_assert_uint_eq(points.count, 2);
	ck_assert_int_eq(points.points[0].rate.value, 100);
	/* twice as fast half of the time: 2 / (1/100 + 1/200) */
	curve_points_add(&points, OP_ADAMW, TYPE_FP32, 1000, rate_measured(200, 100, 400));
	ck_assert_uint_eq(points.count, 2);
	ck_assert_int_eq(points.points[0].rate.value, 133);
	ck_assert_int_eq(points.points[0].rate.low, 66);
	ck_assert_int_eq(points.points[0].rate.high, 266);
	curve_points_release(&points);
}

START_TEST(a_launch_is_the_way_there_and_back)
{
	struct rate r = calibrate_there_and_back(rate_measured(500, 400, 600), rate_measured(70, 50, 90));
	ck_assert_int_eq(r.value, 570);
	ck_assert_int_eq(r.low, 450);
	ck_assert_int_eq(r.high, 690);
	ck_assert(r.measured);
}

/* A bandwidth is of use only where it counts bytes as the simulator does. */
START_TEST(a_copy_has_the_bytes_of_a_plans_copy)
{
	int copies = 0;
	const struct plan *p = made_plan("mlp:sizes=784-16-10 zero2 ranks=2 offload=optimizer");
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++) {
		if (r->ops[i].kind != OP_COPY)
			continue;
		int64_t elements = region_elements(p, &r->ops[i].operand[COPY_X]);
		ck_assert_int_eq(op_bytes(p, r, &r->ops[i]), calibrate_copy_bytes(elements));
		copies++;
	}
	ck_assert_int_gt(copies, 1);
}

/* 4 MB of weights at 20 bytes/ns, beside 200 FLOPs/ns; the way back takes no longer, so that it sets the rate. */
START_TEST(few_samples_and_many_tell_weights_from_work)
{
	enum { WEIGHTS = 4000000, WAIT = 200000, LITTLE = 8000000, MUCH = 512000000 };
	struct duration a = {OP_LINEAR_FORWARD, TYPE_FP32, LITTLE, WEIGHTS, WEIGHTS, WAIT + LITTLE / 200, 0},
	                b = {OP_LINEAR_FORWARD, TYPE_FP32, MUCH, WEIGHTS, WEIGHTS, WAIT + MUCH / 200, 0};
	struct durations few = {.d = &a, .count = 1}, many = {.d = &b, .count = 1};
	struct cluster c = {.weight_bandwidth = calibrate_fit_weights(&few, &many)};
	ck_assert_double_eq_tol((double)c.weight_bandwidth.value, 20e9, 1e6);
	ck_assert(c.weight_bandwidth.measured);
	ck_assert_int_eq(calibrate_rate_time(&a, &c, WAIT + 100000), 100000);
	ck_assert_int_eq(calibrate_rate_time(&a, &c, WAIT), WAIT / 4); /* some of it is work */
	b.ns = MUCH / 200 * 8; /* much takes longer than little and its weights would */
	c.weight_bandwidth = calibrate_fit_weights(&few, &many);
	ck_assert_int_eq(c.weight_bandwidth.value, 0);
	ck_assert_int_eq(calibrate_rate_time(&a, &c, WAIT), WAIT);
}

/* Two updates, of which 20 MB and 30 MB straddle and take 100 + 150 us longer: 200 bytes/ns. There is nothing to
 * compare the third with, and the product straddles nowhere. */
START_TEST(buckets_tell_what_it_takes_to_straddle)
{
	struct duration at_lines[] = {{OP_ADAMW, TYPE_FP32, 11, 0, 0, 250000, 0},
	                              {OP_ADAMW, TYPE_FP32, 16, 0, 0, 390000, 0},
	                              {OP_LINEAR_BACKWARD, TYPE_FP32, 6, 0, 0, 80000, 0}},
	                inside[] = {{OP_ADAMW, TYPE_FP32, 16, 0, 0, 540000, 30000000},
	                            {OP_ADAMW, TYPE_FP32, 11, 0, 0, 350000, 20000000},
	                            {OP_ADAMW, TYPE_FP32, 14, 0, 0, 900000, 40000000},
	                            {OP_LINEAR_BACKWARD, TYPE_FP32, 6, 0, 0, 95000, 0}};
	struct durations whole = {.d = at_lines, .count = 3}, straddling = {.d = inside, .count = 4};
	struct cluster c = {.straddle_bandwidth = calibrate_fit_straddle(&whole, &straddling)};
	ck_assert_double_eq_tol((double)c.straddle_bandwidth.value, 200e9, 1e3);
	ck_assert_int_eq(calibrate_rate_time(&(struct duration){.straddling = 40000000}, &c, 500000), 300000);
	ck_assert_int_eq(calibrate_fit_straddle(&whole, &whole).value, 0);
}

/* ---- the whole, on one rank ---- */

static double last_done;
static int lines;

static void watch(void *context, double done, const char *what)
{
	ck_assert_ptr_eq(context, &lines);
	ck_assert(done >= last_done && done <= 1 && *what);
	last_done = done;
	lines++;
}

static void check_prediction(const struct cluster *c, const char *model)
{
	const struct report *r =
	        report_simulated(made_plan("%s single micro_batch=4", model), c, GRAIN_OPERATION, NULL);
	ck_assert_msg(r->rates_measured, "%s: something in the step has an assumed rate", model);
	ck_assert_int_gt(r->time.step, 0);
}

START_TEST(one_rank_is_calibrated_completely)
{
	struct calibrate_options o = calibrate_options_default();
	struct cluster c, again;
	struct calibrate_figures figures;
	o.quick = true;
	o.progress = watch;
	o.context = &lines;
	must(calibrate_run(&o, &c, &figures));
	ck_assert_uint_eq(figures.count, 0);
	ck_assert_str_eq(c.name, "local");
	ck_assert_int_eq(c.kind, DEVICE_CPU);
	ck_assert_int_gt(lines, 3);
	ck_assert(c.launch.measured && c.device_bandwidth.measured && c.node_bandwidth.measured);
	ck_assert_msg(!c.link.bandwidth.measured, "there was nobody to measure with");
	ck_assert_int_gt(c.link.bandwidth.value, 0);
	ck_assert_int_gt(c.compute[OP_LINEAR_FORWARD][TYPE_FP32].count, 3);
	check_prediction(&c, "mlp");
	check_prediction(&c, "gpt");
	check_prediction(&c, "llama");

	must_read_back(&c, &again);
	cluster_release(&c);
	cluster_release(&again);
}

SUITE("calibrate", 300)
