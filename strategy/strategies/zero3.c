/* ZeRO stage 3 (Rajbhandari et al. 2020, arXiv 1910.02054, section 5.3): parameters are sharded as well.
 *
 * Rank r keeps slice r of every unit. A unit is gathered before its forward and again before its backward, and freed
 * after each: 3Ψ(N−1)/N sent a step. Gradients leave unit by unit as in ZeRO-2. The settings of the prefetch are
 * DeepSpeed's (stage3_prefetch_bucket_size, stage3_max_live_parameters, stage3_max_reuse_distance), in elements; so is
 * `pieces` (sub_group_size).
 *
 * `secondary=K` is hpZ of ZeRO++ (secondary.c): after its forward a unit leaves a second copy in 1/K on each of K
 * neighbouring ranks, and is gathered from it again: Ψ(N−1)/N over all ranks, Ψ(K−1)/K among the K.
 */
#include "strategy/step/hooks.h"

const struct strategy strategy_zero3 = {
        .name = "zero3",
        .what = "parameters are sharded too: a unit is gathered before use and freed after",
        .keys = {{"prefetch", "unit|N", "unit", "elements fetched ahead; with live=, by each module of a unit"},
                 {"live", "unlimited|N", "unlimited", "gathered elements of blocks that stop the prefetch"},
                 {"reuse", "0|N", "0", "keep a unit that is used again within N elements"},
                 {"pieces", "1000000000|N", "1000000000",
                  "elements of a rank's share that DeepSpeed's update takes at once"},
                 {"secondary", "1|N", "1", "ranks that share a second copy between forward and backward (hpZ)"},
                 {"overlap", "yes|no", "yes", "gathers and gradients travel while kernels compute"},
                 SAVE_KEY},
        .mesh = secondary_mesh,
        .pack = pack_units,
        .parameters = PLACE_SHARD,
        .gradients = PLACE_SHARD,
        .optimizer = PLACE_SHARD,
};
