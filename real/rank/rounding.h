/* Finds, tensor by tensor, the elements of the whole model that an update's operand holds on this rank, for stochastic
 * rounding (kernels/rounding.h). An element has the same number whatever the strategy, the ranks and the slices of the
 * model.
 *
 *     for (int i = 0; rounding_next(memory, op, &i, &run);)
 *             … run.count elements from run.at on, of run.rounding …
 */
#ifndef SHARDLAB_REAL_ROUNDING_H
#define SHARDLAB_REAL_ROUNDING_H

#include "kernels/rounding.h"
#include "real/rank/memory.h"

struct rounding_run {
	int64_t at, count; /* of the operand's elements */
	struct rounding rounding;
};

/* Elements between and behind the runs are padding, zeros that are not rounded. */
bool rounding_next(const struct rank_memory *memory, const struct op *op, int *next, struct rounding_run *out);

/* Elements of a tensor, or of a rank's slice of it, from `begin` on, whose numbers one formula gives. */
struct rounding_part {
	int64_t begin, count;
	struct element_numbers numbers;
};
int rounding_parts(const struct tensor *t);
struct rounding_part rounding_part(const struct model *m, int64_t slice, int tensor, int part);

#endif
