#include "strategy/settings/loss_scale.h"

#include <assert.h>

#include "strategy/base/list.h"

static const struct loss_scale_rule rules[] = {
        [LOSS_SCALER_NONE] = {.initial = 1},
        [LOSS_SCALER_DEEPSPEED] = {.initial = 65536, .minimum = 1, .window = 1000, .hysteresis = 2},
        [LOSS_SCALER_PYTORCH] = {.initial = 65536, .minimum = 0, .window = 2000, .hysteresis = 1},
};
static_assert(sizeof rules / sizeof rules[0] == LOSS_SCALER_COUNT, "one row a rule");

const struct loss_scale_rule *loss_scale_rule(enum loss_scaler s)
{
	return &rules[s];
}

struct loss_scale loss_scale_begin(enum loss_scaler s, double scale)
{
	return (struct loss_scale){.scale = (float)scale, .hysteresis = rules[s].hysteresis};
}

const char *loss_scaler_name(enum loss_scaler s)
{
	static const char *const names[] = {LOSS_SCALER_LIST(SECOND)};
	return names[s];
}
