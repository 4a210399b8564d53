/* Attention backward on tensor cores (mma.sync, sm_80 and later). With P the probabilities, made again from
 * log_sum_exp, δ = rowsum(dY ∘ Y), and dP = dY · Vᵀ, dS = P ∘ (dP − δ):
 *
 *     dV = Pᵀ · dY     dK = scale · dSᵀ · Q     dQ = scale · dS · K
 *
 * Two passes, so that every sum has one owner and one order, and no additions are atomic: a block that owns keys goes
 * over the queries that see them (4 products a tile), and one that owns queries goes over the keys they see (3). Adding
 * dQ up in the first pass would save 2 products of 7; in a fixed order it needs fp32 sums of all queries for each tile
 * of keys, and their traffic costs more than the products.
 *
 * Both passes are one loop over what is not owned, 16 rows at a time: S and dP of these 16 are made, become P and dS in
 * registers, which are at once left operands of the next products. So little is alive beside the sums that the owner's
 * own rows stay in registers too, as left operands; in the first pass S and dP are therefore made transposed. Rows that
 * are not owned come in by cp.async, a tile ahead. */
#include "kernels/cuda/attention.cuh"

namespace
{

enum { WARPS = 4, THREADS = WARPS * WARP };

template <int HEAD> struct shape {
	/* of 16 owned rows, a warp: as many as fit into registers */
	static constexpr int KEY_TILES = HEAD <= 32 ? 2 : 1, QUERY_TILES = HEAD <= 64 ? 2 : 1;
	static constexpr int KEYS = WARPS * 16 * KEY_TILES, QUERIES = WARPS * 16 * QUERY_TILES; /* owned */
	static constexpr bool HOLDS_V = HEAD < 128;       /* in registers; else read again from shared memory */
	static constexpr int STEP = HEAD <= 64 ? 64 : 32; /* rows that come in at once */
	static constexpr int KEY_BYTES = (2 * KEYS + 4 * STEP) * HEAD * 2 + 4 * STEP * 4;
	static constexpr int QUERY_BYTES = (2 * QUERIES + 4 * STEP) * HEAD * 2;
};

/* S and dP: of 16 owned rows with 16 that come by, left · rightᵀ. dP's left operand is in registers, or in a tile
 * (whose rows begin at a multiple of 16). */
template <typename T, int HEAD, int TILES>
__device__ __forceinline__ void two_products(float s[TILES][2][4], float dp[TILES][2][4],
                                             const uint32_t left_s[TILES][HEAD / 16][4],
                                             const uint32_t left_dp[][HEAD / 16][4], const T *left_dp_tile,
                                             const T *right_s, const T *right_dp, int row, int lane)
{
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int n = 0; n < 2; n++)
#pragma unroll
			for (int i = 0; i < 4; i++)
				s[m][n][i] = dp[m][n][i] = 0;
#pragma unroll
	for (int step = 0; step < HEAD / 16; step++) {
		uint32_t b[4], d[4];
		tile_right_transposed<HEAD>(b, right_s, row, step, lane);
		tile_right_transposed<HEAD>(d, right_dp, row, step, lane);
#pragma unroll
		for (int m = 0; m < TILES; m++) {
			mma_m16n8k16<T>(s[m][0], left_s[m][step], b);
			mma_m16n8k16<T>(s[m][1], left_s[m][step], b + 2);
			if (left_dp_tile) {
				uint32_t again[4];
				tile_left<HEAD>(again, left_dp_tile, 16 * m, step, lane);
				mma_m16n8k16<T>(dp[m][0], again, d);
				mma_m16n8k16<T>(dp[m][1], again, d + 2);
			} else {
				mma_m16n8k16<T>(dp[m][0], left_dp[m][step], d);
				mma_m16n8k16<T>(dp[m][1], left_dp[m][step], d + 2);
			}
		}
	}
}

