/* The GPU's optimizers, vectors, batch normalization and the numbers that steps carry. */
#include "tests/cuda/cuda_check.h"
#include "tests/support/loss_scale.h"

static const int64_t counts[] = {1, 3, 63, 1024, 4099};

/* ---- AdamW and SGD ---- */

struct update_case {
	enum element type;
	int64_t n;
	struct update u;
	int64_t step;
	float squares, scaler[4], overflow;
	bool sgd;
};

/* The rules of kernels/update.h written a second time, around the CPU's kernels. */
static int update_on_cpu(const struct update_case *k, struct array *a)
{
	const struct update *u = &k->u;
	int64_t step = k->step - (u->scaler ? (int64_t)u->scaler[SCALER_SKIPPED] : 0);
	double unscale = u->scaler ? 1 / (double)u->scaler[SCALER_SCALE] : 1, rate = u->learning_rate;
	double clip = u->squares ? fmin(u->clip / (sqrt((double)*u->squares) * unscale + 1e-6), 1) : 1;
	float *master = k->type == ELEMENT_FP32 ? NULL : a[4].now;
	if (u->warmup && step <= u->warmup)
		rate *= (double)step / (double)u->warmup;
	else if (u->decay)
		rate *= 1 - 0.9 * fmin((double)(step - u->warmup) / (double)(u->decay - u->warmup), 1);
	struct adamw w = {(float)rate, u->beta1, u->beta2, u->epsilon, u->weight_decay};
	if ((u->overflow && *u->overflow > 0) || step < 1) {
		if (u->keep_parameters && master)
			vector_convert(k->n, ELEMENT_FP32, master, k->type, a[0].now);
	} else if (k->sgd) {
		sgd_update(k->type, w.learning_rate, k->n, a[0].now, a[1].now, (float)(clip * unscale), master);
	} else {
		adamw_update(k->type, &w, step, k->n, a[0].now, a[1].now, (float)(clip * unscale), a[2].now, a[3].now,
		             master);
	}
	return 0;
}

CASE_RUN(update_run, struct update_case, k)
{
	if (kernels == &cpu_kernels)
		return update_on_cpu(k, a);
	if (k->sgd)
		return kernels->sgd_update(c, NULL, k->type, &k->u, k->n, a[0].now, a[1].now, a[4].now);
	return kernels->adamw_update(c, NULL, k->type, &k->u, k->n, a[0].now, a[1].now, a[2].now, a[3].now, a[4].now);
}

static struct update_case update_case_of(enum element type, int64_t n)
{
	struct update_case k = {.type = type, .n = n, .step = 7};
	k.u = (struct update){
	        .learning_rate = 0.01, .beta1 = 0.9F, .beta2 = 0.999F, .epsilon = 1e-8F, .weight_decay = 0.1F};
	return k;
}

/* In memory that kernels reach. */
static struct update_case *placed(const struct update_case *k)
{
	struct update_case *p = keep(target_memory(sizeof *p), 0);
	*p = *k;
	p->u.step = &p->step;
	p->u.squares = k->u.squares ? &p->squares : NULL;
	p->u.scaler = k->u.scaler ? p->scaler : NULL;
	p->u.overflow = k->u.overflow ? &p->overflow : NULL;
	return p;
}

static void update_check(const struct update_case *k)
{
	struct array a[] = {changed("parameters", k->type, k->n, 1), only_read(k->type, k->n, 1),
	                    changed("first moment", ELEMENT_FP32, k->n, 1),
	                    changed("second moment", ELEMENT_FP32, k->n, 1), changed("master", ELEMENT_FP32, k->n, 1)};
	float *second = (void *)(uintptr_t)a[3].before;
	for (int64_t i = 0; i < k->n; i++)
		second[i] = fabsf(second[i]);
	cuda_check(update_run, placed(k), a, COUNT(a), 1e-6);
}

