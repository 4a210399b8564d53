/* A collective's span has two parts, waiting for its last member and moving data; by hand, on two ranks:
 *
 *             0    10   20   30   40
 *  rank 0  k  ███████████████                compute 0-30
 *          c                 █████           all_reduce 30-40
 *  rank 1  k  █████                          compute 0-10
 *          c       ░░░░░░░░░░█████           all_reduce 10-40: waits for rank 0, then moves data
 */
#include "tests/viz/drawn_words.h"

#include <check.h>

#include "tests/support/plans.h"
#include "tests/support/suite.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/lanes.h"

static struct made m;
static struct trace trace;
static struct trace_view shown;

static int op_on(enum queue q)
{
	const struct role *r = &m.plan.roles[0];
	int i = r->step.begin;
	while (op_class(r->ops[i].kind) == OP_CLASS_M || r->ops[i].queue != q)
		i++;
	return i;
}

static void open_by_hand(void)
{
	ck_assert(!made_open_words(&m, "mlp:sizes=8-8-8-8 ddp ranks=2"));
	trace_open(&trace, &m.plan, "here", true);
	trace_add_span(&trace, 0, op_on(QUEUE_COMPUTE), 0, 30);
	trace_add_span(&trace, 0, op_on(QUEUE_COMMUNICATION), 30, 40);
	trace_add_span(&trace, 1, op_on(QUEUE_COMPUTE), 0, 10);
	trace_add_span(&trace, 1, op_on(QUEUE_COMMUNICATION), 10, 40);
	trace_meet(&trace);
	ck_assert(!trace_view_open(&shown, &trace, &(struct limits){0}, NULL));
}

static void close_by_hand(void)
{
	trace_view_release(&shown);
	trace_release(&trace);
	made_release(&m);
}

static const struct lane *lane_of(int64_t rank, enum queue queue)
{
	for (int i = 0; i < shown.lanes.lane_count; i++)
		if (shown.lanes.lanes[i].rank == rank && shown.lanes.lanes[i].queue == queue)
			return &shown.lanes.lanes[i];
	ck_abort_msg("no such lane");
	return NULL;
}

START_TEST(a_span_waits_and_then_moves)
{
	open_by_hand();
	const struct lane_span *first = lane_of(0, QUEUE_COMMUNICATION)->spans,
	                       *second = lane_of(1, QUEUE_COMMUNICATION)->spans;
	ck_assert(first->begin == 30 && first->came == 30 && first->end == 40);
	ck_assert(second->begin == 10 && second->came == 30 && second->end == 40 && second->awaits == 0);
}

START_TEST(a_gap_is_a_bubble_until_the_last_has_come)
{
	open_by_hand();
	const struct lane *lane = lane_of(1, QUEUE_COMPUTE);
	ck_assert_uint_eq(lane->gap_count, 2);
	const struct lane_gap *a = &lane->gaps[0], *b = &lane->gaps[1];
	ck_assert(a->begin == 10 && a->end == 30 && a->waits && !a->exposed && a->awaits == 0);
	ck_assert(b->begin == 30 && b->end == 40 && !b->waits && b->exposed);
}

START_TEST(the_mouse_is_told_for_whom_it_waits)
{
	char text[256];
	open_by_hand();
	int op = op_on(QUEUE_COMMUNICATION);
	op_explain(&shown.timeline, 1, op, text, sizeof text);
	ck_assert_msg(strstr(text, "on rank 1: 0.030 µs, waits 0.020 µs for rank 0, then moves data for 0.010 µs, "
	                           "from 0.010 µs"),
	              "%s", text);
	op_explain(&shown.timeline, 0, op, text, sizeof text);
	ck_assert_msg(strstr(text, "on rank 0: 0.010 µs, from 0.030 µs"), "%s", text);
}

/* The rounds of a collective, where nobody recorded them, share the time in which it moves data. */
START_TEST(rounds_begin_when_all_have_come)
{
	open_by_hand();
	const struct timeline *s = &shown.timeline;
	int rounds = 0;
	for (size_t i = 0; i < s->event_count; i++)
		if (s->events[i].kind == EVENT_MESSAGE && !s->events[i].collective) {
			ck_assert_int_eq(s->events[i].time, 30 + 5 * (s->events[i].round + 1));
			rounds++;
		}
	ck_assert_int_eq(rounds, 4); /* two, of two ranks */
}

static void draw_the_timeline_at(int width, int height)
{
	struct fonts fonts;
	struct playback p;
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	playback_init(&p, &fonts);
	playback_show(&p, &shown);
	p.scene = SCENE_TIMELINE;
	p.presenter = width < 1280;
	words_in(&p, width, height);
	playback_release(&p);
	fonts_release(&fonts);
}

static void draw_the_timeline(void)
{
	draw_the_timeline_at(1280, 720);
}

START_TEST(the_picture_names_the_rank)
{
	open_by_hand();
	draw_the_timeline();
	ck_words("bubble: waits for rank 0\n");
	ck_words("waits for rank 0\n");
}

/* Two stages, two micro-batches; stage 0 computes for 60 of 90, stage 1, which ends last, for 50. */
START_TEST(the_picture_of_a_pipeline_has_the_closed_form)
{
	ck_assert(!made_open_words(&m, "mlp:sizes=8-8-8-8 pipeline ranks=2 micro_batch=2 accumulate=2"));
	trace_open(&trace, &m.plan, "here", false);
	trace_add_span(&trace, 0, op_on(QUEUE_COMPUTE), 0, 60);
	const struct role *last = &m.plan.roles[1];
	int op = last->step.begin;
	while (op_class(last->ops[op].kind) == OP_CLASS_M || last->ops[op].queue != QUEUE_COMPUTE)
		op++;
	trace_add_span(&trace, 1, op, 40, 90);
	trace_meet(&trace);
	ck_assert(!trace_view_open(&shown, &trace, &(struct limits){0}, NULL));
	draw_the_timeline();
	ck_words("bubble (p−1)/(m+p−1) = 1/3 = 33.3 % with equal stages; here 44.4 % of rank 1’s step, 33.3 to 44.4 % "
	         "over "
	         "the ranks\n");
	/* Less room: fewer words, and none is cut. */
	draw_the_timeline_at(1024, 768);
	ck_words("bubble (p−1)/(m+p−1) = 1/3 = 33.3 % with equal stages; here 33.3–44.4 %\n");
	draw_the_timeline_at(900, 900);
	ck_words("bubble (p−1)/(m+p−1) = 1/3 = 33.3 %; here 33.3–44.4 %\n");
	draw_the_timeline_at(600, 900);
	ck_words("bubble 33.3 %; here 33.3–44.4 %\n");
}

SUITE_WITH("waits", 60, NULL, close_by_hand)
