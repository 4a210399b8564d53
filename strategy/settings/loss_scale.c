#include "strategy/settings/loss_scale.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct loss_scale_rule rules[] = {
        [LOSS_SCALER_NONE] = {.initial = 1},
        [LOSS_SCALER_DEEPSPEED] = {.initial = 65536, .minimum = 1, .window = 1000, .hysteresis = 2},
        [LOSS_SCALER_PYTORCH] = {.initial = 65536, .minimum = 0, .window = 2000, .hysteresis = 1},
};
static_assert(sizeof rules / sizeof rules[0] == LOSS_SCALER_COUNT, "one row a rule");

static const char *const names[] = {
#define X(constant, name) name,
        LOSS_SCALER_LIST(X)
#undef X
};

const struct loss_scale_rule *loss_scale_rule(enum loss_scaler s)
{
	return &rules[s];
}

struct loss_scale loss_scale_begin(enum loss_scaler s, double scale)
{
	return (struct loss_scale){.scale = (float)scale, .hysteresis = rules[s].hysteresis};
}

static void grow(struct loss_scale *state)
{
	if (isfinite(state->scale * 2))
		state->scale *= 2;
}

static bool deepspeed_overflow(const struct loss_scale_rule *rule, struct loss_scale *state)
{
	float minimum = (float)rule->minimum;
	if (state->hysteresis <= 1 && state->scale <= minimum)
		return false;
	if (state->hysteresis > 1)
		state->hysteresis--;
	else
		state->scale = fmaxf(state->scale / 2, minimum);
	state->good = 0;
	return true;
}

static void deepspeed_good(const struct loss_scale_rule *rule, int64_t window, struct loss_scale *state)
{
	/* `good` starts over at 1 when the scale has grown: its remainder is all that counts, but that it was 0 once.
	 */
	if (state->good == (float)window) {
		state->hysteresis = rule->hysteresis;
		state->good = 0;
		grow(state);
	}
	state->good++;
}

static void pytorch_good(int64_t window, struct loss_scale *state)
{
	if (++state->good < (float)window)
		return;
	state->good = 0;
	grow(state);
}

bool loss_scale_update(enum loss_scaler s, int64_t window, bool overflow, struct loss_scale *state)
{
	state->skipped += overflow;
	if (s == LOSS_SCALER_DEEPSPEED) {
		if (overflow)
			return deepspeed_overflow(&rules[s], state);
		deepspeed_good(&rules[s], window, state);
		return true;
	}
	if (overflow) {
		state->good = 0;
		state->scale /= 2;
		return state->scale > 0; /* nothing would be left of any gradient */
	}
	pytorch_good(window, state);
	return true;
}

const char *loss_scaler_name(enum loss_scaler s)
{
	return names[s];
}
