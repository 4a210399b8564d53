/* DeepSpeed's own estimates for a model (estimate_zero2_model_states_mem_needs and
 * estimate_zero3_model_states_mem_needs of deepspeed/runtime/zero). They count parameters, gradients and optimizer
 * state in 16-bit training with Adam, and leave out activations, buckets, what is gathered ahead, and libraries. */
#ifndef SHARDLAB_ESTIMATOR_H
#define SHARDLAB_ESTIMATOR_H

#include "strategy/plan/types.h"

struct estimate_of {
	int stage;                   /* 2 or 3 */
	int64_t parameters, largest; /* of the model, and of its largest module: a weight and its bias */
	int64_t devices, nodes;
	struct offload offload;
	bool zero_init; /* stage 3: parameters are never whole on a rank */
};

struct estimate {
	double device_bytes, host_bytes; /* of a device; of a node's memory */
};

struct estimate estimate_make(const struct estimate_of *of);
/* The estimate for a plan on nodes of so many devices, with zero.Init. False: the estimators have no figure for its
 * strategy. */
bool estimate_of_plan(const struct plan *p, int64_t devices_each, struct estimate *out);

#endif
