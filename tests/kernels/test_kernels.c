/* The model's kernels in fp32, at every instruction level that this processor has, against plain double arithmetic;
 * beside tests/kernels/test_kernels_types.c, which has linear layers, attention and the embedding in every type.
 *
 * Gradients are tested whole: the change of Σ weight·output along a random direction of an input must be the gradient's
 * product with that direction. One wrong element anywhere shows. Buffers have guard zones, checked after each test.
 */
#include <check.h>
#include <string.h>

#include "tests/kernels/kernels_check.h"
#include "tests/kernels/kernels_reference.h"

/* ---- linear ---- */

START_TEST(linear_without_dx)
{
	struct linear_shape s = {5, 4, 6, false, ACTIVATION_NONE, ELEMENT_FP32, 0};
	float *x = filled(20), *weight = filled(24), *dy = filled(30), *with = blank(24), *without = blank(24),
	      *dx = blank(20);
	linear_backward(&s, dy, x, weight, NULL, dx, with, false, NULL, false);
	linear_backward(&s, dy, x, weight, NULL, NULL, without, false, NULL, false);
	ck_assert_mem_eq(with, without, 24 * sizeof *with);
}

/* Near 0 and far from it; dy is 1. */
static void arguments_of_activations(int n, float *x, float *dy)
{
	for (int i = 0; i < n - 3; i++)
		x[i] = -20.0f + 0.005f * (float)i;
	x[n - 3] = 1e4f;
	x[n - 2] = -1e4f;
	x[n - 1] = -0.0f;
	for (int i = 0; i < n; i++)
		dy[i] = 1.0f;
}

/* A 1 × 1 weight of 1 shows the activation itself: everywhere in its range, and where its exponential overflows. The
 * slope of ReLU at 0 is 0, as PyTorch's. */
START_LEVEL_TEST(activations)
{
	enum { N = 8003 };
	const float one = 1.0f;
	float *x = blank(N), *pre = blank(N), *y = blank(N), *dy = blank(N), *dx = blank(N), dweight;
	for (int a = ACTIVATION_GELU_TANH; a < ACTIVATIONS; a++) {
		struct linear_shape s = {N, 1, 1, false, (enum activation)a, ELEMENT_FP32, 0};
		arguments_of_activations(N, x, dy);
		linear_forward(&s, x, &one, NULL, NULL, y, pre);
		linear_backward(&s, dy, x, &one, pre, dx, &dweight, false, NULL, false);
		for (int i = 0; i < N; i++) {
			double v = (double)x[i], want = reference_activation(s.activation, v);
			double slope = reference_activation_slope(s.activation, v);
			double most = v > -4.0 ? 2e-6 * fabs(want) : INFINITY; /* further out references cancel */
			ck_assert_msg(fabs((double)y[i] - want) <= fmin(most, 1e-30 + 3e-7 * fabs(v)),
			              "%d at %g is %.9g, not %.9g", a, v, (double)y[i], want);
			ck_assert_msg(fabs((double)dx[i] - slope) <= 1e-6, "slope of %d at %g is %.9g, not %.9g", a, v,
			              (double)dx[i], slope);
		}
		ck_assert(y[N - 3] == 1e4f && fabsf(y[N - 2]) < 1e-20f && y[N - 1] == 0.0f);
		ck_assert(dx[N - 3] == 1.0f && fabsf(dx[N - 2]) < 1e-20f);
		x[0] = NAN;
		linear_forward(&s, x, &one, NULL, NULL, y, pre);
		ck_assert(isnan(y[0]) && !isnan(y[1])); /* a diverged run must not look healthy */
	}
}

/* ---- layer norm ---- */

struct norm_case {
	int64_t rows, width;
	double *x, *weight, *bias, *y, *statistics;
	const float *dy;
};

static double norm_objective(const void *context)
{
	const struct norm_case *c = context;
	reference_norm(c->rows, c->width, c->x, c->weight, c->bias, c->y, c->statistics);
	return weighted(c->rows * c->width, c->dy, c->y);
}

