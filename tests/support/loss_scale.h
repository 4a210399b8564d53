/* A step of the loss scale by its rule's name. */
#ifndef SHARDLAB_TESTS_LOSS_SCALE_H
#define SHARDLAB_TESTS_LOSS_SCALE_H

#include "kernels/loss_scale.h"
#include "strategy/settings/loss_scale.h"

/* False: the rule gives up. */
static inline bool loss_scale_update(enum loss_scaler s, int64_t window, bool overflow, struct loss_scale *state)
{
	const struct loss_scale_rule *rule = loss_scale_rule(s);
	const struct scale_rule r = {s == LOSS_SCALER_PYTORCH, rule->minimum, window, rule->hysteresis};
	return scaler_end_step(&r, overflow, (float *)state);
}

#endif
