/* Optimizers in fp32 against plain double arithmetic, sums of squares beyond fp32, and the levels' names. */
#include <check.h>
#include <string.h>

#include "tests/kernels/kernels_check.h"
#include "tests/kernels/kernels_reference.h"

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

SUITE_WITH("kernels of the update", 120, buffers_init, buffers_release)
