/* ZeRO stage 3 (Rajbhandari et al. 2020, arXiv 1910.02054, section 5.3): parameters are sharded as well.
 *
 * Rank r keeps slice r of every unit. A unit is gathered before its forward and again before its backward, and freed
 * after each: 3Ψ(N−1)/N sent a step. Gradients leave unit by unit as in ZeRO-2. The settings of the prefetch are
 * DeepSpeed's (stage3_prefetch_bucket_size, stage3_max_live_parameters, stage3_max_reuse_distance), in elements.
 */
#include "strategy/step/step.h"

const struct strategy strategy_zero3 = {
        .name = "zero3",
        .what = "parameters are sharded too: a unit is gathered before use and freed after",
        .keys = {{"prefetch", "unit|N", "unit", "elements fetched ahead"},
                 {"live", "unlimited|N", "unlimited", "gathered elements that stop the prefetch"},
                 {"reuse", "0|N", "0", "keep a unit that is used again within N elements"}},
        .pack = pack_units,
        .parameters = PLACE_SHARD,
        .gradients = PLACE_SHARD,
        .optimizer = PLACE_SHARD,
        .begin_micro = gather_begin,
        .before_forward = gather_before,
        .after_forward = gather_after,
        .before_backward = gather_before,
        .after_backward = gather_after,
        .gradient_needed = reduce_needed,
        .gradient_ready = reduce_ready,
        .end_backward = reduce_finish,
};
