/* compare: the fastest that fits, what is as fast as far as ratios are known, and every step's ratio to it. */
#ifndef SHARDLAB_COMPARE_FASTEST_H
#define SHARDLAB_COMPARE_FASTEST_H

#include <jansson.h>

#include "cli/show/show.h"

/* several: of one strategy, which are told apart by their settings. */
void fastest_show(const struct column *columns, int count, bool several, FILE *out);
/* Sets `ratio`, `ratio_range` and `tied`, to a step of show_fastest_step(); nothing where none fits. */
void fastest_add_ratio(json_t *object, const struct report *r, int64_t best);

#endif
