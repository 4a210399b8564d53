/* Attention forward on tensor cores (mma.sync, sm_80 and later): FlashAttention-2's forward pass (arXiv 2307.08691,
 * algorithm 1).
 *
 * A block has 4 warps and 128 queries of one head, a warp 32 of them: two products of 16 rows, which share what is read
 * of the keys. Tiles of 64 (or 32) keys and values come in by cp.async, each while the one before is worked on, so that
 * one barrier a tile is enough. S stays in registers; as probabilities it is already a left operand of P · V: what a
 * lane holds of a product's result is what it must hold of the next one's operand.
 *
 * The first keys come first, so that from the first tile on every row has a maximum: nothing is −∞ but what is masked.
 * With a window, a row may see nothing of the first tiles that its block needs.
 * Keys beyond the last token need no mask of their own, being later than any query. Blocks of late queries, which have
 * most to do, start first. */
#include "kernels/cuda/attention.cuh"

namespace
{

enum { WARPS = 4, THREADS = WARPS * WARP };

/* The compiler of 12.4 would spill at heads of 32, to have three blocks in a multiprocessor at once. */
#ifdef SPARE_REGISTERS
#define FORWARD_BOUNDS __launch_bounds__(THREADS, HEAD == 32 ? 2 : 1)
#else
#define FORWARD_BOUNDS __launch_bounds__(THREADS)
#endif

template <int HEAD> struct shape {
	static constexpr int KEYS = HEAD <= 64 ? 64 : 32; /* what leaves room in registers for S beside the output */
	static constexpr int TILES = 2;                   /* of 16 queries, a warp */
	static constexpr int QUERIES = WARPS * 16 * TILES;
	static constexpr int BYTES = (QUERIES + 4 * KEYS) * HEAD * 2;
};

/* S = Q · Kᵀ */
template <typename T, int HEAD, int TILES>
__device__ __forceinline__ void scores(float s[TILES][shape<HEAD>::KEYS / 8][4], uint32_t queries, uint32_t keys)
{
	constexpr int KEYS = shape<HEAD>::KEYS;
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
			for (int i = 0; i < 4; i++)
				s[m][n][i] = 0;
#pragma unroll
	for (int step = 0; step < HEAD / 16; step++) {
		uint32_t q[TILES][4];
#pragma unroll
		for (int m = 0; m < TILES; m++)
			tile_left<HEAD>(q[m], queries + rows_below<HEAD>(16 * m), step);
#pragma unroll
		for (int n = 0; n < KEYS / 16; n++) {
			uint32_t k[4];
			tile_right_transposed<HEAD>(k, keys + rows_below<HEAD>(16 * n), step);
#pragma unroll
			for (int m = 0; m < TILES; m++) {
				mma_m16n8k16<T>(s[m][2 * n], q[m], k);
				mma_m16n8k16<T>(s[m][2 * n + 1], q[m], k + 2);
			}
		}
	}
}

template <typename T, int HEAD, bool LOCAL> __global__ void FORWARD_BOUNDS forward(const attention_arguments a)
{
	constexpr int TILES = shape<HEAD>::TILES, QUERIES = shape<HEAD>::QUERIES, KEYS = shape<HEAD>::KEYS;
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * QUERIES, row = warp * 16 * TILES;
	const int head = static_cast<int>(blockIdx.y % static_cast<unsigned>(a.heads));
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads), head);
	const T *qkv = static_cast<const T *>(a.qkv), *q = qkv + h.q, *k = qkv + h.k, *v = qkv + h.v;
	const float scale = a.scale * LOG2_E;
	const local_rows local = {static_cast<int>(a.window), h.slope / a.scale};
	const int start = LOCAL ? first_tile(first, local.window, KEYS) : 0;
	const int qkv_row = static_cast<int>(h.qkv_row);
	T *queries = shared_memory<T>(), *keys = queries + QUERIES * HEAD, *values = keys + 2 * KEYS * HEAD;
	const uint32_t of_queries = pieces_down<HEAD>(queries, lane) + rows_below<HEAD>(row);
	const uint32_t of_keys = pieces_across<HEAD>(keys, lane), of_values = pieces_down<HEAD>(values, lane);

	float output[TILES][HEAD / 8][4] = {}, maximum[TILES][2], sum[TILES][2] = {};