/* Plain, clipped, out of a loss scale with steps that were skipped, warming up, decaying, decayed. */
START_LOOP_TEST(updates, 0, 4)
{
	EACH_ELEMENT(type)
	for (int i = 0; i < CASES(counts); i++)
		for (int kind = 0; kind < 6; kind++) {
			begin(_i % 2);
			struct update_case k = update_case_of(type, counts[i]);
			k.sgd = _i / 2;
			k.squares = 90;
			k.scaler[SCALER_SCALE] = 8;
			k.scaler[SCALER_SKIPPED] = 2;
			if (kind == 1 || kind == 2) {
				k.u.squares = &k.squares;
				k.u.clip = 0.5;
			}
			if (kind == 2) {
				k.u.scaler = k.scaler;
				k.u.overflow = &k.overflow;
			}
			if (kind >= 3) {
				k.u.warmup = kind == 3 ? 10 : 2;
				k.u.decay = kind == 5 ? 6 : 20;
			}
			update_check(&k);
		}
}

/* After an overflow, and before the first update: nothing changes, but for parameters made from the master. */
START_LOOP_TEST(kept, 0, 2)
{
	EACH_ELEMENT(type)
	for (int kind = 0; kind < 4; kind++) {
		begin(_i);
		struct update_case k = update_case_of(type, 1027);
		k.overflow = kind % 2 ? 1.0F : 0.0F;
		k.step = kind % 2 ? 7 : 0;
		k.u.overflow = &k.overflow;
		k.u.keep_parameters = kind / 2;
		update_check(&k);
		k.sgd = true;
		update_check(&k);
	}
}

/* The GPU's rounding gives the CPU's bits, which depend on where an element stands in the whole model and not on how it
 * is cut. What is kept after an overflow is rounded as the update before rounded it. */
START_TEST(stochastic)
{
	enum { N = 3001, CUT = 1001 };
	EACH_TYPE(type)
	for (int way = 0; way < 3; way++) {
		begin(0);
		struct update_case first_case = update_case_of(type, N), *k = placed(&first_case);
		struct kernel_context *c = target_open(2, WORKSPACE);
		/* whole; a slice of columns; one of columns in three pieces */
		struct rounding whole = {99, {0, 1000, N, N, N, 0}};
		if (way > 0)
			whole.numbers =
			        (struct element_numbers){0, 1000, 30, 60, way == 1 ? 30 : 10, way == 1 ? 0 : 20};
		struct rounding rest = whole;
		float *master = blank(N), *first = blank(N), *second = blank(N), *copy = blank(N);
		uint16_t *gradients = blank16(N), *want = blank16(N), *got = blank16(N);
		for (int i = 0; i < N; i++) {
			master[i] = copy[i] = (uniform() - 0.5F) * (i % 3 ? 1.0F : 1e-5F);
			first[i] = second[i] = 0;
			set(type, gradients, i, 0);
		}
		rest.numbers.begin = CUT;
		vector_round(type, &whole, k->step, N, master, want);
		k->u.learning_rate = 0;
		k->u.stochastic = true;
		k->u.rounding = whole;
		int error = target_kernels()->sgd_update(c, NULL, type, &k->u, CUT, got, gradients, master);
		k->u.rounding = rest;
		error |= target_kernels()->adamw_update(c, NULL, type, &k->u, N - CUT, got + CUT, gradients + CUT,
		                                        first, second, master + CUT);
		ck_assert_int_eq(target_wait(c, error), 0);
		ck_assert_mem_eq(got, want, N * sizeof *want);
		ck_assert_mem_eq(master, copy, N * sizeof *master);
		k->u.rounding = whole;
		/* as one piece; kept at the next step; and before any update those of the beginning, to the nearest */
		for (int step = 0; step < 3; step++) {
			k->step = step == 2 ? 1 : 7 + step;
			k->overflow = step > 0;
			k->u.overflow = &k->overflow;
			k->u.keep_parameters = true;
			if (step == 2)
				vector_convert(N, ELEMENT_FP32, master, type, want);
			memset(got, 0, N * sizeof *got);
			error = target_kernels()->sgd_update(c, NULL, type, &k->u, N, got, gradients, master);
			ck_assert_int_eq(target_wait(c, error), 0);
			ck_assert_mem_eq(got, want, N * sizeof *want);
		}
		target_close(c);
	}
}

/* ---- vectors ---- */

