/* What the plain kernels are written with: one thread a row, a column or an element, everything in the order in which
 * it stands. Shipped kernels are checked against these; for speed they are nothing. */
#ifndef SHARDLAB_TESTS_PLAIN_CUH
#define SHARDLAB_TESTS_PLAIN_CUH

#include <cmath>

#include "kernels/cuda/gelu.cuh"

enum { PLAIN_THREADS = 128 };

/* f(i) for i of 0 … n-1, one thread each. */
template <typename F> __global__ void plain_each(int64_t n, F f)
{
	int64_t i = static_cast<int64_t>(blockIdx.x) * PLAIN_THREADS + threadIdx.x;
	if (i < n)
		f(i);
}

template <typename F> int for_each(kernel_stream s, int64_t n, F f)
{
	return n == 0 ? 0 : launch(plain_each<F>, blocks_for(n, PLAIN_THREADS, INT32_MAX), PLAIN_THREADS, 0, s, n, f);
}

template <typename T> __device__ __forceinline__ void put(T &to, float x, bool accumulate = false)
{
	narrow(accumulate ? widen(to) + x : x, to);
}

/* A task is a structure of what it reads and writes, whose operator () is one thread's work. RUN makes it one of type T
 * and starts it. */
#define RUN(element_type, n, task, ...)                                                                                \
	with_type(element_type, [&](auto tag) {                                                                        \
		typedef typename decltype(tag)::type T;                                                                \
		return for_each(s, n, task<T>{__VA_ARGS__});                                                           \
	})
#define IN(p) static_cast<const T *>(p)
#define OUT(p) static_cast<T *>(p)

/* ---- the embedding's gradients, of a whole table and of a slice ---- */

/* Each element of a table with `count` ids from `first` on looks through all tokens. */
template <typename T> struct token_element {
	int64_t rows, width, first, count;
	const int32_t *ids;
	const T *dy;
	T *table;
	bool accumulate;
	__device__ void operator()(int64_t i) const
	{
		double sum = 0;
		bool used = false;
		for (int64_t row = 0; row < rows; row++)
			if (i / width < count && ids[row] - first == i / width) {
				sum += static_cast<double>(widen(dy[row * width + i % width]));
				used = true;
			}
		if (used || !accumulate)
			put(table[i], static_cast<float>(sum), accumulate);
	}
};

template <typename T> struct position_element {
	int64_t samples, tokens, width;
	const T *dy;
	T *table;
	bool accumulate;
	__device__ void operator()(int64_t i) const
	{
		double sum = 0;
		for (int64_t sample = 0; sample < samples && i < tokens * width; sample++)
			sum += static_cast<double>(widen(dy[sample * tokens * width + i]));
		put(table[i], static_cast<float>(sum), accumulate);
	}
};

#endif