static void norm_check(int64_t rows, int64_t width, float centre, bool accumulate_x, bool accumulate_weight,
                       bool accumulate_bias)
{
	float *x = filled(rows * width), *weight = filled(width), *bias = filled(width), *y = blank(rows * width);
	float *statistics = blank(2 * rows), *dy = filled(rows * width);
	for (int64_t i = 0; i < rows * width; i++)
		x[i] += centre;
	struct norm_case c = {rows,
	                      width,
	                      widened(rows * width, x),
	                      widened(width, weight),
	                      widened(width, bias),
	                      doubles(rows * width),
	                      doubles(2 * rows),
	                      dy};
	norm_forward(ELEMENT_FP32, rows, width, x, weight, bias, y, statistics);
	norm_objective(&c);
	assert_close("norm y", rows * width, y, c.y, centre > 0 ? 1e-4 : 2e-6);
	for (int64_t r = 0; r < 2 * rows; r++)
		ck_assert_msg(fabs((double)statistics[r] - c.statistics[r]) <= 2e-6 * (fabs(c.statistics[r]) + 1),
		              "norm statistics");
	if (centre > 0)
		return; /* the mean's rounding is all there is to see in the gradients */

	float *dx = filled(rows * width), *dweight = filled(width), *dbias = filled(width);
	float *dx0 = blank(rows * width), *dweight0 = blank(width), *dbias0 = blank(width);
	memcpy(dx0, dx, (size_t)(rows * width) * sizeof *dx);
	memcpy(dweight0, dweight, (size_t)width * sizeof *dx);
	memcpy(dbias0, dbias, (size_t)width * sizeof *dx);
	norm_backward(ELEMENT_FP32, rows, width, dy, x, statistics, weight, dx, accumulate_x, dweight,
	              accumulate_weight, dbias, accumulate_bias);
	assert_gradient("norm dx", norm_objective, &c, rows * width, c.x, dx, accumulate_x ? dx0 : NULL);
	assert_gradient("norm dweight", norm_objective, &c, width, c.weight, dweight,
	                accumulate_weight ? dweight0 : NULL);
	assert_gradient("norm dbias", norm_objective, &c, width, c.bias, dbias, accumulate_bias ? dbias0 : NULL);
}

START_LEVEL_TEST(norm)
{
	static const int64_t rows[] = {1, 3, 17, 65, 130}, widths[] = {7, 8, 16, 17, 33, 65, 130};
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t w = 0; w < COUNT(widths); w++) {
			norm_check(rows[r], widths[w], 0.0f, false, false, false);
			norm_check(rows[r], widths[w], 0.0f, true, false, true);
			norm_check(rows[r], widths[w], 0.0f, true, true, false);
			norm_check(rows[r], widths[w], 100.0f, false, false, false);
			buffers_release();
		}
}

/* ---- attention ---- */

/* Scores of ±1e8: each row puts all its weight on one key. */
START_LEVEL_TEST(attention_saturated)
{
	struct attention_shape s = {1, 70, 1, 1, 16, .type = ELEMENT_FP32};
	int64_t n = 70 * 16;
	float *qkv = filled(3 * n), *y = blank(n), *log_sum_exp = blank(70), *dy = filled(n), *dqkv = blank(3 * n);
	for (int64_t t = 0; t < 70; t++)
		for (int64_t i = 0; i < 32; i++)
			qkv[t * 48 + i] *= 1e4f;
	attention_forward(&s, qkv, y, log_sum_exp);
	attention_backward(&s, dy, qkv, y, log_sum_exp, dqkv);
	double *want = doubles(n), *size = doubles(n), *want_log = doubles(70);
	reference_attention(&s, widened(3 * n, qkv), want, size, want_log);
	assert_close("saturated attention y", n, y, want, 1e-6);
	for (int64_t i = 0; i < 3 * n; i++)
		ck_assert_msg(isfinite(dqkv[i]), "saturated attention: dqkv[%lld] = %g", (long long)i, (double)dqkv[i]);
	qkv[10 * 48] = NAN; /* query 10 only: later rows stay finite, and so do earlier ones */
	attention_forward(&s, qkv, y, log_sum_exp);
	ck_assert(isnan(y[10 * 16]) && isfinite(y[9 * 16]) && isfinite(y[11 * 16]));
}