/* sums += weights · 16 rows of `right` */
template <typename T, int HEAD, int TILES>
__device__ __forceinline__ void add_product(float sums[TILES][HEAD / 8][4], const uint32_t weights[TILES][4],
                                            const T *right, int row, int lane)
{
#pragma unroll
	for (int n = 0; n < HEAD / 16; n++) {
		uint32_t b[4];
		tile_right<HEAD>(b, right, row, n, lane);
#pragma unroll
		for (int m = 0; m < TILES; m++) {
			mma_m16n8k16<T>(sums[m][2 * n], weights[m], b);
			mma_m16n8k16<T>(sums[m][2 * n + 1], weights[m], b + 2);
		}
	}
}

template <typename T> __device__ __forceinline__ void pack_left(uint32_t a[4], const float x[2][4])
{
#pragma unroll
	for (int i = 0; i < 4; i++)
		a[i] = pack_pair<T>(x[i / 2][2 * (i % 2)], x[i / 2][2 * (i % 2) + 1]);
}

/* log_sum_exp, as a power of 2, and δ of the queries from `first` on; beyond the last, what makes P and dS 0. */
template <int STEP>
__device__ __forceinline__ void load_rows(float *to, const attention_arguments &a, int64_t row, int first, int tokens)
{
	for (int i = static_cast<int>(threadIdx.x); i < STEP; i += THREADS) {
		bool valid = first + i < tokens;
		to[i] = valid ? a.log_sum_exp[row + first + i] * LOG2_E : INFINITY;
		to[STEP + i] = valid ? a.delta[row + first + i] : 0;
	}
}

/* dK and dV */
template <typename T, int HEAD> __global__ void __launch_bounds__(THREADS) key_pass(const attention_arguments a)
{
	constexpr int TILES = shape<HEAD>::KEY_TILES, KEYS = shape<HEAD>::KEYS, STEP = shape<HEAD>::STEP;
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(blockIdx.x) * KEYS, row = warp * 16 * TILES, first_key = first + row;
	const int head = static_cast<int>(blockIdx.y % static_cast<unsigned>(a.heads));
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads), head);
	const T *q = static_cast<const T *>(a.qkv) + h.q, *dy = static_cast<const T *>(a.dy) + h.y;
	const float scale = a.scale * LOG2_E;
	T *keys = shared_memory<T>(), *values = keys + KEYS * HEAD;
	T *queries = values + KEYS * HEAD, *dys = queries + 2 * STEP * HEAD;
	float *rows = reinterpret_cast<float *>(dys + 2 * STEP * HEAD);

	uint32_t k_left[TILES][HEAD / 16][4], v_left[shape<HEAD>::HOLDS_V ? TILES : 1][HEAD / 16][4];
	float dk[TILES][HEAD / 8][4] = {}, dv[TILES][HEAD / 8][4] = {};
	int begin = first / STEP * STEP; /* queries before it see none of these keys */

	tile_copy<HEAD, KEYS, THREADS>(keys, q + h.y_row, h.qkv_row, first, tokens, size);
	tile_copy<HEAD, KEYS, THREADS>(values, q + 2 * h.y_row, h.qkv_row, first, tokens, size);
	tile_copy<HEAD, STEP, THREADS>(queries, q, h.qkv_row, begin, tokens, size);
	tile_copy<HEAD, STEP, THREADS>(dys, dy, h.y_row, begin, tokens, size);
	cp_async_commit();
	load_rows<STEP>(rows, a, h.row, begin, tokens);

	for (int buffer = 0; begin < tokens; begin += STEP, buffer ^= 1) {
		cp_async_wait<0>();
		__syncthreads();
		if (begin + STEP < tokens) {
			int next = (buffer ^ 1) * STEP;
			tile_copy<HEAD, STEP, THREADS>(queries + next * HEAD, q, h.qkv_row, begin + STEP, tokens, size);
			tile_copy<HEAD, STEP, THREADS>(dys + next * HEAD, dy, h.y_row, begin + STEP, tokens, size);
			load_rows<STEP>(rows + 2 * next, a, h.row, begin + STEP, tokens);
		}
		cp_async_commit();
		if (begin == first / STEP * STEP) {
#pragma unroll
			for (int m = 0; m < TILES; m++)
#pragma unroll
				for (int step = 0; step < HEAD / 16; step++) {
					tile_left<HEAD>(k_left[m][step], keys, row + 16 * m, step, lane);
					if (shape<HEAD>::HOLDS_V)
						tile_left<HEAD>(v_left[m][step], values, row + 16 * m, step, lane);
				}
		}
		const T *q_tile = queries + buffer * STEP * HEAD, *dy_tile = dys + buffer * STEP * HEAD;
		const float *of_row = rows + 2 * buffer * STEP;
#pragma unroll 1
		for (int i = 0; i < STEP; i += 16) {
			if (begin + i + 15 < first_key)
				continue; /* earlier than all keys of this warp */
			float s[TILES][2][4], dp[TILES][2][4];
			uint32_t p_left[TILES][4], ds_left[TILES][4];
			two_products<T, HEAD, TILES>(s, dp, k_left, v_left,
			                             shape<HEAD>::HOLDS_V ? nullptr : values + row * HEAD, q_tile,
			                             dy_tile, i, lane);
			const bool masked = begin + i < first_key + 16 * TILES - 1;
#pragma unroll
			for (int n = 0; n < 2; n++) {
				const int column = i + 8 * n + lane % 4 * 2;
				float sums[2], delta[2];
				load(of_row + column, sums);
				load(of_row + STEP + column, delta);
#pragma unroll
				for (int m = 0; m < TILES; m++)
#pragma unroll
					for (int j = 0; j < 4; j++) {
						float p = exp2_fast(fmaf(s[m][n][j], scale, -sums[j & 1]));
						if (masked && begin + column + (j & 1) <
						                      first_key + 16 * m + lane / 4 + (j >> 1) * 8)
							p = 0;
						s[m][n][j] = p;
						dp[m][n][j] = p * (dp[m][n][j] - delta[j & 1]);
					}
			}
#pragma unroll
			for (int m = 0; m < TILES; m++) {
				pack_left<T>(p_left[m], s[m]);
				pack_left<T>(ds_left[m], dp[m]);
			}
			add_product<T, HEAD, TILES>(dv, p_left, dy_tile, i, lane);
			add_product<T, HEAD, TILES>(dk, ds_left, q_tile, i, lane);
		}
	}

	T *out = static_cast<T *>(a.dqkv) + h.q;
	const float once[2] = {1, 1}, scaled[2] = {a.scale, a.scale};
