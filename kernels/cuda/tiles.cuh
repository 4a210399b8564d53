/* Tiles of 16-bit elements in shared memory, as tensor cores read them: how they are copied there without conflicts of
 * banks, and how a warp takes the operands of mma.cuh's products from them. Attention's kernels and those of products
 * stand on them. */
#ifndef SHARDLAB_CUDA_TILES_CUH
#define SHARDLAB_CUDA_TILES_CUH

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/mma.cuh"

/* ---- elements ---- */

/* Two elements in one register, the first in its lower side. */
template <typename T> __device__ __forceinline__ uint32_t pack_pair(float x, float y);
template <> __device__ __forceinline__ uint32_t pack_pair<__nv_bfloat16>(float x, float y)
{
	__nv_bfloat162 both = __floats2bfloat162_rn(x, y);
	uint32_t bits;
	memcpy(&bits, &both, sizeof bits);
	return bits;
}
template <> __device__ __forceinline__ uint32_t pack_pair<__half>(float x, float y)
{
	__half2 both = __floats2half2_rn(x, y);
	uint32_t bits;
	memcpy(&bits, &both, sizeof bits);
	return bits;
}

/* ---- tiles: rows of HEAD elements, in pieces of 8 (16 bytes) ---- */

enum { PIECE = 8 };

/* The place of a piece of a row. ldmatrix reads one piece of 8 rows at once: they must lie in 8 different sixteenths of
 * 128 bytes, all banks. Rows of 128 bytes or a multiple would begin in the same banks, so the piece's number is changed
 * by the row's; rows of an odd multiple of 64 bytes begin in two, and 4 pieces are changed by every other row's. */
template <int HEAD> static __device__ __forceinline__ int piece(int row, int number)
{
	static_assert(HEAD % 32 == 0, "whole groups of pieces");
	int change = HEAD % 64 == 0 ? row & 7 : row >> 1 & 3;
	return row * HEAD + ((number ^ change) * PIECE);
}

/* Begins to copy `ROWS` rows from `first` on; rows from `rows` on and columns from `size` on become 0. FEW registers:
 * one address for the block, and a thread's own 32 bits from it on. */
template <int HEAD, int ROWS, int THREADS, bool FEW = false, typename T>
static __device__ __forceinline__ void tile_copy(T *tile, const T *from, int row_elements, int first, int rows,
                                                 int size)
{
	constexpr int PIECES = HEAD / PIECE;
	static_assert(ROWS * PIECES % THREADS == 0, "every thread copies as many pieces");
	const int thread = static_cast<int>(threadIdx.x);
	if constexpr (THREADS / PIECES % 8 ==
	              0) { /* a thread has one column; its rows' places are the first's, moved */
		constexpr int STRIDE = THREADS / PIECES;
		const int row = thread / PIECES, number = thread % PIECES;
		const T *source = FEW ? from + static_cast<int64_t>(first) * row_elements
		                      : from + static_cast<int64_t>(first + row) * row_elements + number * PIECE;
		const uint32_t beyond = FEW ? static_cast<uint32_t>(row * row_elements + number * PIECE) : 0;
		T *to = tile + piece<HEAD>(row, number);
		const bool column = number * PIECE < size;
#pragma unroll
		for (int i = 0; i < ROWS / STRIDE; i++) {
			bool valid = column && first + row + i * STRIDE < rows;
			cp_async_16(to + i * STRIDE * HEAD, source + beyond, valid);
			source += STRIDE * row_elements;
		}
	} else {
#pragma unroll
		for (int i = 0; i < ROWS * PIECES / THREADS; i++) {
			const int index = i * THREADS + thread, row = index / PIECES, number = index % PIECES;
			const bool valid = first + row < rows && number * PIECE < size;
			const T *source = from + static_cast<int64_t>(first + row) * row_elements + number * PIECE;
			cp_async_16(tile + piece<HEAD>(row, number), source, valid);
		}
	}
}

/* The start of a lane's part when ldmatrix reads 16 rows: in rows 0-7, 8-15, 0-7, 8-15 of its four matrices, the last
 * two in the second half of 16 columns. */
template <int HEAD, typename T> static __device__ __forceinline__ uint32_t pieces_down(const T *tile, int lane)
{
	return shared_address(tile + piece<HEAD>(lane & 15, lane >> 4));
}
/* The same in rows 0-7, 0-7, 8-15, 8-15, every other one in the second half. */
template <int HEAD, typename T> static __device__ __forceinline__ uint32_t pieces_across(const T *tile, int lane)
{
	return shared_address(tile + piece<HEAD>((lane & 7) + (lane >> 4) * 8, lane >> 3 & 1));
}

/* `step` · 16 columns further on: the number of a piece, which stands in the address from 16 on, is exchanged with bits
 * of the row's, so that its own bits are changed and not counted up. Rows begin at multiples of what they change. */
template <int HEAD> static __device__ __forceinline__ const void *pieces_at(uint32_t begin, int step)
{
	constexpr uint32_t REPEAT = HEAD % 64 == 0 ? 4 : 2;
	const uint32_t n = static_cast<uint32_t>(step);
	return shared_pointer((begin ^ n % REPEAT * 32) + n / REPEAT * REPEAT * 32);
}

/* Bytes from a row of a tile to the row `rows` (a multiple of 8) below. */
template <int HEAD> static __device__ __forceinline__ uint32_t rows_below(int rows)
{
	return static_cast<uint32_t>(rows * HEAD * 2);
}

/* 16 rows, columns [16·step, +16), as a left operand. */
template <int HEAD> static __device__ __forceinline__ void tile_left(uint32_t a[4], uint32_t down, int step)
{
	ldmatrix_x4(a, pieces_at<HEAD>(down, step));
}

/* The transpose of 16 rows, columns [16·step, +16), as two right operands: b[0], b[1] of the first 8 rows. */
template <int HEAD>
static __device__ __forceinline__ void tile_right_transposed(uint32_t b[4], uint32_t across, int step)
{
	ldmatrix_x4(b, pieces_at<HEAD>(across, step));
}

/* 16 rows, columns [16·step, +16), as two right operands: b[0], b[1] of the first 8 columns. */
template <int HEAD> static __device__ __forceinline__ void tile_right(uint32_t b[4], uint32_t down, int step)
{
	ldmatrix_x4_transposed(b, pieces_at<HEAD>(down, step));
}

#endif
