/* The bubble of a pipeline in closed form: p equal stages stand still for (p−1)/(m+p−1) of a step of m micro-batches,
 * if messages take no time (strategy/step/stage.h). A real step has more where stages are unequal.
 */
#ifndef SHARDLAB_BUBBLE_H
#define SHARDLAB_BUBBLE_H

#include "strategy/plan/plan.h"

struct bubble {
	int64_t stages;        /* p; 0: the plan has none */
	int64_t micro_batches; /* m that are in the stages at a time */
};

struct bubble bubble_of(const struct plan *p);
double bubble_share(const struct bubble *b);
/* "bubble (p−1)/(m+p−1) = 3/11 = 27.3 %" */
enum { BUBBLE_TEXT = 96 };
const char *bubble_text(char out[BUBBLE_TEXT], const struct bubble *b);

#endif