#pragma unroll
	for (int m = 0; m < TILES; m++) {
		int r = row + 16 * m;
		tile_store<HEAD>(keys, r, dk[m], scaled, out + h.y_row, h.qkv_row, first + r, tokens, size, lane);
		tile_store<HEAD>(values, r, dv[m], once, out + 2 * h.y_row, h.qkv_row, first + r, tokens, size, lane);
	}
}

/* dQ */
template <typename T, int HEAD> __global__ void __launch_bounds__(THREADS) query_pass(const attention_arguments a)
{
	constexpr int TILES = shape<HEAD>::QUERY_TILES, QUERIES = shape<HEAD>::QUERIES, STEP = shape<HEAD>::STEP;
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * QUERIES, row = warp * 16 * TILES;
	const int head = static_cast<int>(blockIdx.y % static_cast<unsigned>(a.heads)), first_query = first + row;
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads), head);
	const T *q = static_cast<const T *>(a.qkv) + h.q, *k = q + h.y_row, *v = k + h.y_row;
	const float scale = a.scale * LOG2_E;
	T *queries = shared_memory<T>(), *dys = queries + QUERIES * HEAD;
	T *keys = dys + QUERIES * HEAD, *values = keys + 2 * STEP * HEAD;

	uint32_t q_left[TILES][HEAD / 16][4], dy_left[TILES][HEAD / 16][4];
	float dq[TILES][HEAD / 8][4] = {}, sums[TILES][2], delta[TILES][2];
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int side = 0; side < 2; side++) {
			int query = first_query + 16 * m + lane / 4 + 8 * side;
			sums[m][side] = query < tokens ? a.log_sum_exp[h.row + query] * LOG2_E : INFINITY;
			delta[m][side] = query < tokens ? a.delta[h.row + query] : 0;
		}

	tile_copy<HEAD, QUERIES, THREADS>(queries, q, h.qkv_row, first, tokens, size);
	tile_copy<HEAD, QUERIES, THREADS>(dys, static_cast<const T *>(a.dy) + h.y, h.y_row, first, tokens, size);
	tile_copy<HEAD, STEP, THREADS>(keys, k, h.qkv_row, 0, tokens, size);
	tile_copy<HEAD, STEP, THREADS>(values, v, h.qkv_row, 0, tokens, size);
	cp_async_commit();

	const int last = min(first + QUERIES, tokens);
	for (int begin = 0, buffer = 0; begin < last; begin += STEP, buffer ^= 1) {
		cp_async_wait<0>();
		__syncthreads();
		if (begin + STEP < last) {
			int next = (buffer ^ 1) * STEP * HEAD;
			tile_copy<HEAD, STEP, THREADS>(keys + next, k, h.qkv_row, begin + STEP, tokens, size);
			tile_copy<HEAD, STEP, THREADS>(values + next, v, h.qkv_row, begin + STEP, tokens, size);
		}
		cp_async_commit();
		if (begin == 0) {
#pragma unroll
			for (int m = 0; m < TILES; m++)
#pragma unroll
				for (int step = 0; step < HEAD / 16; step++) {
					tile_left<HEAD>(q_left[m][step], queries, row + 16 * m, step, lane);
					tile_left<HEAD>(dy_left[m][step], dys, row + 16 * m, step, lane);
				}
		}
		const T *k_tile = keys + buffer * STEP * HEAD, *v_tile = values + buffer * STEP * HEAD;
#pragma unroll 1
		for (int i = 0; i < STEP && begin + i < first_query + 16 * TILES; i += 16) {
			float s[TILES][2][4], dp[TILES][2][4];
			uint32_t ds_left[TILES][4];
			two_products<T, HEAD, TILES>(s, dp, q_left, dy_left, nullptr, k_tile, v_tile, i, lane);
			const bool masked = begin + i + 15 > first_query;
#pragma unroll
			for (int m = 0; m < TILES; m++) {
#pragma unroll
				for (int n = 0; n < 2; n++)
#pragma unroll
					for (int j = 0; j < 4; j++) {
						float p = exp2_fast(fmaf(s[m][n][j], scale, -sums[m][j >> 1]));
						if (masked && begin + i + 8 * n + lane % 4 * 2 + (j & 1) >
						                      first_query + 16 * m + lane / 4 + (j >> 1) * 8)
							p = 0;
						dp[m][n][j] = p * (dp[m][n][j] - delta[m][j >> 1]);
					}
				pack_left<T>(ds_left[m], dp[m]);
			}
			add_product<T, HEAD, TILES>(dq, ds_left, k_tile, i, lane);
		}
	}

	const float scaled[2] = {a.scale, a.scale};
