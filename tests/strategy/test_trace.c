/* Traces and reports: times by hand, Chrome JSON against the plan, reports to JSON and back. */
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

/* Of those that end last the one that computes most, and of equals the first. */
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

/* ---- reports ---- */

START_TEST(test_from_plan)
{
	struct report r;
	struct memory_use use;
	const struct plan *p = made_plan("mlp:sizes=20-30-10 ddp ranks=4 micro_batch=4");
	report_from_plan(&r, p);
	int64_t parameters = 20 * 30 + 30 + 30 * 10 + 10;
	ck_assert_str_eq(r.model, "mlp");
	ck_assert_str_eq(r.strategy, "ddp");
	ck_assert_int_eq(r.parameters, parameters);
	ck_assert_int_eq(r.batch, 16);
	ck_assert_int_eq(r.micro_batch, 4);
	ck_assert_int_eq(r.role_count, 1);
	ck_assert_int_eq(r.roles[0].ranks, 4);
	const struct report_traffic *t = r.roles[0].by_kind;
	ck_assert_int_eq(t[TRAFFIC_ALL_REDUCE].payload_bytes, parameters * 4);
	ck_assert_int_eq(t[TRAFFIC_ALL_REDUCE].calls, p->group_count);
	ck_assert_int_eq(t[TRAFFIC_ALL_REDUCE].sent_bytes, p->group_elements * 4 / 4 * 3 * 2);
	ck_assert_int_eq(r.roles[0].sent_bytes, t[TRAFFIC_ALL_REDUCE].sent_bytes);
	ck_assert_int_eq(r.roles[0].received_bytes, t[TRAFFIC_ALL_REDUCE].sent_bytes);
	ck_assert_int_eq(t[TRAFFIC_ALL_GATHER].calls, 0);
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	ck_assert_int_eq(r.roles[0].memory[SPACE_DEVICE].peak_bytes, use.peak_bytes);
	ck_assert_int_eq(r.roles[0].memory[SPACE_DEVICE].arena_bytes, use.arena_bytes);
	ck_assert_uint_gt(strlen(r.roles[0].memory[SPACE_DEVICE].peak_at), 0);
	ck_assert_ptr_null(strstr(r.roles[0].memory[SPACE_DEVICE].peak_at, "alloc"));
	ck_assert_int_eq(r.roles[0].memory[SPACE_HOST].peak_bytes, 0);
	report_release(&r);
	report_release(NULL);
}

/* DP over a tree: rank 1 … pass parameters on, the last does not; the report shows the busiest. */
START_TEST(test_busiest)
{
	static const char *const strategies[] = {"dp", "dp:broadcast=tree"};
	for (int k = 0; k < 2; k++) {
		const struct plan *p = made_plan("mlp:sizes=20-30-10 %s ranks=8", strategies[k]);
		const struct report *r = report_planned(p);
		for (int i = 0; i < r->role_count; i++) {
			const struct role *role = &p->roles[i];
			int64_t most = 0;
			for (int64_t rank = role->first_rank; rank < role->first_rank + role->ranks; rank++) {
				int64_t sum = 0;
				for (int op = role->step.begin; op < role->step.end; op++)
					if (role->ops[op].traffic != TRAFFIC_CONTROL)
						sum += op_sent_bytes(p, role, &role->ops[op], rank) +
						       op_received_bytes(p, role, &role->ops[op], rank);
				most = sum > most ? sum : most;
			}
			ck_assert_int_gt(most, 0);
			ck_assert_int_eq(r->roles[i].sent_bytes + r->roles[i].received_bytes, most);
		}
	}
}

