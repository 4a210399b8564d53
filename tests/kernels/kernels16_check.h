/* What the tests of 16-bit kernels stand on: each runs at every instruction level and in both types, on random numbers
 * that the type holds, and is compared with double arithmetic, or with the fp32 kernel, on the same numbers.
 *
 * How far a result may be off follows from how it is made: one rounding to the type, half a unit in the last place
 * (`unit` × its size, or the smallest step where numbers are subnormal), and what fp32 arithmetic loses on the way.
 */
#ifndef SHARDLAB_TESTS_KERNELS16_CHECK_H
#define SHARDLAB_TESTS_KERNELS16_CHECK_H

#include "tests/kernels/kernels_check.h"
#include "tests/support/elements.h"

/* A loop test runs over levels; in each, over both types. */
#define EACH_TYPE(type) for (enum element type = ELEMENT_BF16; type <= ELEMENT_FP16; type++)

static inline double unit(enum element type)
{
	return type == ELEMENT_BF16 ? 0x1p-8 : 0x1p-11;
}

static inline double smallest(enum element type)
{
	return type == ELEMENT_BF16 ? 0x1p-126 : 0x1p-25; /* products of bf16 take subnormal numbers as 0 */
}

/* Are bf16 products made of pairs? P and dS of attention are then rounded to bf16 too. */
static inline bool pairs(enum element type, int level)
{
	return type == ELEMENT_BF16 && level == 3;
}

/* n elements between guards, NaN until written. */
static inline uint16_t *blank16(int64_t n)
{
	return (uint16_t *)blank((n + 1) / 2);
}

/* Random elements in (−scale, scale), and what they are as doubles and floats. */
static inline uint16_t *filled16(enum element type, int64_t n, float scale)
{
	uint16_t *x = blank16(n);
	for (int64_t i = 0; i < n; i++)
		element_set((enum type)type, x, i, scale * uniform());
	return x;
}

static inline double *doubles16(enum element type, int64_t n, const uint16_t *x)
{
	double *d = doubles(n);
	for (int64_t i = 0; i < n; i++)
		d[i] = (double)element_get((enum type)type, x, i);
	return d;
}

static inline float *floats16(enum element type, int64_t n, const uint16_t *x)
{
	float *f = blank(n);
	for (int64_t i = 0; i < n; i++)
		f[i] = element_get((enum type)type, x, i);
	return f;
}

static inline double *absolute(int64_t n, const double *x)
{
	double *d = doubles(n);
	for (int64_t i = 0; i < n; i++)
		d[i] = fabs(x[i]);
	return d;
}

/* Each within its rounding, and `slack` × `size` of it: what was lost before (size NULL: its own). */
static inline void assert_rounded(const char *what, enum element type, int64_t n, const uint16_t *got,
                                  const double *want, double slack, const double *size)
{
	for (int64_t i = 0; i < n; i++) {
		double x = (double)element_get((enum type)type, got, i),
		       before = slack * (size ? size[i] : fabs(want[i]));
		double limit = unit(type) * (fabs(want[i]) + before) + before + smallest(type);
		ck_assert_msg(fabs(x - want[i]) <= limit, "%s in %s: element %lld of %lld is %.9g, not %.9g ± %.2g",
		              what, type_name((enum type)type), (long long)i, (long long)n, x, want[i], limit);
	}
}

#endif
