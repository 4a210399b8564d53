/* The message when a plan needs more memory than a GPU has. It says how much is missing and what would make it fit. */
#ifndef SHARDLAB_CUDA_FIT_H
#define SHARDLAB_CUDA_FIT_H

#include "strategy/plan/plan.h"

/* Device memory that a rank of this role needs: the arena. */
int64_t cuda_fit_bytes(const struct plan *p, const struct role *r);

/* STATUS_INPUT. `need` bytes were asked for and `available` are there; gpu: "GPU 0 (NVIDIA H100)". Compiles the plan's
 * variants to see which of them fit. */
enum status cuda_fit_failed(const struct plan *p, const char *gpu, int64_t need, int64_t available);

#endif
