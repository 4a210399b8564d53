/* Tensor parallelism, as Megatron-LM has it (Shoeybi et al. 2019, arXiv 1909.08053): all ranks work on the same samples
 * and share every layer, each with a slice of its weights. It is what FSDP is not: nothing is gathered, and what
 * travels is activations, four times a block: 4·b·t·C elements all-reduced, however large the weights are.
 *
 * How the model is sliced is strategy/model/slice.h, where the sums stand is sliced.c; here is only who keeps what: a
 * rank keeps its slices and their optimizer state, and all of what is not sliced. That part is broadcast once, and
 * stays the same on all ranks without communication, since its gradients come out of the same sums everywhere.
 *
 * `plan->model` is the slice, so there is nothing of it in the step but its sizes. */
#include <string.h>

#include "strategy/step/step.h"

extern const struct strategy strategy_tensor;

static enum status mesh(struct plan *p)
{
	if (p->ranks == 1)
		return STATUS_OK;
	p->axis_count = 0;
	plan_add_axis(p, "tensor", p->ranks, false);
	p->axes[0].sequence = !strcmp(strategy_value(p, &strategy_tensor, "sequence"), "yes");
	return STATUS_OK;
}

static void broadcast_whole(struct step *s)
{
	for (int g = 0; g < s->plan->group_count && s->ranks > 1; g++) {
		if (group_is_sliced(s->plan, g))
			continue;
		build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
		struct op *op = step_collective(s, OP_BROADCAST, SCHEDULE_TREE_BROADCAST, TRAFFIC_BROADCAST, g);
		op->operand[BROADCAST_X] = step_place(s, s->parameters, PLACE_WHOLE, g);
	}
}

/* With sequence parallelism, norms have seen a rank's own rows: their gradients are summed once a step. */
static void gradient_ready(struct step *s, int tensor)
{
	int g = s->plan->tensor_group[tensor];
	if (--s->group_left[g] > 0 || !s->last_micro || plan_along(s->plan, group_sum_axes(s->plan, g)) == 1)
		return;
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_ALL_REDUCE, SCHEDULE_RING_ALL_REDUCE, TRAFFIC_ALL_REDUCE, g);
	op->pass = PASS_BACKWARD;
	op->operand[ALL_REDUCE_X] = step_place(s, s->gradients, PLACE_WHOLE, g);
	s->reduced[g] = build_number(s->b, op);
}

const struct strategy strategy_tensor = {
        .name = "tensor",
        .what = "all ranks share every layer: weights sliced by columns and rows, activations summed (Megatron)",
        .same_samples = true,
        .slices = true,
        .mesh = mesh,
        .pack = pack_slices,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .keys = {{"sequence", "no|yes", "no", "norms, dropouts and the residual stream by rows of the sequence"}},
        .prologue = broadcast_whole,
        .gradient_ready = gradient_ready,
};
