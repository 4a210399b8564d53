/* A row of logits, read by a block: 16 bytes at a time wherever the row begins, since small numbers of classes leave
 * rows at odd addresses. */
#ifndef SHARDLAB_CUDA_CLASSIFIER_CUH
#define SHARDLAB_CUDA_CLASSIFIER_CUH

#include "kernels/cuda/element.cuh"

enum { ROW_UNROLL = 4 }; /* loads under way at a time in each thread */

/* Calls f(index, value) for each of the row's n elements; each thread meets the same ones each time, in ascending
 * order. */
template <typename T, typename F> __device__ __forceinline__ void row_each(const T *row, int n, F f)
{
	constexpr int V = lanes_of<T>();
	int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
	int before = static_cast<int>((16 - reinterpret_cast<uintptr_t>(row) % 16) % 16 / sizeof(T));
	int head = before < n ? before : n, packs = (n - head) / V, p = thread;
	if (thread < head)
		f(thread, widen(row[thread]));
	for (; p + (ROW_UNROLL - 1) * threads < packs; p += ROW_UNROLL * threads) {
		pack<T, V> e[ROW_UNROLL];
#pragma unroll
		for (int u = 0; u < ROW_UNROLL; u++)
			pack_load(row + head + (p + u * threads) * V, e[u]);
#pragma unroll
		for (int u = 0; u < ROW_UNROLL; u++)
#pragma unroll
			for (int i = 0; i < V; i++)
				f(head + (p + u * threads) * V + i, widen(e[u].at[i]));
	}
	for (; p < packs; p += threads) {
		float x[V];
		load(row + head + p * V, x);
#pragma unroll
		for (int i = 0; i < V; i++)
			f(head + p * V + i, x[i]);
	}
	int last = head + packs * V + thread;
	if (last < n)
		f(last, widen(row[last]));
}

/* The same, and what f returns takes the element's place. */
template <typename T, typename F> __device__ __forceinline__ void row_change(T *row, int n, F f)
{
	constexpr int V = lanes_of<T>();
	int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
	int before = static_cast<int>((16 - reinterpret_cast<uintptr_t>(row) % 16) % 16 / sizeof(T));
	int head = before < n ? before : n, packs = (n - head) / V, p = thread;
	if (thread < head)
		narrow(f(thread, widen(row[thread])), row[thread]);
	for (; p + (ROW_UNROLL - 1) * threads < packs; p += ROW_UNROLL * threads) {
		float x[ROW_UNROLL][V];
#pragma unroll
		for (int u = 0; u < ROW_UNROLL; u++)
			load(row + head + (p + u * threads) * V, x[u]);
#pragma unroll
		for (int u = 0; u < ROW_UNROLL; u++) {
#pragma unroll
			for (int i = 0; i < V; i++)
				x[u][i] = f(head + (p + u * threads) * V + i, x[u][i]);
			store(row + head + (p + u * threads) * V, x[u]);
		}
	}
	for (; p < packs; p += threads) {
		float x[V];
		load(row + head + p * V, x);
#pragma unroll
		for (int i = 0; i < V; i++)
			x[i] = f(head + p * V + i, x[i]);
		store(row + head + p * V, x);
	}
	int last = head + packs * V + thread;
	if (last < n)
		narrow(f(last, widen(row[last])), row[last]);
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

template <typename T> __device__ __forceinline__ void online_add(online &o, float x)
{
	if (x > o.maximum) {
		o.sum *= exponential<T>(o.maximum - x);
		o.maximum = x;
	}
	o.sum += exponential<T>(x - o.maximum);
}

/* Of the whole block, in every thread. */
template <typename T> __device__ __forceinline__ online online_reduce(online o)
{
	float maximum = block_reduce(o.maximum, maximum_of(), -3.402823466e38F);
	float share = o.sum > 0 ? o.sum * exponential<T>(o.maximum - maximum) : o.sum;
	return {maximum, block_reduce(share, sum_of(), 0.0F)};
}

#endif
