/* Batch normalization: what runs down columns is done by blocks of 32 columns and some of the rows, whose results are
 * put together in a fixed order; the rest is one pass over the rows. */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256 };
#define EPSILON 1e-5
#define MOMENTUM 0.1

/* ---- statistics ---- */

/* The sum over the block's threads of one column; in all of them. */
__device__ __forceinline__ float column_sum(float value)
{
	__shared__ float tile[COLUMN_WARPS][WARP];
	tile[threadIdx.y][threadIdx.x] = value;
	__syncthreads();
	float sum = 0;
#pragma unroll
	for (int i = 0; i < COLUMN_WARPS; i++)
		sum += tile[i][threadIdx.x];
	__syncthreads();
	return sum;
}

/* parts[part][2][width]: mean and sum of squared differences of a part of the rows. Two passes, the second out of the
 * cache: differences from the mean do not cancel. */
template <typename T>
__global__ void __launch_bounds__(COLUMN_WARPS *WARP)
        statistics_parts(int64_t rows, int width, int64_t rows_a_part, const T *x, float *parts)
{
	int column = static_cast<int>(blockIdx.x * WARP + threadIdx.x);
	int64_t first = blockIdx.y * rows_a_part;
	int64_t end = first + rows_a_part < rows ? first + rows_a_part : rows;
	float sum = 0, squares = 0;
	if (column < width) {
#pragma unroll 4
		for (int64_t row = first + threadIdx.y; row < end; row += COLUMN_WARPS)
			sum += widen(x[row * width + column]);
	}
	float mean = column_sum(sum) / static_cast<float>(end - first);
	if (column < width) {
#pragma unroll 4
		for (int64_t row = first + threadIdx.y; row < end; row += COLUMN_WARPS) {
			float d = widen(x[row * width + column]) - mean;
			squares += d * d;
		}
	}
	squares = column_sum(squares);
	if (threadIdx.y == 0 && column < width) {
		float *to = parts + static_cast<int64_t>(blockIdx.y) * 2 * width + column;
		to[0] = mean;
		to[width] = squares;
	}
}

/* Two sets of n and m values with means a and b and sums of squared differences p and q: together the mean is
 * a + (b − a)·m/(n + m) and the sum p + q + (b − a)²·n·m/(n + m) (Chan, Golub & LeVeque 1979). */
struct moments {
	double rows, mean, squares;
	__device__ __forceinline__ void add(double m, double b, double q)
	{
		double difference = b - mean;
		mean += difference * m / (rows + m);
		squares += q + difference * difference * rows * m / (rows + m);
		rows += m;
	}
};

__global__ void __launch_bounds__(THREADS)
        statistics_finish(int64_t rows, int width, int64_t rows_a_part, unsigned count, const float *parts, float *part)
{
	int column = static_cast<int>(blockIdx.x * THREADS + threadIdx.x);
	if (column == 0)
		part[2 * static_cast<int64_t>(width)] = static_cast<float>(rows);
	if (column >= width)
		return;
	moments all = {0, 0, 0};
	for (unsigned i = 0; i < count; i++) {
		const float *p = parts + static_cast<int64_t>(i) * 2 * width + column;
		int64_t left = rows - i * rows_a_part, m = left < rows_a_part ? left : rows_a_part;
		all.add(static_cast<double>(m), static_cast<double>(p[0]), static_cast<double>(p[width]));
	}
	part[column] = static_cast<float>(all.mean);
	part[width + column] = static_cast<float>(all.squares / static_cast<double>(rows));
}

__global__ void __launch_bounds__(THREADS)
        merge_kernel(int64_t parts, int width, const float *part, float *running, float *statistics)
{
	int c = static_cast<int>(blockIdx.x * THREADS + threadIdx.x);
	int64_t stride = 2 * static_cast<int64_t>(width) + 1;
	if (c >= width)
		return;
	moments all = {0, 0, 0};
	for (int64_t i = 0; i < parts; i++) {
		const float *p = part + i * stride;
		double m = static_cast<double>(p[2 * width]);
		all.add(m, static_cast<double>(p[c]), static_cast<double>(p[width + c]) * m);
	}
	double variance = all.squares / all.rows, unbiased = all.squares / (all.rows - 1);
	statistics[c] = static_cast<float>(all.mean);
	statistics[width + c] = static_cast<float>(1 / sqrt(variance + EPSILON));
	running[c] = static_cast<float>((1 - MOMENTUM) * static_cast<double>(running[c]) + MOMENTUM * all.mean);
	running[width + c] =
	        static_cast<float>((1 - MOMENTUM) * static_cast<double>(running[width + c]) + MOMENTUM * unbiased);
	if (c == 0)
		statistics[2 * width] = static_cast<float>(all.rows);
}

