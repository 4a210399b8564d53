/* The rates that a stack reaches on a cluster, which the simulator computes with, in one place.
 *
 *     cluster_take_stack(&c, &stack);                     links, memory, launches: once, when the cluster is opened
 *     effective_share(&c, kind, &sizes)                   of its rate of compute, for each operation, by its shape
 *     effective_kernel(&c, kind, computing, moving)       the time of a kernel of the model, launches included
 *
 * Without a stack, as on CPUs and where rates were measured, the cluster's own are what is reached, and all of this
 * changes nothing.
 */
#ifndef SHARDLAB_EFFECTIVE_H
#define SHARDLAB_EFFECTIVE_H

#include "strategy/cluster/cluster.h"

/* STATUS_INPUT: a stack on a cluster of CPUs. */
enum status cluster_take_stack(struct cluster *c, const struct stack *s);
/* Such a class, where no stack was named: of GPUs whose card is known, and of which nothing was measured. Others stay
 * as they are. */
enum status cluster_take_class(struct cluster *c, const char *class);
static inline bool cluster_has_stack(const struct cluster *c)
{
	return *c->stack.name != 0;
}

/* Millionths of the cluster's rate that an operation of these sizes reaches. */
int64_t effective_share(const struct cluster *c, enum op_kind kind, const struct op_sizes *sizes);
/* Nanoseconds of a kernel that computes and moves bytes for so long. fuses: the plan's kernel does what this stack does
 * in several. */
int64_t effective_kernel(const struct cluster *c, int64_t computing, int64_t moving, bool fuses);
/* Nanoseconds that a step takes beside its operations. */
int64_t effective_constant(const struct cluster *c, int64_t micro_batches);
/* Bytes that a rank's device holds, of which so many are activations at the peak. */
int64_t effective_allocated(const struct cluster *c, int64_t bytes, int64_t activations);
int64_t effective_reserved(const struct cluster *c, int64_t allocated);
/* The same two figures of a plan that is made as other software's. beyond: bytes that its caching allocator would hold
 * beside the plan's. */
int64_t effective_allocated_as(const struct cluster *c, int64_t bytes, int64_t activations);
int64_t effective_reserved_as(const struct cluster *c, int64_t allocated, int64_t beyond);
/* Bytes of a rank's libraries: the cluster's overhead, and what the stack's products work in. */
int64_t effective_overhead(const struct cluster *c);

/* The band around a predicted step in which nine of ten lie, in millionths of it: wider for what the stack was not
 * fitted on. What a step waits for the network is NETWORK_SPREAD times as uncertain as what it computes, so that the
 * band widens with its share in the step: low = 1 - (1 - range.low) · (computing + NETWORK_SPREAD · network). tokens:
 * of a rank's micro-batch; width: 0, unknown; network: millionths of the step. */
enum { NETWORK_SPREAD = 2 };
struct effective_range {
	int64_t low, high;
	bool outside; /* of what it was fitted on */
};
struct effective_range effective_range(const struct stack *s, int64_t width, int64_t ranks, int64_t tokens,
                                       int64_t network);

#endif
