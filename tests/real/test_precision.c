/* Training in 16 bits on one rank: it learns as fp32 does; a step that overflowed leaves all state as it was, on all
 * but the data's order; Adam does not count it; gradients are clipped to the norm that was asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/elements.h"
#include "tests/support/images.h"
#include "tests/support/loss_scale.h"
#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

static char images[256];

static void setup(void)
{
	ck_assert(images_make(images, sizeof images, 6, 8, 200, 7));
}

static void teardown(void)
{
	images_remove(images);
}

static const struct {
	const char *model, *data; /* NULL: the images */
	double learning_rate;
} models[] = {{"mlp:sizes=48-33-17-10", NULL, 3e-3},
              {"gpt:layers=2,width=32,heads=2,context=16", "tests/golden/text.txt", 5e-4}};

static const char *data_of(int model)
{
	return models[model].data ? models[model].data : images;
}

static struct settings asked(int model, enum type precision)
{
	return settings_of("%s single micro_batch=8 precision=%s learning_rate=%g", models[model].model,
	                   type_name(precision), models[model].learning_rate);
}

static struct train_options options_of(int model, const struct settings *s, int steps)
{
	struct train_options o = train_options_default();
	o.settings = settings_resolved(s);
	o.steps = steps;
	o.data = data_of(model);
	return o;
}

/* ---- as fp32 ---- */

