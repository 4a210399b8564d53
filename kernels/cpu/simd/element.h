/* Elements as they stand in memory, fp32, bf16 or fp16, and as vectors of fp32: widening is exact, narrowing rounds to
 * the nearest, ties to even. The bits are the same at every level, which tests/kernels/test_kernels_elements.c checks
 * for all of them.
 *
 *     fp32   s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm
 *     bf16   s eeeeeeee mmmmmmm                     the upper half of the fp32
 *     fp16   s eeeee mmmmmmmmmm                     exponent bias 15, largest 65504, down to 2⁻²⁴
 */
#ifndef SHARDLAB_KERNELS_CPU_SIMD_ELEMENT_H
#define SHARDLAB_KERNELS_CPU_SIMD_ELEMENT_H

#include "kernels/cpu/simd/simd.h"

#if defined(SIMD_TYPE_fp32)

#define ELEMENT_16BIT 0
typedef float element;

ALWAYS_INLINE vector element_load(const element *p)
{
	return vector_load(p);
}

ALWAYS_INLINE void element_store(element *p, vector v)
{
	vector_store(p, v);
}

ALWAYS_INLINE vector element_load_part(const element *p, int64_t n)
{
	return vector_load_part(p, n);
}

ALWAYS_INLINE void element_store_part(element *p, vector v, int64_t n)
{
	vector_store_part(p, v, n);
}

ALWAYS_INLINE vector vector_rounded(vector v)
{
	return v;
}

#else

#define ELEMENT_16BIT 1
typedef uint16_t element;
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t halves_unaligned __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

ALWAYS_INLINE words words_select(mask m, words yes, words no)
{
	return ((words)m & yes) | (~(words)m & no);
}

#if defined(SIMD_TYPE_bf16)

ALWAYS_INLINE vector halves_widen(halves h)
{
	return (vector)(__builtin_convertvector(h, words) << 16);
}

ALWAYS_INLINE halves halves_narrow(vector v)
{
	words bits = (words)v, rounded = bits + 0x7fff + (bits >> 16 & 1);
	/* adding would carry a NaN's digits into the exponent */
	rounded = words_select(v == v, rounded, bits | 0x400000);
	return __builtin_convertvector(rounded >> 16, halves);
}

#elif SIMD_LEVEL >= 2

ALWAYS_INLINE vector halves_widen(halves h)
{
	return (vector)_mm512_cvtph_ps((__m256i)h);
}

ALWAYS_INLINE halves halves_narrow(vector v)
{
	return (halves)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

#elif SIMD_LEVEL == 1

ALWAYS_INLINE vector halves_widen(halves h)
{
	return (vector)_mm256_cvtph_ps((__m128i)h);
}

ALWAYS_INLINE halves halves_narrow(vector v)
{
	return (halves)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
}

#else

/* The exponent and digits, shifted to their places in fp32, give a number 2¹¹² times too small, normal or not. */
ALWAYS_INLINE vector halves_widen(halves h)
{
	words bits = __builtin_convertvector(h, words), sign = (bits & 0x8000) << 16, rest = (bits & 0x7fff) << 13;
	words scaled = (words)((vector)rest * 0x1p112f);
	mask special = (mask)(rest >= (0x7c00u << 13)), nan = (mask)(rest > (0x7c00u << 13));
	scaled = words_select(special, rest | 0x7f800000, scaled);
	return (vector)(sign | scaled | ((words)nan & 0x400000));
}

/* Three ranges: normal numbers round in their integer bits; small ones are added to 0.5, whose last digit is 2⁻²⁴, so
 * that the addition rounds; and those from 2¹⁶ on are infinite or NaN. */
ALWAYS_INLINE halves halves_narrow(vector v)
{
	words bits = (words)v, sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
	words normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
	words small = (words)((vector)size + 0.5f) - 0x3f000000;
	words large = words_select((mask)(size > 0x7f800000), 0x7e00 | (size >> 13 & 0x3ff), (words){0} + 0x7c00);
	words out = words_select((mask)(size < (113u << 23)), small, normal);
	out = words_select((mask)(size >= (143u << 23)), large, out);
	return __builtin_convertvector(sign | out, halves);
}

#endif

ALWAYS_INLINE vector element_load(const element *p)
{
	return halves_widen(*(const halves_unaligned *)p);
}

ALWAYS_INLINE void element_store(element *p, vector v)
{
	*(halves_unaligned *)p = halves_narrow(v);
}

ALWAYS_INLINE vector element_load_part(const element *p, int64_t n)
{
	halves h = {0};
	for (int64_t i = 0; i < LANES && i < n; i++)
		h[i] = p[i];
	return halves_widen(h);
}

ALWAYS_INLINE void element_store_part(element *p, vector v, int64_t n)
{
	halves h = halves_narrow(v);
	memcpy(p, &h, (size_t)n * sizeof *p);
}

/* The vector as it would be when stored and loaded again. */
ALWAYS_INLINE vector vector_rounded(vector v)
{
	return halves_widen(halves_narrow(v));
}

#endif

/* A whole vector, or the first n elements of one. */
ALWAYS_INLINE vector elements_load(const element *p, int64_t n)
{
	return n == LANES ? element_load(p) : element_load_part(p, n);
}

ALWAYS_INLINE void elements_store(element *p, vector v, int64_t n)
{
	if (n == LANES)
		element_store(p, v);
	else
		element_store_part(p, v, n);
}

ALWAYS_INLINE float element_get(const element *p)
{
	return element_load_part(p, 1)[0];
}

#endif