static void fill_report(struct report *r, const struct plan *p, bool measured)
{
	report_from_plan(r, p);
	snprintf(r->cluster, sizeof r->cluster, "here");
	r->time = (struct times){1234567891, 1000000001, 500000003, 200000007, 34567883, 300000001, 0, 600000001, 3};
	snprintf(r->checkpointing.setting, sizeof r->checkpointing.setting, "every=2:profile=yes");
	r->checkpointing.checkpoints = 7;
	r->checkpointing.tried = 3;
	r->checkpointing.profile = true;
	r->tightest = (struct report_tightest){SPACE_DISK, 88, 99};
	r->fits = true;
	r->rates_measured = true;
	r->roles[0].memory[SPACE_DEVICE].overhead_bytes = 77;
	r->roles[0].memory[SPACE_DEVICE].overhead_assumed = true;
	r->roles[1].memory[SPACE_DISK].peak_bytes = 5;
	r->roles[0].by_kind[TRAFFIC_BROADCAST].received_bytes = 11;
	r->roles[0].received_bytes = 13;
	r->roles[0].transfer[TRANSFER_DEVICE_TO_HOST] = (struct report_transfer){17, 19};
	r->measured = measured;
	if (!measured) {
		snprintf(r->grain, sizeof r->grain, "message");
		r->bubble = (struct bubble){4, 8};
		return;
	}
	report_add_ranks(r, p);
	r->by_rank[1].by_kind[TRAFFIC_REDUCE].sent_bytes = -1; /* inside a library */
	r->staging_touched_bytes = 4567;
	r->roles[0].overhead =
	        (struct report_overhead){.measured = true, .part = {1, 2, 3, 4, 5, 6, 56}, .in_use_bytes = 99};
	r->losses = calloc(3, sizeof *r->losses);
	r->losses[0] = 2.302585092994046;
	r->losses[1] = NAN;
	r->losses[2] = 0.1;
	r->loss_count = 3;
	r->validation_accuracy = 0.97;
	r->resident_bytes = 123456789;
	r->units_per_s = 1000.5;
	r->roles[1].sent_bytes = -1; /* inside a library */
	r->roles[1].by_kind[TRAFFIC_REDUCE].sent_bytes = -1;
	snprintf(r->weights_checksum, sizeof r->weights_checksum, "0123456789abcdef");
}

static void assert_same_report(const struct report *a, const struct report *b)
{
	ck_assert_mem_eq(&a->time, &b->time, sizeof a->time);
	ck_assert_str_eq(a->checkpointing.setting, b->checkpointing.setting);
	ck_assert_int_eq(a->tightest.space, b->tightest.space);
	ck_assert_int_eq(a->tightest.needed_bytes, b->tightest.needed_bytes);
	ck_assert_int_eq(a->tightest.capacity_bytes, b->tightest.capacity_bytes);
	for (int i = 0; i < b->role_count; i++) {
		const struct report_role *x = &a->roles[i], *y = &b->roles[i];
		ck_assert_int_eq(x->sent_bytes, y->sent_bytes);
		ck_assert_mem_eq(x->by_kind, y->by_kind, sizeof x->by_kind);
		ck_assert_mem_eq(x->memory[SPACE_DISK].steady, y->memory[SPACE_DISK].steady, sizeof y->memory->steady);
		ck_assert_int_eq(x->memory[SPACE_DISK].peak_bytes, y->memory[SPACE_DISK].peak_bytes);
		ck_assert(x->overhead.measured == y->overhead.measured);
		ck_assert_mem_eq(x->overhead.part, y->overhead.part, sizeof x->overhead.part);
		ck_assert_int_eq(x->overhead.in_use_bytes, y->overhead.in_use_bytes);
	}
	ck_assert_int_eq(a->staging_touched_bytes, b->staging_touched_bytes);
	ck_assert_int_eq(a->loss_count, b->loss_count);
	if (b->loss_count) {
		ck_assert(a->losses[0] == b->losses[0] && isnan(a->losses[1]) && isnan(a->validation_loss));
		ck_assert_mem_eq(a->by_rank, b->by_rank, (size_t)b->ranks * sizeof *b->by_rank);
	}
}

