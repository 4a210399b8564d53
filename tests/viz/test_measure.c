/* Sums over a range, bandwidths and the longest exposed; by hand, on two ranks of which the second comes early:
 *
 *             0    10   20   30   40   50
 *  rank 0  k  ███████████████     █████      compute 0-30, 40-50
 *          c                 █████           all-reduce 30-40
 *  rank 1  k  █████               █████      compute 0-10, 40-50
 *          c       ░░░░░░░░░░█████           all-reduce 10-40: waits for rank 0, then moves data from 30 on
 */
#include "viz/timeline/measure.h"

#include <check.h>
#include <math.h>

#include "tests/support/plans.h"
#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "viz/scene/lane_cards.h"
#include "viz/timeline/notable.h"

static struct made m;
static struct trace trace;
static struct trace_view shown;
static int computes[2], reduces;

/* The first operations of the queues; of computing, two. */
static void find_ops(void)
{
	const struct role *r = &m.plan.roles[0];
	int found = 0;
	reduces = -1;
	for (int i = r->step.begin; i < r->step.end; i++) {
		if (op_class(r->ops[i].kind) == OP_CLASS_M)
			continue;
		if (r->ops[i].queue == QUEUE_COMPUTE && found < 2)
			computes[found++] = i;
		if (r->ops[i].kind == OP_ALL_REDUCE && reduces < 0)
			reduces = i;
	}
}

static void open_by_hand(void)
{
	static const struct limits limits = {.link = 50000000000, .network = 1000000000};
	ck_assert(!made_open_words(&m, "mlp:sizes=8-8-8-8 ddp ranks=2"));
	find_ops();
	trace_open(&trace, &m.plan, "here", true);
	trace_add_span(&trace, 0, computes[0], 0, 30);
	trace_add_span(&trace, 0, computes[1], 40, 50);
	trace_add_span(&trace, 0, reduces, 30, 40);
	trace_add_span(&trace, 1, computes[0], 0, 10);
	trace_add_span(&trace, 1, computes[1], 40, 50);
	trace_add_span(&trace, 1, reduces, 10, 40);
	trace_meet(&trace);
	ck_assert(!trace_view_open(&shown, &trace, &limits, NULL));
}

static void close_by_hand(void)
{
	trace_view_release(&shown);
	trace_release(&trace);
	made_release(&m);
}

static int first_lane_of(const struct lanes *l, int64_t rank)
{
	for (int i = 0; i < l->lane_count; i++)
		if (l->lanes[i].rank == rank && measure_has(l, i))
			return i;
	ck_abort_msg("rank %d has no lanes", (int)rank);
	return -1;
}

static const struct {
	int64_t rank, from, to, compute, communication, exposed, bubble, operations;
} ranges[] = {
        {0, 0, 50, 40, 10, 10, 0, 3},  /* the whole */
        {1, 0, 50, 20, 10, 10, 20, 3}, /* waiting for rank 0 is a bubble */
        {0, 5, 35, 25, 5, 5, 0, 2},    /* half of the all-reduce */
        {1, 5, 35, 5, 5, 5, 20, 2},    /* the rank waits for the other part of it */
        {1, 12, 18, 0, 0, 0, 6, 1},    /* nothing but waiting */
        {0, 32, 36, 0, 4, 4, 0, 1},    /* inside one operation */
        {0, 0, 0, 0, 0, 0, 0, 0},      /* nothing */
        {0, 45, 90, 5, 0, 0, 0, 1},    /* beyond the end there is nothing */
};

START_LOOP_TEST(a_range_is_summed_up_as_by_hand, 0, (int)(sizeof ranges / sizeof ranges[0]))
{
	open_by_hand();
	int lane = first_lane_of(&shown.lanes, ranges[_i].rank);
	struct measured got = measure_range(&shown.lanes, lane, ranges[_i].from, ranges[_i].to);
	int64_t to = ranges[_i].to < 50 ? ranges[_i].to : 50;
	ck_assert_int_eq(got.length, to - ranges[_i].from);
	ck_assert_int_eq(got.compute, ranges[_i].compute);
	ck_assert_int_eq(got.communication, ranges[_i].communication);
	ck_assert_int_eq(got.exposed, ranges[_i].exposed);
	ck_assert_int_eq(got.bubble, ranges[_i].bubble);
	ck_assert_int_eq(got.operations, ranges[_i].operations);
}

