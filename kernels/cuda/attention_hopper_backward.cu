/* Attention backward by wgmma, for compute capability 9.0: the two passes of attention_backward.cu, so that every sum
 * has one owner and one order, with products of 64 rows by whole warpgroups and arithmetic beside them:
 *
 *     over keys, tile j of queries       Sᵀ  = K · Q[j]ᵀ                      ─────
 *                                        dPᵀ = V · dY[j]ᵀ                          ─────
 *                                        dV += P[j−1]ᵀ · dY[j−1]                        ─────
 *                                        dK += dS[j−1]ᵀ · Q[j−1]                             ─────
 *                                        P = e^(S − log_sum_exp)                   ·····
 *                                        dS = P ∘ (dP − δ)                              ·····
 *
 * and over queries likewise, without dV. The others' rows come by 64 at a time, in three places: one is being read, one
 * holds the tile before, one is being filled. So one barrier a tile is enough. Where registers have no room for that,
 * the last two products follow in the same tile, and two places do. */
#include "kernels/cuda/attention_hopper.cuh"

namespace
{

/* A block is one warpgroup with 64 rows of its own: blocks that share a multiprocessor run beside each other better
 * than warpgroups that wait for each other (1.2 times as fast on an H200, of heads of 64 and 1024 tokens). */
enum { THREADS = WARPGROUP, OWNED = 64, STEP = 64 };

template <int HEAD> struct shape {
	/* Products with a tile's weights wait for the next tile's, where registers hold both. */
	static constexpr bool DEFERRED = HEAD <= 64;
	static constexpr int PLACES = DEFERRED ? 3 : 2;
	static constexpr int BYTES = SWIZZLE_BYTES + (2 * OWNED + 2 * PLACES * STEP) * HEAD * 2 + PLACES * 2 * STEP * 4;
};

#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* Begins to copy log_sum_exp and δ of the queries from `first` on, those of the head beginning at `row`. Beyond the
 * last they are 0, as are the rows of Q and dY: P is then 1, dS 0, and neither adds anything. */
__device__ __forceinline__ void rows_copy(float *to, const attention_arguments &a, int64_t row, int first, int tokens)
{
	const int i = static_cast<int>(threadIdx.x), query = first + i % STEP;
	const float *from = (i < STEP ? a.log_sum_exp : a.delta) + row;
	if (i < 2 * STEP)
		cp_async_4(to + i, from + query, query < tokens);
}

/* Hides, of columns counted from the lane's first, those before `diagonal` where they are queries, or those after it
 * where they are keys; the lane's lower row is 8 further on. */
template <bool BEFORE> __device__ __forceinline__ void mask(float (&s)[STEP / 8][4], int diagonal)
{
#pragma unroll
	for (int n = 0; n < STEP / 8; n++)
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const int place = 8 * n + (i & 1) - (i >> 1) * 8;
			if (BEFORE ? place < diagonal : place > diagonal)
				s[n][i] = -INFINITY;
		}
}

/* A tile's head (among those that share the keys) and its first query. */
struct passing {
	int head, begin;
};

/* Begins to copy tile `t` of a block's pass over queries: Q, dY, and the rows' sums. */
template <int HEAD, typename T>
__device__ __forceinline__ void copy_queries(T *queries, T *dys, float *rows, const attention_arguments &a,
                                             unsigned sample, unsigned first_head, const passing &at)
{
	const attention_head<T> h(a, sample, first_head + static_cast<unsigned>(at.head));
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	halves_copy<HEAD, STEP, THREADS>(queries, static_cast<const T *>(a.qkv) + h.q, static_cast<int>(h.qkv_row),
	                                 at.begin, tokens, size);
	halves_copy<HEAD, STEP, THREADS>(dys, static_cast<const T *>(a.dy) + h.y, static_cast<int>(h.y_row), at.begin,
	                                 tokens, size);
	rows_copy(rows, a, h.row, at.begin, tokens);
}

/* P of owned keys: a column is a query, whose sums are from `sums` on. `diagonal`: the lane's first key, counted from
 * its first query. */
