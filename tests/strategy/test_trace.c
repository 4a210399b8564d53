/* Traces: times by hand, and Chrome JSON against the plan. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/merge.h"
#include "strategy/trace/report.h"
#include "strategy/trace/trace.h"
#include "tests/support/json.h"
#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

/* The n-th operation of a queue in the step. */
static int op_on(const struct plan *p, enum queue q, int n)
{
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) != OP_CLASS_M && r->ops[i].queue == q && !n--)
			return i;
	ck_abort_msg("no such operation");
	return -1;
}

/* ---- order ---- */

static bool smaller_tens(const void *values, size_t a, size_t b)
{
	const int *v = values;
	return v[a] / 10 < v[b] / 10;
}

/* Random lists of all lengths, with many equals: sorted, each once, and equals in the order that they came in. */
START_TEST(test_merge_order)
{
	int v[200];
	unsigned random = 1;
	for (size_t n = 0; n <= 200; n++) {
		bool seen[200] = {false};
		for (size_t i = 0; i < n; i++) {
			random = random * 1664525 + 1013904223;
			v[i] = n % 3 ? (int)(random >> 8) % 200 : (int)i * 7 % 200; /* also of sorted stretches */
		}
		size_t *order = merge_order(n, smaller_tens, v);
		for (size_t i = 0; i < n; i++) {
			ck_assert(order[i] < n && !seen[order[i]]);
			seen[order[i]] = true;
			if (!i)
				continue;
			ck_assert_int_le(v[order[i - 1]] / 10, v[order[i]] / 10);
			ck_assert(v[order[i - 1]] / 10 < v[order[i]] / 10 || order[i - 1] < order[i]);
		}
		free(order);
	}
}

/* ---- times ---- */

/*      0    10   20   30   40   50   60
 *  k   ██████████          ██████           compute 0-20, 40-52 (in two spans that overlap)
 *  c        ██████████          █████       communication 10-30, 50-60
 *  exposed            ████        ████      20-30, 52-60
 *  bubble                 ████        ████  30-40, 60-70                                                */
START_TEST(test_times)
{
	struct trace t = {0};
	const struct plan *p = made_plan("mlp:sizes=8-8-8-8 ddp ranks=2 micro_batch=4");
	trace_open(&t, p, "here", false);
	trace_add_span(&t, 0, op_on(p, QUEUE_COMPUTE, 2), 43, 52); /* out of order */
	trace_add_span(&t, 0, op_on(p, QUEUE_COMPUTE, 0), 0, 20);
	trace_add_span(&t, 0, op_on(p, QUEUE_COMPUTE, 1), 40, 45);
	trace_add_span(&t, 0, op_on(p, QUEUE_COMMUNICATION, 0), 10, 30);
	trace_add_span(&t, 0, op_on(p, QUEUE_COMMUNICATION, 0), 50, 60);
	trace_add_span(&t, 1, op_on(p, QUEUE_COMPUTE, 0), 0, 65); /* of another rank: only its end counts */
	struct times times = trace_times(&t, 0, 70);
	ck_assert_int_eq(times.step, 70);
	ck_assert_int_eq(times.compute, 32);
	ck_assert_int_eq(times.communication, 30);
	ck_assert_int_eq(times.exposed, 18);
	ck_assert_int_eq(times.bubble, 20);
	/* a load is of no pass; then two kernels forward, of 5 and 9 */
	ck_assert_int_eq(times.forward, 14);
	ck_assert_int_eq(times.backward, 0);
	ck_assert_int_eq(times.recompute, 0);
	ck_assert_int_eq(trace_times(&t, 0, 0).step, 65);
	ck_assert_int_eq(trace_times(&t, 0, 0).bubble, 15);
	ck_assert_int_eq(trace_times(&t, 1, 0).compute, 65);
	ck_assert_int_eq(trace_times(&t, 1, 0).exposed, 0);
	trace_release(&t);
	trace_release(&t);
	trace_release(NULL);
}

/*             0    10   20   30   40   50
 *  rank 0  k  ███████████████                compute 0-30
 *          c                 █████           communication 30-40
 *  rank 1  k  █████               █████      compute 0-10, 40-50
 *          c       ░░░░░░░░░░█████           waits for rank 0 in 10-30: a bubble; 30-40 is exposed          */
