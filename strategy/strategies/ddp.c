/* Distributed data parallel (Li et al. 2020, arXiv 2006.15704), as PyTorch's DDP does it: everyone keeps everything.
 *
 * Gradients are packed in buckets in reverse order; when a bucket's last gradient is written it is all-reduced on the
 * communication queue while the backward pass goes on. Buckets are views of the gradients, not copies. With
 * accumulation only the last micro-batch is reduced (no_sync). Parameters are broadcast from rank 0 in the prologue.
 */
#include "strategy/step/hooks.h"

const struct strategy strategy_ddp = {
        .name = "ddp",
        .what = "everyone keeps everything; gradients are all-reduced in buckets during backward",
        .keys = {{"algorithm", "ring|halving-doubling", "ring", "of the all-reduce"}},
        .pack = pack_buckets,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .hooks = {.prologue = broadcast_parameters},
};
