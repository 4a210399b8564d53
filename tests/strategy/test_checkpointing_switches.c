/* DeepSpeed's settings of activation checkpointing, each by what it does to the plan: contiguous_memory_optimization,
 * synchronize_checkpoint_boundary, number_checkpoints, cpu_checkpointing, partition_activations. */
#include <stdio.h>
#include <string.h>

#include "strategy/plan/order.h"
#include "tests/strategy/checkpointing_check.h"
#include "tests/support/suite.h"

/* All checkpoints are parts of one buffer, apart from each other, and it lives from the first to the last. */
START_TEST(checkpoints_in_one_block)
{
	int buffer = -1, alloc = -1, freed = -1, parts = 0;
	int64_t n = (int64_t)SAMPLES * TOKENS * WIDTH;
	bool seen[LAYERS] = {false};
	const struct plan *p = right_plan(
	        "%s ddp ranks=2 micro_batch=%d activation_checkpointing=full:contiguous_memory_optimization=yes", small,
	        SAMPLES);
	const struct role *r = &p->roles[0];
	for (int i = 0; i < r->buffer_count; i++)
		if (!strcmp(r->buffers[i].name, "checkpoints"))
			buffer = i;
	ck_assert_int_ge(buffer, 0);
	ck_assert_int_eq(r->buffers[buffer].elements, LAYERS * n);
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_buffer(op) == buffer && op->kind == OP_ALLOC)
			alloc = i;
		if (op_buffer(op) == buffer && op->kind == OP_FREE)
			freed = i;
		for (int k = 0; k < op_operand_count(op->kind) && op_class(op->kind) != OP_CLASS_M; k++) {
			if (op->operand[k].buffer != buffer)
				continue;
			ck_assert(alloc >= 0 && freed < 0);
			ck_assert(op->operand[k].count == n && op->operand[k].offset % n == 0);
			if (op_access(op, k) == 'r')
				continue;
			parts++;
			ck_assert(op->pass == PASS_FORWARD && !seen[op->operand[k].offset / n]);
			seen[op->operand[k].offset / n] = true;
		}
	}
	ck_assert_int_eq(parts, LAYERS);
	ck_assert_int_gt(freed, alloc);
}

/* Segments that begin to be made again when all collectives before them are done, and when not. */
static void count_meetings(const char *mode, int *met, int *not_met)
{
	const struct plan *p = right_plan("%s ddp ranks=2 bucket=4096 activation_checkpointing=%s", small, mode);
	const struct role *r = &p->roles[0];
	int last_collective = -1;
	enum pass before = PASS_NONE;
	struct order o;
	*met = *not_met = 0;
	order_make(&o, r, &r->step);
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) == OP_CLASS_C)
			last_collective = i;
		if (op->kernel < 0)
			continue;
		if (op->pass == PASS_RECOMPUTE && before != PASS_RECOMPUTE && last_collective >= 0) {
			bool ordered = order_before(&o, last_collective, i);
			*met += ordered;
			*not_met += !ordered;
		}
		before = op->pass;
	}
	order_release(&o);
}

START_TEST(queues_meet_at_boundaries)
{
	int met, not_met;
	count_meetings("full:synchronize_checkpoint_boundary=yes", &met, &not_met);
	ck_assert_int_eq(not_met, 0);
	ck_assert_int_ge(met, LAYERS - 1); /* before the last block nothing has been sent yet */
	count_meetings("full", &met, &not_met);
	ck_assert_int_ge(not_met, LAYERS - 1);
}

static int64_t peak_of(const struct plan *p)
{
	int64_t peak = 0;
	for (int i = 0; i < p->role_count; i++) {
		struct memory_use use;
		plan_memory(p, &p->roles[i], SPACE_DEVICE, &use);
		peak = use.peak_bytes > peak ? use.peak_bytes : peak;
	}
	return peak;
}

