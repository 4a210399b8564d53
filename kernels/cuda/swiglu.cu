/* SwiGLU: a thread takes a pack of gates and the pack that they gate. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256 };

/* The places of pack i: in y, and of its gates in x. */
struct place {
	int64_t y, gate;
};

template <int V> __device__ __forceinline__ place place_of(int64_t i, int64_t width)
{
	int64_t packs = width / V, row = i / packs, column = i % packs * V;
	return {row * width + column, 2 * row * width + column};
}

template <typename T> __device__ __forceinline__ float sigmoid(float x)
{
	return 1 / (1 + exponential<T>(-x));
}

template <typename T, int V>
__global__ void __launch_bounds__(THREADS) forward(int64_t packs, int64_t width, const T *x, T *y)
{
	int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
	for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < packs; i += step) {
		const place at = place_of<V>(i, width);
		float gate[V], up[V];
		load(x + at.gate, gate);
		load(x + at.gate + width, up);
#pragma unroll
		for (int v = 0; v < V; v++)
			up[v] *= gate[v] * sigmoid<T>(gate[v]);
		store(y + at.y, up);
	}
}

template <typename T, int V>
__global__ void __launch_bounds__(THREADS) backward(int64_t packs, int64_t width, const T *dy, const T *x, T *dx)
{
	int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
	for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < packs; i += step) {
		const place at = place_of<V>(i, width);
		float gate[V], up[V], d[V];
		load(x + at.gate, gate);
		load(x + at.gate + width, up);
		load(dy + at.y, d);
#pragma unroll
		for (int v = 0; v < V; v++) {
			const float s = sigmoid<T>(gate[v]), silu = gate[v] * s;
			gate[v] = d[v] * up[v] * (s + silu * (1 - s));
			up[v] = d[v] * silu;
		}
		store(dx + at.gate, gate);
		store(dx + at.gate + width, up);
	}
}

} // namespace

CUDA_KERNEL(swiglu_forward)
{
	return rows * width == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(width, {x, y}, [&](auto lanes) {
			int64_t packs = rows * width / lanes;
			return launch(forward<T, lanes>, blocks_for(packs, THREADS, passing_blocks(c)), THREADS, 0, s,
			              packs, width, static_cast<const T *>(x), static_cast<T *>(y));
		});
	});
}

CUDA_KERNEL(swiglu_backward)
{
	return rows * width == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(width, {dy, x, dx}, [&](auto lanes) {
			int64_t packs = rows * width / lanes;
			return launch(backward<T, lanes>, blocks_for(packs, THREADS, passing_blocks(c)), THREADS, 0, s,
			              packs, width, static_cast<const T *>(dy), static_cast<const T *>(x),
			              static_cast<T *>(dx));
		});
	});
}