START_TEST(test_json)
{
	for (int measured = 0; measured < 2; measured++) {
		struct report r, again;
		const struct plan *p = made_plan("mlp:sizes=20-30-10 dp ranks=4 micro_batch=4");
		fill_report(&r, p, measured);
		json_t *o = report_to_json(&r);
		/* names of the contract */
		const json_t *role = json_array_get(json_object_get(o, "roles"), 0);
		const json_t *device = json_object_get(json_object_get(role, "memory"), "device");
		ck_assert_int_eq(whole_of(device, "peak_bytes"), r.roles[0].memory[SPACE_DEVICE].peak_bytes);
		ck_assert_int_eq(whole_of(device, "overhead_bytes"), 77);
		ck_assert_int_eq(whole_of(json_object_get(device, "at_peak"), "parameters"),
		                 r.roles[0].memory[SPACE_DEVICE].at_peak[CATEGORY_PARAMETERS]);
		const json_t *kinds = json_object_get(json_object_get(role, "communication"), "by_kind");
		ck_assert_int_eq(whole_of(json_object_get(kinds, "broadcast"), "sent_bytes"),
		                 r.roles[0].by_kind[TRAFFIC_BROADCAST].sent_bytes);
		ck_assert_int_gt(r.roles[0].by_kind[TRAFFIC_BROADCAST].sent_bytes, 11);
		ck_assert_int_eq(whole_of(json_object_get(kinds, "broadcast"), "received_bytes"), 11);
		ck_assert_int_eq(whole_of(json_object_get(role, "communication"), "received_bytes"), 13);
		const json_t *copies = json_object_get(json_object_get(role, "transfers"), "device_to_host");
		ck_assert_int_eq(whole_of(copies, "calls"), 17);
		ck_assert_int_eq(whole_of(copies, "bytes"), 19);
		ck_assert(json_number_value(json_object_get(json_object_get(o, "time"), "step_s")) == 1.234567891);
		ck_assert(json_is_true(json_object_get(o, "fits")));
		ck_assert_int_eq(whole_of(json_object_get(o, "tightest"), "needed_bytes"), 88);
		ck_assert_str_eq(text_of(o, "precision"), "fp32");

		must(report_from_json(&again, o));
		json_t *second = report_to_json(&again);
		ck_assert(json_equal(o, second));
		assert_same_report(&again, &r);
		json_decref(o);
		json_decref(second);
		report_release(&r);
		report_release(&again);
	}
}

/* Takes out, and then replaces by a list, the n-th member anywhere in the object; false when there is no n-th. */
static bool spoil(json_t *o, int *n, bool take)
{
	void *next;
	const char *key;
	json_t *value;
	json_object_foreach_safe(o, next, key, value)
	{
		if (!(*n)--) {
			if (take)
				json_object_del(o, key);
			else
				json_object_set_new(o, key, json_array());
			return true;
		}
		json_t *below = json_is_array(value) ? json_array_get(value, 0) : value;
		if (json_is_object(below) && spoil(below, n, take))
			return true;
	}
	return false;
}

START_TEST(test_json_spoiled)
{
	struct report r, again;
	int refused = 0;
	const struct plan *p = made_plan("mlp:sizes=20-30-10 dp ranks=4 micro_batch=4");
	fill_report(&r, p, true);
	for (int take = 0; take < 2; take++)
		for (int i = 0;; i++) {
			json_t *o = report_to_json(&r);
			int n = i;
			bool spoiled = spoil(o, &n, take);
			enum status s = spoiled ? report_from_json(&again, o) : STATUS_OK;
			char *text = json_dumps(o, 0);
			json_decref(o);
			/* an empty list is a list: of losses, or of roles */
			bool still_right = !take && (strstr(text, "\"losses\": []") || strstr(text, "\"roles\": []"));
			if (spoiled && s != (still_right ? STATUS_OK : STATUS_RUN))
				ck_abort_msg("%d, status %d: %s", i, s, text);
			free(text);
			report_release(&again);
			if (!spoiled)
				break;
			refused++;
		}
	ck_assert_int_gt(refused, 100);
	report_release(&r);
	ck_assert_int_eq(report_from_json(&again, NULL), STATUS_RUN);
}

SUITE("trace", 60)