/* ---- classifier ---- */

struct classifier_case {
	int64_t rows, classes;
	double *logits, scale;
	const int32_t *targets;
};

static double classifier_objective(const void *context)
{
	const struct classifier_case *c = context;
	return c->scale * reference_classifier(c->rows, c->classes, c->logits, c->targets);
}

START_LEVEL_TEST(classifier_loss)
{
	static const int64_t rows[] = {1, 3, 65, 130}, classes[] = {1, 2, 7, 16, 17, 33, 65, 256, 2049};
	for (int64_t r = 0; r < COUNT(rows); r++)
		for (int64_t k = 0; k < COUNT(classes); k++) {
			int64_t n = rows[r] * classes[k], want_correct = 0, correct = 0;
			float *logits = filled(n), loss = 7.0f;
			int32_t *targets = keep(calloc((size_t)rows[r], sizeof *targets), 0);
			for (int64_t i = 0; i < rows[r]; i++)
				targets[i] = i % 3 == 0   ? 0
				             : i % 3 == 1 ? (int32_t)classes[k] - 1
				                          : (int32_t)(i * 7 % classes[k]);
			for (int64_t i = 0; i < n; i++)
				logits[i] *= 5.0f;
			for (int64_t i = 0; i < rows[r]; i += 2) /* make some of the answers right */
				logits[i * classes[k] + targets[i]] = 6.0f;
			for (int64_t i = 0; i < rows[r]; i++) {
				int64_t best = 0;
				for (int64_t j = 1; j < classes[k]; j++)
					if (logits[i * classes[k] + j] > logits[i * classes[k] + best])
						best = j;
				want_correct += best == targets[i];
			}
			struct classifier_case c = {rows[r], classes[k], widened(n, logits), 0.25, targets};
			double want = classifier_objective(&c), evaluated = 0;
			classifier_evaluate(ELEMENT_FP32, rows[r], classes[k], classes[k], logits, targets, &evaluated,
			                    &correct);
			ck_assert_msg(fabs(evaluated * 0.25 - want) <= 1e-6 * (1 + fabs(want)), "loss %.9g, not %.9g",
			              evaluated * 0.25, want);
			ck_assert_int_eq(correct, want_correct);
			bool accumulate = (r + k) % 2;
			classifier(ELEMENT_FP32, rows[r], classes[k], classes[k], logits, targets, 0.25, 0.25, &loss,
			           accumulate);
			ck_assert_msg(fabs((double)loss - want - (accumulate ? 7.0 : 0.0)) <= 1e-6 * (8 + fabs(want)),
			              "loss %.9g, not %.9g", (double)loss, want);
			assert_gradient("classifier", classifier_objective, &c, n, c.logits, logits, NULL);
			buffers_release();
		}
}

START_LEVEL_TEST(classifier_saturated)
{
	float *logits = blank(3 * 35), loss;
	const int32_t targets[3] = {0, 34, 34};
	for (int i = 0; i < 105; i++)
		logits[i] = i < 35 ? -1e4f : i % 2 ? 1e4f : -1e4f;
	logits[0] = 1e4f;        /* row 0: right, loss 0 */
	logits[34 + 35] = -1e4f; /* row 1: wrong by 2e4; 17 logits share the top */
	for (int i = 70; i < 105; i++)
		logits[i] = 3.0f; /* row 2: all equal, loss log 35; argmax is the first */
	double evaluated = 0, want = 2e4 + 0;
	int tops = 0;
	for (int i = 35; i < 70; i++)
		tops += logits[i] > 0.0f;
	want += log(tops) + log(35.0);
	int64_t correct = 0;
	classifier_evaluate(ELEMENT_FP32, 3, 35, 35, logits, targets, &evaluated, &correct);
	ck_assert(fabs(evaluated - want) < 1e-2 && correct == 1);
	classifier(ELEMENT_FP32, 3, 35, 35, logits, targets, 1.0, 1.0, &loss, false);
	ck_assert(fabs((double)loss - want) < 1e-2);
	ck_assert(logits[0] == 0.0f && logits[1] == 0.0f && logits[69] == -1.0f);
	ck_assert(fabsf(logits[70] - 1.0f / 35.0f) < 1e-7f && fabsf(logits[104] - 1.0f / 35.0f + 1.0f) < 1e-6f);
	logits[7] = NAN;
	classifier(ELEMENT_FP32, 3, 35, 35, logits, targets, 1.0, 1.0, &loss, false);
	ck_assert(isnan(loss));
}

