/* Products without tensor cores: any type, shape and address, in fp32. A block makes 64 × 64 elements of C from 16
 * terms of k at a time, which stand in shared memory as fp32; a thread has 4 × 4 of them, so that it multiplies sixteen
 * times for eight numbers that it reads. What is stored along k or across it comes in the order in which it lies. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/product.h"

namespace
{

/* The pitch is even, and no multiple of 32: what a warp writes of 16 terms of two rows lies in 32 banks. */
enum { SIDE = 64, DEPTH = 16, ACROSS = 16, THREADS = ACROSS * ACROSS, EACH = SIDE / ACROSS, PITCH = SIDE + 2 };

/* tile[term][row] of rows [first, first + SIDE) and terms [k, k + DEPTH); beyond the last of either: 0. */
template <typename T>
__device__ void tile_load(float (&tile)[DEPTH][PITCH], const T *from, int64_t stride, bool along, int64_t first,
                          int64_t rows, int64_t k, int64_t terms)
{
	for (int i = static_cast<int>(threadIdx.x); i < SIDE * DEPTH; i += THREADS) {
		const int term = along ? i % DEPTH : i / SIDE, row = along ? i / DEPTH : i % SIDE;
		const int64_t r = first + row, t = k + term;
		const bool valid = r < rows && t < terms;
		tile[term][row] = valid ? widen(from[along ? r * stride + t : t * stride + r]) : 0;
	}
}

template <typename T> __device__ void finish(const struct product &p, int64_t row, int64_t column, float sum)
{
	const int64_t place = row * p.c_stride + column;
	if (row >= p.m || column >= p.n)
		return;
	if (p.bias)
		sum += widen(static_cast<const T *>(p.bias)[column]);
	if (p.residual)
		sum += widen(static_cast<const T *>(p.residual)[place]);
	narrow(sum, static_cast<T *>(p.c)[place]);
}

template <typename T> __global__ void __launch_bounds__(THREADS) multiply(const struct product p)
{
	__shared__ float a[DEPTH][PITCH], b[DEPTH][PITCH];
	const int across = static_cast<int>(threadIdx.x) % ACROSS, down = static_cast<int>(threadIdx.x) / ACROSS;
	const int64_t first_row = static_cast<int64_t>(blockIdx.x) * SIDE;
	const int64_t first_column = static_cast<int64_t>(blockIdx.y) * SIDE;
	float sums[EACH][EACH] = {};
	for (int64_t k = 0; k < p.k; k += DEPTH) {
		__syncthreads();
		tile_load(a, static_cast<const T *>(p.a), p.a_stride, !p.a_transposed, first_row, p.m, k, p.k);
		tile_load(b, static_cast<const T *>(p.b), p.b_stride, p.b_transposed, first_column, p.n, k, p.k);
		__syncthreads();
		for (int term = 0; term < DEPTH; term++)
#pragma unroll
			for (int i = 0; i < EACH; i++)
#pragma unroll
				for (int j = 0; j < EACH; j++)
					sums[i][j] = fmaf(a[term][down + ACROSS * i], b[term][across + ACROSS * j],
					                  sums[i][j]);
	}
#pragma unroll
	for (int i = 0; i < EACH; i++)
#pragma unroll
		for (int j = 0; j < EACH; j++)
			finish<T>(p, first_row + down + ACROSS * i, first_column + across + ACROSS * j, sums[i][j]);
}

} // namespace

int product_simple(kernel_stream s, const struct product *p)
{
	const dim3 grid(static_cast<unsigned>((p->m + SIDE - 1) / SIDE),
	                static_cast<unsigned>((p->n + SIDE - 1) / SIDE));
	return with_type(p->type, [&](auto tag) {
		return launch(multiply<typename decltype(tag)::type>, grid, dim3(THREADS), 0, s, *p);
	});
}
