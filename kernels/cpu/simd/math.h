/* exp and activations on vectors. */
#ifndef SHARDLAB_KERNELS_CPU_SIMD_MATH_H
#define SHARDLAB_KERNELS_CPU_SIMD_MATH_H

#include "kernels/cpu/simd/simd.h"

/* These are long chains of dependent operations. The processor looks ahead only a hundred or so operations, less than
 * three vectors' worth. The functions therefore take several vectors and every line works on all of them, so that some
 * operation is always ready to run. */
/* clang-format off: one step a line */
#define TOGETHER 4
#define EACH(n) _Pragma("GCC unroll 4") for (int j = 0; j < (n); j++)

/* x[j] = e^x[j] for n <= TOGETHER vectors, within 2 units in the last place, for x in [−88, 88] (or NaN, which stays).
 * From −87.7 down the result is exactly 0.
 *
 * x = k·ln 2 + r with |r| <= ln 2 / 2: 2^k is made in the exponent bits, e^r is the polynomial of Cephes' expf. ln 2 is
 * split in two so that r loses no digits (Cody and Waite). At −88, k is −127 and the exponent bits are all 0: that is
 * where the exact 0 comes from. */
ALWAYS_INLINE void vectors_exp_within(vector *x, const int n)
{
	const float round = 0x1.8p23f; /* adding it leaves the nearest integer in the low bits */
	vector shifted[TOGETHER], k[TOGETHER], p[TOGETHER];

	EACH(n) shifted[j] = x[j] * 0x1.715476p0f + round;
	EACH(n) k[j] = shifted[j] - round;
	EACH(n) x[j] = x[j] - k[j] * 0.693359375f;
	EACH(n) x[j] = x[j] + k[j] * 2.12194440e-4f;
	EACH(n) p[j] = x[j] * 1.9875691500e-4f + 1.3981999507e-3f;
	EACH(n) p[j] = p[j] * x[j] + 8.3334519073e-3f;
	EACH(n) p[j] = p[j] * x[j] + 4.1665795894e-2f;
	EACH(n) p[j] = p[j] * x[j] + 1.6666665459e-1f;
	EACH(n) p[j] = p[j] * x[j] + 5.0000001201e-1f;
	EACH(n) p[j] = p[j] * (x[j] * x[j]) + x[j];
	EACH(n) p[j] = p[j] + 1.0f;
	EACH(n) x[j] = p[j] * (vector)(((mask)shifted[j] + 127) << 23);
}

/* The same for any x: larger ones give e^88 (1.65e38), smaller ones 0. */
ALWAYS_INLINE void vectors_exp(vector *x, const int n)
{
	EACH(n) x[j] = vector_maximum(vector_all(-88.0f), x[j]);
	EACH(n) x[j] = vector_minimum(vector_all(88.0f), x[j]);
	vectors_exp_within(x, n);
}

ALWAYS_INLINE vector vector_exp(vector x)
{
	vectors_exp(&x, 1);
	return x;
}

#define GELU_ROOT 0.79788456080286535588f /* sqrt(2/π) */
#define GELU_CUBIC 0.044715f

/* The tanh form, ½x(1 + tanh u) with u = sqrt(2/π)(x + 0.044715x³), is x / (1 + e^(−2u)): one exp, and no cancellation
 * where tanh nears −1. At x = ±10 2u is ±87.3: the exponential ends just where exp's range does, gelu is x or 0 in
 * fp32, and x³ cannot overflow. */
#define GELU_END 10.0f

/* y = gelu(x) */
ALWAYS_INLINE void vectors_gelu(const vector *x, vector *y, const int n)
{
	vector floored[TOGETHER], e[TOGETHER];
	EACH(n) floored[j] = vector_maximum(vector_all(-GELU_END), x[j]);
	EACH(n) y[j] = vector_minimum(vector_all(GELU_END), floored[j]);
	EACH(n) e[j] = y[j] * y[j] * (-2.0f * GELU_ROOT * GELU_CUBIC) + -2.0f * GELU_ROOT;
	EACH(n) e[j] = y[j] * e[j];
	vectors_exp_within(e, n);
	EACH(n) y[j] = floored[j] / (1.0f + e[j]);
}

