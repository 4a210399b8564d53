/* Sums down columns, in two steps whose order never varies: blocks add up parts of the rows and leave them in the
 * workspace, then a thread a column adds up the parts.
 *
 * parts[part][SUMS][width]
 */
#ifndef SHARDLAB_CUDA_COLUMNS_CUH
#define SHARDLAB_CUDA_COLUMNS_CUH

#include "kernels/cuda/element.cuh"

static const int COLUMN_WARPS = 8, COLUMN_ROWS = 64; /* a block is 32 columns wide; rows that a part has at least */

static inline int64_t columns_most_parts(const struct kernel_context *c, int sums, int64_t width)
{
	return static_cast<int64_t>(c->workspace_bytes) / (sums * width * static_cast<int64_t>(sizeof(float)));
}

/* Add is called as add(row, column, float sum[SUMS]). */
template <int SUMS, typename Add>
__global__ void __launch_bounds__(COLUMN_WARPS *WARP)
        columns_parts_kernel(Add add, int64_t rows, int width, int64_t rows_a_part, float *parts)
{
	__shared__ float tile[SUMS][COLUMN_WARPS][WARP];
	int column = static_cast<int>(blockIdx.x * WARP + threadIdx.x);
	int64_t first = blockIdx.y * rows_a_part;
	int64_t end = first + rows_a_part < rows ? first + rows_a_part : rows;
	float sum[SUMS] = {};
	if (column < width) {
#pragma unroll 4
		for (int64_t row = first + threadIdx.y; row < end; row += COLUMN_WARPS)
			add(row, column, sum);
	}
#pragma unroll
	for (int i = 0; i < SUMS; i++)
		tile[i][threadIdx.y][threadIdx.x] = sum[i];
	__syncthreads();
	if (threadIdx.y < SUMS && column < width) {
		float total = 0;
#pragma unroll
		for (int i = 0; i < COLUMN_WARPS; i++)
			total += tile[threadIdx.y][i][threadIdx.x];
		parts[(static_cast<int64_t>(blockIdx.y) * SUMS + threadIdx.y) * width + column] = total;
	}
	__syncthreads();
}

template <int SUMS, typename Add>
int columns_parts(kernel_stream s, Add add, int64_t rows, int width, int64_t most, float *parts, unsigned *count)
{
	int64_t each = (rows + most - 1) / most;
	each = each < COLUMN_ROWS ? COLUMN_ROWS : each;
	*count = blocks_for(rows, each, smaller(most, 65535));
	each = (rows + *count - 1) / *count;
	return launch(columns_parts_kernel<SUMS, Add>, dim3(blocks_for(width, WARP, INT32_MAX), *count),
	              dim3(WARP, COLUMN_WARPS), 0, s, add, rows, width, each, parts);
}

template <typename T, int SUMS> struct columns_result {
	T *to[SUMS]; /* NULL: not wanted */
	bool accumulate[SUMS];
};

/* One of the sums for each blockIdx.y; 8 threads share a column's parts. */
template <typename T, int SUMS>
__global__ void __launch_bounds__(COLUMN_WARPS *WARP)
        columns_finish_kernel(int width, unsigned count, const float *parts, columns_result<T, SUMS> result)
{
	__shared__ float tile[COLUMN_WARPS][WARP];
	int column = static_cast<int>(blockIdx.x * WARP + threadIdx.x);
	float sum = 0;
	if (column < width) {
#pragma unroll 16
		for (unsigned part = threadIdx.y; part < count; part += COLUMN_WARPS)
			sum += parts[(static_cast<int64_t>(part) * SUMS + blockIdx.y) * width + column];
	}
	tile[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	T *to = nullptr;
	bool accumulate = false;
#pragma unroll
	for (int i = 0; i < SUMS; i++)
		if (i == static_cast<int>(blockIdx.y)) {
			to = result.to[i];
			accumulate = result.accumulate[i];
		}
	if (threadIdx.y == 0 && column < width && to) {
		sum = 0;
#pragma unroll
		for (int i = 0; i < COLUMN_WARPS; i++)
			sum += tile[i][threadIdx.x];
		narrow(accumulate ? widen(to[column]) + sum : sum, to[column]);
	}
	__syncthreads();
}

template <int SUMS, typename T>
int columns_finish(kernel_stream s, int width, unsigned count, const float *parts, T *const (&to)[SUMS],
                   const bool (&accumulate)[SUMS])
{
	columns_result<T, SUMS> result;
	for (int i = 0; i < SUMS; i++) {
		result.to[i] = to[i];
		result.accumulate[i] = accumulate[i];
	}
	return launch(columns_finish_kernel<T, SUMS>, dim3(blocks_for(width, WARP, INT32_MAX), SUMS),
	              dim3(WARP, COLUMN_WARPS), 0, s, width, count, parts, result);
}

#endif
