/* Tiles as wgmma.cuh wants them: rows of 64 elements, those of 128 in two halves one after the other. */
#ifndef SHARDLAB_CUDA_TILES_HOPPER_CUH
#define SHARDLAB_CUDA_TILES_HOPPER_CUH

#include "kernels/cuda/tiles.cuh"
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

/* Waits until what was copied has come, for all threads and for products. */
static __device__ __forceinline__ void arrived()
{
	cp_async_wait<0>();
	shared_fence();
	__syncthreads();
}

#endif
#endif
