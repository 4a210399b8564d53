/* Whole vectors, and the few numbers that steps carry. */
#include <cmath>
#include <type_traits>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/table.h"

namespace
{

/* BLOCKS_EACH: that a multiprocessor has at once, where blocks stay for the whole vector. */
enum { THREADS = 256, BLOCKS_EACH = 6, FINISH_THREADS = 1024, UNROLL = 4 };

__device__ __forceinline__ int64_t first_thread()
{
	return static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
}
__device__ __forceinline__ int64_t all_threads()
{
	return static_cast<int64_t>(gridDim.x) * THREADS;
}

/* ---- one element beside another ---- */

template <typename T, int V> __global__ void __launch_bounds__(THREADS) add_kernel(int64_t n, const T *x, T *y)
{
	int64_t step = all_threads(), whole = n / V * V, i = first_thread() * V;
	for (; i < whole; i += step * V) {
		float a[V], b[V];
		load(x + i, a);
		load(y + i, b);
#pragma unroll
		for (int v = 0; v < V; v++)
			b[v] += a[v];
		store(y + i, b);
	}
	i = whole + first_thread();
	if (i < n)
		narrow(widen(y[i]) + widen(x[i]), y[i]);
}

/* 16 bytes at a time on the side of fp32, so that lanes leave no gaps between them. */
template <typename From, typename To, int V>
__global__ void __launch_bounds__(THREADS) convert_kernel(int64_t n, const From *x, To *y)
{
	int64_t step = all_threads(), whole = n / V * V, i = first_thread() * V;
	for (; i < whole; i += step * V) {
		float a[V];
		load(x + i, a);
		store(y + i, a);
	}
	i = whole + first_thread();
	if (i < n)
		narrow(widen(x[i]), y[i]);
}

/* ---- all elements to one number ---- */

/* Calls f with each pack of V that is this thread's, of the first `whole` elements. */
template <int V, typename T, typename F> __device__ __forceinline__ void each_pack(int64_t whole, const T *x, F f)
{
	int64_t step = all_threads() * V, i = first_thread() * V;
	pack<T, V> a[UNROLL];
	for (; i + (UNROLL - 1) * step < whole; i += UNROLL * step) {
#pragma unroll
		for (int u = 0; u < UNROLL; u++)
			pack_load(x + i + u * step, a[u]);
#pragma unroll
		for (int u = 0; u < UNROLL; u++)
			f(a[u]);
	}
	for (; i < whole; i += step) {
		pack_load(x + i, a[0]);
		f(a[0]);
	}
}

template <typename T, int V>
__global__ void __launch_bounds__(THREADS, BLOCKS_EACH) squares_parts(int64_t n, const T *x, double *parts)
{
	int64_t whole = n / V * V, i = whole + first_thread();
	double sum[V] = {}, all = 0;
	each_pack<V>(whole, x, [&](const pack<T, V> &a) {
#pragma unroll
		for (int v = 0; v < V; v++) {
			double one = static_cast<double>(widen(a.at[v]));
			sum[v] += one * one;
		}
	});
	if (i < n)
		all = static_cast<double>(widen(x[i])) * static_cast<double>(widen(x[i]));
#pragma unroll
	for (int v = 0; v < V; v++)
		all += sum[v];
	all = block_reduce(all, sum_of(), 0.0);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = all;
}

__global__ void __launch_bounds__(FINISH_THREADS)
        squares_finish(unsigned count, const double *parts, float *sum, bool accumulate)
{
	double all = 0;
	for (unsigned i = threadIdx.x; i < count; i += FINISH_THREADS)
		all += parts[i];
	all = block_reduce(all, sum_of(), 0.0);
	if (threadIdx.x == 0)
		*sum = static_cast<float>((accumulate ? static_cast<double>(*sum) : 0) + all);
}

/* A thread that finds one writes 1, as others may at the same time. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS, BLOCKS_EACH) overflow_kernel(int64_t n, const T *x, float *overflow)
{
	int64_t whole = n / V * V, i = whole + first_thread();
	float sum = 0; /* of 0s, or else NaN */
	each_pack<V>(whole, x, [&](const pack<T, V> &a) {
#pragma unroll
		for (int v = 0; v < V; v++)
			sum += widen(a.at[v]) - widen(a.at[v]);
	});
	if (i < n)
		sum += widen(x[i]) - widen(x[i]);
	if (!(sum == 0))
		(void)atomicExch(overflow, 1.0F);
}