/* No number of checkpoints has a smaller peak than the one that was found, and numbers differ. */
START_LOOP_TEST(auto_finds_the_least_peak, 0, 5)
{
	/* Under pipeline the first stage, with the most micro-batches under way, wants another number than the last. */
	static const char *const strategies[] = {"single ranks=1", "ddp ranks=2", "zero3 ranks=2", "dp ranks=2",
	                                         "pipeline ranks=3 accumulate=6"};
	static const char *const models[] = {"gpt:layers=9,width=16,heads=4,context=64,vocabulary=50",
	                                     "mlp:sizes=8-40-40-40-40-40-40-40-40-8"};
	for (int model = 0; model < 2; model++) {
		int64_t least = INT64_MAX, most = 0, peaks[10];
		char request[200];
		snprintf(request, sizeof request,
		         "%s %s micro_batch=16 activation_checkpointing=full:number_checkpoints", models[model],
		         strategies[_i]);
		const struct plan *found = right_plan("%s=auto", request);
		for (int number = 1; number <= 9; number++) {
			peaks[number] = peak_of(right_plan("%s=%d", request, number));
			least = peaks[number] < least ? peaks[number] : least;
			most = peaks[number] > most ? peaks[number] : most;
		}
		int number = 0;
		ck_assert_int_eq(sscanf(found->settings.checkpointing, "full:number_checkpoints=%d", &number), 1);
		ck_assert(number >= 1 && number <= 9);
		ck_assert_int_eq(peaks[number], peak_of(found));
		ck_assert_msg(peak_of(found) == least && least < most,
		              "%s, %s: %s has a peak of %lld, the least is %lld", models[model], strategies[_i],
		              found->settings.checkpointing, (long long)peak_of(found), (long long)least);
		ck_assert_int_eq(found->settings.checkpointing_tried, 9);
	}
}

/* Every checkpoint goes to the host when its block is done, and comes back; nothing else does. */
START_LOOP_TEST(checkpoints_on_the_host, 0, plans_strategies())
{
	int64_t n = (int64_t)SAMPLES * TOKENS * WIDTH;
	int sent = 0, fetched = 0;
	struct memory_use host;
	const struct plan *p = right_plan(
	        "%s %s ranks=%d micro_batch=%d accumulate=2 activation_checkpointing=full:cpu_checkpointing=yes", small,
	        strategy_at(_i)->name, (int)(_i ? 2 : 1), SAMPLES);
	const struct role *r = &p->roles[p->role_count - 1];
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind != OP_COPY)
			continue;
		sent += op->queue == QUEUE_DEVICE_TO_HOST;
		fetched += op->queue == QUEUE_HOST_TO_DEVICE;
		ck_assert_int_eq(op->operand[COPY_X].count, n);
	}
	ck_assert_int_eq(sent, 2 * LAYERS);
	ck_assert_int_eq(fetched, 2 * LAYERS);
	plan_memory(p, r, SPACE_HOST, &host);
	ck_assert_int_eq(host.peak_bytes, 4 * n * LAYERS);
	ck_assert_int_eq(host.at_peak[CATEGORY_ACTIVATIONS], host.peak_bytes);
}

/* Each rank of a tensor group keeps a slice of every block's input, and has it whole while the block is at work. */
START_TEST(checkpoints_in_parts)
{
	enum { RANKS = 4 };
	int64_t n = (int64_t)SAMPLES * TOKENS * WIDTH;
	char request[200];
	snprintf(request, sizeof request,
	         "%s tensor ranks=%d micro_batch=%d accumulate=2 activation_checkpointing=full", small, RANKS, SAMPLES);
	const struct plan *whole = right_plan("%s", request), *p = right_plan("%s:partition_activations=yes", request);
	const struct role *r = &p->roles[0], *w = &whole->roles[0];
	ck_assert_int_eq(plan_moved(whole, 0, TRAFFIC_ALL_GATHER).calls, 0);
	struct moved gathered = plan_moved(p, 0, TRAFFIC_ALL_GATHER);
	ck_assert_int_eq(gathered.calls, 2 * LAYERS);
	ck_assert_int_eq(gathered.payload, 2 * LAYERS * n * 4);
	ck_assert_int_eq(gathered.sent, 2 * LAYERS * n * 4 / RANKS * (RANKS - 1));
	/* in the second micro-batch as in the first: what is kept at the end of a forward pass */
	ck_assert_int_eq(alive_after(w, end_of_forward(w, LAYERS)) - alive_after(r, end_of_forward(r, LAYERS)),
	                 LAYERS * (n - n / RANKS) * 4);
}

SUITE("checkpointing switches", 0)
