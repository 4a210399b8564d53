/* The samples that a rank loads. */
#ifndef SHARDLAB_RANK_LOAD_H
#define SHARDLAB_RANK_LOAD_H

#include "real/rank/memory.h"

/* Loads the samples of the step, or of the pass at hand, into this process's memory. Either may be NULL. */
void rank_load_samples(struct rank_memory *memory, const struct op *op, int64_t step, void *inputs, int32_t *targets);

#endif
