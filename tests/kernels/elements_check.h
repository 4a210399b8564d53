/* Helpers for tests of kernels in several types: random numbers that the type holds, in guarded buffers, and
 * comparison with double arithmetic, or with the fp32 kernel, on the same numbers.
 *
 * How far a result may be off follows from how it is made: one rounding to the type, half a unit in the last place
 * (`unit` × its size, or the smallest step where numbers are subnormal), and what fp32 arithmetic loses on the way.
 */
#ifndef SHARDLAB_TESTS_ELEMENTS_CHECK_H
#define SHARDLAB_TESTS_ELEMENTS_CHECK_H

#include "tests/kernels/kernels_check.h"
#include "tests/support/elements.h"

/* The types of 16 bits; and all types. */
#define EACH_TYPE(type) for (enum element type = ELEMENT_BF16; type <= ELEMENT_FP16; type++)
#define EACH_ELEMENT(type) for (enum element type = ELEMENT_FP32; type < ELEMENT_TYPES; type++)

#define FP32_UNIT 0x1p-24

static inline double unit(enum element type)
{
	return type == ELEMENT_FP32 ? FP32_UNIT : type == ELEMENT_BF16 ? 0x1p-8 : 0x1p-11;
}

/* Products of bf16 take subnormal numbers as 0. */
static inline double smallest(enum element type)
{
	return type == ELEMENT_FP16 ? 0x1p-25 : 0x1p-126;
}

static inline const char *name_of(enum element type)
{
	return type_name((enum type)type);
}

static inline float get(enum element type, const void *x, int64_t i)
{
	return element_get((enum type)type, x, i);
}

static inline void set(enum element type, void *x, int64_t i, float value)
{
	element_set((enum type)type, x, i, value);
}

static inline void *place(enum element type, void *x, int64_t i)
{
	return (char *)x + i * element_bytes(type);
}

/* n elements between guards, NaN until written. */
static inline uint16_t *blank16(int64_t n)
{
	return (uint16_t *)blank((n + 1) / 2);
}

static inline void *none(enum element type, int64_t n)
{
	return type == ELEMENT_FP32 ? (void *)blank(n) : blank16(n);
}

/* Random elements in (−scale, scale), and what they are as doubles and floats. */
static inline void *some(enum element type, int64_t n, float scale)
{
	void *x = none(type, n);
	for (int64_t i = 0; i < n; i++)
		set(type, x, i, scale * uniform());
	return x;
}

static inline double *doubles_of(enum element type, int64_t n, const void *x)
{
	double *d = doubles(n);
	for (int64_t i = 0; i < n; i++)
		d[i] = (double)get(type, x, i);
	return d;
}

static inline float *floats_of(enum element type, int64_t n, const void *x)
{
	float *f = blank(n);
	for (int64_t i = 0; i < n; i++)
		f[i] = get(type, x, i);
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
static inline void assert_rounded(const char *what, enum element type, int64_t n, const void *got, const double *want,
                                  double slack, const double *size)
{
	for (int64_t i = 0; i < n; i++) {
		double x = (double)get(type, got, i), before = slack * (size ? size[i] : fabs(want[i]));
		double limit = unit(type) * (fabs(want[i]) + before) + before + smallest(type);
		ck_assert_msg(fabs(x - want[i]) <= limit, "%s in %s: element %lld of %lld is %.9g, not %.9g ± %.2g",
		              what, name_of(type), (long long)i, (long long)n, x, want[i], limit);
	}
}

#endif