/* Bytes go evenly while data moves; the parts add up to the whole, wherever it is cut. */
START_TEST(bytes_of_a_range)
{
	open_by_hand();
	const struct op *op = &m.plan.roles[0].ops[reduces];
	int64_t all = op_sent_bytes(&m.plan, &m.plan.roles[0], op, 1);
	int lane = first_lane_of(&shown.lanes, 1);
	ck_assert_int_gt(all, 0);
	ck_assert_int_eq(measure_range(&shown.lanes, lane, 0, 50).sent_bytes, all);
	ck_assert_int_eq(measure_range(&shown.lanes, lane, 0, 30).sent_bytes, 0); /* it only waits */
	ck_assert_int_eq(measure_range(&shown.lanes, lane, 0, 35).sent_bytes, all / 2);
	for (int64_t cut = 0; cut <= 50; cut++)
		ck_assert_int_eq(measure_range(&shown.lanes, lane, 0, cut).sent_bytes +
		                         measure_range(&shown.lanes, lane, cut, 50).sent_bytes,
		                 all);
}

/* 8-8-8-8 has 216 parameters: 864 B in 10 ns on 2 ranks, of which each sends as many: 2 · 1/2. */
START_TEST(bandwidths_are_those_of_nccl_tests)
{
	struct speed s;
	open_by_hand();
	ck_assert(speed_of_op(&shown.timeline, 1, reduces, &s));
	ck_assert_int_eq(s.payload_bytes, op_payload_bytes(&m.plan.roles[0], &m.plan.roles[0].ops[reduces]));
	ck_assert_int_eq(s.payload_bytes, 864);
	ck_assert_int_eq(s.wire_bytes, 864);
	ck_assert_int_eq(s.waits, 20);
	ck_assert_int_eq(s.moves, 10);
	ck_assert_int_eq(s.ranks, 2);
	ck_assert_msg(fabs(s.algorithm - 86.4e9) < 1, "%g", s.algorithm);
	ck_assert_msg(fabs(s.bus - 86.4e9) < 1, "%g", s.bus);
	ck_assert(s.link == 50e9);
	ck_assert_str_eq(s.link_name, "link");
	ck_assert(!speed_of_op(&shown.timeline, 0, computes[0], &s)); /* moves nothing */
	/* A rank a node: the network is slower. */
	shown.timeline.limits.node_ranks = 1;
	ck_assert(speed_of_op(&shown.timeline, 1, reduces, &s));
	ck_assert(s.link == 1e9);
	ck_assert_str_eq(s.link_name, "network");
}

/* The network's rate is that of one NIC, here as in the cluster's file and among the settings of what if. */
START_TEST(a_node_has_several_nics)
{
	struct speed s;
	char words[SPEED_WORDS];
	open_by_hand();
	shown.timeline.limits.node_ranks = 1;
	shown.timeline.limits.rails = 8;
	trace.measured = false;
	ck_assert(speed_of_op(&shown.timeline, 1, reduces, &s));
	ck_assert(s.link == 8e9);
	ck_assert_ptr_nonnull(strstr(speed_words(words, &s), "of the network's 8 × 1.00 GB/s"));
	shown.timeline.limits.rails = 64; /* together faster than the link inside a node */
	ck_assert(speed_of_op(&shown.timeline, 1, reduces, &s));
	ck_assert_str_eq(s.link_name, "link");
	ck_assert_ptr_nonnull(strstr(speed_words(words, &s), "of the link's 50.0 GB/s"));
}

