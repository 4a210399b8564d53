/* Shared by attention's passes for compute capability 9.0: tiles as wgmma.cuh wants them, rows of 64 elements, those of
 * 128 in two halves one after the other, and the two forms of products of which all passes consist. */
#ifndef SHARDLAB_CUDA_ATTENTION_HOPPER_CUH
#define SHARDLAB_CUDA_ATTENTION_HOPPER_CUH

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/wgmma.cuh"

enum { ROW = 64, ROW_BYTES = 2 * ROW }; /* of a half */

#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* The beginning of shared memory, at a multiple of what patterns begin at. */
template <typename T> static __device__ __forceinline__ T *patterns_begin()
{
	unsigned char *begin = shared_memory<unsigned char>();
	begin += (SWIZZLE_BYTES - shared_address(begin) % SWIZZLE_BYTES) % SWIZZLE_BYTES;
	return reinterpret_cast<T *>(begin);
}

/* Begins to copy ROWS rows from `first` on. */
template <int HEAD, int ROWS, int THREADS, typename T>
static __device__ __forceinline__ void halves_copy(T *tile, const T *from, int row_elements, int first, int rows,
                                                   int size)
{
#pragma unroll
	for (int column = 0; column < HEAD; column += ROW)
		tile_copy<ROW, ROWS, THREADS>(tile + column * ROWS, from + column, row_elements, first, rows,
		                              size - column);
}

/* products[64,RIGHT] = 64 rows of a tile of LEFT rows · (RIGHT rows)ᵀ: addresses of the first of each. */
template <typename T, int HEAD, int LEFT, int RIGHT>
static __device__ __forceinline__ void row_products(float (&products)[RIGHT / 8][4], uint32_t left, uint32_t right)
{
#pragma unroll
	for (int column = 0; column < HEAD; column += 16) {
		const uint32_t part = column / ROW * ROW_BYTES, within = column % ROW * 2;
		wgmma_shared<T>(products, wgmma_descriptor(left + part * LEFT + within, 16, 8 * ROW_BYTES),
		                wgmma_descriptor(right + part * RIGHT + within, 16, 8 * ROW_BYTES), column > 0);
	}
	wgmma_commit();
}

/* sums[64,HEAD] += weights[64,ROWS] · a tile of ROWS rows */
template <typename T, int HEAD, int ROWS>
static __device__ __forceinline__ void add_products(float (&sums)[HEAD / 8][4], const uint32_t (&weights)[ROWS / 16][4],
                                                    uint32_t right)
{
#pragma unroll
	for (int step = 0; step < ROWS / 16; step++)
		wgmma_registers<T>(sums, weights[step],
		                   wgmma_descriptor(right + step * 16 * ROW_BYTES, ROWS * ROW_BYTES, 8 * ROW_BYTES));
	wgmma_commit();
}

/* A lane holds the same of a product's result as it must hold of the next one's left operand. */
template <typename T, int STEPS>
static __device__ __forceinline__ void pack_left_operand(uint32_t (&p)[STEPS][4], const float (&s)[2 * STEPS][4])
{
#pragma unroll
	for (int step = 0; step < STEPS; step++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			p[step][i] =
			        pack_pair<T>(s[2 * step + i / 2][2 * (i % 2)], s[2 * step + i / 2][2 * (i % 2) + 1]);
}

/* Waits until what was copied has come, for all threads and for products. */
static __device__ __forceinline__ void arrived()
{
	cp_async_wait<0>();
	shared_fence();
	__syncthreads();
}

#endif
#endif
