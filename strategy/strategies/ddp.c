/* Distributed data parallel (Li et al. 2020, arXiv 2006.15704), as PyTorch's DDP does it: everyone keeps everything.
 *
 * Gradients are packed in buckets in reverse order; when a bucket's last gradient is written it is all-reduced on the
 * communication queue while the backward pass goes on. Buckets are views of the gradients, not copies. With
 * accumulation only the last micro-batch is reduced (no_sync). Parameters are broadcast from rank 0 in the prologue.
 */
#include "strategy/step/step.h"

static void broadcast_parameters(struct step *s)
{
	for (int g = 0; g < s->plan->group_count && s->ranks > 1; g++) {
		build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
		struct op *op = step_collective(s, OP_BROADCAST, SCHEDULE_TREE_BROADCAST, TRAFFIC_BROADCAST, g);
		op->operand[BROADCAST_X] = step_place(s, s->parameters, PLACE_WHOLE, g);
	}
}

static void gradient_ready(struct step *s, int tensor)
{
	int g = s->plan->tensor_group[tensor];
	if (--s->group_left[g] > 0 || !s->last_micro || s->ranks == 1)
		return;
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_ALL_REDUCE, SCHEDULE_RING_ALL_REDUCE, TRAFFIC_ALL_REDUCE, g);
	op->pass = PASS_BACKWARD;
	op->operand[ALL_REDUCE_X] = step_place(s, s->gradients, PLACE_WHOLE, g);
	step_choose_algorithm(s, op, "algorithm");
	s->reduced[g] = build_number(s->b, op);
}

const struct strategy strategy_ddp = {
        .name = "ddp",
        .what = "everyone keeps everything; gradients are all-reduced in buckets during backward",
        .keys = {{"algorithm", "ring|halving-doubling", "ring", "of the all-reduce"}},
        .pack = pack_buckets,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .prologue = broadcast_parameters,
        .gradient_ready = gradient_ready,
};
