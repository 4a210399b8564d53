/* The losses of a run over its steps, as its plot and its curve show them: in memory that does not grow with the run.
 *
 *     struct curves c;
 *     curves_begin(&c);
 *     curves_add(&c, 1, 2.3, NAN);              // step, training loss, validation loss (NaN: not evaluated)
 *     const struct curve_point *p = c.training.items;      // c.training.count of them
 *     curves_release(&c);
 */
#ifndef SHARDLAB_CURVES_H
#define SHARDLAB_CURVES_H

#include <stdbool.h>

#include "strategy/base/series.h"

struct curve_point {
	int64_t step;
	double loss;
};

/* A long run has points that lie evenly among its steps, and always the last. */
struct curves {
	struct series training, validation; /* of struct curve_point */
	int64_t added, validated;           /* points so far */
	struct curve_point last, last_validated;
};

void curves_begin(struct curves *c);
/* Losses that are not finite are left out. */
void curves_add(struct curves *c, int64_t step, double loss, double validation_loss);
void curves_release(struct curves *c); /* accepts NULL and a zeroed struct */

/* Point i of a curve, from 0. The last point comes after those that were kept, if it is not one of them. False: there
 * is none. */
bool curves_training(const struct curves *c, int64_t i, struct curve_point *out);
bool curves_validation(const struct curves *c, int64_t i, struct curve_point *out);

/* The range that both curves together span; `low` and `high` are apart. */
struct curve_range {
	int64_t first, last; /* steps */
	double low, high;    /* losses */
};
/* False: there is no point. */
bool curves_range(const struct curves *c, struct curve_range *out);

#endif
