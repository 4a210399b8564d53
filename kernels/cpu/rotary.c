/* Rotary embedding, backward: the norms' gradients are summed in parts of the tokens, and the parts in their order. */
#include "kernels/cpu/bodies.h"

KERNEL_FUNCTION(rotary_backward)
{
	float sums[SUM_PARTS * 2 * 2 * ROTARY_PAIRS];
	int64_t size = shape->head_size;
	struct rotary_backward_task t = {shape, dy, x, q_norm, k_norm, dx, q_norm ? sums : NULL};
	parallel_for(kernel_bodies(shape->type)->rotary_backward, &t, SUM_PARTS, 1);
	if (!q_norm)
		return;
	for (int64_t part = 1; part < SUM_PARTS; part++)
		for (int64_t i = 0; i < 2 * size; i++)
			sums[i] += sums[part * 2 * size + i];
	struct narrow_task q = {sums, dq_norm, accumulate_q}, k = {sums + size, dk_norm, accumulate_k};
	kernel_bodies(shape->type)->narrow(&q, 0, size);
	kernel_bodies(shape->type)->narrow(&k, 0, size);
}
