/* ZeRO stage 2 (Rajbhandari et al. 2020, arXiv 1910.02054, section 5.2): gradients are sharded as well.
 *
 * A bucket's gradients are whole only from the first kernel that writes to it until its reduce-scatter is done; rank r
 * keeps slice r. Every micro-batch is reduced, and adds to the slice. The update is that of ZeRO-1. See reduce.c.
 */
#include "strategy/step/hooks.h"

const struct strategy strategy_zero2 = {
        .name = "zero2",
        .what = "gradients are sharded too: a bucket is reduce-scattered as it fills, and freed",
        .keys = {{"overlap", "yes|no", "yes", "gradients travel while the backward pass goes on"}},
        .pack = pack_buckets,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_SHARD,
        .optimizer = PLACE_SLICE,
};
