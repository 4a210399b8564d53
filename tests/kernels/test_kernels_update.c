/* Optimizers and vectors against plain double arithmetic; and of all kernels: the same bits again, and with threads. */
#include <check.h>
#include <string.h>

#include "tests/kernels/kernels_check.h"
#include "tests/kernels/kernels_reference.h"

/* ---- optimizers and vectors ---- */

START_LEVEL_TEST(optimizers)
{
	if (!level_select(_i))
		return;
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
END_TEST

START_LEVEL_TEST(vectors)
{
	if (!level_select(_i))
		return;
	static const int64_t sizes[] = {0, 1, 3, 15, 16, 17, 63, 65, 1000, 100003};
	for (int64_t s = 0; s < COUNT(sizes); s++) {
		int64_t n = sizes[s];
		float *x = filled(n), *y = filled(n), *z = blank(n);
		vector_copy(ELEMENT_FP32, n, y, z);
		ck_assert(n == 0 || memcmp(y, z, (size_t)n * sizeof *y) == 0);
		vector_add(ELEMENT_FP32, n, x, z);
		for (int64_t i = 0; i < n; i++)
			ck_assert(z[i] == y[i] + x[i]);
		vector_scale(ELEMENT_FP32, n, 0.3f, y);
		vector_zero(ELEMENT_FP32, n, z);
		double squares = 0, sum = vector_sum_of_squares(ELEMENT_FP32, n, x);
		vector_add(ELEMENT_FP32, n, y, z);
		ck_assert(n == 0 || memcmp(y, z, (size_t)n * sizeof *y) == 0);
		for (int64_t i = 0; i < n; i++)
			squares += (double)x[i] * (double)x[i];
		ck_assert(fabs(sum - squares) <= 1e-12 * squares);
	}
	float *y = blank(3);
	y[0] = 1, y[1] = -2, y[2] = 1e30f;
	ck_assert(vector_sum_of_squares(ELEMENT_FP32, 2, y) == 5.0 &&
	          vector_sum_of_squares(ELEMENT_FP32, 3, y) > 9e59); /* beyond fp32 */
	vector_scale(ELEMENT_FP32, 2, -0.5f, y);
	ck_assert(y[0] == -0.5f && y[1] == 1.0f && y[2] == 1e30f);
}
END_TEST

/* ---- the same bits again, and threads ---- */

enum {
	T_SAMPLES = 3,
	T_TOKENS = 70,
	T_HEADS = 2,
	T_SIZE = 24,
	T_WIDTH = 48,
	T_OUT = 144,
	T_ROWS = 210,
	T_TOTAL = 400000
};

static float *take(float **next, int64_t n)
{
	*next += n;
	return *next - n;
}

/* One pass through everything; the results lie one after the other in out, their number is returned. */
static int64_t run_everything(float *out)
{
	struct linear_shape s = {T_ROWS, T_WIDTH, T_OUT, false, false, ELEMENT_FP32, 0}, g = s;
	struct attention_shape a = {T_SAMPLES, T_TOKENS, T_HEADS, T_SIZE, ELEMENT_FP32};
	struct adamw adam = {1e-2f, 0.9f, 0.999f, 1e-8f, 0.01f};
	int32_t ids[T_ROWS];
	float *x = filled(T_ROWS * T_WIDTH), *w = filled(T_WIDTH * T_OUT), *b = filled(T_OUT),
	      *dy = filled(T_ROWS * T_OUT);
	float *next = out, *qkv, *pre, *y, *lse;
	for (int i = 0; i < T_ROWS; i++)
		ids[i] = i * 5 % 13;
	g.gelu = true;
#define TAKE(n) take(&next, n)
	linear_forward(&s, x, w, b, NULL, qkv = TAKE(T_ROWS * T_OUT), NULL);
	pre = TAKE(T_ROWS * T_OUT);
	linear_forward(&g, x, w, b, NULL, TAKE(T_ROWS * T_OUT), pre);
	linear_backward(&g, dy, x, w, pre, TAKE(T_ROWS * T_WIDTH), TAKE(T_WIDTH * T_OUT), false, TAKE(T_OUT), false);
	y = TAKE(T_ROWS * T_WIDTH);
	lse = TAKE(T_ROWS * T_HEADS);
	attention_forward(&a, qkv, y, lse);
	attention_backward(&a, x, qkv, y, lse, TAKE(T_ROWS * T_OUT));
	float *norm_y = TAKE(T_ROWS * T_WIDTH), *statistics = TAKE(2 * T_ROWS);
	norm_forward(ELEMENT_FP32, T_ROWS, T_WIDTH, y, w, b, norm_y, statistics);
	norm_backward(ELEMENT_FP32, T_ROWS, T_WIDTH, x, y, statistics, w, TAKE(T_ROWS * T_WIDTH), false, TAKE(T_WIDTH),
	              false, TAKE(T_WIDTH), false);
	embedding_forward(ELEMENT_FP32, T_SAMPLES, T_TOKENS, T_WIDTH, ids, w, x, TAKE(T_ROWS * T_WIDTH));
	embedding_backward(ELEMENT_FP32, T_SAMPLES, T_TOKENS, T_WIDTH, 13, 80, ids, x, TAKE(13 * T_WIDTH), false,
	                   TAKE(80 * T_WIDTH), false);
	float *logits = TAKE(T_ROWS * T_WIDTH), *loss = TAKE(1);
	vector_copy(ELEMENT_FP32, T_ROWS * T_WIDTH, norm_y, logits);
	classifier(ELEMENT_FP32, T_ROWS, T_WIDTH, T_WIDTH, logits, ids, 0.1, 0.1, loss, false);
	float *p = TAKE(T_ROWS * T_OUT), *m = TAKE(T_ROWS * T_OUT), *v = TAKE(T_ROWS * T_OUT);
	vector_copy(ELEMENT_FP32, T_ROWS * T_OUT, dy, p);
	vector_zero(ELEMENT_FP32, T_ROWS * T_OUT, m);
	vector_zero(ELEMENT_FP32, T_ROWS * T_OUT, v);
	adamw_update(ELEMENT_FP32, &adam, 1, T_ROWS * T_OUT, p, qkv, 1, m, v, NULL);
	*TAKE(1) = (float)vector_sum_of_squares(ELEMENT_FP32, T_ROWS * T_OUT, p);
#undef TAKE
	ck_assert_int_lt(next - out, T_TOTAL);
	return next - out;
}

START_LEVEL_TEST(repeatable)
{
	if (!level_select(_i))
		return;
	float *first = blank(T_TOTAL), *second = blank(T_TOTAL), *threaded = blank(T_TOTAL);
	int64_t n = run_everything(first);
	buffers_init();
	run_everything(second);
	ck_assert_mem_eq(first, second, (size_t)n * sizeof *first);
	for (int64_t i = 0; i < n; i++)
		ck_assert_msg(isfinite(first[i]), "result %lld was not written", (long long)i);

	for (int threads = 2; threads <= 3; threads++) {
		kernels_set_threads(threads);
		ck_assert_int_eq(kernels_threads(), threads);
		buffers_init();
		run_everything(threaded);
		for (int64_t i = 0; i < n; i++)
			ck_assert_msg(fabsf(first[i] - threaded[i]) <= 1e-4f * (1.0f + fabsf(first[i])),
			              "%d threads: result %lld is %g, not %g", threads, (long long)i,
			              (double)threaded[i], (double)first[i]);
		buffers_init();
		run_everything(second);
		ck_assert_mem_eq(threaded, second, (size_t)n * sizeof *first);
		kernels_set_threads(1);
	}
}
END_TEST

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
END_TEST

int main(void)
{
	suite_fixture(buffers_init, buffers_release);
	return suite_run("kernels of the update", 120);
}
