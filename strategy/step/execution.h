/* The execution order of a micro-batch: forward through the model's kernels, then backward in reverse, and before the
 * first backward kernel that reads something of a checkpointed segment, the segment's kernels once more.
 *
 *     forward                          backward, a checkpoint every second block
 *     embedding  b0  b1  b2  b3  head  head  [b2' b3']  b3  b2  [b0' b1']  b1  b0  embedding
 *
 * A *span* is what a strategy's hooks surround: parameters are gathered before it and freed after it. A unit has one in
 * the forward and one in the backward pass (the root unit of a GPT for the whole of it), and recomputing the kernels
 * that go backward next belongs to the same span: b3' and b3. A kernel of another unit of the segment, such as b2', has
 * a span of its own.
 */
#ifndef SHARDLAB_EXECUTION_H
#define SHARDLAB_EXECUTION_H

#include "strategy/plan/checkpoints.h"
#include "strategy/plan/plan.h"

/* The parts that are gathered at once: the model's units, or each kernel for software that gathers module by module. */
struct gather_units {
	int count, *of_kernel; /* units; by kernel, its unit */
	int *first, *groups;   /* the groups of unit u: groups[first[u]] to groups[first[u + 1] - 1] */
	bool modules;          /* they are kernels */
};

struct unit_span {
	int unit; /* of struct gather_units */
	enum pass pass;
	int first, last; /* launches */
};

/* The values that a kernel reads in a pass; -1 where it has none. */
struct kernel_reads {
	int value[4];
};
struct kernel_reads kernel_reads(const struct kernel *k, enum pass pass);

/* A kernel in a pass. */
struct launch {
	int kernel;
	enum pass pass;
	int span;
	struct kernel_reads reads;
};

struct execution {
	struct launch *launches;
	int count, forward; /* the first `forward` of them are the forward pass */
	struct unit_span *spans;
	int span_count, forward_spans; /* in the order in which they begin */
};

/* Covers kernels [begin, end) alone. */
void execution_make(struct execution *e, struct arena *a, const struct model *m, const struct checkpoints *c,
                    const struct gather_units *units, int begin, int end);

#endif
