/* Vectors of LANES floats, as GCC's vector extensions give them; the width follows SIMD_LEVEL. Arithmetic, comparison
 * and mixing with scalars are the language's own operators. a·b + c contracts to a fused multiply-add where there is
 * one.
 *
 * Loads and stores need no alignment. The *_part forms touch only the first n lanes (the rest load as 0). vector_load
 * and vector_store move fp32; element_load and element_store (element.h) what SIMD_TYPE_… says, and convert.
 */
#ifndef SHARDLAB_KERNELS_CPU_SIMD_H
#define SHARDLAB_KERNELS_CPU_SIMD_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/bodies.h"

#if defined(SIMD_TYPE_fp32)
#define SIMD_TYPED(name, level) name##_fp32_level##level
#elif defined(SIMD_TYPE_bf16)
#define SIMD_TYPED(name, level) name##_bf16_level##level
#elif defined(SIMD_TYPE_fp16)
#define SIMD_TYPED(name, level) name##_fp16_level##level
#else
#error "one of SIMD_TYPE_fp32, SIMD_TYPE_bf16, SIMD_TYPE_fp16 must be defined"
#endif

#if SIMD_LEVEL >= 2
#define LANES 16
#if SIMD_LEVEL == 2
#define SIMD_BODY(name) SIMD_TYPED(name, 2)
#else
#define SIMD_BODY(name) SIMD_TYPED(name, 3)
#endif
#define LANE_LIST(F, s)                                                                                                \
	F(0, s), F(1, s), F(2, s), F(3, s), F(4, s), F(5, s), F(6, s), F(7, s), F(8, s), F(9, s), F(10, s), F(11, s),  \
	        F(12, s), F(13, s), F(14, s), F(15, s)
#elif SIMD_LEVEL == 1
#define LANES 8
#define SIMD_BODY(name) SIMD_TYPED(name, 1)
#define LANE_LIST(F, s) F(0, s), F(1, s), F(2, s), F(3, s), F(4, s), F(5, s), F(6, s), F(7, s)
#elif SIMD_LEVEL == 0
#define LANES 4
#define SIMD_BODY(name) SIMD_TYPED(name, 0)
#define LANE_LIST(F, s) F(0, s), F(1, s), F(2, s), F(3, s)
#else
#error "SIMD_LEVEL must be 0, 1, 2 or 3"
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES)));
typedef float vector_unaligned __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* Lane i of the result is lane list[i] of a and b side by side. The list must be constants. */
#if defined(__clang__)
#define VECTOR_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define VECTOR_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif

#define LANE_ITSELF(lane, s) (lane)
#define LANE_XOR(lane, s) ((lane) ^ (s))

ALWAYS_INLINE vector vector_load(const float *p)
{
	return *(const vector_unaligned *)p;
}

ALWAYS_INLINE void vector_store(float *p, vector v)
{
	*(vector_unaligned *)p = v;
}

ALWAYS_INLINE vector vector_load_part(const float *p, int64_t n)
{
	vector v = {0};
	memcpy(&v, p, (size_t)n * sizeof *p);
	return v;
}

ALWAYS_INLINE void vector_store_part(float *p, vector v, int64_t n)
{
	memcpy(p, &v, (size_t)n * sizeof *p);
}

ALWAYS_INLINE vector vector_all(float x)
{
	return x - (vector){0};
}

ALWAYS_INLINE mask vector_below(int64_t n) /* lanes 0 … n−1 */
{
	const mask lane = {LANE_LIST(LANE_ITSELF, 0)};
	return lane < (int32_t)n;
}

ALWAYS_INLINE vector vector_select(mask m, vector yes, vector no)
{
	return (vector)((m & (mask)yes) | (~m & (mask)no));
}

/* a > b ? a : b, so b where either is NaN (and minimum likewise). */
ALWAYS_INLINE vector vector_maximum(vector a, vector b)
{
#if SIMD_LEVEL >= 2
	return (vector)_mm512_max_ps((__m512)a, (__m512)b);
#elif SIMD_LEVEL == 1
	return (vector)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
	return (vector)_mm_max_ps((__m128)a, (__m128)b);
#else
	return vector_select(a > b, a, b);
#endif
}

ALWAYS_INLINE vector vector_minimum(vector a, vector b)
{
#if SIMD_LEVEL >= 2
	return (vector)_mm512_min_ps((__m512)a, (__m512)b);
#elif SIMD_LEVEL == 1
	return (vector)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
	return (vector)_mm_min_ps((__m128)a, (__m128)b);
#else
	return vector_select(a < b, a, b);
#endif
}

ALWAYS_INLINE vector vector_square_root(vector a)
{
#if SIMD_LEVEL >= 2
	return (vector)_mm512_sqrt_ps((__m512)a);
#elif SIMD_LEVEL == 1
	return (vector)_mm256_sqrt_ps((__m256)a);
#elif defined(__x86_64__)
	return (vector)_mm_sqrt_ps((__m128)a);
#else
	for (int i = 0; i < LANES; i++)
		a[i] = __builtin_sqrtf(a[i]);
	return a;
#endif
}

/* Reduction of all lanes, as a tree. */
ALWAYS_INLINE float vector_reduce_sum(vector v)
{
#if LANES > 8
	v += VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 8));
#endif
#if LANES > 4
	v += VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 4));
#endif
	v += VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 2));
	v += VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 1));
	return v[0];
}

ALWAYS_INLINE float vector_reduce_maximum(vector v)
{
#if LANES > 8
	v = vector_maximum(v, VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 8)));
#endif
#if LANES > 4
	v = vector_maximum(v, VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 4)));
#endif
	v = vector_maximum(v, VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 2)));
	v = vector_maximum(v, VECTOR_SHUFFLE(v, v, LANE_LIST(LANE_XOR, 1)));
	return v[0];
}

ALWAYS_INLINE int64_t round_up_lanes(int64_t n)
{
	return (n + LANES - 1) / LANES * LANES;
}

ALWAYS_INLINE int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

#include "kernels/cpu/simd/element.h"

#endif
