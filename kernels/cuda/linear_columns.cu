/* Activations, their gradients and the bias's gradient: passes over [rows, width] that memory limits. A lane has 16
 * bytes of a row wherever widths and addresses allow it. */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/linear.cuh"

namespace
{

const int THREADS = 256;

template <typename T, int V, int ACTIVATION>
__global__ void __launch_bounds__(THREADS) activation_kernel(int64_t n, const T *pre, T *y)
{
	const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS * V;
	for (int64_t i = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) * V; i < n; i += step) {
		float x[V];
		load(pre + i, x);
#pragma unroll
		for (int j = 0; j < V; j++)
			x[j] = activate<T, ACTIVATION>(x[j]);
		store(y + i, x);
	}
}

/* One row's V columns; dy becomes the gradient of pre, which is added up before it is rounded. */
template <typename T, int V, int ACTIVATION>
__device__ __forceinline__ void row_of_columns(const T *pre, T *dy, float sum[V])
{
	float g[V], x[V];
	load(dy, g);
	if constexpr (ACTIVATION != ACTIVATION_NONE) {
		load(pre, x);
#pragma unroll
		for (int j = 0; j < V; j++)
			g[j] *= activation_slope<T, ACTIVATION>(x[j]);
		store(dy, g);
	}
#pragma unroll
	for (int j = 0; j < V; j++)
		sum[j] += g[j];
}

/* Each block has 32·V columns of a part of the rows; its 8 warps take turns. */
template <typename T, int V, int ACTIVATION>
__global__ void __launch_bounds__(COLUMN_WARPS *WARP)
        columns_kernel(int64_t rows, int64_t width, int64_t rows_a_part, const T *pre, T *dy, float *parts)
{
	__shared__ float tile[COLUMN_WARPS][WARP * V];
	const int64_t column = (static_cast<int64_t>(blockIdx.x) * WARP + threadIdx.x) * V;
	const int64_t first = blockIdx.y * rows_a_part;
	const int64_t end = first + rows_a_part < rows ? first + rows_a_part : rows;
	float sum[V] = {};
	if (column < width) {
#pragma unroll 4
		for (int64_t row = first + threadIdx.y; row < end; row += COLUMN_WARPS)
			row_of_columns<T, V, ACTIVATION>(pre + row * width + column, dy + row * width + column, sum);
	}
#pragma unroll
	for (int j = 0; j < V; j++)
		tile[threadIdx.y][threadIdx.x * V + static_cast<unsigned>(j)] = sum[j];
	__syncthreads();
	for (unsigned i = threadIdx.y * WARP + threadIdx.x; i < WARP * V; i += COLUMN_WARPS * WARP) {
		const int64_t place = static_cast<int64_t>(blockIdx.x) * WARP * V + i;
		float total = 0;
#pragma unroll
		for (int warp = 0; warp < COLUMN_WARPS; warp++)
			total += tile[warp][i];
		if (parts && place < width)
			parts[blockIdx.y * width + place] = total;
	}
	__syncthreads();
}

template <typename T, int V>
int columns(struct kernel_context *c, kernel_stream s, enum activation activation, int64_t rows, int64_t width,
            const void *pre, void *dy, void *dbias, bool accumulate)
{
	const int64_t across = (width + WARP * V - 1) / (WARP * V), most = columns_most_parts(c, 1, width);
	/* 8 blocks a multiprocessor keep memory busy */
	int64_t parts = (8 * static_cast<int64_t>(c->multiprocessors) + across - 1) / across;
	float *sums = dbias ? static_cast<float *>(c->workspace) : nullptr;
	if (dbias && most < 1)
		return CUDA_ERROR_WORKSPACE;
	parts = smaller(parts, (rows + COLUMN_WARPS - 1) / COLUMN_WARPS);
	parts = smaller(dbias ? smaller(parts, most) : parts, 65535);
	const int64_t each = (rows + parts - 1) / parts;
	parts = (rows + each - 1) / each;

	const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(parts)), block(WARP, COLUMN_WARPS);
	const T *before = static_cast<const T *>(pre);
	T *to[1] = {static_cast<T *>(dbias)}, *gradient = static_cast<T *>(dy);
	auto run = [&](auto kind) {
		return launch(columns_kernel<T, V, kind>, grid, block, 0, s, rows, width, each, before, gradient, sums);
	};
	int error = pre ? with_activation(activation, run) : run(std::integral_constant<int, ACTIVATION_NONE>());
	if (error || !dbias)
		return error;
	return columns_finish<1>(s, static_cast<int>(width), static_cast<unsigned>(parts), sums, to, {accumulate});
}

} // namespace

int linear_activation(kernel_stream s, enum element type, enum activation activation, int64_t n, const void *pre,
                      void *y)
{
	return with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(n, {pre, y}, [&](auto lanes) {
			constexpr int V = decltype(lanes)::value; /* CUDA 12.0 and 12.4 take no captured `lanes` for a
			                                             constant */
			return with_activation(activation, [&](auto kind) {
				return launch(activation_kernel<T, V, decltype(kind)::value>,
				              blocks_for(n, THREADS * V, 1 << 16), THREADS, 0, s, n,
				              static_cast<const T *>(pre), static_cast<T *>(y));
			});
		});
	});
}

int linear_columns(struct kernel_context *c, kernel_stream s, enum element type, enum activation activation,
                   int64_t rows, int64_t width, const void *pre, void *dy, void *dbias, bool accumulate)
{
	return with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		return with_lanes<T>(width, {pre, dy}, [&](auto lanes) {
			return columns<T, lanes>(c, s, activation, rows, width, pre, dy, dbias, accumulate);
		});
	});
}
