/* Products by tensor cores, with mma.sync (compute capability 8.0 on), of 16 bits. A block makes 128 × 128 of C, each
 * of its 8 warps 64 × 32. Of A and B 32 terms come at a time by cp.async, in three places:
 *
 *     terms        0–31   32–63   64–95   96–127  …
 *     place           0       1       2        0  …
 *     multiplied   ──────
 *     under way            ──────────────
 *
 * so that one barrier for 32 terms is enough. */
#include "kernels/cuda/product_tiles.cuh"

namespace
{

enum { THREADS = 256, SIDE = 128, DEPTH = 32, PLACES = 3, TILE = SIDE * DEPTH, BYTES = PLACES * 2 * TILE * 2 };
enum { WARP_ROWS = 64, WARP_COLUMNS = 32, DOWN = WARP_ROWS / 16, ACROSS = WARP_COLUMNS / 16 };

struct copier {
	template <int COLUMNS, int ROWS, int BY, typename T>
	static __device__ __forceinline__ void begin(T *tile, const T *from, int stride, int first, int rows,
	                                             int columns)
	{
		tile_copy<COLUMNS, ROWS, BY>(tile, from, stride, first, rows, columns);
	}
};

/* 16 rows of A from `row` on, 16 terms. `begin`: where the lane's part of a tile begins. */
template <bool ALONG> __device__ __forceinline__ void left_operand(uint32_t a[4], uint32_t begin, int row, int step)
{
	if constexpr (ALONG)
		tile_left<DEPTH>(a, begin + rows_below<DEPTH>(row), step);
	else
		ldmatrix_x4_transposed(a, pieces_at<SIDE>(begin + rows_below<SIDE>(16 * step), row / 16));
}

/* 16 columns of B, two operands. */
template <bool ALONG>
__device__ __forceinline__ void right_operands(uint32_t b[4], uint32_t begin, int column, int step)
{
	if constexpr (ALONG)
		tile_right_transposed<DEPTH>(b, begin + rows_below<DEPTH>(column), step);
	else
		tile_right<SIDE>(b, begin + rows_below<SIDE>(16 * step), column / 16);
}

template <typename T, bool A_ALONG, bool B_ALONG>
__global__ void __launch_bounds__(THREADS, 2) multiply(const struct product p)
{
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int row = warp % 2 * WARP_ROWS, column = warp / 2 * WARP_COLUMNS;
	const int first_row = static_cast<int>(blockIdx.x) * SIDE, first_column = static_cast<int>(blockIdx.y) * SIDE;
	const int tiles = static_cast<int>((p.k + DEPTH - 1) / DEPTH);
	T *const of_a = shared_memory<T>(), *const of_b = of_a + PLACES * TILE;
	const uint32_t a_begin = A_ALONG ? pieces_down<DEPTH>(of_a, lane) : pieces_across<SIDE>(of_a, lane);
	const uint32_t b_begin = B_ALONG ? pieces_across<DEPTH>(of_b, lane) : pieces_down<SIDE>(of_b, lane);
	float sums[DOWN][2 * ACROSS][4] = {};

	auto copy = [&](int tile) {
		const int place = tile % PLACES * TILE;
		if (tile < tiles)
			copy_tile<copier, A_ALONG, B_ALONG, SIDE, DEPTH, THREADS>(
			        p, first_row, first_column, tile * DEPTH, of_a + place, of_b + place);
		cp_async_commit();
	};
	for (int tile = 0; tile < PLACES - 1; tile++)
		copy(tile);
#pragma unroll 1
	for (int tile = 0; tile < tiles; tile++) {
		const uint32_t place = static_cast<uint32_t>(tile % PLACES * TILE * 2);
		cp_async_wait<PLACES - 2>();
		__syncthreads();
		copy(tile + PLACES - 1);
#pragma unroll
		for (int step = 0; step < DEPTH / 16; step++) {
			uint32_t a[DOWN][4], b[ACROSS][4];
#pragma unroll
			for (int i = 0; i < DOWN; i++)
				left_operand<A_ALONG>(a[i], a_begin + place, row + 16 * i, step);
#pragma unroll
			for (int j = 0; j < ACROSS; j++)
				right_operands<B_ALONG>(b[j], b_begin + place, column + 16 * j, step);
#pragma unroll
			for (int i = 0; i < DOWN; i++)
#pragma unroll
				for (int j = 0; j < 2 * ACROSS; j++)
					mma_m16n8k16<T>(sums[i][j], a[i], b[j / 2] + j % 2 * 2);
		}
	}
#pragma unroll
	for (int i = 0; i < DOWN; i++)
#pragma unroll
		for (int j = 0; j < 2 * ACROSS; j++) {
			const int r = first_row + row + 16 * i + lane / 4,
			          c = first_column + column + 8 * j + lane % 4 * 2;
			product_pair<T>(p, r, c, sums[i][j][0], sums[i][j][1]);
			product_pair<T>(p, r + 8, c, sums[i][j][2], sums[i][j][3]);
		}
}

} // namespace

int product_tensor(kernel_stream s, const struct product *p)
{
	return with_operands(p, [&](auto tag, auto a_along, auto b_along) {
		return launch(multiply<typename decltype(tag)::type, a_along, b_along>, product_blocks(p, SIDE),
		              dim3(THREADS), BYTES, s, *p);
	});
}