START_TEST(test_waiting_is_no_communication)
{
	struct trace t = {0};
	const struct plan *p = made_plan("mlp:sizes=8-8-8-8 ddp ranks=2");
	int first = op_on(p, QUEUE_COMPUTE, 0), second = op_on(p, QUEUE_COMPUTE, 1),
	    sum = op_on(p, QUEUE_COMMUNICATION, 0);
	trace_open(&t, p, "here", true);
	trace_add_span(&t, 0, first, 0, 30);
	trace_add_span(&t, 0, sum, 30, 40);
	trace_add_span(&t, 1, first, 0, 10);
	trace_add_span(&t, 1, second, 40, 50);
	trace_add_span(&t, 1, sum, 10, 40);
	ck_assert_int_eq(trace_times(&t, 1, 0).exposed, 30); /* nobody has said when rank 0 came */
	trace_meet(&t);
	ck_assert_int_eq(t.spans[1].came, 30);
	ck_assert_int_eq(t.spans[4].came, 30);
	ck_assert_int_eq(t.spans[3].came, 40); /* of what needs no other rank its begin */
	struct times zero = trace_times(&t, 0, 0), one = trace_times(&t, 1, 0);
	ck_assert_int_eq(zero.rank, 0);
	ck_assert_int_eq(zero.communication, 10);
	ck_assert_int_eq(zero.exposed, 10);
	ck_assert_int_eq(zero.bubble, 10); /* after it is done */
	ck_assert_int_eq(one.rank, 1);
	ck_assert_int_eq(one.communication, 10);
	ck_assert_int_eq(one.exposed, 10);
	ck_assert_int_eq(one.bubble, 20);
	ck_assert_int_eq(one.compute + one.exposed + one.bubble, one.step);
	ck_assert_int_eq(trace_slowest(&t).rank, 1); /* it ends last */
	trace_release(&t);
}

/* Groups wait for their own members: of 4 ranks 0 and 1 share shards, and so do 2 and 3. A clock that is off by more
 * than a span lasts must not make its communication negative. */
START_TEST(test_groups_wait_for_their_own)
{
	struct trace t = {0};
	const struct plan *p = made_plan("mlp:sizes=8-8-8-8 hybrid:shard=2 ranks=4");
	const struct role *r = &p->roles[0];
	int gather = -1;
	for (int i = r->step.end - 1; i >= r->step.begin; i--)
		gather = r->ops[i].kind == OP_ALL_GATHER ? i : gather;
	ck_assert_int_eq(op_members(p, &r->ops[gather]), 2);
	trace_open(&t, p, "here", true);
	trace_add_span(&t, 0, gather, 5, 50);
	trace_add_span(&t, 1, gather, 20, 50);
	trace_add_span(&t, 2, gather, 40, 60);
	trace_add_span(&t, 3, gather, 7, 30);
	trace_meet(&t);
	ck_assert_int_eq(t.spans[0].came, 20);
	ck_assert_int_eq(t.spans[1].came, 20);
	ck_assert_int_eq(t.spans[2].came, 40);
	ck_assert_int_eq(t.spans[3].came, 30);
	ck_assert_int_eq(trace_times(&t, 3, 0).communication, 0);
	trace_release(&t);
}

/* Among the ranks that end last, the one that computes most, and among equals the first. */
START_TEST(test_slowest)
{
	struct trace t = {0};
	const struct plan *p = made_plan("mlp:sizes=8-8-8-8 ddp ranks=4");
	int first = op_on(p, QUEUE_COMPUTE, 0), sum = op_on(p, QUEUE_COMMUNICATION, 0);
	static const int64_t computes[] = {10, 30, 30, 35}, ends[] = {40, 40, 40, 36};
	ck_assert_int_eq(trace_slowest(&t).step, 0);
	trace_open(&t, p, "here", false);
	for (int rank = 0; rank < 4; rank++) {
		trace_add_span(&t, rank, first, 0, computes[rank]);
		trace_add_span(&t, rank, sum, 35, ends[rank]);
	}
	struct times times = trace_slowest(&t);
	ck_assert_int_eq(times.rank, 1);
	ck_assert_int_eq(times.step, 40);
	ck_assert_int_eq(times.bubble, 5);
	trace_release(&t);
}

/* ---- the pipeline's bubble ---- */

static void ck_bubble(const char *plan, const char *says)
{
	char text[BUBBLE_TEXT];
	struct bubble b = bubble_of(made_plan("gpt:layers=8,width=16,heads=2,context=8 %s", plan));
	if (says)
		ck_assert_str_eq(bubble_text(text, &b), says);
	else
		ck_assert_int_eq(b.stages, 0);
}

START_TEST(test_bubble_in_closed_form)
{
	ck_bubble("pipeline ranks=4 accumulate=8", "bubble (p−1)/(m+p−1) = 3/11 = 27.3 %");
	ck_bubble("pipeline:schedule=gpipe ranks=2 accumulate=1", "bubble (p−1)/(m+p−1) = 1/2 = 50.0 %");
	ck_bubble("model ranks=4 accumulate=8", "bubble (p−1)/(m+p−1) = 3/4 = 75.0 %"); /* one at a time */
	ck_bubble("pipeline ranks=1 accumulate=8", NULL);
	ck_bubble("ddp ranks=4 accumulate=8", NULL);
}

/* ---- Chrome JSON ---- */

/* Every operation takes 1500 ns, one after the other: any times will do. */
static void fill(struct trace *t, const struct plan *p)
{
	trace_open(t, p, "a \"quoted\"\\\n\t name", true);
	for (int64_t rank = p->ranks - 1; rank >= 0; rank--) {
		const struct role *r = plan_role_of(p, rank);
		int64_t now = 0;
		for (int i = r->step.begin; i < r->step.end; i++)
			if (op_class(r->ops[i].kind) != OP_CLASS_M) {
				trace_add_span(t, rank, i, now, now + 1500);
				now += 1500;
			}
	}
	trace_add_message(t, &(struct message){0, 1, 4096, p->roles[0].step.end - 1, 7, 1000007});
}

