/* Tensor parallelism, as Megatron-LM has it (Shoeybi et al. 2019, arXiv 1909.08053): all ranks work on the same samples
 * and share every layer, each with a slice of its weights. It is what FSDP is not: nothing is gathered, and what
 * travels is activations, four times a block: 4·b·t·C elements all-reduced, however large the weights are.
 *
 * How the model is sliced is strategy/model/slice.h, where the sums stand is sliced.c; here is only who keeps what: a
 * rank keeps its slices and their optimizer state, and all of what is not sliced. That part is broadcast once, and
 * stays the same on all ranks without communication, since its gradients come out of the same sums everywhere. With
 * sequence parallelism norms have seen a rank's own rows alone, and their gradients are summed once a step.
 *
 * `plan->model` is the slice, so there is nothing of it in the step but its sizes. */
#include "strategy/step/hooks.h"

static enum status mesh(struct plan *p, const struct choices *c)
{
	if (p->ranks == 1)
		return STATUS_OK;
	p->axis_count = 0;
	plan_add_axis(p, "tensor", p->ranks, false);
	p->axes[0].sequence = c->sequence != 0;
	return STATUS_OK;
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
        .hooks = {.prologue = broadcast_parameters},
};
