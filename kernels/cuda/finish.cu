/* What follows the sum over the ranks of a sliced layer: bias and residual, and GELU of what was stored. */
#include <type_traits>

#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256 };

template <typename T, int V>
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
				x[v] = gelu<T>(x[v]);
			store(y + i, x);
		}
	}
}

int finish_cuda(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t width,
                const void *bias, const void *residual, void *sum, void *y)
{
	int64_t n = rows * width;
	return n == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		constexpr int V = lanes_of<T>();
		const T *b = static_cast<const T *>(bias), *r = static_cast<const T *>(residual);
		T *x = static_cast<T *>(sum), *out = static_cast<T *>(y);
		unsigned blocks = blocks_for(n, V * THREADS, static_cast<int64_t>(c->multiprocessors) * 64);
		if (width % V == 0 && is_aligned(b, 16) && is_aligned(r, 16) && is_aligned(x, 16) &&
		    is_aligned(out, 16))
			return launch(finish_kernel<T, V>, blocks, THREADS, 0, s, n, width, b, r, x, out);
		return launch(finish_kernel<T, 1>, blocks, THREADS, 0, s, n, width, b, r, x, out);
	});
}

} // namespace

void cuda_fill_finish(struct cuda_api *api)
{
	api->kernels.linear_finish = finish_cuda;
}
