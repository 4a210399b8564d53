/* The loss scale as a state machine: what DeepSpeed's and PyTorch's own scalers did (tests/golden/loss_scale.json, made
 * by tests/oracle/loss_scale.py), step by step; and what their documentation promises. */
#include <math.h>
#include <string.h>

#include "strategy/settings/settings.h"
#include "tests/support/json.h"
#include "tests/support/loss_scale.h"
#include "tests/support/suite.h"

/* Replays the steps; the scales come as [scale, how many steps] pairs. */
static void replay(const json_t *run, int number)
{
	struct settings settings = settings_default();
	const char *steps = text_of(run, "steps");
	int64_t window = whole_of(run, "window");
	const json_t *pairs = member_of(run, "scales");
	size_t pair = 0, count = strlen(steps), skipped = 0;
	int64_t left = 0;
	double want = 0;
	ck_assert_int_eq(setting_read(SETTING_LOSS_SCALER, "rule", text_of(run, "rule"), &settings), STATUS_OK);
	enum loss_scaler rule = settings.loss_scaler;
	struct loss_scale s = loss_scale_begin(rule, number_of(run, "initial"));
	for (size_t i = 0; i < count; i++) {
		bool overflow = steps[i] == 'o', last = i + 1 == count;
		bool goes_on = loss_scale_update(rule, window, overflow, &s);
		skipped += overflow;
		ck_assert_int_eq((int)s.skipped, (int)skipped);
		if (last && json_is_true(json_object_get(run, "raises"))) {
			ck_assert_msg(!goes_on, "run %d: does not give up", number);
			return;
		}
		if (!left) {
			want = number_at(json_array_get(pairs, pair), 0);
			left = (int64_t)number_at(json_array_get(pairs, pair), 1);
			pair++;
		}
		left--;
		ck_assert_msg(goes_on && (double)s.scale == want, "run %d, step %d of '%.40s': %g instead of %g",
		              number, (int)i + 1, steps, (double)s.scale, want);
	}
	ck_assert(!left && pair == json_array_size(pairs));
}

START_TEST(as_the_frameworks)
{
	json_t *runs = json_open("tests/golden/loss_scale.json");
	int raised = 0;
	ck_assert_msg(json_array_size(runs) > 70, "no golden file");
	for (size_t i = 0; i < json_array_size(runs); i++) {
		replay(json_array_get(runs, i), (int)i);
		raised += json_is_true(json_object_get(json_array_get(runs, i), "raises"));
	}
	ck_assert_int_gt(raised, 3);
	json_decref(runs);
}

/* Steps as letters: '.' good, 'o' overflowed. The scale after them; 0: the rule has given up. */
static double after(enum loss_scaler rule, double initial, int64_t window, const char *steps)
{
	struct loss_scale s = loss_scale_begin(rule, initial);
	for (const char *p = steps; *p; p++)
		if (!loss_scale_update(rule, window, *p == 'o', &s))
			return 0;
	return (double)s.scale;
}

static void assert_after(enum loss_scaler rule, double initial, int64_t window, const char *steps, double want)
{
	double scale = after(rule, initial, window, steps);
	ck_assert_msg(scale == want, "%s from %g, window %d, after '%s': %g instead of %g", loss_scaler_name(rule),
	              initial, (int)window, steps, scale, want);
}

START_TEST(deepspeed_by_hand)
{
	const enum loss_scaler d = LOSS_SCALER_DEEPSPEED;
	assert_after(d, 65536, 1000, "o", 65536);  /* the first of two that hysteresis allows */
	assert_after(d, 65536, 1000, "oo", 32768); /* and every one after it halves */
	assert_after(d, 65536, 1000, "ooo", 16384);
	assert_after(d, 65536, 1000, "o.......o", 32768); /* good steps do not fill it again */
	assert_after(d, 65536, 3, "...", 65536);
	assert_after(d, 65536, 3, "....", 131072); /* three good ones before it */
	assert_after(d, 65536, 3, "......", 131072);
	assert_after(d, 65536, 3, ".......", 262144);
	assert_after(d, 65536, 3, "oo...o", 16384);
	assert_after(d, 65536, 3, "oo....o", 65536); /* growing fills hysteresis */
	assert_after(d, 65536, 3, "oo....oo", 32768);
	assert_after(d, 4, 3, "ooo", 1);
	assert_after(d, 3, 3, "ooo", 1); /* not below the minimum: 1.5, then 1 */
	assert_after(d, 4, 3, "oooo", 0);
	assert_after(d, 1, 3, "o", 1);
	assert_after(d, 1, 3, "oo", 0);
}

START_TEST(pytorch_by_hand)
{
	const enum loss_scaler p = LOSS_SCALER_PYTORCH;
	assert_after(p, 65536, 2000, "o", 32768);
	assert_after(p, 65536, 2000, "oo", 16384);
	assert_after(p, 65536, 3, "..", 65536);
	assert_after(p, 65536, 3, "...", 131072);
	assert_after(p, 65536, 3, "......", 262144);
	assert_after(p, 65536, 3, "..o..", 32768);
	assert_after(p, 65536, 3, "..o...", 65536);
	assert_after(p, 1, 3, "oo", 0.25);                       /* no minimum */
	assert_after(p, ldexp(1, 127), 1, "...", ldexp(1, 127)); /* the largest power of two in fp32 */
	assert_after(p, ldexp(1, -149), 1, "o", 0);              /* nothing is left */
}

START_TEST(defaults)
{
	const struct loss_scale_rule *d = loss_scale_rule(LOSS_SCALER_DEEPSPEED),
	                             *p = loss_scale_rule(LOSS_SCALER_PYTORCH);
	ck_assert(d->initial == 65536 && d->window == 1000 && d->minimum == 1 && d->hysteresis == 2);
	ck_assert(p->initial == 65536 && p->window == 2000 && p->minimum == 0 && p->hysteresis == 1);
}

/* Counts stay exact in fp32 however long it runs. */
START_TEST(counts_stay_exact)
{
	struct loss_scale s = loss_scale_begin(LOSS_SCALER_DEEPSPEED, 1);
	bool goes_on = true;
	for (int64_t i = 0; i < 3 * (int64_t)LOSS_SCALE_MOST_WINDOW; i++)
		goes_on &= loss_scale_update(LOSS_SCALER_DEEPSPEED, LOSS_SCALE_MOST_WINDOW, false, &s);
	ck_assert(goes_on && s.scale == 4 && s.good == (float)LOSS_SCALE_MOST_WINDOW);
	ck_assert(loss_scale_update(LOSS_SCALER_DEEPSPEED, LOSS_SCALE_MOST_WINDOW, false, &s) && s.scale == 8);
}

SUITE("loss scale", 60)
