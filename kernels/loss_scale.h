/* A dynamic loss scale at the end of a step, for the CPU and the GPU from this one source. The rules are
 * told in strategy/settings/loss_scale.h. */
#ifndef SHARDLAB_KERNELS_LOSS_SCALE_H
#define SHARDLAB_KERNELS_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/mix64.h"

/* The state is four floats, in the order of struct loss_scale: the scale is the first, the count of skipped steps the
 * last. */
enum { SCALER_SCALE = 0, SCALER_GOOD = 1, SCALER_HYSTERESIS = 2, SCALER_SKIPPED = 3, SCALER_ELEMENTS = 4 };

struct scale_rule {
	bool pytorch; /* else DeepSpeed's */
	double minimum;
	int64_t window;
	float hysteresis;
};

/* Twice the scale, unless that is no fp32 number any more. */
ON_ANY_DEVICE void scaler_grow(float *scaler)
{
	float twice = scaler[SCALER_SCALE] * 2;
	if (twice - twice == 0)
		scaler[SCALER_SCALE] = twice;
	scaler[SCALER_GOOD] = 0;
}

ON_ANY_DEVICE bool scaler_overflow_deepspeed(const struct scale_rule *rule, float *scaler)
{
	float minimum = (float)rule->minimum, half = scaler[SCALER_SCALE] / 2;
	if (scaler[SCALER_HYSTERESIS] <= 1 && scaler[SCALER_SCALE] <= minimum)
		return false;
	if (scaler[SCALER_HYSTERESIS] > 1)
		scaler[SCALER_HYSTERESIS] -= 1;
	else
		scaler[SCALER_SCALE] = half > minimum ? half : minimum;
	scaler[SCALER_GOOD] = 0;
	return true;
}

/* False if the rule gives up: the scale cannot become smaller and gradients still overflow. */
ON_ANY_DEVICE bool scaler_end_step(const struct scale_rule *rule, bool overflow, float *scaler)
{
	float window = (float)rule->window;
	scaler[SCALER_SKIPPED] += overflow ? 1.0F : 0.0F;
	if (overflow && !rule->pytorch)
		return scaler_overflow_deepspeed(rule, scaler);
	if (overflow) {
		scaler[SCALER_GOOD] = 0;
		scaler[SCALER_SCALE] /= 2;
		return scaler[SCALER_SCALE] > 0; /* nothing would be left of any gradient */
	}
	if (rule->pytorch) {
		scaler[SCALER_GOOD] += 1;
		if (scaler[SCALER_GOOD] >= window)
			scaler_grow(scaler);
		return true;
	}
	/* DeepSpeed's count starts over at 1 when the scale has grown: its remainder is all that counts, but that it
	 * was 0 once. */
	if (scaler[SCALER_GOOD] == window) {
		scaler[SCALER_HYSTERESIS] = rule->hysteresis;
		scaler_grow(scaler);
	}
	scaler[SCALER_GOOD] += 1;
	return true;
}

#endif
