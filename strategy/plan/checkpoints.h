/* The values that activation checkpointing (strategy/settings/checkpointing.h) keeps of a model, and the kernels that
 * recompute the others. */
#ifndef SHARDLAB_CHECKPOINTS_H
#define SHARDLAB_CHECKPOINTS_H

#include "strategy/settings/checkpointing.h"

struct checkpoints {
	int *segment;     /* by kernel; -1: kept as it is */
	bool *recomputed; /* by kernel */
	bool *selected;   /* by kernel: a product that `operations` keeps */
	bool *again;      /* by value: its first copy goes with the forward pass, and a second one is made */
	int *reads;       /* by value: how often the second is read */
	int segments;     /* with full and every=K: as many checkpoints */
	bool *checkpoint; /* by value: what a segment begins with, made by a kernel outside of it */
};
/* Decides for kernels [begin, end) alone. A stage keeps what it gets from the one before. */
void checkpoints_make(struct checkpoints *c, struct arena *a, const struct model *m,
                      const struct checkpointing *setting, int begin, int end);

#endif
