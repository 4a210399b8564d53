/* Products by wgmma, for compute capability 9.0, of 16 bits. A block makes 128 × 128 of C, each of its two warpgroups
 * 64 rows, with both operands in shared memory. 64 terms come at a time by cp.async, in three places as in
 * product_tensor.cu; two blocks share a multiprocessor, so that one multiplies while the other waits. */
#include "kernels/cuda/product_tiles.cuh"
#include "kernels/cuda/tiles_hopper.cuh"

namespace
{

enum { THREADS = 2 * WARPGROUP, SIDE = 128, DEPTH = ROW, PLACES = 3, TILE = SIDE * DEPTH, TILE_BYTES = 2 * TILE };
enum { BYTES = SWIZZLE_BYTES + PLACES * 2 * TILE_BYTES };

#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

struct copier {
	template <int COLUMNS, int ROWS, int BY, typename T>
	static __device__ __forceinline__ void begin(T *tile, const T *from, int stride, int first, int rows,
	                                             int columns)
	{
		halves_copy<COLUMNS, ROWS, BY>(tile, from, stride, first, rows, columns);
	}
};

/* 16 terms of a tile's rows from `row`, a multiple of 64, on. */
template <bool ALONG> __device__ __forceinline__ uint64_t operand(uint32_t tile, int row, int step)
{
	const uint32_t down = static_cast<uint32_t>(row), s = static_cast<uint32_t>(step);
	return ALONG ? wgmma_descriptor(tile + down * ROW_BYTES + 32 * s, 16, 8 * ROW_BYTES)
	             : wgmma_descriptor(tile + down / ROW * DEPTH * ROW_BYTES + 16 * s * ROW_BYTES, DEPTH * ROW_BYTES,
	                                8 * ROW_BYTES);
}

#endif

template <typename T, bool A_ALONG, bool B_ALONG>
__global__ void __launch_bounds__(THREADS, 2) multiply(const struct product p)
{
#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int half = static_cast<int>(threadIdx.x) / WARPGROUP * 64;
	const int first_row = static_cast<int>(blockIdx.x) * SIDE, first_column = static_cast<int>(blockIdx.y) * SIDE;
	const int tiles = static_cast<int>((p.k + DEPTH - 1) / DEPTH);
	T *const of_a = patterns_begin<T>(), *const of_b = of_a + PLACES * TILE;
	const uint32_t a_begin = shared_address(of_a), b_begin = shared_address(of_b);
	float sums[SIDE / 8][4] = {};

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
		const uint32_t place = static_cast<uint32_t>(tile % PLACES) * TILE_BYTES;
		cp_async_wait<PLACES - 2>();
		shared_fence();
		__syncthreads();
		wgmma_fence();
#pragma unroll
		for (int step = 0; step < DEPTH / 16; step++)
			wgmma_either<T, !A_ALONG, !B_ALONG>(sums, operand<A_ALONG>(a_begin + place, half, step),
			                                    operand<B_ALONG>(b_begin + place, 0, step));
		wgmma_commit();
		copy(tile + PLACES - 1); /* over what was multiplied in the turn before */
		wgmma_wait<0>();
	}
#pragma unroll
	for (int j = 0; j < SIDE / 8; j++) {
		const int r = first_row + 16 * warp + lane / 4, c = first_column + 8 * j + lane % 4 * 2;
		product_pair<T>(p, r, c, sums[j][0], sums[j][1]);
		product_pair<T>(p, r + 8, c, sums[j][2], sums[j][3]);
	}
#else
	(void)p;
#endif
}

} // namespace

int product_hopper(kernel_stream s, const struct product *p)
{
	return with_operands(p, [&](auto tag, auto a_along, auto b_along) {
		return launch(multiply<typename decltype(tag)::type, a_along, b_along>, product_blocks(p, SIDE),
		              dim3(THREADS), BYTES, s, *p);
	});
}

bool product_hopper_is_here(const struct kernel_context *c)
{
#if defined(SHARDLAB_EMULATE) || defined(SHARDLAB_HOPPER)
	return c->major == 9 && c->minor == 0;
#else
	(void)c;
	return false;
#endif
}