__global__ void __launch_bounds__(THREADS) running_kernel(int width, const float *running, float *statistics)
{
	int c = static_cast<int>(blockIdx.x * THREADS + threadIdx.x);
	if (c >= width)
		return;
	statistics[c] = running[c];
	statistics[width + c] = static_cast<float>(1 / sqrt(static_cast<double>(running[width + c]) + EPSILON));
	if (c == 0)
		statistics[2 * width] = 0;
}

/* ---- rows ---- */

/* u = weight·x̂ + bias */
template <typename T>
__device__ __forceinline__ float normalized(const float *statistics, int width, int column, float x, float weight,
                                            float bias)
{
	return (x - statistics[column]) * statistics[width + column] * weight + bias;
}

template <typename T, int V>
__global__ void __launch_bounds__(THREADS) forward_kernel(int64_t n, int width, bool with_gelu, const T *x,
                                                          const float *statistics, const T *weight, const T *bias, T *y)
{
	int64_t step = static_cast<int64_t>(gridDim.x) * THREADS * V;
	for (int64_t i = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) * V; i < n; i += step) {
		int column = static_cast<int>(i % width);
		float v[V], w[V], b[V];
		load(x + i, v);
		load(weight + column, w);
		load(bias + column, b);
#pragma unroll
		for (int k = 0; k < V; k++) {
			v[k] = normalized<T>(statistics, width, column + k, v[k], w[k], b[k]);
			if (with_gelu)
				v[k] = gelu<T>(v[k]);
		}
		store(y + i, v);
	}
}

/* dx = weight / std · (du − Σ du / n − x̂ · Σ du·x̂ / n) */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
        backward_kernel(int64_t n, int width, const T *du, const T *x, const float *statistics, const float *sums,
                        const T *weight, T *dx)
{
	int64_t step = static_cast<int64_t>(gridDim.x) * THREADS * V;
	float part = 1 / statistics[2 * width];
	for (int64_t i = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) * V; i < n; i += step) {
		int column = static_cast<int>(i % width);
		float v[V], w[V], d[V];
		load(x + i, v);
		load(weight + column, w);
		load(du + i, d);
#pragma unroll
		for (int k = 0; k < V; k++) {
			int c = column + k;
			float inverse = statistics[width + c], from_mean = v[k] - statistics[c];
			float slope = sums[width + c] * part * inverse * inverse;
			d[k] = (d[k] - sums[c] * part - from_mean * slope) * inverse * w[k];
		}
		store(dx + i, d);
	}
}

/* ---- sums ---- */

/* For columns.cuh: dy becomes du, and is added up. */
template <typename T> struct sums_columns {
	int width;
	bool with_gelu;
	T *dy;
	const T *x, *weight, *bias;
	const float *statistics;
	__device__ void operator()(int64_t row, int column, float *sum) const
	{
		int64_t at = row * width + column;
		float d = widen(dy[at]), value = widen(x[at]);
		if (with_gelu) {
			d *= gelu_slope<T>(normalized<T>(statistics, width, column, value, widen(weight[column]),
			                                 widen(bias[column])));
			narrow(d, dy[at]);
		}
		sum[0] += d;
		sum[1] += d * (value - statistics[column]);
	}
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
        weights_kernel(int width, const float *statistics, const float *sums, T *dweight, bool accumulate_weight,
                       T *dbias, bool accumulate_bias)
{
	int c = static_cast<int>(blockIdx.x * THREADS + threadIdx.x);
	if (c >= width)
		return;
	float product = sums[width + c] * statistics[width + c], sum = sums[c];
	if (dweight)
		narrow(accumulate_weight ? widen(dweight[c]) + product : product, dweight[c]);
	if (dbias)
		narrow(accumulate_bias ? widen(dbias[c]) + sum : sum, dbias[c]);
}

} // namespace