struct vector_case {
	enum element type, to;
	int64_t n, width;
	bool accumulate, bias, residual;
	enum activation activation;
};

CASE_RUN(vectors_run, struct vector_case, k)
{
	int error = kernels->vector_add(c, NULL, k->type, k->n, a[0].now, a[1].now);
	error |= kernels->vector_squares(c, NULL, k->type, k->n, a[0].now, a[2].now, k->accumulate);
	error |= kernels->vector_overflow(c, NULL, k->type, k->n, a[0].now, a[3].now, k->accumulate);
	if ((k->type == ELEMENT_FP32) != (k->to == ELEMENT_FP32))
		error |= kernels->vector_convert(c, NULL, k->n, k->type, a[0].now, k->to, a[4].now);
	return error;
}

/* What no plan asks for has no kernel. */
START_TEST(other_conversions)
{
	struct kernel_context *c = target_open(3, 0);
	EACH_ELEMENT(from)
	EACH_ELEMENT(to)
	if ((from == ELEMENT_FP32) == (to == ELEMENT_FP32))
		ck_assert_int_eq(target_kernels()->vector_convert(c, NULL, 1, from, NULL, to, NULL), CUDA_ERROR_SHAPE);
	target_close(c);
}

START_LOOP_TEST(vectors, 0, 2)
{
	EACH_ELEMENT(type)
	EACH_ELEMENT(to)
	for (int i = 0; i < CASES(counts); i++)
		for (int infinite = 0; infinite < 3; infinite++) {
			begin(_i);
			struct vector_case k = {.type = type, .to = to, .n = counts[i], .accumulate = i % 2};
			struct array a[] = {only_read(type, k.n, 2), changed("sum of vectors", type, k.n, 2),
			                    changed("squares", ELEMENT_FP32, 1, 1),
			                    changed("overflow", ELEMENT_FP32, 1, 1), changed("converted", to, k.n, 1)};
			if (infinite) /* the last element, which stands outside of whole packs */
				set(type, (void *)(uintptr_t)a[0].before, k.n - 1, infinite == 1 ? INFINITY : NAN);
			cuda_check(vectors_run, &k, a, COUNT(a), 1e-6);
		}
}

CASE_RUN(finish_run, struct vector_case, k)
{
	return kernels->linear_finish(c, NULL, k->type, k->activation, k->n, k->width, k->bias ? a[0].now : NULL,
	                              k->residual ? a[1].now : NULL, a[2].now, k->activation ? a[3].now : NULL);
}

START_LOOP_TEST(finishes, 0, 2)
{
	EACH_ELEMENT(type)
	for (int64_t width = 1; width < 200; width = 3 * width + 1 + 2 * (width % 3))
		for (int kind = 0; kind < 4 * ACTIVATIONS; kind++) {
			begin(_i);
			struct vector_case k = {.type = type,
			                        .n = 5,
			                        .width = width,
			                        .bias = kind % 2,
			                        .residual = kind / 2 % 2,
			                        .activation = (enum activation)(kind / 4)};
			struct array a[] = {only_read(type, width, 3), only_read(type, 5 * width, 3),
			                    changed("finished sum", type, 5 * width, 5),
			                    changed("activation", type, 5 * width, 1)};
			cuda_check(finish_run, &k, a, COUNT(a), 2e-6);
		}
}

/* ---- batch normalization ---- */

struct batch_case {
	struct batch_norm_shape shape;
	bool accumulate;
};

CASE_RUN(batch_run, struct batch_case, k)
{
	const struct batch_norm_shape *s = &k->shape;
	bool add = k->accumulate;
	int error = kernels->batch_norm_statistics(c, NULL, s, a[0].now, a[1].now);
	error |= kernels->batch_norm_merge(c, NULL, 2, s->width, a[2].now, a[3].now, a[4].now);
	error |= kernels->batch_norm_running(c, NULL, s->width, a[3].now, a[5].now);
	error |= kernels->batch_norm_forward(c, NULL, s, a[0].now, a[4].now, a[6].now, a[7].now, a[8].now);
	error |= kernels->batch_norm_sums(c, NULL, s, a[9].now, a[0].now, a[4].now, a[6].now, a[7].now, a[10].now,
	                                  a[11].now, add, (char *)a[11].now + s->width * element_bytes(s->type), add);
	error |= kernels->batch_norm_backward(c, NULL, s, a[9].now, a[0].now, a[4].now, a[10].now, a[6].now, a[8].now);
	return error;
}

