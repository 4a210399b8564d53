/* One predicted step beside another: how many times as long, between which bounds, and whether that is a tie.
 *
 * An error in one step is much the same in another of the same model and card, so a ratio is known better than a step.
 * Of 653 pairs of published runs, each of one source, model and card, the measured ratio lay within RATIO_SPREAD
 * of the predicted one in nine of ten. Without a stack a step has no range, and no prediction is more exact than
 * RATIO_TIE.
 */
#ifndef SHARDLAB_RATIO_H
#define SHARDLAB_RATIO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RATIO_TIE 0.02
#define RATIO_SPREAD 0.09

struct ratio {
	double value, low, high;
	bool tied; /* the slower one is so by no more than the spread */
};

/* ranges: the steps have ranges, as they do under a stack. */
double ratio_spread(bool ranges);
struct ratio ratio_of(int64_t step, int64_t other, bool ranges);
/* Sets `ratio`, and `ratio_range`, which is null without ranges. */
void ratio_to_json(json_t *object, const struct ratio *r, bool ranges);

#endif