__device__ __forceinline__ void probabilities_of_keys(float (&s)[STEP / 8][4], const float *sums, float scale,
                                                      bool masked, int diagonal, int lane)
{
	if (masked)
		mask<true>(s, diagonal);
#pragma unroll
	for (int n = 0; n < STEP / 8; n++) {
		float of_row[2];
		load(sums + 8 * n + lane % 4 * 2, of_row);
#pragma unroll
		for (int i = 0; i < 4; i++)
			s[n][i] = exp2_fast(fmaf(s[n][i], scale, -LOG2_E * of_row[i & 1]));
	}
}

/* dS, in place of dP. */
__device__ __forceinline__ void gradients_of_keys(float (&dp)[STEP / 8][4], const float (&p)[STEP / 8][4],
                                                  const float *delta, int lane)
{
#pragma unroll
	for (int n = 0; n < STEP / 8; n++) {
		float of_row[2];
		load(delta + 8 * n + lane % 4 * 2, of_row);
#pragma unroll
		for (int i = 0; i < 4; i++)
			dp[n][i] = p[n][i] * (dp[n][i] - of_row[i & 1]);
	}
}

/* The same of owned queries, whose two rows a lane has. `diagonal`: the lane's first query, counted from its first
 * key. */
__device__ __forceinline__ void probabilities_of_queries(float (&s)[STEP / 8][4], const float (&sums)[2], float scale,
                                                         bool masked, int diagonal)
{
	if (masked)
		mask<false>(s, diagonal);
#pragma unroll
	for (int n = 0; n < STEP / 8; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			s[n][i] = exp2_fast(fmaf(s[n][i], scale, -sums[i >> 1]));
}

__device__ __forceinline__ void gradients_of_queries(float (&dp)[STEP / 8][4], const float (&p)[STEP / 8][4],
                                                     const float (&delta)[2])
{
#pragma unroll
	for (int n = 0; n < STEP / 8; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			dp[n][i] = p[n][i] * (dp[n][i] - delta[i >> 1]);
}

#endif

/* dK and dV */
template <typename T, int HEAD> __global__ void __launch_bounds__(THREADS, 1) key_pass(const attention_arguments a)
{
#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(blockIdx.x) * OWNED, row = 16 * warp;
	const unsigned kv_heads = static_cast<unsigned>(a.kv_heads), group = static_cast<unsigned>(heads_a_key(a));
	const unsigned sample = blockIdx.y / kv_heads, first_head = blockIdx.y % kv_heads * group;
	const attention_head<T> own(a, sample, first_head);
	const T *qkv = static_cast<const T *>(a.qkv);
	const float scale = a.scale * LOG2_E;
	/* queries before a block's keys see none of them */
	const int tiles = (tokens - first + STEP - 1) / STEP, count = tiles * static_cast<int>(group);
	const int corner = first + row + lane / 4 - lane % 4 * 2;

	constexpr int TILE = STEP * HEAD, PLACES = shape<HEAD>::PLACES;
	constexpr bool DEFERRED = shape<HEAD>::DEFERRED;
	T *keys = patterns_begin<T>(), *values = keys + OWNED * HEAD, *queries = values + OWNED * HEAD;
	T *dys = queries + PLACES * TILE;
	float *rows = reinterpret_cast<float *>(dys + PLACES * TILE);
	const uint32_t of_keys = shared_address(keys), of_values = shared_address(values);
	uint32_t of_queries = shared_address(queries), of_dys = shared_address(dys);

	float s[STEP / 8][4], dp[STEP / 8][4], dk[HEAD / 8][4] = {}, dv[HEAD / 8][4] = {};
	uint32_t p_left[STEP / 16][4] = {}, ds_left[STEP / 16][4] = {};

	halves_copy<HEAD, OWNED, THREADS>(keys, qkv + own.k, static_cast<int>(own.qkv_row), first, tokens, size);
	halves_copy<HEAD, OWNED, THREADS>(values, qkv + own.v, static_cast<int>(own.qkv_row), first, tokens, size);
	passing next = {0, first};
	copy_queries<HEAD>(queries, dys, rows, a, sample, first_head, next);
	cp_async_commit();

	int place = 0;
#pragma unroll 1
	for (int t = 0; t < count; t++) {
		const int begin = next.begin;
		const float *sums = rows + place * 2 * STEP;
		const uint32_t queries_before = of_queries, dys_before = of_dys;
		of_queries = shared_address(queries + place * TILE);
		of_dys = shared_address(dys + place * TILE);
		arrived();
		next.begin += STEP;
		if (next.begin >= tokens)
			next = {next.head + 1, first};
		place = place + 1 < PLACES ? place + 1 : 0;
		if (t + 1 < count)
			copy_queries<HEAD>(queries + place * TILE, dys + place * TILE, rows + place * 2 * STEP, a,
			                   sample, first_head, next);
		cp_async_commit();

		wgmma_fence();
		row_products<T, HEAD, OWNED, STEP>(s, of_keys, of_queries);
		row_products<T, HEAD, OWNED, STEP>(dp, of_values, of_dys);
		if constexpr (DEFERRED) { /* the first time of nothing: zeros times the first tile */
			add_products<T, HEAD, STEP>(dv, p_left, t ? dys_before : of_dys);
			add_products<T, HEAD, STEP>(dk, ds_left, t ? queries_before : of_queries);
			wgmma_wait<3>();
		} else {
			wgmma_wait<0>();
		}
		probabilities_of_keys(s, sums, scale, begin < first + row + 15, corner - begin, lane);
		if constexpr (DEFERRED)
			wgmma_wait<2>();
		gradients_of_keys(dp, s, sums + STEP, lane);
		wgmma_wait<0>();
		pack_left_operand<T>(p_left, s);
		pack_left_operand<T>(ds_left, dp);
		if constexpr (!DEFERRED) {
			wgmma_fence();
			add_products<T, HEAD, STEP>(dv, p_left, of_dys);
			add_products<T, HEAD, STEP>(dk, ds_left, of_queries);
			wgmma_wait<0>();
		}
	}
	if constexpr (DEFERRED) {
		wgmma_fence();
		add_products<T, HEAD, STEP>(dv, p_left, of_dys);
		add_products<T, HEAD, STEP>(dk, ds_left, of_queries);
		wgmma_wait<0>();
	}
	__syncthreads();

	T *out = static_cast<T *>(a.dqkv);
	const float once[2] = {1, 1}, scaled[2] = {a.scale, a.scale};
	tile_store<HEAD>(keys, row, dk, scaled, out + own.k, own.qkv_row, first + row, tokens, size, lane);
	tile_store<HEAD>(values, row, dv, once, out + own.v, own.qkv_row, first + row, tokens, size, lane);
#else
	(void)a;
#endif
}

/* dQ, and δ for the pass over keys */
template <typename T, int HEAD> __global__ void __launch_bounds__(THREADS, 1) query_pass(const attention_arguments a)
{
#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * OWNED, row = 16 * warp;
	const int corner = first + row + lane / 4 - lane % 4 * 2;
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads),
	                          blockIdx.y % static_cast<unsigned>(a.heads));
	const T *qkv = static_cast<const T *>(a.qkv), *k = qkv + h.k, *v = qkv + h.v;
	const T *dy = static_cast<const T *>(a.dy) + h.y, *y = static_cast<const T *>(a.y) + h.y;
	const float scale = a.scale * LOG2_E;
	const int qkv_row = static_cast<int>(h.qkv_row), last = min(first + OWNED, tokens);

	constexpr int TILE = STEP * HEAD, PLACES = shape<HEAD>::PLACES;
	constexpr bool DEFERRED = shape<HEAD>::DEFERRED;
	T *queries = patterns_begin<T>(), *dys = queries + OWNED * HEAD, *keys = dys + OWNED * HEAD;
	T *values = keys + PLACES * TILE;
	const uint32_t of_queries = shared_address(queries), of_dys = shared_address(dys);
	uint32_t of_keys = shared_address(keys);

	float s[STEP / 8][4], dp[STEP / 8][4], dq[HEAD / 8][4] = {}, sums[2], delta[2];
	uint32_t ds_left[STEP / 16][4] = {};

	halves_copy<HEAD, OWNED, THREADS>(queries, qkv + h.q, qkv_row, first, tokens, size);
	halves_copy<HEAD, OWNED, THREADS>(dys, dy, static_cast<int>(h.y_row), first, tokens, size);
	halves_copy<HEAD, STEP, THREADS>(keys, k, qkv_row, 0, tokens, size);
	halves_copy<HEAD, STEP, THREADS>(values, v, qkv_row, 0, tokens, size);
	cp_async_commit();
#pragma unroll
	for (int side = 0; side < 2; side++) {
		const int query = first + row + lane / 4 + 8 * side;
		const int64_t at = min(query, tokens - 1) * h.y_row;
		delta[side] = row_delta<T, HEAD>(y + at, dy + at, size, lane);
		sums[side] = query < tokens ? a.log_sum_exp[h.row + query] * LOG2_E : INFINITY;
		if (lane % 4 == 0 && query < tokens)
			a.delta[h.row + query] = delta[side];
	}

	int place = 0;
#pragma unroll 1
	for (int begin = 0; begin < last; begin += STEP) {
		const uint32_t keys_before = of_keys, now = shared_address(keys + place * TILE);
		const uint32_t of_values = shared_address(values + place * TILE);
		arrived();
		place = place + 1 < PLACES ? place + 1 : 0;
		if (begin + STEP < last) {
			halves_copy<HEAD, STEP, THREADS>(keys + place * TILE, k, qkv_row, begin + STEP, tokens, size);
			halves_copy<HEAD, STEP, THREADS>(values + place * TILE, v, qkv_row, begin + STEP, tokens, size);
		}
		cp_async_commit();

		of_keys = now;
		wgmma_fence();
		row_products<T, HEAD, OWNED, STEP>(s, of_queries, of_keys);
		row_products<T, HEAD, OWNED, STEP>(dp, of_dys, of_values);
		if constexpr (DEFERRED) { /* the first time of nothing: zeros times the first tile */
			add_products<T, HEAD, STEP>(dq, ds_left, keys_before);
			wgmma_wait<2>();
		} else {
			wgmma_wait<1>();
		}
		probabilities_of_queries(s, sums, scale, begin + STEP - 1 > first + row, corner - begin);
		wgmma_wait<DEFERRED ? 1 : 0>();
		gradients_of_queries(dp, s, delta);
		wgmma_wait<0>();
		pack_left_operand<T>(ds_left, dp);
		if constexpr (!DEFERRED) {
			wgmma_fence();
			add_products<T, HEAD, STEP>(dq, ds_left, of_keys);
			wgmma_wait<0>();
		}
	}
	if constexpr (DEFERRED) {
		wgmma_fence();
		add_products<T, HEAD, STEP>(dq, ds_left, of_keys);
		wgmma_wait<0>();
	}
	__syncthreads();

	const float scaled[2] = {a.scale, a.scale};
	tile_store<HEAD>(queries, row, dq, scaled, static_cast<T *>(a.dqkv) + h.q, h.qkv_row, first + row, tokens, size,
	                 lane);
#else
	(void)a;
#endif
}

template <typename T, int HEAD> int run(kernel_stream s, const attention_arguments &a)
{
	const unsigned blocks = static_cast<unsigned>((a.tokens + OWNED - 1) / OWNED);
	const unsigned heads = static_cast<unsigned>(a.samples * a.heads);
	const unsigned kv_heads = static_cast<unsigned>(a.samples * a.kv_heads);
	int error = launch(query_pass<T, HEAD>, dim3(blocks, heads), dim3(THREADS), shape<HEAD>::BYTES, s, a);
	return error ? error
	             : launch(key_pass<T, HEAD>, dim3(blocks, kv_heads), dim3(THREADS), shape<HEAD>::BYTES, s, a);
}

template <typename T> int run_head(kernel_stream s, const attention_arguments &a)
{
	return a.size <= 64 ? run<T, 64>(s, a) : run<T, 128>(s, a);
}

} // namespace

int attention_backward_hopper(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return type == ELEMENT_BF16 ? run_head<__nv_bfloat16>(s, *a) : run_head<__half>(s, *a);
}