/* A number above 0 becomes 1, as on the CPU. */
__global__ void overflow_begin(float *overflow, bool accumulate)
{
	*overflow = accumulate && *overflow > 0 ? 1 : 0;
}

/* ---- numbers that steps carry ---- */

__global__ void advance_kernel(int64_t *step)
{
	++*step;
}

__global__ void scaler_kernel(struct scale_rule rule, const float *overflow, float *scaler, int32_t *gave_up)
{
	if (!scaler_end_step(&rule, *overflow > 0, scaler))
		*gave_up = 1;
}

/* ---- calling them ---- */

} // namespace

CUDA_KERNEL(vector_add)
{
	return n == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(0, {x, y}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value;
			unsigned blocks = blocks_for(n, V * THREADS, passing_blocks(c));
			return launch(add_kernel<T, V>, blocks, THREADS, 0, s, n, static_cast<const T *>(x),
			              static_cast<T *>(y));
		});
	});
}

/* Between fp32 and one of 16 bits: a plan has a type of its own beside fp32, and what keeps its type is a copy. */
CUDA_KERNEL(vector_convert)
{
	const bool widens = to == ELEMENT_FP32;
	if (widens == (from == ELEMENT_FP32))
		return CUDA_ERROR_SHAPE;
	return n == 0 ? 0 : with_type(widens ? from : to, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<float>(0, {x, y}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value;
			unsigned blocks = blocks_for(n, V * THREADS, passing_blocks(c));
			if constexpr (std::is_same<T, float>::value)
				return static_cast<int>(CUDA_ERROR_SHAPE); /* it is not asked for */
			else
				return widens ? launch(convert_kernel<T, float, V>, blocks, THREADS, 0, s, n,
				                       static_cast<const T *>(x), static_cast<float *>(y))
				              : launch(convert_kernel<float, T, V>, blocks, THREADS, 0, s, n,
				                       static_cast<const float *>(x), static_cast<T *>(y));
		});
	});
}

CUDA_KERNEL(vector_squares)
{
	double *parts = static_cast<double *>(c->workspace);
	int64_t most = smaller(static_cast<int64_t>(c->multiprocessors) * BLOCKS_EACH,
	                       static_cast<int64_t>(c->workspace_bytes / sizeof *parts));
	if (most < 1)
		return CUDA_ERROR_WORKSPACE;
	unsigned blocks = 0;
	int error = with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(0, {x}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value;
			blocks = blocks_for(n, V * THREADS, most);
			return launch(squares_parts<T, V>, blocks, THREADS, 0, s, n, static_cast<const T *>(x), parts);
		});
	});
	return error ? error : launch(squares_finish, 1, FINISH_THREADS, 0, s, blocks, parts, sum, accumulate);
}

CUDA_KERNEL(vector_overflow)
{
	int error = launch(overflow_begin, 1, 1, 0, s, overflow, accumulate);
	return error || n == 0 ? error : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(0, {x}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value;
			unsigned blocks =
			        blocks_for(n, V * THREADS, static_cast<int64_t>(c->multiprocessors) * BLOCKS_EACH);
			return launch(overflow_kernel<T, V>, blocks, THREADS, 0, s, n, static_cast<const T *>(x),
			              overflow);
		});
	});
}

CUDA_KERNEL(advance)
{
	return launch(advance_kernel, 1, 1, 0, s, step);
}

CUDA_KERNEL(scaler_update)
{
	return launch(scaler_kernel, 1, 1, 0, s, *rule, overflow, scaler, gave_up);
}
