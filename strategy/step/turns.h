/* In which order a micro-batch takes the model's kernels: forward in order, then backward in reverse, and before the
 * first backward kernel that reads something of a checkpointed segment, the segment's kernels once more.
 *
 *     forward                          backward, a checkpoint every second block
 *     embedding  b0  b1  b2  b3  head  head  [b2' b3']  b3  b2  [b0' b1']  b1  b0  embedding
 *
 * A *visit* is what a strategy's hooks surround: it gathers parameters before and frees them after. A unit is visited
 * once in the forward and once in the backward pass (the root unit of a GPT for the whole of it), and recomputing what
 * goes backward next belongs to the same visit: b3' and b3. Of the other units of a segment, b2' is a visit of its own.
 */
#ifndef SHARDLAB_TURNS_H
#define SHARDLAB_TURNS_H

#include "strategy/plan/checkpoints.h"
#include "strategy/plan/plan.h"

struct turn {
	int kernel;
	enum pass pass;
	int visit;
};

struct visit {
	int unit;
	enum pass pass;
	int first, last; /* turns */
};

struct turns {
	struct turn *list;
	int count, forward; /* the first `forward` of them are the forward pass */
	struct visit *visits;
	int visit_count, forward_visits; /* in the order in which they begin */
};

/* Of kernels [begin, end) alone. */
void turns_make(struct turns *t, struct arena *a, const struct model *m, const struct checkpoints *c, int begin,
                int end);

#endif