/* ---- the update, and levels ---- */

START_LEVEL_TEST(optimizers)
{
	static const int64_t sizes[] = {1, 3, 17, 33, 130, 10007};
	struct adamw a = {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f};
	for (int64_t s = 0; s < COUNT(sizes); s++) {
		int64_t n = sizes[s];
		float *p = filled(n), *m = blank(n), *v = blank(n), *q = filled(n);
		double *rp = widened(n, p), *rm = doubles(n), *rv = doubles(n), *rq = widened(n, q);
		vector_zero(ELEMENT_FP32, n, m);
		vector_zero(ELEMENT_FP32, n, v);
		for (int64_t step = 1; step <= 20; step++) {
			float *g = filled(n);
			g[0] = 0.0f; /* 0 / (0 + epsilon) */
			double *rg = widened(n, g);
			adamw_update(ELEMENT_FP32, &a, step, n, p, g, 1, m, v, NULL);
			reference_adamw(&a, step, n, rp, rg, rm, rv);
			sgd_update(ELEMENT_FP32, 0.1f, n, q, g, 1, NULL);
			for (int64_t i = 0; i < n; i++)
				rq[i] -= (double)0.1f * rg[i];
		}
		assert_close("adamw parameters", n, p, rp, 2e-6);
		assert_close("adamw first moment", n, m, rm, 1e-6);
		assert_close("adamw second moment", n, v, rv, 2e-6);
		assert_close("sgd parameters", n, q, rq, 2e-6);
	}
}

START_LEVEL_TEST(vectors_beyond_fp32)
{
	float *y = blank(3);
	y[0] = 1, y[1] = -2, y[2] = 1e30f;
	ck_assert(vector_sum_of_squares(ELEMENT_FP32, 2, y) == 5.0 && vector_sum_of_squares(ELEMENT_FP32, 3, y) > 9e59);
}

START_TEST(names)
{
	static const char *const expected[] = {"plain C", "AVX2", "AVX-512", "AVX-512 with BF16"};
	int best = kernels_limit_instruction_set(99);
	ck_assert_int_ge(best, 0);
	ck_assert_int_le(best, 3);
	for (int level = 0; level <= best; level++) {
		ck_assert_int_eq(kernels_limit_instruction_set(level), level);
		ck_assert_str_eq(kernels_instruction_set(), expected[level]);
	}
	ck_assert_int_eq(kernels_limit_instruction_set(-1), 0);
	ck_assert_int_gt((int)strlen(kernels_blas_core()), 0);
	ck_assert_int_eq(kernels_threads(), 1);
}

START_TEST(a_core_that_does_not_fit_is_forced)
{
	setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
	ck_assert_str_eq(kernels_forced_core(), "Nehalem");
	setenv("OPENBLAS_CORETYPE", "", 1);
	ck_assert_ptr_null(kernels_forced_core());
	if (kernels_limit_instruction_set(99) >= 2) {
		setenv("OPENBLAS_CORETYPE", "skylakex", 1);
		ck_assert_ptr_null(kernels_forced_core());
		setenv("OPENBLAS_CORETYPE", "Haswell", 1);
		ck_assert_str_eq(kernels_forced_core(), "Haswell");
	}
	unsetenv("OPENBLAS_CORETYPE");
	ck_assert_ptr_null(kernels_forced_core());
}

SUITE_WITH("kernels", 120, buffers_init, buffers_release)
