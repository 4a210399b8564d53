/* A stable sort of small keys, 8 bits at a time: each pass counts a block's keys by digit, adds the counts up over
 * digits and blocks, and puts each key to its place. Within a block a warp takes its keys in their order, 32 at a time,
 * and lanes with the same digit are told apart by __match_any_sync: equal keys stay in their order, and the result is
 * the same each time. */
#ifndef SHARDLAB_CUDA_SORT_CUH
#define SHARDLAB_CUDA_SORT_CUH

#include "kernels/cuda/element.cuh"

static const int SORT_DIGITS = 256, SORT_WARPS = 8, SORT_ROUNDS = 8;
static const int SORT_WARP_KEYS = SORT_ROUNDS * WARP, SORT_KEYS = SORT_WARPS * SORT_WARP_KEYS; /* of a block */

/* A key is a token's row in the table, from 0 on; those outside are `count`, after all others. values NULL: 0, 1, … */
struct sort_pass {
	int n, shift;
	const int32_t *keys, *values;
	int32_t *keys_out, *values_out;
	int32_t *counts; /* [digits][blocks] */
};

static __global__ void __launch_bounds__(SORT_WARPS *WARP)
        sort_keys_kernel(int n, const int32_t *ids, int64_t first, int64_t count, int32_t *keys)
{
	int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n) {
		int64_t key = ids[i] - first;
		keys[i] = static_cast<int32_t>(key >= 0 && key < count ? key : count);
	}
}

static __global__ void __launch_bounds__(SORT_WARPS *WARP) sort_count_kernel(sort_pass p)
{
	__shared__ int histogram[SORT_DIGITS];
	int thread = static_cast<int>(threadIdx.x), begin = static_cast<int>(blockIdx.x) * SORT_KEYS + thread;
	int key[SORT_ROUNDS];
	histogram[thread] = 0;
#pragma unroll
	for (int round = 0; round < SORT_ROUNDS; round++) {
		int i = begin + round * SORT_WARPS * WARP;
		key[round] = i < p.n ? p.keys[i] : -1;
	}
	__syncthreads();
#pragma unroll
	for (int round = 0; round < SORT_ROUNDS; round++)
		if (key[round] >= 0)
			atomicAdd(&histogram[key[round] >> p.shift & (SORT_DIGITS - 1)], 1);
	__syncthreads();
	p.counts[thread * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)] = histogram[thread];
	__syncthreads();
}

/* counts become the sums of all before them. One block. */
static __global__ void __launch_bounds__(1024) sort_scan_kernel(int n, int32_t *counts)
{
	__shared__ int warps[WARP];
	int each = (n + 1023) / 1024, begin = static_cast<int>(threadIdx.x) * each, sum = 0;
	int end = begin + each < n ? begin + each : n, lane = static_cast<int>(threadIdx.x) % WARP;
	for (int i = begin; i < end; i++)
		sum += counts[i];
	int before = sum;
	for (int d = 1; d < WARP; d *= 2) {
		int other = __shfl_up_sync(WHOLE_WARP, before, static_cast<unsigned>(d));
		before += lane >= d ? other : 0;
	}
	if (lane == WARP - 1)
		warps[threadIdx.x / WARP] = before;
	__syncthreads();
	before -= sum;
	for (unsigned w = 0; w < threadIdx.x / WARP; w++)
		before += warps[w];
	for (int i = begin; i < end; i++) {
		int one = counts[i];
		counts[i] = before;
		before += one;
	}
}

static __global__ void __launch_bounds__(SORT_WARPS *WARP) sort_scatter_kernel(sort_pass p)
{
	__shared__ int place[SORT_WARPS][SORT_DIGITS];
	int thread = static_cast<int>(threadIdx.x), lane = thread % WARP, warp = thread / WARP;
	int begin = static_cast<int>(blockIdx.x) * SORT_KEYS + warp * SORT_WARP_KEYS + lane;
	int key[SORT_ROUNDS], value[SORT_ROUNDS];
#pragma unroll
	for (int round = 0; round < SORT_ROUNDS; round++) {
		int i = begin + round * WARP;
		key[round] = i < p.n ? p.keys[i] : -1; /* beyond the end: no digit's */
		value[round] = p.values && i < p.n ? p.values[i] : i;
	}
	for (int d = lane; d < SORT_DIGITS; d += WARP)
		place[warp][d] = 0;
	__syncwarp();
#pragma unroll
	for (int round = 0; round < SORT_ROUNDS; round++)
		if (key[round] >= 0)
			atomicAdd(&place[warp][key[round] >> p.shift & (SORT_DIGITS - 1)], 1);
	__syncthreads();
	/* counts of warps become where each begins */
	int next = p.counts[thread * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)];
	for (int w = 0; w < SORT_WARPS; w++) {
		int one = place[w][thread];
		place[w][thread] = next;
		next += one;
	}
	__syncthreads();
#pragma unroll
	for (int round = 0; round < SORT_ROUNDS; round++) {
		int digit = key[round] >> p.shift & (SORT_DIGITS - 1);
		bool is_there = key[round] >= 0;
		unsigned same = __match_any_sync(WHOLE_WARP, is_there ? static_cast<unsigned>(digit) : SORT_DIGITS);
		int rank = __popc(same & ((1U << lane) - 1)), to = place[warp][digit] + rank;
		__syncwarp();
		if (is_there && rank == 0)
			place[warp][digit] += __popc(same);
		__syncwarp();
		if (is_there) {
			p.keys_out[to] = key[round];
			p.values_out[to] = value[round];
		}
	}
	__syncthreads();
}

static inline int sort_blocks(int64_t n)
{
	return static_cast<int>((n + SORT_KEYS - 1) / SORT_KEYS);
}

/* The scratch of sort_tokens() for n keys, in 32-bit numbers. */
static inline int64_t sort_scratch(int64_t n)
{
	return 4 * n + static_cast<int64_t>(SORT_DIGITS) * sort_blocks(n);
}

/* n ≥ 1 token ids by their row in a table of `count` rows that begins at id `first`: keys in ascending order, and which
 * token each is of. */
static inline int sort_tokens(kernel_stream s, int64_t n, const int32_t *ids, int64_t first, int64_t count,
                              int32_t *scratch, const int32_t **keys, const int32_t **tokens)
{
	int32_t *k[2] = {scratch, scratch + n}, *v[2] = {scratch + 2 * n, scratch + 3 * n};
	unsigned blocks = static_cast<unsigned>(sort_blocks(n));
	int now = 0, threads = SORT_WARPS * WARP;
	int error = launch(sort_keys_kernel, blocks_for(n, threads, INT32_MAX), static_cast<unsigned>(threads), 0, s,
	                   static_cast<int>(n), ids, first, count, k[0]);
	sort_pass p = {static_cast<int>(n), 0, nullptr, nullptr, nullptr, nullptr, scratch + 4 * n};
	for (; !error && (p.shift == 0 || count >> p.shift); p.shift += 8, now = !now) {
		p.keys = k[now];
		p.values = p.shift ? v[now] : nullptr;
		p.keys_out = k[!now];
		p.values_out = v[!now];
		error = launch(sort_count_kernel, blocks, static_cast<unsigned>(threads), 0, s, p);
		if (!error)
			error = launch(sort_scan_kernel, 1, 1024, 0, s, SORT_DIGITS * static_cast<int>(blocks),
			               p.counts);
		if (!error)
			error = launch(sort_scatter_kernel, blocks, static_cast<unsigned>(threads), 0, s, p);
	}
	*keys = k[now];
	*tokens = v[now];
	return error;
}

#endif
