/* LayerNorm. A warp has a row: where rows are not too wide they stay in its registers, so that memory is read once;
 * blocks stay for many rows, with the weights in registers.
 *
 * Backward, each warp also adds up its rows' part of dweight and dbias. A block's warps are added up in shared memory,
 * blocks leave their sums in the workspace, and a second kernel adds those: always in the same order. */
#include <initializer_list>
#include <type_traits>

#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256, WARPS = THREADS / WARP };
const float EPSILON = 1e-5F;

struct norm_task {
	int64_t rows;
	int width;
	float inverse_width;
};

/* ---- forward ---- */

/* Rows of up to P packs of 16 bytes for each lane. */
template <typename T, int P>
__global__ void __launch_bounds__(THREADS)
        forward_registers(norm_task t, const T *x, const T *weight, const T *bias, T *y, float *statistics)
{
	constexpr int V = lanes_of<T>();
	int lane = static_cast<int>(threadIdx.x) % WARP, packs = t.width / V;
	int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	int64_t step = static_cast<int64_t>(gridDim.x) * WARPS;
	pack<T, V> w[P], b[P];
#pragma unroll
	for (int p = 0; p < P; p++)
		if (lane + p * WARP < packs) {
			pack_load(weight + (lane + p * WARP) * V, w[p]);
			pack_load(bias + (lane + p * WARP) * V, b[p]);
		}
	for (; row < t.rows; row += step) {
		float v[P][V], sum = 0, squares = 0;
#pragma unroll
		for (int p = 0; p < P; p++) {
			if (lane + p * WARP < packs)
				load(x + row * t.width + (lane + p * WARP) * V, v[p]);
			else
				for (int i = 0; i < V; i++)
					v[p][i] = 0;
		}
#pragma unroll
		for (int p = 0; p < P; p++)
#pragma unroll
			for (int i = 0; i < V; i++)
				sum += v[p][i];
		float mean = warp_reduce(sum, sum_of()) * t.inverse_width;
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * WARP < packs)
#pragma unroll
				for (int i = 0; i < V; i++)
					squares += (v[p][i] - mean) * (v[p][i] - mean);
		float inverse = 1 / sqrtf(warp_reduce(squares, sum_of()) * t.inverse_width + EPSILON);
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * WARP < packs) {
#pragma unroll
				for (int i = 0; i < V; i++)
					v[p][i] = (v[p][i] - mean) * inverse * widen(w[p].at[i]) + widen(b[p].at[i]);
				store(y + row * t.width + (lane + p * WARP) * V, v[p]);
			}
		if (statistics && lane == 0) {
			statistics[2 * row] = mean;
			statistics[2 * row + 1] = inverse;
		}
	}
}

/* Rows of any width, at any address: read three times, of which the cache has two. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
        forward_any(norm_task t, const T *x, const T *weight, const T *bias, T *y, float *statistics)
{
	int lane = static_cast<int>(threadIdx.x) % WARP;
	int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; row < t.rows; row += static_cast<int64_t>(gridDim.x) * WARPS) {
		const T *in = x + row * t.width;
		float sum = 0, squares = 0;
		for (int i = lane; i < t.width; i += WARP)
			sum += widen(in[i]);
		float mean = warp_reduce(sum, sum_of()) * t.inverse_width;
		for (int i = lane; i < t.width; i += WARP)
			squares += (widen(in[i]) - mean) * (widen(in[i]) - mean);
		float inverse = 1 / sqrtf(warp_reduce(squares, sum_of()) * t.inverse_width + EPSILON);
		for (int i = lane; i < t.width; i += WARP)
			narrow((widen(in[i]) - mean) * inverse * widen(weight[i]) + widen(bias[i]),
			       y[row * t.width + i]);
		if (statistics && lane == 0) {
			statistics[2 * row] = mean;
			statistics[2 * row + 1] = inverse;
		}
	}
}

/* ---- backward: g = dy·weight, dx = (g − mean(g) − x̂·mean(g·x̂)) / std ---- */