#pragma unroll
	for (int m = 0; m < TILES; m++)
		tile_store<HEAD>(queries, row + 16 * m, dq[m], scaled, static_cast<T *>(a.dqkv) + h.q, h.qkv_row,
		                 first_query + 16 * m, tokens, size, lane);
}

template <typename T, int HEAD> int run(cuda_stream s, const attention_arguments &a)
{
	unsigned heads = static_cast<unsigned>(a.samples * a.heads);
	dim3 by_keys(static_cast<unsigned>((a.tokens + shape<HEAD>::KEYS - 1) / shape<HEAD>::KEYS), heads);
	dim3 by_queries(static_cast<unsigned>((a.tokens + shape<HEAD>::QUERIES - 1) / shape<HEAD>::QUERIES), heads);
	int error = launch(key_pass<T, HEAD>, by_keys, dim3(THREADS), shape<HEAD>::KEY_BYTES, s, a);
	return error ? error : launch(query_pass<T, HEAD>, by_queries, dim3(THREADS), shape<HEAD>::QUERY_BYTES, s, a);
}

} // namespace

int attention_backward_tensor(cuda_stream s, enum element type, const struct attention_arguments *a)
{
	return with_head(type, a->size, [&](auto tag, auto head) {
		return run<typename decltype(tag)::type, decltype(head)::value>(s, *a);
	});
}
