/* Attention forward by wgmma, for compute capability 9.0: what attention_forward.cu does, with products of 64 rows by
 * whole warpgroups and the softmax beside them (FlashAttention-3's overlap within a warpgroup, arXiv 2407.08608,
 * algorithm 2):
 *
 *     tile j     S = Q · K[j]ᵀ          ──────
 *                O += P · V[j−1]              ──────
 *                P = softmax(S)               ──────
 *
 * K[j+1] and V[j] come in by cp.async while S of tile j is made, so that one barrier a tile is enough. All lie in
 * shared memory as wgmma.cuh wants them: rows of 64 elements, those of 128 in two halves. */
#include "kernels/cuda/attention_hopper.cuh"

namespace
{

/* A block is one warpgroup with 64 queries: blocks that share a multiprocessor run beside each other better than
 * warpgroups that wait for each other, and of narrow heads it has four, since tiles of 64 keys leave registers for them
 * (1.37 times as fast on an H200 as two warpgroups and 128 keys, of 1024 tokens). */
enum { THREADS = WARPGROUP, QUERIES = 64 };

template <int HEAD> struct shape {
	static constexpr int KEYS = 64;
	/* a multiprocessor; what windows and ALiBi need does not fit into the registers of four */
	static constexpr int blocks(bool local)
	{
		return HEAD > 64 ? 2 : local ? 3 : 4;
	}
	static constexpr int BYTES = SWIZZLE_BYTES + (QUERIES + 4 * KEYS) * HEAD * 2 + THREADS * 8;
};

template <typename T, int HEAD, bool LOCAL>
__global__ void __launch_bounds__(THREADS, shape<HEAD>::blocks(LOCAL)) forward(const attention_arguments a)
{
#if defined(SHARDLAB_EMULATE) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
	constexpr int KEYS = shape<HEAD>::KEYS;
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), size = static_cast<int>(a.size);
	const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * QUERIES, row = 16 * warp;
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads),
	                          blockIdx.y % static_cast<unsigned>(a.heads));
	const T *qkv = static_cast<const T *>(a.qkv), *q = qkv + h.q, *k = qkv + h.k, *v = qkv + h.v;
	const float scale = a.scale * LOG2_E;
	const int qkv_row = static_cast<int>(h.qkv_row);
	const local_rows local = {static_cast<int>(a.window), h.slope / a.scale};
	const int start = LOCAL ? first_tile(first, local.window, static_cast<int>(KEYS)) : 0;
	const int tiles = (min(first + QUERIES, tokens) - start + KEYS - 1) / KEYS, upper = first + row + lane / 4;

	T *queries = patterns_begin<T>(), *keys = queries + QUERIES * HEAD, *values = keys + 2 * KEYS * HEAD;
	const uint32_t of_queries = shared_address(queries);
	const uint32_t of_keys = shared_address(keys), of_values = shared_address(values);
	constexpr uint32_t TILE_BYTES = KEYS * HEAD * 2;

	float s[KEYS / 8][4], output[HEAD / 8][4] = {}, maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {};
	float correction[2];
	uint32_t p[KEYS / 16][4];

	halves_copy<HEAD, QUERIES, THREADS>(queries, q, qkv_row, first, tokens, size);
	halves_copy<HEAD, KEYS, THREADS>(keys, k, qkv_row, start, tokens, size);
	cp_async_commit();
	arrived();
	if (tiles > 1)
		halves_copy<HEAD, KEYS, THREADS>(keys + KEYS * HEAD, k, qkv_row, start + KEYS, tokens, size);
	halves_copy<HEAD, KEYS, THREADS>(values, v, qkv_row, start, tokens, size);
	cp_async_commit();

	wgmma_fence();
	row_products<T, HEAD, QUERIES, KEYS>(s, of_queries, of_keys);
	wgmma_wait<0>();
	softmax<KEYS, LOCAL>(s, maximum, sum, correction, scale, start + KEYS - 1 > first + row, upper + 1 - start,
	                     lane, local);
	pack_left_operand<T>(p, s);

#pragma unroll 1
	for (int j = 1; j < tiles; j++) {
		const int now = j & 1, other = now ^ 1;
		arrived();
		wgmma_fence();
		row_products<T, HEAD, QUERIES, KEYS>(s, of_queries, of_keys + static_cast<uint32_t>(now) * TILE_BYTES);
		rescale<HEAD>(output, correction);
		wgmma_fence();
		add_products<T, HEAD, KEYS>(output, p, of_values + static_cast<uint32_t>(other) * TILE_BYTES);
		/* beside the products, which would wait for it */
		if (j + 1 < tiles)
			halves_copy<HEAD, KEYS, THREADS>(keys + other * KEYS * HEAD, k, qkv_row, start + (j + 1) * KEYS,
			                                 tokens, size);
		halves_copy<HEAD, KEYS, THREADS>(values + now * KEYS * HEAD, v, qkv_row, start + j * KEYS, tokens,
		                                 size);
		cp_async_commit();
		wgmma_wait<1>();
		softmax<KEYS, LOCAL>(s, maximum, sum, correction, scale, start + (j + 1) * KEYS - 1 > first + row,
		                     upper + 1 - start - j * KEYS, lane, local);
		wgmma_before(sum, of_values + 2 * TILE_BYTES + 8 * threadIdx.x);
		wgmma_wait<0>();
		pack_left_operand<T>(p, s);
	}

	arrived();
	rescale<HEAD>(output, correction);
	wgmma_fence();
	add_products<T, HEAD, KEYS>(output, p, of_values + static_cast<uint32_t>((tiles - 1) & 1) * TILE_BYTES);
	wgmma_wait<0>();

	float factor[2];
	softmax_end(factor, maximum, sum, a, h.row, upper, tokens, lane);
	tile_store<HEAD>(queries, row, output, factor, static_cast<T *>(a.y_out) + h.y, h.y_row, first + row, tokens,
	                 size, lane);
#else
	(void)a;
#endif
}

template <typename T, int HEAD> int run(kernel_stream s, const attention_arguments &a)
{
	dim3 grid(static_cast<unsigned>((a.tokens + QUERIES - 1) / QUERIES),
	          static_cast<unsigned>(a.samples * a.heads));
	return launch(is_local(a) ? forward<T, HEAD, true> : forward<T, HEAD, false>, grid, dim3(THREADS),
	              shape<HEAD>::BYTES, s, a);
}

template <typename T> int run_head(kernel_stream s, const attention_arguments &a)
{
	return a.size <= 64 ? run<T, 64>(s, a) : run<T, 128>(s, a);
}

} // namespace

int attention_forward_hopper(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return type == ELEMENT_BF16 ? run_head<__nv_bfloat16>(s, *a) : run_head<__half>(s, *a);
}

bool attention_hopper_takes(const struct kernel_context *c, int64_t head_size)
{
#if defined(SHARDLAB_EMULATE) || defined(SHARDLAB_HOPPER)
	return c->major == 9 && c->minor == 0 && head_size > 32 && head_size <= 128;
#else
	return false;
#endif
}