template <typename T, int P>
__global__ void __launch_bounds__(THREADS)
        backward_registers(norm_task t, const T *dy, const T *x, const float *statistics, const T *weight, T *dx,
                           bool accumulate, float *parts)
{
	constexpr int V = lanes_of<T>();
	float *sums = shared_memory<float>(); /* [2][width], of the whole block */
	int lane = static_cast<int>(threadIdx.x) % WARP, packs = t.width / V;
	unsigned warp = threadIdx.x / WARP;
	float dweight[P][V] = {}, dbias[P][V] = {};
	pack<T, V> w[P];
#pragma unroll
	for (int p = 0; p < P; p++)
		if (lane + p * WARP < packs)
			pack_load(weight + (lane + p * WARP) * V, w[p]);
	int64_t step = static_cast<int64_t>(gridDim.x) * WARPS;
	for (int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + warp; row < t.rows; row += step) {
		pack<T, V> d[P], v[P], before[P];
		float mean = statistics[2 * row], inverse = statistics[2 * row + 1], sum = 0, product = 0;
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * WARP < packs) {
				int64_t at = row * t.width + (lane + p * WARP) * V;
				pack_load(dy + at, d[p]);
				pack_load(x + at, v[p]);
				if (accumulate)
					pack_load(dx + at, before[p]);
			}
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * WARP < packs)
#pragma unroll
				for (int i = 0; i < V; i++) {
					float one = widen(d[p].at[i]), g = one * widen(w[p].at[i]);
					float normal = (widen(v[p].at[i]) - mean) * inverse;
					sum += g;
					product += g * normal;
					dweight[p][i] += one * normal;
					dbias[p][i] += one;
				}
		float mean_g = warp_reduce(sum, sum_of()) * t.inverse_width;
		float mean_product = warp_reduce(product, sum_of()) * t.inverse_width;
#pragma unroll
		for (int p = 0; p < P; p++)
			if (lane + p * WARP < packs) {
				float out[V];
#pragma unroll
				for (int i = 0; i < V; i++) {
					float g = widen(d[p].at[i]) * widen(w[p].at[i]);
					float normal = (widen(v[p].at[i]) - mean) * inverse;
					out[i] = (g - mean_g - normal * mean_product) * inverse;
					if (accumulate)
						out[i] += widen(before[p].at[i]);
				}
				store(dx + row * t.width + (lane + p * WARP) * V, out);
			}
	}
	/* One warp after another. */
	for (unsigned turn = 0; turn < WARPS; turn++) {
		if (turn == warp)
#pragma unroll
			for (int p = 0; p < P; p++)
				if (lane + p * WARP < packs)
#pragma unroll
					for (int i = 0; i < V; i++) {
						int c = (lane + p * WARP) * V + i;
						sums[c] = (turn ? sums[c] : 0) + dweight[p][i];
						sums[t.width + c] = (turn ? sums[t.width + c] : 0) + dbias[p][i];
					}
		__syncthreads();
	}
	for (int c = static_cast<int>(threadIdx.x); c < 2 * t.width; c += THREADS)
		parts[static_cast<int64_t>(blockIdx.x) * 2 * t.width + c] = sums[c];
}

template <typename T>
__global__ void __launch_bounds__(THREADS) backward_any(norm_task t, const T *dy, const T *x, const float *statistics,
                                                        const T *weight, T *dx, bool accumulate)
{
	int lane = static_cast<int>(threadIdx.x) % WARP;
	int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; row < t.rows; row += static_cast<int64_t>(gridDim.x) * WARPS) {
		int64_t at = row * t.width;
		float mean = statistics[2 * row], inverse = statistics[2 * row + 1], sum = 0, product = 0;
		for (int i = lane; i < t.width; i += WARP) {
			float g = widen(dy[at + i]) * widen(weight[i]);
			sum += g;
			product += g * ((widen(x[at + i]) - mean) * inverse);
		}
		float mean_g = warp_reduce(sum, sum_of()) * t.inverse_width;
		float mean_product = warp_reduce(product, sum_of()) * t.inverse_width;
		for (int i = lane; i < t.width; i += WARP) {
			float g = widen(dy[at + i]) * widen(weight[i]);
			float normal = (widen(x[at + i]) - mean) * inverse;
			float out = (g - mean_g - normal * mean_product) * inverse;
			narrow(accumulate ? widen(dx[at + i]) + out : out, dx[at + i]);
		}
	}
}

/* What a row adds to the sums of a column, for columns.cuh. */
template <typename T> struct weight_columns {
	int width;
	const T *dy, *x;
	const float *statistics;
	__device__ void operator()(int64_t row, int column, float *sum) const
	{
		float d = widen(dy[row * width + column]);
		sum[0] += d * ((widen(x[row * width + column]) - statistics[2 * row]) * statistics[2 * row + 1]);
		sum[1] += d;
	}
};