static double mean(const double *x, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* The same batches in the same order: every step's loss is near fp32's, and the last ten's mean within 2%. */
START_LOOP_TEST(follows_fp32, 0, 2 * COUNT(models))
{
	int model = _i / 2;
	enum type precision = _i % 2 ? TYPE_FP16 : TYPE_BF16;
	struct settings q = asked(model, precision), wide = asked(model, TYPE_FP32);
	struct train_options o = options_of(model, &q, 100), o_wide = options_of(model, &wide, 100);
	const struct report *fp32 = report_trained(&o_wide), *other = report_trained(&o);
	ck_assert_int_eq(other->loss_count, 100);
	double a = mean(fp32->losses + 90, 10), b = mean(other->losses + 90, 10), first = fp32->losses[0], worst = 0;
	for (int i = 0; i < 100; i++)
		worst = fmax(worst, fabs(other->losses[i] - fp32->losses[i]) / fp32->losses[i]);
	printf("%s, %s: loss %.4f → %.4f, fp32 %.4f; most of a step's difference %.2f %%\n", q.model,
	       type_name(precision), first, b, a, 100 * worst);
	ck_assert_msg(a < 0.95 * first, "fp32 learnt nothing: %g → %g", first, a);
	ck_assert_msg(fabs(a - b) <= 0.02 * a, "mean loss of the last ten steps: %g, fp32 has %g", b, a);
	ck_assert_msg(fabs(other->losses[99] - fp32->losses[99]) <= 0.02 * fp32->losses[99],
	              "last loss: %g, fp32 has %g", other->losses[99], fp32->losses[99]);
	ck_assert_msg(other->losses[0] != fp32->losses[0], "nothing was in 16 bits");
	if (precision == TYPE_FP16)
		ck_assert(other->loss_scale > 0 && other->skipped_steps < 10);
	else
		ck_assert(other->loss_scale == 0 && other->skipped_steps == 0);
}

/* Nothing is updated at a learning rate of 0: the weights are those of fp32, since it is the master that is shown. */
START_LOOP_TEST(begins_with_the_same_weights, 0, COUNT(models))
{
	char checksum[3][17];
	for (int t = 0; t < 3; t++) {
		struct settings q = asked(_i, (enum type)(TYPE_FP32 + t));
		q.learning_rate = 0;
		struct train_options o = options_of(_i, &q, 1);
		memcpy(checksum[t], report_trained(&o)->weights_checksum, sizeof checksum[t]);
	}
	ck_assert_str_eq(checksum[0], checksum[1]);
	ck_assert_str_eq(checksum[0], checksum[2]);
}

/* ---- one step at a time ---- */

static void run_open(struct trainer *t, int model, const struct settings *q)
{
	must(trainer_open(t, right_plan_of(q), data_of(model), true));
}

static const struct buffer *state_buffer(const struct trainer *t, const char *name)
{
	int b = role_buffer(t->device.role, name);
	ck_assert_int_ge(b, 0);
	return &t->device.role->buffers[b];
}

static void *state(const struct trainer *t, const char *name)
{
	return rank_memory_buffer(&t->device, (int)(state_buffer(t, name) - t->device.role->buffers));
}

static void *copy_of(const struct trainer *t, const char *name)
{
	size_t bytes = (size_t)buffer_bytes(state_buffer(t, name));
	void *copy = malloc(bytes);
	ck_assert_ptr_nonnull(copy);
	return memcpy(copy, state(t, name), bytes);
}

static bool same_state(const struct trainer *t, const void *copy, const char *name)
{
	return !memcmp(state(t, name), copy, (size_t)buffer_bytes(state_buffer(t, name)));
}

static double step(struct trainer *t)
{
	double loss = 0;
	must(trainer_step(t, &loss));
	return loss;
}

static const char *const kept[] = {"parameters", "master", "first_moment", "second_moment"};
/* A scale with which every step overflows. */
START_LOOP_TEST(skipped_steps_change_nothing, 0, COUNT(models))
{
	struct trainer r;
	void *before[COUNT(kept)];
	struct settings q = asked(_i, TYPE_FP16);
	q.clip = 1;
	run_open(&r, _i, &q);
	step(&r);
	struct loss_scale *scaler = state(&r, "scaler");
	scaler->scale = ldexpf(1, 60);
	for (int k = 0; k < COUNT(kept); k++)
		before[k] = copy_of(&r, kept[k]);
	for (int i = 0; i < 3; i++) {
		double loss = step(&r);
		ck_assert_msg(isfinite(loss) && loss < 10, "the loss shown is %g", loss);
		ck_assert(*(float *)state(&r, "overflow") > 0);
	}
	/* DeepSpeed's rule: the first of them is forgiven. */
	ck_assert(scaler->scale == ldexpf(1, 58) && scaler->skipped == 3 && scaler->good == 0);
	ck_assert_int_eq(*(int64_t *)state(&r, "step"), 4);
	for (int k = 0; k < COUNT(kept); k++)
		ck_assert_msg(same_state(&r, before[k], kept[k]), "%s changed", kept[k]);
	scaler->scale = 1024;
	step(&r);
	ck_assert(scaler->skipped == 3 && scaler->good == 1);
	for (int k = 0; k < COUNT(kept); k++) {
		ck_assert_msg(!same_state(&r, before[k], kept[k]), "%s did not change in a good step", kept[k]);
		free(before[k]);
	}
	trainer_release(&r);
}

/* After two skipped steps the update is Adam's first, on the third batch. */
START_LOOP_TEST(adam_does_not_count_skipped_steps, 0, COUNT(models))
{
	struct trainer a, b;
	struct settings q = asked(_i, TYPE_FP16);
	q.loss_scale = ldexp(1, 60);
	run_open(&a, _i, &q);
	step(&a);
	step(&a);
	((struct loss_scale *)state(&a, "scaler"))->scale = 1024;
	step(&a);
	q.loss_scale = 1024;
	run_open(&b, _i, &q);
	*(int64_t *)state(&b, "step") = 2; /* the third batch */
	((struct loss_scale *)state(&b, "scaler"))->skipped = 2;
	step(&b);
	void *master = copy_of(&b, "master");
	ck_assert(same_state(&a, master, "master"));
	/* At Adam's first step every weight moves by the learning rate, whatever the gradient; at its third by less. */
	*(int64_t *)state(&b, "step") = 2;
	free(master);
	trainer_release(&a);
	trainer_release(&b);
	run_open(&a, _i, &q);
	*(int64_t *)state(&a, "step") = 2;
	float *x = state(&a, "master"), before = x[0];
	step(&a);
	double moved = fabs((double)x[0] - (double)before);
	ck_assert_msg(fabs(moved - q.learning_rate) > 0.1 * q.learning_rate, "counted or not makes no difference");
	trainer_release(&a);
}

/* The scale is taken out again, exactly: it is a power of two. What differs is what 16 bits lose. */
START_LOOP_TEST(the_loss_scale_cancels, 0, COUNT(models))
{
	struct trainer a, b;
	struct settings q = asked(_i, TYPE_FP16);
	double most = 0, apart = 0;
	q.optimizer = OPTIMIZER_SGD;
	q.learning_rate = 1;
	q.loss_scale = 4096;
	run_open(&a, _i, &q);
	q.loss_scale = 8192;
	run_open(&b, _i, &q);
	float *before = copy_of(&a, "master"), *x = state(&a, "master"), *y = state(&b, "master");
	ck_assert(step(&a) == step(&b));
	ck_assert(*(float *)state(&a, "overflow") == 0 && *(float *)state(&b, "overflow") == 0);
	for (int64_t i = 0; i < state_buffer(&a, "master")->elements; i++) {
		most = fmax(most, fabs((double)x[i] - (double)before[i]));
		apart = fmax(apart, fabs((double)x[i] - (double)y[i]));
	}
	ck_assert_msg(most > 0 && apart <= 1e-3 * most, "updates of %g are %g apart", most, apart);
	free(before);
	trainer_release(&a);
	trainer_release(&b);
}

/* SGD at a rate of 1: what the weights moved by is the clipped gradient. */
START_LOOP_TEST(gradients_are_clipped, 0, 3 * COUNT(models))
{
	static const enum type types[] = {TYPE_FP32, TYPE_BF16, TYPE_FP16};
	enum type type = types[_i % 3];
	int model = _i / 3;
	struct trainer r;
	struct settings q = asked(model, type);
	q.optimizer = OPTIMIZER_SGD;
	q.learning_rate = 1;
	q.clip = 0.01;
	run_open(&r, model, &q);
	const char *name = type == TYPE_FP32 ? "parameters" : "master";
	float *before = copy_of(&r, name), *x = state(&r, name);
	double squares = 0;
	step(&r);
	for (int64_t i = 0; i < state_buffer(&r, name)->elements; i++)
		squares += ((double)x[i] - (double)before[i]) * ((double)x[i] - (double)before[i]);
	ck_assert_msg(fabs(sqrt(squares) - q.clip) < 1e-4 * q.clip, "in %s they moved by %g", type_name(type),
	              sqrt(squares));
	free(before);
	trainer_release(&r);
}

/* 16-bit parameters are the rounded master, whole, after the beginning and after every step. */
START_LOOP_TEST(parameters_are_the_rounded_master, 0, 2 * COUNT(models))
{
	enum type type = _i % 2 ? TYPE_FP16 : TYPE_BF16;
	struct trainer r;
	struct settings q = asked(_i / 2, type);
	run_open(&r, _i / 2, &q);
	for (int i = 0; i < 3; i++) {
		const float *master = state(&r, "master");
		const void *parameters = state(&r, "parameters");
		uint16_t want[1];
		for (int64_t k = 0; k < state_buffer(&r, "master")->elements; k++) {
			element_set(type, want, 0, master[k]);
			if (((const uint16_t *)parameters)[k] != want[0])
				ck_abort_msg("after %d steps element %d is %g, the master %g", i, (int)k,
				             (double)element_get(type, parameters, k), (double)master[k]);
		}
		step(&r);
	}
	trainer_release(&r);
}

/* ---- as the command runs it ---- */

struct seen {
	int count, skipped;
	double scale[64];
	bool skip[64];
};

static void see(void *context, const struct train_step *s)
{
	struct seen *all = context;
	all->skip[all->count] = s->skipped;
	all->skipped += s->skipped;
	ck_assert(!all->count || s->loss_scale == all->scale[all->count]);
	all->scale[++all->count] = s->next_loss_scale;
}

/* From a scale that is far too high: skipped until it fits, and what train says of it is what the rule says. */
START_LOOP_TEST(run_finds_its_scale, 0, 2 * COUNT(models))
{
	enum loss_scaler rule = _i % 2 ? LOSS_SCALER_PYTORCH : LOSS_SCALER_DEEPSPEED;
	struct settings q = asked(_i / 2, TYPE_FP16);
	struct seen seen = {0};
	q.loss_scaler = rule;
	q.loss_scale = ldexp(1, 24);
	q.loss_scale_window = 5;
	struct train_options o = options_of(_i / 2, &q, 40);
	o.on_step = see;
	o.context = &seen;
	const struct report *r = report_trained(&o);
	struct loss_scale s = loss_scale_begin(rule, q.loss_scale);
	bool grew = false;
	for (int i = 0; i < 40; i++) {
		float before = s.scale;
		ck_assert(loss_scale_update(rule, 5, seen.skip[i], &s));
		ck_assert_msg((double)s.scale == seen.scale[i + 1], "step %d: %g instead of %g", i + 1,
		              seen.scale[i + 1], (double)s.scale);
		grew |= s.scale > before;
	}
	ck_assert(seen.skip[0] && seen.skipped < 35 && grew);
	ck_assert_int_eq(r->skipped_steps, seen.skipped);
	ck_assert(r->loss_scale == seen.scale[40] && isfinite(r->losses[39]));
}

static void assert_fails(const struct settings *q, int model, double learning_rate, int steps, const char *word)
{
	struct train_options o = options_of(model, q, steps);
	o.settings.learning_rate = learning_rate;
	o.evaluate = false;
	must_fail(train_run(&o, report_kept()), STATUS_RUN, word);
}

/* Weights that leave the range of fp16 at once: the loss is not finite, and no scale is tried. */
START_LOOP_TEST(fp16_that_diverges_ends, 0, COUNT(models))
{
	struct settings q = asked(_i, TYPE_FP16);
	q.loss_scale = 8;
	assert_fails(&q, _i, 1e6, 60, "step 2: the loss is not finite in fp16");
}

START_LOOP_TEST(bf16_that_diverges_ends, 0, COUNT(models))
{
	struct settings q = asked(_i, TYPE_BF16);
	assert_fails(&q, _i, 1e30, 60, "not finite in bf16");
	/* Its loss was fine, its update not. */
	assert_fails(&q, _i, 1e300, 1, "not finite in the end");
}

SUITE_WITH("precision", 120, setup, teardown)
