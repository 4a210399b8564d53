/* Attention backward on tensor cores (mma.sync, sm_80 and later). With P the probabilities, made again from
 * log_sum_exp, δ = rowsum(dY ∘ Y), and dP = dY · Vᵀ, dS = P ∘ (dP − δ):
 *
 *     dV = Pᵀ · dY     dK = scale · dSᵀ · Q     dQ = scale · dS · K
 *
 * Two passes, so that every sum has one owner and one order, and no additions are atomic: a block that owns queries
 * works out their δ and goes over the keys they see (3 products a tile); then one that owns keys goes over the queries
 * that see them (4). Adding dQ up in that pass too would save 2 products of 7; in a fixed order it needs fp32 sums of
 * all queries for each tile of keys, and their traffic costs more than the products.
 *
 * Both passes are one loop over what is not owned, 16 rows at a time: S and dP of these 16 are made, become P and dS in
 * registers, which are at once left operands of the next products. So little is alive beside the sums that the owner's
 * own rows stay in registers too, as left operands; where keys are owned, S and dP are therefore made transposed. Rows
 * that are not owned come in by cp.async, a tile ahead.
 *
 * Shared memory gives a multiprocessor 128 bytes a cycle, an operand of 16 × 16 in 4, in which its tensor cores can do
 * 2 (compute capability 8.0) or 4 (9.0) products of 16 × 8 × 16. So a warp owns 32 rows where registers take their
 * sums, and each right operand is used twice. */
#include "kernels/cuda/attention.cuh"

namespace
{

enum { WARPS = 4, THREADS = WARPS * WARP };

template <int HEAD> struct shape {
	/* of 16 owned rows, a warp: as many as fit into registers */
	static constexpr int KEY_TILES = HEAD <= 64 ? 2 : 1, QUERY_TILES = HEAD <= 64 ? 2 : 1;
	static constexpr int KEYS = WARPS * 16 * KEY_TILES, QUERIES = WARPS * 16 * QUERY_TILES; /* owned */
	/* pieces of 16 × 16 of a warp's rows of V: again from shared memory each time, being too many for the
	 * registers, of which windows and ALiBi take some */
#ifdef SPARE_REGISTERS
	static constexpr int READ_V = HEAD == 64 ? 4 : HEAD == 128 ? 1 : 0;
#else
	static constexpr int READ_V = HEAD == 64 ? 4 : 0;
#endif
	static constexpr int READ_V_LOCAL = HEAD == 32 ? 2 : HEAD == 64 ? 7 : HEAD == 128 ? 3 : 0;
	static constexpr int STEP = HEAD <= 64 ? 64 : 32; /* rows that come in at once */
	static constexpr int KEY_BYTES = (2 * KEYS + 4 * STEP) * HEAD * 2 + 4 * STEP * 4;
	static constexpr int QUERY_BYTES = (2 * QUERIES + 4 * STEP) * HEAD * 2;
};

/* True of the pieces of the owned rows that stay in registers: all but the last `READ`. */
template <int HEAD, int TILES, int READ> __device__ __forceinline__ constexpr bool is_kept(int tile, int step)
{
	return tile * (HEAD / 16) + step < TILES * (HEAD / 16) - READ;
}

/* S and dP: of 16 owned rows with 16 that come by, left · rightᵀ. dP's left operands are in registers, but the last
 * `READ` pieces, which are read from `left` on. */
template <typename T, int HEAD, int TILES, int READ>
__device__ __forceinline__ void
two_products(float s[TILES][2][4], float dp[TILES][2][4], const uint32_t left_s[TILES][HEAD / 16][4],
             const uint32_t left_dp[TILES][HEAD / 16][4], uint32_t left, uint32_t right_s, uint32_t right_dp)
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
		tile_right_transposed<HEAD>(b, right_s, step);
		tile_right_transposed<HEAD>(d, right_dp, step);
#pragma unroll
		for (int m = 0; m < TILES; m++) {
			mma_m16n8k16<T>(s[m][0], left_s[m][step], b);
			mma_m16n8k16<T>(s[m][1], left_s[m][step], b + 2);
			const bool kept = is_kept<HEAD, TILES, READ>(m, step);
			uint32_t again[4];
			if (!kept)
				tile_left<HEAD>(again, left + rows_below<HEAD>(16 * m), step);
			mma_m16n8k16<T>(dp[m][0], kept ? left_dp[m][step] : again, d);
			mma_m16n8k16<T>(dp[m][1], kept ? left_dp[m][step] : again, d + 2);
		}
	}
}

