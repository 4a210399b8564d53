/* Tensor parallelism, as Megatron-LM has it (Shoeybi et al. 2019, arXiv 1909.08053): all ranks work on the same samples
 * and share every layer, each with a slice of its weights. It is what FSDP is not: nothing is gathered, and what
 * travels is activations, four times a block: 4·b·t·C elements all-reduced, however large the weights are.
 *
 * How the model is sliced is strategy/model/slice.h, where the sums stand is sliced.c; here is only who keeps what: a
 * rank keeps its slices and their optimizer state, and all of what is not sliced. That part is broadcast once, and
 * stays the same on all ranks without communication, since its gradients come out of the same sums everywhere.
 *
 * `plan->model` is the slice, so there is nothing of it in the step but its sizes. */
#include "strategy/step.h"

static void broadcast_whole(struct step *s)
{
	for (int g = 0; g < s->plan->group_count && s->ranks > 1; g++) {
		if (group_is_sliced(s->plan, g))
			continue;
		build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
		struct op *op = step_collective(s, OP_BROADCAST, SCHEDULE_TREE_BROADCAST, TRAFFIC_BROADCAST, g);
		op->operand[0] = step_place(s, s->parameters, PLACE_WHOLE, g);
	}
}

const struct strategy strategy_tensor = {
        .name = "tensor",
        .what = "all ranks share every layer: weights sliced by columns and rows, activations summed (Megatron)",
        .same_samples = true,
        .slices = true,
        .offloads = true,
        .pack = pack_slices,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .prologue = broadcast_whole,
};
