/* ZeRO stage 1 (Rajbhandari et al. 2020, arXiv 1910.02054, section 5.1): each rank keeps the optimizer state of its own
 * slice of every bucket, and updates only that.
 *
 * Gradients stay whole. Each bucket is reduce-scattered when it is full, on the last micro-batch: rank r then holds the
 * sum of slice r, updates the parameters of slice r, and an all-gather brings everyone the rest. Sent: Ψ(N−1)/N for the
 * reduce-scatter and as much for the all-gather, as DDP. With `reduce=all` gradients are all-reduced, as DDP's, and the
 * all-gather comes on top: 3Ψ(N−1)/N (DeepSpeed's reduce_scatter false).
 */
#include "strategy/step/hooks.h"

const struct strategy strategy_zero1 = {
        .name = "zero1",
        .what = "optimizer state is sharded: each rank updates its slice, an all-gather spreads it",
        .keys = {{"overlap", "yes|no", "yes", "gradients travel while the backward pass goes on"},
                 {"reduce", "scatter|all", "scatter", "a rank gets the sum of its slice, or of all gradients"}},
        .pack = pack_buckets,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_SLICE,
};
