/* Mixed precision against PyTorch's: bf16 and fp16, clipped or not, with PyTorch's GradScaler and overflows that are
 * forced by a large first scale. tests/oracle/golden_precision.py made tests/golden/precision.json and says what is in
 * it.
 *
 * Losses: a program rounds what it stores to 8 bits (bf16) or 11 bits (fp16), so a value is off by 2^-9 or 2^-12 of
 * itself. Losses are means over samples and tokens, in which these errors partly cancel; and other places and orders of
 * rounding give other errors of that size. So two right programs are within one such unit of each other: LIMITS. fp16
 * runs that skipped no step, or other steps, are further away than that; a bf16 run must not be an fp32 run in
 * disguise, whose losses are known to 1e-5.
 *
 * The loss scale is a power of two that overflows decide: its course must be the same at every step. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/json.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

/* by enum type */
static const double LIMITS[] = {[TYPE_FP32] = 1e-5, [TYPE_BF16] = 1.0 / 512, [TYPE_FP16] = 1.0 / 4096};

enum { RUNS = 20 };

static json_t *file;

static double at(const json_t *run, const char *key, int i)
{
	return number_at(member_of(run, key), i);
}

static bool is_text(const json_t *run)
{
	return !strncmp(text_of(run, "specification"), "gpt", 3);
}

static struct settings asked(const json_t *run, const char *strategy)
{
	struct settings s =
	        settings_of("%s %s precision=%s", text_of(run, "specification"), strategy, text_of(run, "precision"));
	s.micro_batch = (int64_t)number_of(run, "batch");
	s.learning_rate = number_of(run, "lr");
	s.clip = number_of(run, "clip");
	if (s.precision == TYPE_FP16) {
		s.loss_scaler = LOSS_SCALER_PYTORCH;
		s.loss_scale = number_of(run, "initial_scale");
		s.loss_scale_window = (int64_t)number_of(run, "growth_interval");
	}
	return s;
}

static void describe(char *out, size_t size, const json_t *run)
{
	snprintf(out, size, "%s, %s beside PyTorch's %s, clip %g", text_of(run, "model"), text_of(run, "precision"),
	         text_of(run, "how"), number_of(run, "clip"));
}

/* The scale before a step, and whether the step was skipped. */
static void check_scale(const json_t *run, const struct trainer *t, int step, const struct loss_scale *before,
                        const char *what)
{
	const struct loss_scale *after = rank_memory_buffer(&t->device, role_buffer(t->device.role, "scaler"));
	ck_assert_msg((double)before->scale == at(run, "scales", step), "%s, step %d: the loss scale is %g, not %g",
	              what, step + 1, (double)before->scale, at(run, "scales", step));
	ck_assert_msg((after->skipped > before->skipped) == (at(run, "skipped", step) > 0),
	              "%s, step %d: was %sskipped", what, step + 1, after->skipped > before->skipped ? "" : "not ");
}

/* The fp32 run with the same clipping. */
static const json_t *plain_of(int run)
{
	return json_array_get(member_of(file, "runs"), (size_t)(run / 10 * 10 + run % 2));
}

static void compare(const json_t *run, const json_t *plain, const char *strategy)
{
	struct settings r = asked(run, strategy);
	struct trainer t;
	double loss, worst = 0, from_plain = 0;
	char what[128];
	int steps = (int)json_array_size(member_of(run, "losses")), skipped = 0;
	describe(what, sizeof what, run);
	ck_assert_msg(trainer_open(&t, right_plan_of(&r), is_text(run) ? "tests/golden/text.txt" : NULL, false) ==
	                      STATUS_OK,
	              "%s: %s", what, status_message());
	for (int step = 0; step < steps; step++) {
		struct loss_scale before = {0};
		if (r.precision == TYPE_FP16)
			before = *(const struct loss_scale *)rank_memory_buffer(&t.device,
			                                                        role_buffer(t.device.role, "scaler"));
		ck_assert_msg(trainer_step(&t, &loss) == STATUS_OK, "%s: %s", what, status_message());
		double want = at(run, "losses", step), error = fabs(loss - want) / want;
		worst = fmax(worst, error);
		from_plain = fmax(from_plain, fabs(loss / at(plain, "losses", step) - 1));
		ck_assert_msg(error <= LIMITS[r.precision], "%s, step %d: loss %.7g instead of %.7g, %.1e apart", what,
		              step + 1, loss, want, error);
		if (r.precision == TYPE_FP16) {
			check_scale(run, &t, step, &before, what);
			skipped += at(run, "skipped", step) > 0;
		}
	}
	printf("%s, %s: within %.1e of %.1e\n", strategy, what, worst, LIMITS[r.precision]);
	fflush(stdout);
	if (r.precision == TYPE_FP16)
		ck_assert_int_gt(skipped, 0);
	if (r.precision != TYPE_FP32)
		ck_assert_double_gt(from_plain, LIMITS[TYPE_FP32]);
	trainer_release(&t);
}

static const json_t *run_at(int i)
{
	return json_array_get(member_of(file, "runs"), (size_t)i);
}

static bool images_are_there(void)
{
	return !access(DATASET_IMAGES_DEFAULT, R_OK);
}

static void open_file(void)
{
	file = json_open("tests/golden/precision.json");
}

static void close_file(void)
{
	json_decref(file);
}

START_LOOP_TEST(losses_and_scales, 0, RUNS)
{
	const json_t *run = run_at(_i);
	if (is_text(run) || images_are_there())
		compare(run, plain_of(_i), "single");
}

/* The comparison can fail: what another precision, or no overflow, gives is further away than the bound. */
START_TEST(bounds_can_be_exceeded)
{
	int found = 0;
	ck_assert_uint_eq(json_array_size(member_of(file, "runs")), RUNS);
	for (int i = 0; i < RUNS; i++) {
		const json_t *run = run_at(i), *plain = plain_of(i);
		enum type precision = asked(run, "single").precision;
		double worst = 0;
		ck_assert_str_eq(text_of(plain, "precision"), "fp32");
		ck_assert_str_eq(text_of(plain, "model"), text_of(run, "model"));
		ck_assert_double_eq(number_of(plain, "clip"), number_of(run, "clip"));
		for (int step = 0; step < (int)json_array_size(member_of(run, "losses")); step++)
			worst = fmax(worst, fabs(at(run, "losses", step) / at(plain, "losses", step) - 1));
		if (precision == TYPE_FP16) { /* steps that were skipped leave it behind */
			ck_assert_double_gt(worst, 10 * LIMITS[TYPE_FP16]);
			found++;
		}
		if (precision == TYPE_BF16) /* and follows fp32 */
			ck_assert_double_lt(worst, LIMITS[TYPE_BF16]);
	}
	ck_assert_int_gt(found, 0);
}

SUITE_WITH("golden precision", 120, open_file, close_file)