static void batch_check(enum element type, int64_t rows, int64_t width, bool gelu, bool accumulate)
{
	struct batch_case k = {{rows, width, gelu, type}, accumulate};
	struct array a[] = {only_read(type, rows * width, 2),
	                    changed("part", ELEMENT_FP32, 2 * width + 1, 1),
	                    only_read(ELEMENT_FP32, 2 * (2 * width + 1), 1),
	                    changed("running", ELEMENT_FP32, 2 * width, 1),
	                    changed("statistics", ELEMENT_FP32, 2 * width + 1, 1),
	                    changed("validation's statistics", ELEMENT_FP32, 2 * width + 1, 1),
	                    only_read(type, width, 1),
	                    only_read(type, width, 1),
	                    changed("batch norm dx", type, rows * width, 1),
	                    changed("du", type, rows * width, 1),
	                    changed("sums", ELEMENT_FP32, 2 * width, 1),
	                    changed("dweight, dbias", type, 2 * width, 1)};
	/* two parts, of 50 and 70 rows, and variances that are positive */
	float *parts = (void *)(uintptr_t)a[2].before, *running = (void *)(uintptr_t)a[3].before;
	for (int64_t c = 0; c < width; c++) {
		parts[width + c] = 1 + fabsf(parts[width + c]);
		parts[3 * width + 1 + c] = 1 + fabsf(parts[3 * width + 1 + c]);
		running[width + c] = 1 + fabsf(running[width + c]);
	}
	parts[2 * width] = 50;
	parts[4 * width + 1] = 70;
	cuda_check(batch_run, &k, a, COUNT(a), 5e-6);
}

START_LOOP_TEST(batch_norms, 0, 2)
{
	static const int64_t shapes[][2] = {{2, 1}, {5, 7}, {33, 64}, {131, 40}};
	EACH_ELEMENT(type)
	for (int i = 0; i < COUNT(shapes); i++) {
		begin(_i);
		batch_check(type, shapes[i][0], shapes[i][1], i % 2, i / 2);
	}
}

/* ---- what steps carry ---- */

START_LOOP_TEST(loss_scales, 0, 2)
{
	enum loss_scaler s = _i ? LOSS_SCALER_PYTORCH : LOSS_SCALER_DEEPSPEED;
	const struct loss_scale_rule *rule = loss_scale_rule(s);
	const struct scale_rule gpu = {_i, rule->minimum, 3, rule->hysteresis};
	struct loss_scale want = loss_scale_begin(s, 16);
	struct kernel_context *c = target_open(1, 0);
	struct {
		float got[4], overflow;
		int32_t gave_up;
		int64_t step;
	} *n = target_memory(sizeof *n);
	int gave_up_times = 0;
	memcpy(n->got, &want, sizeof n->got);
	n->step = 4;
	buffers_init();
	for (int i = 0; i < 400; i++) {
		n->gave_up = 0;
		n->overflow = i >= 200 || uniform() > 0.6F ? 1.0F : 0.0F; /* until nothing is left */
		bool good = loss_scale_update(s, 3, n->overflow > 0, &want);
		int error = target_kernels()->scaler_update(c, NULL, &gpu, &n->overflow, n->got, &n->gave_up);
		ck_assert_int_eq(target_wait(c, error), 0);
		ck_assert_int_eq(n->gave_up, !good);
		ck_assert_mem_eq(n->got, &want, sizeof n->got);
		gave_up_times += !good;
	}
	ck_assert_int_gt(gave_up_times, 0);
	ck_assert_int_eq(target_wait(c, target_kernels()->advance(c, NULL, &n->step)), 0);
	ck_assert_int_eq(n->step, 5);
	target_close(c);
	target_release(n);
}

CUDA_SUITE("cuda_update", 60)