/* Masks what causality hides: of columns that come by, counted from the lane's first, those before `diagonal` where
 * they are queries, or those after it where they are keys. */
template <int TILES, bool BEFORE> __device__ __forceinline__ void mask(float s[TILES][2][4], int diagonal)
{
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int n = 0; n < 2; n++)
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const int place = 8 * n + (j & 1) - 16 * m - (j >> 1) * 8;
				if (BEFORE ? place < diagonal : place > diagonal)
					s[m][n][j] = -INFINITY;
			}
}

/* The same of LOCAL rows: masks what a window hides too, and adds ALiBi. */
template <int TILES, bool BEFORE>
__device__ __forceinline__ void mask_local(float s[TILES][2][4], int diagonal, const local_rows &local)
{
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int n = 0; n < 2; n++)
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const int place = 8 * n + (j & 1) - 16 * m - (j >> 1) * 8;
				const int back = BEFORE ? place - diagonal : diagonal - place; /* from query to key */
				s[m][n][j] = back < 0 || back >= local.window
				                     ? -INFINITY
				                     : fmaf(-local.slope, static_cast<float>(back), s[m][n][j]);
			}
}

/* sums += weights · 16 rows of `right` */
template <typename T, int HEAD, int TILES>
__device__ __forceinline__ void add_product(float sums[TILES][HEAD / 8][4], const uint32_t weights[TILES][4],
                                            uint32_t right)
{
#pragma unroll
	for (int n = 0; n < HEAD / 16; n++) {
		uint32_t b[4];
		tile_right<HEAD>(b, right, n);
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

/* Begins to copy log_sum_exp and δ of the queries from `first` on, those of the head beginning at `row`. Beyond the
 * last they are 0, as are the rows of Q and dY: P is then 1, dS 0, and neither adds anything. */
template <int STEP>
__device__ __forceinline__ void rows_copy(float *to, const attention_arguments &a, int64_t row, int first, int tokens)
{
	static_assert(2 * STEP <= THREADS, "a thread copies one number at most");
	const int i = static_cast<int>(threadIdx.x), query = first + i % STEP;
	const float *from = (i < STEP ? a.log_sum_exp : a.delta) + row;
	if (i < 2 * STEP)
		cp_async_4(to + i, from + query, query < tokens);
}

/* The first element of the keys' head that is this block's, of sample blockIdx.z. */
__device__ __forceinline__ int64_t first_key_of(const attention_arguments &a)
{
	return (blockIdx.z * a.tokens * (a.heads + 2 * a.kv_heads) + a.heads + blockIdx.y) * a.size;
}

/* dK and dV of block x of keys, of head y of them, of sample z. The tiles of all heads that share the keys come one
 * after the other through one copy: what two places in the code keep of addresses would be more than the registers
 * hold. */
template <typename T, int HEAD, bool LOCAL>
__global__ void __launch_bounds__(THREADS) key_pass(const attention_arguments a)
{
	constexpr int TILES = shape<HEAD>::KEY_TILES, KEYS = shape<HEAD>::KEYS, STEP = shape<HEAD>::STEP;
	constexpr uint32_t OTHER = 2 * STEP * HEAD * 2; /* from a row of Q to that of dY */
	constexpr int READ = LOCAL ? shape<HEAD>::READ_V_LOCAL : shape<HEAD>::READ_V;
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(blockIdx.x) * KEYS, row = warp * 16 * TILES, first_key = first + row;
	const int group = static_cast<int>(a.heads) / static_cast<int>(a.kv_heads); /* heads that share the keys */
	const float scale = a.scale * LOG2_E;
	const int y_row = static_cast<int>(a.heads) * size, qkv_row = y_row + 2 * static_cast<int>(a.kv_heads) * size;
	T *keys = shared_memory<T>(), *values = keys + KEYS * HEAD;
	T *queries = values + KEYS * HEAD, *dys = queries + 2 * STEP * HEAD;
	float *rows = reinterpret_cast<float *>(dys + 2 * STEP * HEAD);
	const uint32_t of_keys = pieces_down<HEAD>(keys, lane) + rows_below<HEAD>(row);
	const uint32_t of_values = pieces_down<HEAD>(values, lane) + rows_below<HEAD>(row);
	const uint32_t across = pieces_across<HEAD>(queries, lane), down = pieces_down<HEAD>(queries, lane);

	uint32_t k_left[TILES][HEAD / 16][4], v_left[TILES][HEAD / 16][4];
	float dk[TILES][HEAD / 8][4] = {}, dv[TILES][HEAD / 8][4] = {};
	const int from = first / STEP * STEP; /* queries before it see none of these keys */
	const int window = static_cast<int>(a.window), to = LOCAL ? min(first + KEYS - 1 + window, tokens) : tokens;

	/* The tile that is copied next is that of `next`; the one in hand begins at `begin`, or there is none yet: −1.
	 */
	const int head = static_cast<int>(blockIdx.y) * group;
	const T *q = static_cast<const T *>(a.qkv) + blockIdx.z * a.tokens * qkv_row + head * size;
	const T *dy = static_cast<const T *>(a.dy) + blockIdx.z * a.tokens * y_row + head * size;
	bool fresh = true;
	int64_t at = (blockIdx.z * a.heads + head) * a.tokens;

	const T *own = static_cast<const T *>(a.qkv) + first_key_of(a);
	tile_copy<HEAD, KEYS, THREADS, true>(keys, own, qkv_row, first, tokens, size);
	tile_copy<HEAD, KEYS, THREADS, true>(values, own + a.kv_heads * size, qkv_row, first, tokens, size);
	for (int begin = -1, in_hand = -1, next = from, left = group, buffer = 1;; buffer ^= 1) {
		if (begin >= 0) {
			cp_async_wait<0>();
			__syncthreads();
		}
		const bool more = left > 0;
		const int next_buffer = (buffer ^ 1) * STEP;
		if (more) {
			tile_copy<HEAD, STEP, THREADS, true>(queries + next_buffer * HEAD, q, qkv_row, next, tokens,
			                                     size);
			tile_copy<HEAD, STEP, THREADS, true>(dys + next_buffer * HEAD, dy, y_row, next, tokens, size);
			rows_copy<STEP>(rows + 2 * next_buffer, a, at, next, tokens);
		}
		cp_async_commit();
		if (begin >= 0) {
			if (fresh) {
				fresh = false;
#pragma unroll
				for (int m = 0; m < TILES; m++)
#pragma unroll
					for (int step = 0; step < HEAD / 16; step++) {
						tile_left<HEAD>(k_left[m][step], of_keys + rows_below<HEAD>(16 * m),
						                step);
						if (is_kept<HEAD, TILES, READ>(m, step))
							tile_left<HEAD>(v_left[m][step],
							                of_values + rows_below<HEAD>(16 * m), step);
					}
			}
			const float slope =
			        LOCAL && a.alibi_heads ? alibi_slope(a.alibi_heads, a.first_head + in_hand) : 0;
			const local_rows local = {window, slope / a.scale};
			const float *of_row = rows + 2 * buffer * STEP;
			/* the lane's first key, counted from its first query */
			const int corner = first_key + lane / 4 - lane % 4 * 2 - begin;
#pragma unroll 1
			for (int i = 0; i < STEP; i += 16) {
				if (begin + i + 15 < first_key)
					continue; /* earlier than all keys of this warp */
				if (LOCAL && begin + i >= first_key + 16 * TILES - 1 + window)
					continue; /* their windows are later than all keys of this warp */
				float s[TILES][2][4], dp[TILES][2][4];
				uint32_t p_left[TILES][4], ds_left[TILES][4];
				const uint32_t place = rows_below<HEAD>(buffer * STEP + i);
				two_products<T, HEAD, TILES, READ>(s, dp, k_left, v_left, of_values, across + place,
				                                   across + place + OTHER);
				if constexpr (LOCAL)
					mask_local<TILES, true>(s, corner - i, local);
				else if (begin + i < first_key + 16 * TILES - 1)
					mask<TILES, true>(s, corner - i);
#pragma unroll
				for (int n = 0; n < 2; n++) {
					const int column = i + 8 * n + lane % 4 * 2;
					float sums[2], delta[2];
					load(of_row + column, sums);
					load(of_row + STEP + column, delta);
					sums[0] *= LOG2_E;
					sums[1] *= LOG2_E;
#pragma unroll
					for (int m = 0; m < TILES; m++)
#pragma unroll
						for (int j = 0; j < 4; j++) {
							float p = exp2_fast(fmaf(s[m][n][j], scale, -sums[j & 1]));
							s[m][n][j] = p;
							dp[m][n][j] = p * (dp[m][n][j] - delta[j & 1]);
						}
				}
#pragma unroll
				for (int m = 0; m < TILES; m++) {
					pack_left<T>(p_left[m], s[m]);
					pack_left<T>(ds_left[m], dp[m]);
				}
				add_product<T, HEAD, TILES>(dv, p_left, down + place + OTHER);
				add_product<T, HEAD, TILES>(dk, ds_left, down + place);
			}
		}
		if (!more)
			break;
		begin = next;
		in_hand = head + group - left;
		next += STEP;
		if (next >= to) {
			next = from;
			left--;
			q += size;
			dy += size;
			at += a.tokens;
		}
	}

	T *out = static_cast<T *>(a.dqkv) + first_key_of(a);
	const float once[2] = {1, 1}, scaled[2] = {a.scale, a.scale};
#pragma unroll
	for (int m = 0; m < TILES; m++) {
		int r = row + 16 * m;
		tile_store<HEAD>(keys, r, dk[m], scaled, out, qkv_row, first + r, tokens, size, lane);
		tile_store<HEAD>(values, r, dv[m], once, out + a.kv_heads * size, qkv_row, first + r, tokens, size,
		                 lane);
	}
}

/* dQ, and δ for the pass over keys */
template <typename T, int HEAD, bool LOCAL>
__global__ void __launch_bounds__(THREADS) query_pass(const attention_arguments a)
{
	constexpr int TILES = shape<HEAD>::QUERY_TILES, QUERIES = shape<HEAD>::QUERIES, STEP = shape<HEAD>::STEP;
	constexpr uint32_t OTHER = 2 * STEP * HEAD * 2; /* from a row of K to that of V */
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * QUERIES, row = warp * 16 * TILES;
	const int head = static_cast<int>(blockIdx.y % static_cast<unsigned>(a.heads)), first_query = first + row;
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads), head);
	const T *qkv = static_cast<const T *>(a.qkv), *q = qkv + h.q, *k = qkv + h.k, *v = qkv + h.v;
	const T *dy = static_cast<const T *>(a.dy);
	const float scale = a.scale * LOG2_E;
	const local_rows local = {static_cast<int>(a.window), h.slope / a.scale};
	const int start = LOCAL ? first_tile(first, local.window, STEP) : 0;
	const int qkv_row = static_cast<int>(h.qkv_row), y_row = static_cast<int>(h.y_row);
	T *queries = shared_memory<T>(), *dys = queries + QUERIES * HEAD;
	T *keys = dys + QUERIES * HEAD, *values = keys + 2 * STEP * HEAD;
	const uint32_t of_queries = pieces_down<HEAD>(queries, lane) + rows_below<HEAD>(row);
	const uint32_t of_dys = pieces_down<HEAD>(dys, lane) + rows_below<HEAD>(row);
	const uint32_t across = pieces_across<HEAD>(keys, lane), down = pieces_down<HEAD>(keys, lane);

	uint32_t q_left[TILES][HEAD / 16][4], dy_left[TILES][HEAD / 16][4];
	float dq[TILES][HEAD / 8][4] = {}, sums[TILES][2], delta[TILES][2];
	tile_copy<HEAD, QUERIES, THREADS>(queries, q, qkv_row, first, tokens, size);
	tile_copy<HEAD, QUERIES, THREADS>(dys, dy + h.y, y_row, first, tokens, size);
	tile_copy<HEAD, STEP, THREADS>(keys, k, qkv_row, start, tokens, size);
	tile_copy<HEAD, STEP, THREADS>(values, v, qkv_row, start, tokens, size);
	cp_async_commit();

#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int side = 0; side < 2; side++) {
			const int query = first_query + 16 * m + lane / 4 + 8 * side, row_of = min(query, tokens - 1);
			const int64_t at = h.y + row_of * h.y_row;
			delta[m][side] = row_delta<T, HEAD>(static_cast<const T *>(a.y) + at, dy + at, size, lane);
			sums[m][side] = query < tokens ? a.log_sum_exp[h.row + query] * LOG2_E : INFINITY;
			if (lane % 4 == 0 && query < tokens)
				a.delta[h.row + query] = delta[m][side];
		}

	const int last = min(first + QUERIES, tokens);
	for (int begin = start, buffer = 0; begin < last; begin += STEP, buffer ^= 1) {
		cp_async_wait<0>();
		__syncthreads();
		if (begin + STEP < last) {
			int next = (buffer ^ 1) * STEP * HEAD;
			tile_copy<HEAD, STEP, THREADS>(keys + next, k, qkv_row, begin + STEP, tokens, size);
			tile_copy<HEAD, STEP, THREADS>(values + next, v, qkv_row, begin + STEP, tokens, size);
		}
		cp_async_commit();
		if (begin == start) {
#pragma unroll
			for (int m = 0; m < TILES; m++)
#pragma unroll
				for (int step = 0; step < HEAD / 16; step++) {
					tile_left<HEAD>(q_left[m][step], of_queries + rows_below<HEAD>(16 * m), step);
					tile_left<HEAD>(dy_left[m][step], of_dys + rows_below<HEAD>(16 * m), step);
				}
		}
		/* the lane's first query, counted from its first key */
		const int corner = first_query + lane / 4 - lane % 4 * 2 - begin;
#pragma unroll 1
		for (int i = 0; i < STEP && begin + i < first_query + 16 * TILES; i += 16) {
			if (LOCAL && begin + i + 15 <= first_query - local.window)
				continue; /* earlier than all windows of this warp */
			float s[TILES][2][4], dp[TILES][2][4];
			uint32_t ds_left[TILES][4];
			const uint32_t place = rows_below<HEAD>(buffer * STEP + i);
			two_products<T, HEAD, TILES, 0>(s, dp, q_left, dy_left, of_dys, across + place,
			                                across + place + OTHER);
			if constexpr (LOCAL)
				mask_local<TILES, false>(s, corner - i, local);
			else if (begin + i + 15 > first_query)
				mask<TILES, false>(s, corner - i);
#pragma unroll
			for (int m = 0; m < TILES; m++) {
#pragma unroll
				for (int n = 0; n < 2; n++)
#pragma unroll
					for (int j = 0; j < 4; j++) {
						float p = exp2_fast(fmaf(s[m][n][j], scale, -sums[m][j >> 1]));
						dp[m][n][j] = p * (dp[m][n][j] - delta[m][j >> 1]);
					}
				pack_left<T>(ds_left[m], dp[m]);
			}
			add_product<T, HEAD, TILES>(dq, ds_left, down + place);
		}
	}

	const float scaled[2] = {a.scale, a.scale};
