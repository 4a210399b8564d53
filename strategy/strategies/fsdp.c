/* Fully sharded data parallel (Zhao et al. 2023, arXiv 2304.11277), as PyTorch's FSDP: a flat parameter per unit.
 *
 * Gather, forward, reshard; gather the units again in backward, the next one while this one works (backward prefetch),
 * at most two gathers in flight; reduce-scatter each unit's flat gradient. `reshard=no` keeps the unit from forward to
 * backward (SHARD_GRAD_OP): 2Ψ(N−1)/N instead of 3Ψ(N−1)/N. `sync=last` is no_sync on all but the last micro-batch:
 * whole gradients are kept and reduced once.
 *
 * `prefetch=two` is forward_prefetch, whose two gathers in flight come beside the unit in use; `prefetch=all` is
 * limit_all_gathers=False. `backward` is backward_prefetch (gather.c).
 */
#include "strategy/step/hooks.h"

const struct strategy strategy_fsdp = {
        .name = "fsdp",
        .what = "a flat parameter per unit: gather, use, reshard; reduce-scatter its gradient",
        .keys = {{"reshard", "yes|no", "yes", "free a unit after its forward pass"},
                 {"sync", "every|last", "every", "which micro-batches reduce gradients"},
                 {"prefetch", "unit|two|all|N", "unit", "units, or elements, gathered ahead (0: none)"},
                 {"backward", "ahead|unit|post|none", "ahead", "what is gathered ahead in the backward pass"},
                 {"units", "blocks|model", "blocks", "gather blocks one by one, or the whole model (NO_WRAP)"},
                 SAVE_KEY},
        .pack = pack_units,
        .parameters = PLACE_SHARD,
        .gradients = PLACE_SHARD,
        .optimizer = PLACE_SHARD,
};