/* y = gelu'(x). With s = 1 / (1 + e^(−2u)): gelu = x·s, gelu' = s + s·(1 − s)·x·2u', and 1 − s = e^(−2u)·s. */
ALWAYS_INLINE void vectors_gelu_derivative(const vector *x, vector *y, const int n)
{
	vector square[TOGETHER], e[TOGETHER], slope[TOGETHER];
	EACH(n) y[j] = vector_maximum(vector_all(-GELU_END), x[j]);
	EACH(n) y[j] = vector_minimum(vector_all(GELU_END), y[j]);
	EACH(n) square[j] = y[j] * y[j];
	EACH(n) e[j] = square[j] * (-2.0f * GELU_ROOT * GELU_CUBIC) + -2.0f * GELU_ROOT;
	EACH(n) slope[j] = square[j] * (6.0f * GELU_ROOT * GELU_CUBIC) + 2.0f * GELU_ROOT;
	EACH(n) e[j] = y[j] * e[j];
	EACH(n) slope[j] = y[j] * slope[j];
	vectors_exp_within(e, n);
	EACH(n) y[j] = 1.0f / (1.0f + e[j]);
	EACH(n) slope[j] = slope[j] * (e[j] * y[j]);
	EACH(n) y[j] = y[j] + y[j] * slope[j];
}

#define HALF_ROOT 0.70710678118654752440f   /* sqrt(1/2) */
#define NORMAL_PEAK 0.39894228040143267794f /* 1/sqrt(2π) */

/* phi[j] = Φ(x[j]), the normal distribution, of n <= TOGETHER vectors. With z = |x|/√2 and t = 1/(1 + z/2),
 * 1 − erf(z) = t · e^(−z² + a polynomial of t), of which 1.2e-7 is lost at any z (Press et al. 1992, Numerical Recipes,
 * section 6.2). */
ALWAYS_INLINE void vectors_normal(const vector *x, vector *phi, const int n)
{
	vector z[TOGETHER], t[TOGETHER], p[TOGETHER];
	EACH(n) z[j] = vector_maximum(x[j], -x[j]) * HALF_ROOT;
	EACH(n) t[j] = 1.0f / (1.0f + 0.5f * z[j]);
	EACH(n) p[j] = t[j] * 0.17087277f + -0.82215223f;
	EACH(n) p[j] = p[j] * t[j] + 1.48851587f;
	EACH(n) p[j] = p[j] * t[j] + -1.13520398f;
	EACH(n) p[j] = p[j] * t[j] + 0.27886807f;
	EACH(n) p[j] = p[j] * t[j] + -0.18628806f;
	EACH(n) p[j] = p[j] * t[j] + 0.09678418f;
	EACH(n) p[j] = p[j] * t[j] + 0.37409196f;
	EACH(n) p[j] = p[j] * t[j] + 1.00002368f;
	EACH(n) p[j] = p[j] * t[j] + -1.26551223f;
	EACH(n) p[j] = p[j] - z[j] * z[j];
	vectors_exp(p, n);
	EACH(n) p[j] = 0.5f * t[j] * p[j];
	EACH(n) phi[j] = vector_select(x[j] < 0.0f, p[j], 1.0f - p[j]);
}

/* y = x · Φ(x): GELU with the error function */
ALWAYS_INLINE void vectors_gelu_exact(const vector *x, vector *y, const int n)
{
	vectors_normal(x, y, n);
	EACH(n) y[j] = x[j] * y[j];
}

ALWAYS_INLINE void vectors_gelu_exact_derivative(const vector *x, vector *y, const int n)
{
	vector e[TOGETHER];
	vectors_normal(x, y, n);
	EACH(n) e[j] = -0.5f * x[j] * x[j];
	vectors_exp(e, n);
	EACH(n) y[j] = y[j] + x[j] * NORMAL_PEAK * e[j];
}

ALWAYS_INLINE void vectors_relu(const vector *x, vector *y, const int n)
{
	EACH(n) y[j] = vector_maximum((vector){0}, x[j]);
}

/* 0 at 0, as in PyTorch. */
ALWAYS_INLINE void vectors_relu_derivative(const vector *x, vector *y, const int n)
{
	EACH(n) y[j] = vector_select(x[j] > 0.0f, vector_all(1.0f), (vector){0});
}

/* clang-format on */

#endif