/* ---- calling them ---- */

CUDA_KERNEL(batch_norm_statistics)
{
	int width = static_cast<int>(shape->width);
	int64_t rows = shape->rows, most = smaller(columns_most_parts(c, 2, width), 65535), each;
	float *parts = static_cast<float *>(c->workspace);
	if (most < 1)
		return CUDA_ERROR_WORKSPACE;
	if (rows < 1)
		return CUDA_ERROR_SHAPE;
	each = (rows + most - 1) / most;
	each = each < COLUMN_ROWS ? COLUMN_ROWS : each;
	unsigned count = blocks_for(rows, each, most);
	int error = with_type(shape->type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return launch(statistics_parts<T>, dim3(blocks_for(width, WARP, INT32_MAX), count),
		              dim3(WARP, COLUMN_WARPS), 0, s, rows, width, each, static_cast<const T *>(x), parts);
	});
	return error ? error
	             : launch(statistics_finish, blocks_for(width, THREADS, INT32_MAX), THREADS, 0, s, rows, width,
	                      each, count, parts, local);
}

CUDA_KERNEL(batch_norm_merge)
{
	return launch(merge_kernel, blocks_for(width, THREADS, INT32_MAX), THREADS, 0, s, contributors,
	              static_cast<int>(width), parts, running, statistics);
}

CUDA_KERNEL(batch_norm_running)
{
	return launch(running_kernel, blocks_for(width, THREADS, INT32_MAX), THREADS, 0, s, static_cast<int>(width),
	              running, statistics);
}

CUDA_KERNEL(batch_norm_forward)
{
	int64_t n = shape->rows * shape->width;
	return n == 0 ? 0 : with_type(shape->type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(shape->width, {x, weight, bias, y}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value;
			unsigned blocks = blocks_for(n, V * THREADS, passing_blocks(c));
			return launch(forward_kernel<T, V>, blocks, THREADS, 0, s, n, static_cast<int>(shape->width),
			              shape->gelu, static_cast<const T *>(x), statistics,
			              static_cast<const T *>(weight), static_cast<const T *>(bias),
			              static_cast<T *>(y));
		});
	});
}

CUDA_KERNEL(batch_norm_sums)
{
	int width = static_cast<int>(shape->width);
	int64_t most = columns_most_parts(c, 2, width);
	float *parts = static_cast<float *>(c->workspace), *results[] = {sums, sums + width};
	const bool accumulate[] = {false, false};
	unsigned count = 0;
	if (most < 1)
		return CUDA_ERROR_WORKSPACE;
	return with_type(shape->type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		sums_columns<T> add = {width,
		                       shape->gelu,
		                       static_cast<T *>(dy),
		                       static_cast<const T *>(x),
		                       static_cast<const T *>(weight),
		                       static_cast<const T *>(bias),
		                       statistics};
		int error = columns_parts<2>(s, add, shape->rows, width, most, parts, &count);
		if (!error)
			error = columns_finish<2>(s, width, count, parts, results, accumulate);
		return error ? error
		             : launch(weights_kernel<T>, blocks_for(width, THREADS, INT32_MAX), THREADS, 0, s, width,
		                      statistics, sums, static_cast<T *>(dweight), accumulate_weight,
		                      static_cast<T *>(dbias), accumulate_bias);
	});
}

CUDA_KERNEL(batch_norm_backward)
{
	int64_t n = shape->rows * shape->width;
	return n == 0 ? 0 : with_type(shape->type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(shape->width, {dy, x, weight, dx}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value;
			unsigned blocks = blocks_for(n, V * THREADS, passing_blocks(c));
			return launch(backward_kernel<T, V>, blocks, THREADS, 0, s, n, static_cast<int>(shape->width),
			              static_cast<const T *>(dy), static_cast<const T *>(x), statistics, sums,
			              static_cast<const T *>(weight), static_cast<T *>(dx));
		});
	});
}