static json_t *trace_json(const struct trace *t)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	must(trace_write(t, out));
	fclose(out);
	json_error_t error;
	json_t *o = json_loadb(text, size, 0, &error);
	ck_assert_msg(o != NULL, "%s at %d", error.text, error.position);
	free(text);
	return o;
}

START_LOOP_TEST(test_chrome, 0, 2)
{
	static const char *const strategies[] = {"dp", "zero3"};
	struct trace t = {0};
	const struct plan *p = made_plan("gpt:layers=2,width=32,heads=2,context=16 %s ranks=3", strategies[_i]);
	fill(&t, p);
	json_t *o = trace_json(&t), *events = json_object_get(o, "traceEvents"), *event;
	size_t i, spans = 0, messages = 0;
	int64_t peak[3] = {0}, last[3] = {-1, -1, -1}, end[3][CATEGORY_COUNT] = {{0}};
	json_array_foreach(events, i, event)
	{
		const char *phase = text_of(event, "ph");
		int64_t rank = whole_of(event, "pid");
		double ts = json_number_value(json_object_get(event, "ts"));
		ck_assert_int_lt(rank, 3);
		const json_t *args = json_object_get(event, "args");
		if (!strcmp(phase, "C")) {
			int64_t sum = 0;
			bool same = last[rank] >= 0;
			for (int c = 0; c < CATEGORY_COUNT; c++) {
				int64_t bytes = whole_of(args, category_name((enum category)c));
				same = same && bytes == end[rank][c];
				sum += end[rank][c] = bytes;
			}
			ck_assert(!same); /* a counter is written when something changed */
			peak[rank] = sum > peak[rank] ? sum : peak[rank];
			ck_assert_int_ge(llround(ts * 1000), last[rank]);
			last[rank] = llround(ts * 1000);
		} else if (!strcmp(phase, "X") && !strcmp(text_of(event, "cat"), "message")) {
			messages++;
			ck_assert_int_eq(llround(ts * 1000), 7);
			ck_assert_int_eq(llround(number_of(event, "dur") * 1000), 1000000);
			ck_assert_int_eq(whole_of(args, "bytes"), 4096);
		} else if (!strcmp(phase, "X")) {
			const struct op *op = &plan_role_of(p, rank)->ops[whole_of(args, "op")];
			spans++;
			ck_assert_str_eq(text_of(event, "cat"), op_name(op->kind));
			ck_assert_int_eq(whole_of(event, "tid"), op->queue);
		}
	}
	ck_assert_uint_eq(messages, 1);
	ck_assert_uint_eq(spans, t.span_count);
	/* counters come to the plan's own peak, and end where the step began */
	for (int64_t rank = 0; rank < 3; rank++) {
		struct memory_use use;
		plan_memory(p, plan_role_of(p, rank), SPACE_DEVICE, &use);
		ck_assert_int_eq(peak[rank], use.peak_bytes);
		for (int c = 0; c < CATEGORY_COUNT; c++)
			ck_assert_int_eq(end[rank][c], use.steady[c]);
	}
	const json_t *own = json_object_get(o, "shardlab");
	ck_assert_str_eq(text_of(own, "cluster"), "a \"quoted\"\\\n\t name");
	ck_assert(json_is_true(json_object_get(own, "measured")));
	ck_assert_int_eq(whole_of(own, "ranks"), 3);

	/* the plan's text, to the letter */
	ck_assert_str_eq(text_of(own, "plan"), plan_to_text(p, NULL));
	json_decref(o);
	trace_release(&t);
}

/* A trace that was cut off still ends with what lives between steps. */
START_TEST(test_cut_off)
{
	struct trace t = {0};
	struct memory_use use;
	const struct plan *p = made_plan("mlp:sizes=8-8-8 single ranks=1 micro_batch=4");
	trace_open(&t, p, "here", true);
	trace_add_span(&t, 0, op_on(p, QUEUE_COMPUTE, 0), 0, 100);
	trace_add_span(&t, 0, op_on(p, QUEUE_COMPUTE, 2), 200, 300);
	json_t *o = trace_json(&t), *event, *last = NULL;
	size_t i;
	json_array_foreach(json_object_get(o, "traceEvents"), i, event)
	{
		if (!strcmp(text_of(event, "ph"), "C"))
			last = event;
	}
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	for (int c = 0; c < CATEGORY_COUNT; c++)
		ck_assert_int_eq(whole_of(json_object_get(last, "args"), category_name((enum category)c)),
		                 use.steady[c]);
	ck_assert_int_eq(llround(number_of(last, "ts") * 1000), 300);
	json_decref(o);
	trace_release(&t);
}

START_TEST(test_disk_full)
{
	struct trace t = {0};
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	const struct plan *p = made_plan("mlp:sizes=8-8 single ranks=1 micro_batch=4");
	fill(&t, p);
	ck_assert_int_eq(trace_write(&t, full), STATUS_RUN);
	fclose(full);
	trace_release(&t);
}

SUITE("trace", 60)
