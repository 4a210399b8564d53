/* Hybrid sharding (Zhao et al. 2023, arXiv 2304.11277, section 3.2.2; PyTorch's HYBRID_SHARD): FSDP inside groups of
 * `shard` ranks, as many as share fast links, and replicas of those groups.
 *
 *     shard=2 on 4 ranks       replica 0   rank 0 ─ rank 1     gather, reduce-scatter: along shard
 *                                            │        │        all-reduce of gradient shards: along replica
 *                              replica 1   rank 2 ─ rank 3
 *
 * A rank keeps 1/shard of everything. Unit by unit it gathers and reduce-scatters inside its group, 3Ψ(K−1)/K sent;
 * what crosses the groups is one all-reduce of its shard a step, 2Ψ/K·(R−1)/R for R replicas. With accumulation the
 * shards add up inside the group first, and cross once, on the last micro-batch.
 */
#include "strategy/step/hooks.h"

const struct strategy strategy_hybrid = {
        .name = "hybrid",
        .what = "FSDP inside groups of ranks; an all-reduce of gradient shards across the groups",
        .keys = {{"shard", "2|N", "2", "ranks that share one copy of the model"},
                 {"reshard", "yes|no", "yes", "free a unit after its forward pass"},
                 {"prefetch", "unit|two|all|N", "unit", "units, or elements, gathered ahead (0: none)"},
                 {"backward", "ahead|unit|post|none", "ahead", "what is gathered ahead in the backward pass"},
                 {"units", "blocks|model", "blocks", "gather blocks one by one, or the whole model (NO_WRAP)"}},
        .group_key = "shard",
        .pack = pack_units,
        .parameters = PLACE_SHARD,
        .gradients = PLACE_SHARD,
        .optimizer = PLACE_SHARD,
        .hooks = {.prologue = broadcast_parameters}, /* the first replica broadcasts its shards */
};