/* A run is not held against a rate that nobody measured; a simulation, which has it from there, is. */
START_TEST(no_share_of_an_assumed_rate)
{
	struct speed s;
	char words[SPEED_WORDS];
	open_by_hand();
	trace.measured = false;
	ck_assert(speed_of_op(&shown.timeline, 1, reduces, &s));
	ck_assert(speed_share(&s) > 1.7); /* 86.4 of 50 GB/s */
	ck_assert_ptr_nonnull(strstr(speed_words(words, &s), ", 173 % of the link's 50.0 GB/s: calibrate anew"));
	trace.measured = true;
	ck_assert(speed_of_op(&shown.timeline, 1, reduces, &s));
	ck_assert(speed_share(&s) == 0);
	ck_assert_ptr_nonnull(strstr(speed_words(words, &s), "on the bus 86.4 GB/s; the link's 50.0 GB/s are assumed"));
	ck_assert_str_eq(speed_words_brief(words, &s), "bus 86.4 GB/s");
	shown.timeline.limits.measured_rates = true;
	ck_assert(speed_of_op(&shown.timeline, 1, reduces, &s));
	ck_assert_ptr_nonnull(strstr(speed_words(words, &s), "173 % of the link's 50.0 GB/s"));
}

/* nccl-tests, doc/PERFORMANCE.md. */
START_TEST(factors_of_the_bus)
{
	ck_assert(speed_bus_factor(OPERATION_ALL_REDUCE, 4) == 1.5);
	ck_assert(speed_bus_factor(OPERATION_REDUCE_SCATTER, 4) == 0.75);
	ck_assert(speed_bus_factor(OPERATION_ALL_GATHER, 8) == 0.875);
	ck_assert(speed_bus_factor(OPERATION_BROADCAST, 4) == 1);
	ck_assert(speed_bus_factor(OPERATION_REDUCE, 4) == 1);
	ck_assert(speed_bus_factor(OPERATION_ALL_REDUCE, 1) == 0);
}

START_TEST(the_longest_exposed_by_hand)
{
	open_by_hand();
	ck_assert_uint_eq(shown.exposed_count, 1); /* once, though two ranks take part */
	ck_assert_int_eq(shown.exposed[0].op, reduces);
	ck_assert_int_eq(shown.exposed[0].rank, 0); /* of equals the first */
	ck_assert_int_eq(shown.exposed[0].begin, 30);
	ck_assert_int_eq(shown.exposed[0].time, 10);
	ck_assert_int_eq(shown.exposed[0].bytes, 864);
	ck_assert_int_eq(exposed_whole(&shown.lanes), 50);
}

/* ---- whole steps ---- */

static const char *const steps[] = {
        "mlp:sizes=64-64-64-16 single ranks=1",
        "mlp:sizes=64-64-64-16 ddp ranks=4",
        "gpt:layers=3,width=32,heads=2,vocabulary=64,context=16 zero3 ranks=4",
        "gpt:layers=3,width=32,heads=2,vocabulary=64,context=16 zero2 ranks=3 accumulate=2",
        "gpt:layers=4,width=32,heads=2,vocabulary=64,context=16 pipeline ranks=4 micro_batch=2 accumulate=4",
        "gpt:layers=2,width=32,heads=2,vocabulary=64,context=16 zero1 ranks=2 offload=optimizer",
        "gpt:layers=2,width=32,heads=2,vocabulary=64,context=16 tensor ranks=2",
};

/* The compute_s, exposed_s and bubble_s of `sim --json`, of the slowest rank and of every other. */
START_LOOP_TEST(a_whole_step_is_what_sim_says, 0, (int)(sizeof steps / sizeof steps[0]))
{
	const struct viewed *v = viewed_plan(steps[_i]);
	const struct timeline *t = &v->shown.timeline;
	int64_t busiest = 0;
	for (int i = 0; i < t->rank_count; i++) {
		const struct times *wanted = &t->shown[i];
		struct measured got =
		        measure_range(&v->shown.lanes, first_lane_of(&v->shown.lanes, t->ranks[i].rank), 0, t->step_ns);
		ck_assert_int_eq(got.length, wanted->step);
		ck_assert_int_eq(got.compute, wanted->compute);
		ck_assert_int_eq(got.communication, wanted->communication);
		ck_assert_int_eq(got.exposed, wanted->exposed);
		ck_assert_int_eq(got.bubble, wanted->bubble);
		ck_assert_int_eq(got.sent_bytes, plan_moved_all(t->plan, t->ranks[i].rank).sent);
		busiest = got.sent_bytes > busiest ? got.sent_bytes : busiest;
	}
	ck_assert_int_eq(busiest, v->sent_bytes);
}

