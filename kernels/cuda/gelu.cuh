/* The activations of a linear layer. GELU in its tanh form, as kernels/cpu/simd/math.h has it: ½x(1 + tanh u) with u =
 * sqrt(2/π)(x + 0.044715x³) is x / (1 + e^(−2u)), which has one exponential and loses no digits where tanh nears −1. */
#ifndef SHARDLAB_CUDA_GELU_CUH
#define SHARDLAB_CUDA_GELU_CUH

#include <type_traits>

#include "kernels/cuda/element.cuh"

#define GELU_ROOT 0.79788456080286535588F /* sqrt(2/π) */
#define GELU_CUBIC 0.044715F
#define GELU_END 10.0F /* from here on gelu is x or 0 in fp32 */

template <typename T> __device__ __forceinline__ float gelu(float x)
{
	float low = fmaxf(x, -GELU_END), y = fminf(low, GELU_END);
	float e = exponential<T>(y * (y * y * (-2 * GELU_ROOT * GELU_CUBIC) - 2 * GELU_ROOT));
	return low / (1 + e);
}

/* With s = 1 / (1 + e^(−2u)): gelu' = s + s·(1 − s)·x·2u', and 1 − s = e^(−2u)·s. */
template <typename T> __device__ __forceinline__ float gelu_slope(float x)
{
	float y = fminf(fmaxf(x, -GELU_END), GELU_END), square = y * y;
	float e = exponential<T>(y * (square * (-2 * GELU_ROOT * GELU_CUBIC) - 2 * GELU_ROOT));
	float slope = y * (square * (6 * GELU_ROOT * GELU_CUBIC) + 2 * GELU_ROOT), s = 1 / (1 + e);
	return s + s * (slope * (e * s));
}

#define HALF_ROOT 0.70710678118654752440F   /* sqrt(1/2) */
#define NORMAL_PEAK 0.39894228040143267794F /* 1/sqrt(2π) */

/* The normal distribution. */
__device__ __forceinline__ float normal(float x)
{
	return 0.5F * erfcf(-x * HALF_ROOT);
}

template <typename T, int ACTIVATION> __device__ __forceinline__ float activate(float x)
{
	if constexpr (ACTIVATION == ACTIVATION_GELU_TANH)
		return gelu<T>(x);
	else if constexpr (ACTIVATION == ACTIVATION_GELU)
		return x * normal(x);
	else
		return x < 0 ? 0 : x; /* a NaN stays */
}

template <typename T, int ACTIVATION> __device__ __forceinline__ float activation_slope(float x)
{
	if constexpr (ACTIVATION == ACTIVATION_GELU_TANH)
		return gelu_slope<T>(x);
	else if constexpr (ACTIVATION == ACTIVATION_GELU)
		return normal(x) + x * NORMAL_PEAK * exponential<T>(-0.5F * x * x);
	else
		return x > 0 ? 1 : 0;
}

/* f(integral_constant of the activation) */
template <typename F> int with_activation(enum activation activation, F f)
{
	return activation == ACTIVATION_RELU   ? f(std::integral_constant<int, ACTIVATION_RELU>())
	       : activation == ACTIVATION_GELU ? f(std::integral_constant<int, ACTIVATION_GELU>())
	                                       : f(std::integral_constant<int, ACTIVATION_GELU_TANH>());
}

#endif