#pragma unroll
	for (int m = 0; m < TILES; m++)
		tile_store<HEAD>(queries, row + 16 * m, dq[m], scaled, static_cast<T *>(a.dqkv) + h.q, h.qkv_row,
		                 first_query + 16 * m, tokens, size, lane);
}

template <typename T, int HEAD> int run(kernel_stream s, const attention_arguments &a)
{
	unsigned heads = static_cast<unsigned>(a.samples * a.heads);
	dim3 by_keys(static_cast<unsigned>((a.tokens + shape<HEAD>::KEYS - 1) / shape<HEAD>::KEYS),
	             static_cast<unsigned>(a.kv_heads), static_cast<unsigned>(a.samples));
	dim3 by_queries(static_cast<unsigned>((a.tokens + shape<HEAD>::QUERIES - 1) / shape<HEAD>::QUERIES), heads);
	const bool local = is_local(a);
	int error = launch(local ? query_pass<T, HEAD, true> : query_pass<T, HEAD, false>, by_queries, dim3(THREADS),
	                   shape<HEAD>::QUERY_BYTES, s, a);
	return error ? error
	             : launch(local ? key_pass<T, HEAD, true> : key_pass<T, HEAD, false>, by_keys, dim3(THREADS),
	                      shape<HEAD>::KEY_BYTES, s, a);
}

} // namespace

int attention_backward_tensor(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return with_head(type, a->size, [&](auto tag, auto head) {
		return run<typename decltype(tag)::type, decltype(head)::value>(s, *a);
	});
}
