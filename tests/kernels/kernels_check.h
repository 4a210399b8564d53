/* Helpers for tests of kernels: guarded buffers of random numbers, comparison with doubles, gradients by
 * differences. */
#ifndef SHARDLAB_TESTS_KERNELS_CHECK_H
#define SHARDLAB_TESTS_KERNELS_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/support/suite.h"

#define GUARD 64
#define GUARD_VALUE 12345.678f
/* ---- memory, random numbers, comparison ---- */

/* The allocator of guarded buffers. */
#ifndef CHECK_MEMORY
#define CHECK_MEMORY malloc
#define CHECK_RELEASE free
#endif

static struct buffer {
	void *memory;
	int64_t floats; /* 0: not guarded */
} buffers[4096];
static int buffer_count;
static uint64_t seed;

static void *keep(void *memory, int64_t floats)
{
	ck_assert_ptr_nonnull(memory);
	ck_assert_int_lt(buffer_count, COUNT(buffers));
	buffers[buffer_count++] = (struct buffer){memory, floats};
	return memory;
}

static void buffers_release(void)
{
	for (int i = 0; i < buffer_count; i++) {
		const float *f = buffers[i].memory;
		for (int g = 0; buffers[i].floats && g < GUARD; g++) {
			ck_assert_msg(f[g] == GUARD_VALUE, "write %d floats before a buffer", GUARD - g);
			ck_assert_msg(f[GUARD + buffers[i].floats + g] == GUARD_VALUE, "write %d floats past a buffer",
			              g);
		}
		CHECK_RELEASE(buffers[i].memory);
	}
	buffer_count = 0;
}

static void buffers_init(void)
{
	seed = 88172645463325252u;
}

static float uniform(void) /* in (−1, 1) */
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (float)((double)(seed >> 11) / 4503599627370496.0 - 1.0);
}

/* n floats between guards, NaN until written. */
static float *blank(int64_t n)
{
	if (n == 0)
		n = 1;
	float *f = keep(CHECK_MEMORY((size_t)(n + 2 * GUARD) * sizeof *f), n);
	for (int64_t i = 0; i < n + 2 * GUARD; i++)
		f[i] = i < GUARD || i >= n + GUARD ? GUARD_VALUE : NAN;
	return f + GUARD;
}

static inline float *filled(int64_t n)
{
	float *f = blank(n);
	for (int64_t i = 0; i < n; i++)
		f[i] = uniform();
	return f;
}

static double *doubles(int64_t n)
{
	double *d = keep(CHECK_MEMORY(((size_t)n + 1) * sizeof *d), 0);
	memset(d, 0, ((size_t)n + 1) * sizeof *d);
	return d;
}

static inline double *widened(int64_t n, const float *f)
{
	double *d = doubles(n);
	for (int64_t i = 0; i < n; i++)
		d[i] = (double)f[i];
	return d;
}

/* Each element within `limit` × (its size + the root mean square of all). */
static inline void assert_close(const char *what, int64_t n, const float *got, const double *want, double limit)
{
	double squares = 0;
	if (!got || !want)
		abort();
	for (int64_t i = 0; i < n; i++)
		squares += want[i] * want[i] / (double)n;
	for (int64_t i = 0; i < n; i++) {
		double error = fabs((double)got[i] - want[i]);
		ck_assert_msg(error <= limit * (fabs(want[i]) + sqrt(squares)),
		              "%s: element %lld of %lld is %.9g, not %.9g", what, (long long)i, (long long)n,
		              (double)got[i], want[i]);
	}
}

/* ---- gradients by differences along directions ---- */

typedef double objective(const void *context); /* reads the doubles that assert_gradient moves */

/* gradient − offset (NULL: 0) must be the gradient of f over `input`. */
static inline void assert_gradient(const char *what, objective *f, const void *context, int64_t n, double *input,
                                   const float *gradient, const float *offset)
{
	const double step = 1e-5;
	double *saved = doubles(n), *direction = doubles(n);
	memcpy(saved, input, (size_t)n * sizeof *saved);
	for (int trial = 0; trial < 4; trial++) {
		double product = 0, squares = 0, difference = 0;
		for (int64_t i = 0; i < n; i++) {
			double g = (double)gradient[i] - (offset ? (double)offset[i] : 0.0);
			/* the first trials: single elements, the last and any; then all at once */
			direction[i] = trial == 0 ? i == n - 1 : trial == 1 ? i == n / 3 : (double)uniform();
			product += g * direction[i];
			squares += g * g * direction[i] * direction[i];
		}
		for (int side = -1; side <= 1; side += 2) {
			for (int64_t i = 0; i < n; i++)
				input[i] = saved[i] + side * step * direction[i];
			difference += side * f(context) / (2 * step);
		}
		memcpy(input, saved, (size_t)n * sizeof *saved);
		ck_assert_msg(fabs(product - difference) <= 1e-5 * (1.0 + sqrt(squares)),
		              "%s, direction %d of %lld elements: %.9g, not %.9g", what, trial, (long long)n, product,
		              difference);
	}
}

static inline double weighted(int64_t n, const float *weight, const double *output)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += (double)weight[i] * output[i];
	return sum;
}

/* ---- running ---- */

/* False, and a line, where this processor lacks the level. */
static inline bool level_select(int level)
{
	if (kernels_limit_instruction_set(level) == level)
		return true;
	printf("skipped: instruction level %d, which this processor does not have\n", level);
	return false;
}

/* Once for each instruction level that this processor has. */
#define START_LEVEL_TEST(name)                                                                                         \
	static void name##_at(int _i);                                                                                 \
	START_LOOP_TEST(name, 0, 4)                                                                                    \
	{                                                                                                              \
		if (level_select(_i))                                                                                  \
			name##_at(_i);                                                                                 \
	}                                                                                                              \
	static void name##_at(int _i __attribute__((unused)))

#endif