/* ---- choosing ---- */

/* Of a row; wider ones would not leave registers for enough warps, and backward for anything else. */
enum { MOST_PACKS = 8, MOST_PACKS_BACKWARD = 6 };

template <typename T> bool fits_registers(int64_t width, int packs, std::initializer_list<const void *> pointers)
{
	bool fits = width % lanes_of<T>() == 0 && width <= packs * WARP * lanes_of<T>();
	for (const void *p : pointers)
		fits = fits && is_aligned(p, 16);
	return fits;
}

/* f(P) with the least P ≥ packs */
template <int MOST, typename F> int with_packs(int64_t packs, F f)
{
	if (packs <= 1)
		return f(std::integral_constant<int, 1>());
	if (packs <= 2)
		return f(std::integral_constant<int, 2>());
	if (packs <= 3)
		return f(std::integral_constant<int, 3>());
	if (packs <= 4)
		return f(std::integral_constant<int, 4>());
	if (packs <= 6 || MOST <= 6)
		return f(std::integral_constant<int, 6>());
	return f(std::integral_constant<int, MOST>());
}

template <typename T> int64_t packs_of(int64_t width)
{
	return (width / lanes_of<T>() + WARP - 1) / WARP;
}

int norm_forward_cuda(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t width, const void *x,
                      const void *weight, const void *bias, void *y, float *statistics)
{
	norm_task t = {rows, static_cast<int>(width), 1 / static_cast<float>(width)};
	unsigned blocks = blocks_for(rows, WARPS, static_cast<int64_t>(c->multiprocessors) * 8);
	return with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		const T *in = static_cast<const T *>(x), *w = static_cast<const T *>(weight);
		const T *b = static_cast<const T *>(bias);
		T *out = static_cast<T *>(y);
		if (!fits_registers<T>(width, MOST_PACKS, {x, weight, bias, y}))
			return launch(forward_any<T>, blocks, THREADS, 0, s, t, in, w, b, out, statistics);
		return with_packs<MOST_PACKS>(packs_of<T>(width), [&](auto packs) {
			return launch(forward_registers<T, decltype(packs)::value>, blocks, THREADS, 0, s, t, in, w, b,
			              out, statistics);
		});
	});
}

int norm_backward_cuda(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t width, const void *dy,
                       const void *x, const float *statistics, const void *weight, void *dx, bool accumulate_x,
                       void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias)
{
	norm_task t = {rows, static_cast<int>(width), 1 / static_cast<float>(width)};
	int64_t most = static_cast<int64_t>(c->multiprocessors) * 2;
	float *parts = static_cast<float *>(c->workspace);
	most = smaller(most, columns_most_parts(c, 2, width));
	if (most < 1)
		return CUDA_ERROR_WORKSPACE;
	return with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		const T *d = static_cast<const T *>(dy), *in = static_cast<const T *>(x);
		const T *w = static_cast<const T *>(weight);
		T *out = static_cast<T *>(dx), *sums[] = {static_cast<T *>(dweight), static_cast<T *>(dbias)};
		bool accumulate[] = {accumulate_weight, accumulate_bias};
		int error;
		unsigned blocks;
		if (fits_registers<T>(width, MOST_PACKS_BACKWARD, {dy, x, weight, dx})) {
			blocks = blocks_for(rows, WARPS, most);
			error = with_packs<MOST_PACKS_BACKWARD>(packs_of<T>(width), [&](auto packs) {
				return launch(backward_registers<T, decltype(packs)::value>, blocks, THREADS,
				              2 * static_cast<size_t>(width) * sizeof(float), s, t, d, in, statistics,
				              w, out, accumulate_x, parts);
			});
		} else {
			blocks = blocks_for(rows, WARPS, static_cast<int64_t>(c->multiprocessors) * 8);
			error = launch(backward_any<T>, blocks, THREADS, 0, s, t, d, in, statistics, w, out,
			               accumulate_x);
			if (error)
				return error;
			weight_columns<T> add = {t.width, d, in, statistics};
			error = columns_parts<2>(s, add, rows, t.width, most, parts, &blocks);
		}
		return error ? error : columns_finish<2>(s, t.width, blocks, parts, sums, accumulate);
	});
}

} // namespace

void cuda_fill_norm(struct cuda_api *api)
{
	api->norm_forward = norm_forward_cuda;
	api->norm_backward = norm_backward_cuda;
}
