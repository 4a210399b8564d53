/* The rest of a sliced layer, after the sum over its ranks: bias and residual, and the activation of what was stored.
 */
#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256 };

template <typename T, int V, int ACTIVATION>
__global__ void __launch_bounds__(THREADS)
        finish_kernel(int64_t n, int64_t width, const T *bias, const T *residual, T *sum, T *y)
{
	int64_t step = static_cast<int64_t>(gridDim.x) * THREADS * V;
	for (int64_t i = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) * V; i < n; i += step) {
		float x[V], b[V] = {}, r[V] = {};
		load(sum + i, x);
		if (bias)
			load(bias + i % width, b);
		if (residual)
			load(residual + i, r);
#pragma unroll
		for (int v = 0; v < V; v++)
			x[v] = rounded<T>(x[v] + b[v] + r[v]);
		if (bias || residual)
			store(sum + i, x);
		if (y) {
#pragma unroll
			for (int v = 0; v < V; v++)
				x[v] = activate<T, ACTIVATION>(x[v]);
			store(y + i, x);
		}
	}
}

} // namespace

CUDA_KERNEL(linear_finish)
{
	int64_t n = rows * width;
	return n == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(width, {bias, residual, sum, y}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value; /* CUDA 12.0 and 12.4 take no captured `lanes` for a
			                                             constant */
			unsigned blocks = blocks_for(n, lanes_of<T>() * THREADS, passing_blocks(c));
			return with_activation(activation, [&](auto kind) {
				return launch(finish_kernel<T, V, decltype(kind)::value>, blocks, THREADS, 0, s, n,
				              width, static_cast<const T *>(bias), static_cast<const T *>(residual),
				              static_cast<T *>(sum), static_cast<T *>(y));
			});
		});
	});
}