#pragma unroll
	for (int m = 0; m < TILES; m++)
		maximum[m][0] = maximum[m][1] = -INFINITY;

	tile_copy<HEAD, QUERIES, THREADS>(queries, q, qkv_row, first, tokens, size);
	tile_copy<HEAD, KEYS, THREADS>(keys, k, qkv_row, start, tokens, size);
	tile_copy<HEAD, KEYS, THREADS>(values, v, qkv_row, start, tokens, size);
	cp_async_commit();

	const int last = min(first + QUERIES, tokens);
	for (int begin = start, buffer = 0; begin < last; begin += KEYS, buffer ^= 1) {
		cp_async_wait<0>();
		__syncthreads(); /* this tile is there, and nobody reads the one before any more */
		if (begin + KEYS < last) {
			int next = (buffer ^ 1) * KEYS * HEAD;
			tile_copy<HEAD, KEYS, THREADS>(keys + next, k, qkv_row, begin + KEYS, tokens, size);
			tile_copy<HEAD, KEYS, THREADS>(values + next, v, qkv_row, begin + KEYS, tokens, size);
		}
		cp_async_commit();
		if (begin > first + row + 16 * TILES - 1)
			continue; /* later than all queries of this warp */
		if (LOCAL && begin + KEYS - 1 <= first + row - local.window)
			continue; /* earlier than all their windows */

		float s[TILES][KEYS / 8][4];
		scores<T, HEAD, TILES>(s, of_queries, of_keys + rows_below<HEAD>(buffer * KEYS));
		const bool masked = begin + KEYS - 1 > first + row;
#pragma unroll
		for (int m = 0; m < TILES; m++) {
			float correction[2];
			softmax<KEYS, LOCAL>(s[m], maximum[m], sum[m], correction, scale, masked,
			                     first + row + 16 * m + lane / 4 + 1 - begin, lane, local);
			rescale<HEAD>(output[m], correction);
		}
		/* output += P · V */
#pragma unroll
		for (int step = 0; step < KEYS / 16; step++) {
			uint32_t p[TILES][4];
#pragma unroll
			for (int m = 0; m < TILES; m++)
#pragma unroll
				for (int i = 0; i < 4; i++) {
					const float *pair = s[m][2 * step + i / 2] + 2 * (i % 2);
					p[m][i] = pack_pair<T>(pair[0], pair[1]);
				}
#pragma unroll
			for (int n = 0; n < HEAD / 16; n++) {
				uint32_t b[4];
				tile_right<HEAD>(b, of_values + rows_below<HEAD>(buffer * KEYS + 16 * step), n);
#pragma unroll
				for (int m = 0; m < TILES; m++) {
					mma_m16n8k16<T>(output[m][2 * n], p[m], b);
					mma_m16n8k16<T>(output[m][2 * n + 1], p[m], b + 2);
				}
			}
		}
	}

#pragma unroll
	for (int m = 0; m < TILES; m++) {
		float factor[2];
		softmax_end(factor, maximum[m], sum[m], a, h.row, first + row + 16 * m + lane / 4, tokens, lane);
		tile_store<HEAD>(queries, row + 16 * m, output[m], factor, static_cast<T *>(a.y_out) + h.y, h.y_row,
		                 first + row + 16 * m, tokens, size, lane);
	}
}

template <typename T, int HEAD> int run(kernel_stream s, const attention_arguments &a)
{
	constexpr int QUERIES = shape<HEAD>::QUERIES;
	dim3 grid(static_cast<unsigned>((a.tokens + QUERIES - 1) / QUERIES),
	          static_cast<unsigned>(a.samples * a.heads));
	return launch(is_local(a) ? forward<T, HEAD, true> : forward<T, HEAD, false>, grid, dim3(THREADS),
	              shape<HEAD>::BYTES, s, a);
}

} // namespace

int attention_forward_tensor(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return with_head(type, a->size, [&](auto tag, auto head) {
		return run<typename decltype(tag)::type, decltype(head)::value>(s, *a);
	});
}