/* Cut anywhere, the parts add up; the quick sums are the thorough ones. */
START_LOOP_TEST(parts_add_up, 0, (int)(sizeof steps / sizeof steps[0]))
{
	const struct viewed *v = viewed_plan(steps[_i]);
	const struct lanes *l = &v->shown.lanes;
	for (int k = 1; k < 20; k++) {
		int64_t cut = l->end / 20 * k;
		struct measured a = measure_range(l, 0, 0, cut), b = measure_range(l, 0, cut, l->end),
		                all = measure_range(l, 0, 0, l->end), quick = measure_times(l, 0, 0, cut);
		ck_assert_int_eq(a.compute + b.compute, all.compute);
		ck_assert_int_eq(a.communication + b.communication, all.communication);
		ck_assert_int_eq(a.exposed + b.exposed, all.exposed);
		ck_assert_int_eq(a.bubble + b.bubble, all.bubble);
		ck_assert_int_eq(a.sent_bytes + b.sent_bytes, all.sent_bytes);
		ck_assert_int_eq(a.compute + a.exposed + a.bubble, a.length);
		ck_assert_int_eq(a.compute, quick.compute);
		ck_assert_int_eq(a.exposed, quick.exposed);
		ck_assert_int_eq(a.bubble, quick.bubble);
	}
}

/* All that is exposed on a rank is that of one operation or another. */
START_LOOP_TEST(the_list_is_in_order, 0, (int)(sizeof steps / sizeof steps[0]))
{
	struct exposed all[512];
	const struct viewed *v = viewed_plan(steps[_i]);
	size_t count = exposed_longest(&v->shown.lanes, all, 512);
	ck_assert_uint_le(count, 512);
	ck_assert_uint_eq(count, v->shown.exposed_count);
	int64_t sum = 0, most = 0;
	for (size_t i = 0; i < count; i++) {
		ck_assert(all[i].time > 0 && (!i || all[i].time <= all[i - 1].time));
		sum += all[i].time;
	}
	for (int i = 0; i < v->shown.timeline.rank_count; i++)
		most = v->shown.timeline.shown[i].exposed > most ? v->shown.timeline.shown[i].exposed : most;
	ck_assert_int_ge(sum, most);
	ck_assert(count || !most);
}

/* The kinds come in the order of what matters, and of a kind the longest first. */
START_LOOP_TEST(what_matters_comes_first, 0, (int)(sizeof steps / sizeof steps[0]))
{
	const struct viewed *v = viewed_plan(steps[_i]);
	const struct notable *n = v->shown.notables;
	ck_assert_uint_gt(v->shown.notable_count, 0);
	ck_assert_int_eq(n[0].kind, NOTABLE_PEAK);
	ck_assert_int_eq(
	        n[0].amount,
	        v->shown.timeline.roles[v->shown.timeline.ranks[timeline_index_of(&v->shown.timeline, n[0].rank)].role]
	                .peak[SPACE_DEVICE]);
	for (size_t i = 0; i < v->shown.notable_count; i++) {
		ck_assert_uint_le(n[i].position, v->shown.timeline.instant_count);
		ck_assert(!i || n[i].kind > n[i - 1].kind ||
		          (n[i].kind == n[i - 1].kind && n[i].amount <= n[i - 1].amount));
	}
	if (v->shown.exposed_count && v->shown.exposed[0].time > v->shown.timeline.step_ns / 200) {
		ck_assert_int_eq(n[1].kind, NOTABLE_EXPOSED);
		ck_assert_int_eq(n[1].amount, v->shown.exposed[0].time);
		ck_assert_int_eq(timeline_time(&v->shown.timeline, n[1].position), v->shown.exposed[0].begin);
	}
}

SUITE_WITH("measure", 0, NULL, close_by_hand)
