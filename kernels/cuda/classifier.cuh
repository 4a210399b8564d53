/* A row of logits, read by a block: 16 bytes at a time wherever the row begins, since small numbers of classes leave
 * rows at odd addresses. */
#ifndef SHARDLAB_CUDA_CLASSIFIER_CUH
#define SHARDLAB_CUDA_CLASSIFIER_CUH

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/mma.cuh"

enum { ROW_UNROLL = 4 }; /* loads under way at a time in each thread */

/* Elements of a row before the first that is at a multiple of 16 bytes. */
template <typename T> __device__ __forceinline__ int row_head(const T *row, int n)
{
	int before = static_cast<int>((16 - reinterpret_cast<uintptr_t>(row) % 16) % 16 / sizeof(T));
	return before < n ? before : n;
}

/* Calls f(index of the first, values) for all of the row's n elements, with float[1] or float[lanes] of neighbours;
 * each thread meets the same ones each time, in ascending order. */
template <typename T, typename F> __device__ __forceinline__ void row_each(const T *row, int n, F f)
{
	constexpr int V = lanes_of<T>();
	int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
	int head = row_head(row, n), packs = (n - head) / V, p = thread;
	float one[1], x[V];
	if (thread < head) {
		one[0] = widen(row[thread]);
		f(thread, one);
	}
	for (; p + (ROW_UNROLL - 1) * threads < packs; p += ROW_UNROLL * threads) {
		pack<T, V> e[ROW_UNROLL];
#pragma unroll
		for (int u = 0; u < ROW_UNROLL; u++)
			pack_load(row + head + (p + u * threads) * V, e[u]);
#pragma unroll
		for (int u = 0; u < ROW_UNROLL; u++) {
#pragma unroll
			for (int i = 0; i < V; i++)
				x[i] = widen(e[u].at[i]);
			f(head + (p + u * threads) * V, x);
		}
	}
	for (; p < packs; p += threads) {
		load(row + head + p * V, x);
		f(head + p * V, x);
	}
	int last = head + packs * V + thread;
	if (last < n) {
		one[0] = widen(row[last]);
		f(last, one);
	}
}

/* The same, and what f leaves in the values goes to `to`, which begins at as odd an address as `from`. */
template <typename T, typename F> __device__ __forceinline__ void row_change(const T *from, T *to, int n, F f)
{
	row_each(from, n, [&](int first, auto &x) {
		f(first, x);
		if constexpr (sizeof x > sizeof x[0])
			store(to + first, x);
		else
			narrow(x[0], to[first]);
	});
}

/* Copies a row that begins at a multiple of 16 bytes, for the whole block. */
template <typename T> __device__ __forceinline__ void row_copy(T *to, const T *row, int n)
{
	constexpr int V = lanes_of<T>();
	int packs = n / V, last = packs * V + static_cast<int>(threadIdx.x);
#pragma unroll 4
	for (int p = static_cast<int>(threadIdx.x); p < packs; p += static_cast<int>(blockDim.x))
		cp_async_16(to + p * V, row + p * V);
	if (last < n)
		to[last] = row[last];
	cp_async_commit();
	cp_async_wait<0>();
	__syncthreads();
}

/* A maximum, and the sum of e^(x − maximum), of what was added so far (Milakov & Gimelshein 2018, arXiv 1805.02867,
 * algorithm 3). */
struct online {
	float maximum, sum;
};
/* Not −infinity, from which a logit of −infinity would be no number away. */
#define NOTHING                                                                                                        \
	{                                                                                                              \
		-3.402823466e38F, 0                                                                                    \
	}

/* Neighbours together: the sum is corrected once for all of them. */
template <typename T, int N> __device__ __forceinline__ void online_add(online &o, const float (&x)[N])
{
	float maximum = o.maximum, sum = 0;
#pragma unroll
	for (int i = 0; i < N; i++)
		maximum = fmaxf(maximum, x[i]);
	if (maximum > o.maximum) {
		o.sum *= exponential<T>(o.maximum - maximum);
		o.maximum = maximum;
	}
#pragma unroll
	for (int i = 0; i < N; i++)
		sum += exponential<T>(x[i] - maximum);
	o.sum += sum;
}

/* Reduces over the whole block; every thread gets the result. */
template <typename T> __device__ __forceinline__ online online_reduce(online o)
{
	float maximum = block_reduce(o.maximum, maximum_of(), -3.402823466e38F);
	float share = o.sum > 0 ? o.sum * exponential<T>(o.maximum - maximum) : o.sum;
	return {maximum, block_reduce(share, sum_of(), 0.0F)};
}

#endif
