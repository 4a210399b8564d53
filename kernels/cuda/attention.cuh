/* Shared by the versions of attention: their arguments, and tiles of 16-bit elements in shared memory.
 *
 * Versions, each a ladder's step:
 *
 *     attention_plain.cu            a thread makes a row; any type, any head size
 *     attention_simple.cu           tiles in shared memory, fp32 arithmetic; any type, heads of up to SIMPLE_HEAD
 *     attention_forward.cu, …       tensor cores; 16 bits, heads of multiples of 8 up to 128, 16-byte addresses
 *     attention_hopper.cu, …        the same for compute capability 9.0: products of whole warpgroups; backward without
 *                                   windows and ALiBi
 *
 * All are FlashAttention (arXiv 2205.14135, 2307.08691): a tile of queries meets one tile of keys after the other, the
 * softmax's maximum and sum are corrected as it goes, and only the logarithm of the sum is kept for the backward pass,
 * which makes the probabilities again. Tiles that are masked as a whole, by causality or a window, are not touched.
 *
 * LOCAL versions on tensor cores have a window or ALiBi; the others are spared what these cost.
 */
#ifndef SHARDLAB_CUDA_ATTENTION_CUH
#define SHARDLAB_CUDA_ATTENTION_CUH

#include <type_traits>

#include "kernels/alibi.h"
#include "kernels/cuda/tiles.cuh"

#define LOG2_E 1.4426950408889634F

/* Compilers before 12.8 hold less in the same registers: what would spill there keeps less, and the bits are the same.
 */
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 8
#define SPARE_REGISTERS
#endif

struct attention_arguments {
	int64_t samples, tokens, heads, kv_heads, size;
	const void *qkv, *y, *dy;
	void *y_out, *dqkv;
	const float *log_sum_exp;
	float *log_sum_exp_out;
	float *delta; /* workspace of all backward passes but the plain one: of each query the sum of dy · y */
	float scale;
	int64_t window; /* tokens where there is none */
	int64_t alibi_heads, first_head;
};

enum { SIMPLE_HEAD = 128 };

/* Each takes type from the shape that the arguments were made of; 0 or an error. */
int attention_forward_plain(kernel_stream s, enum element type, const struct attention_arguments *a);
int attention_backward_plain(kernel_stream s, enum element type, const struct attention_arguments *a);
int attention_forward_simple(kernel_stream s, enum element type, const struct attention_arguments *a);
int attention_backward_simple(kernel_stream s, enum element type, const struct attention_arguments *a);
int attention_forward_tensor(kernel_stream s, enum element type, const struct attention_arguments *a);
int attention_forward_hopper(kernel_stream s, enum element type, const struct attention_arguments *a);
int attention_backward_hopper(kernel_stream s, enum element type, const struct attention_arguments *a);
/* True where this device and the library have them, and they take the head. */
bool attention_hopper_takes(const struct kernel_context *c, int64_t head_size);
int attention_backward_tensor(kernel_stream s, enum element type, const struct attention_arguments *a);

/* The number of query heads that share a head of keys. */
__host__ __device__ inline int64_t heads_a_key(const attention_arguments &a)
{
	return a.heads / a.kv_heads;
}

__host__ __device__ inline bool is_local(const attention_arguments &a)
{
	return a.window < a.tokens || a.alibi_heads > 0;
}

/* The beginning of the first tile, of so many keys, of which the query sees any. */
template <typename I> __device__ __forceinline__ I first_tile(I query, I window, I keys)
{
	return query < window ? 0 : (query - window + 1) / keys * keys;
}

/* The place of one head's rows: a row of q, k or v is `qkv_row` elements after the last, one of y `y_row`. */
template <typename T> struct attention_head {
	int64_t qkv_row, y_row, q, k, v, y, row; /* first elements; row: in [samples, heads, tokens] */
	float slope;                             /* of ALiBi; 0: none */

	__device__ attention_head(const attention_arguments &a, int64_t sample, int64_t head)
	{
		int64_t of_keys = a.kv_heads * a.size;
		y_row = a.heads * a.size;
		qkv_row = y_row + 2 * of_keys;
		q = sample * a.tokens * qkv_row;
		k = q + y_row + head / heads_a_key(a) * a.size;
		v = k + of_keys;
		q += head * a.size;
		y = sample * a.tokens * y_row + head * a.size;
		row = (sample * a.heads + head) * a.tokens;
		slope = a.alibi_heads ? alibi_slope(a.alibi_heads, a.first_head + head) : 0;
	}
};

/* f(tag of the 16-bit type, HEAD) with the narrowest tiles that take heads of `size`. */
template <typename F> int with_head(enum element type, int64_t size, F f)
{
	auto of_type = [&](auto tag) {
		return size <= 32   ? f(tag, std::integral_constant<int, 32>())
		       : size <= 64 ? f(tag, std::integral_constant<int, 64>())
		       : size <= 96 ? f(tag, std::integral_constant<int, 96>())
		                    : f(tag, std::integral_constant<int, 128>());
	};
	return type == ELEMENT_BF16 ? of_type(type_tag<__nv_bfloat16>()) : of_type(type_tag<__half>());
}

/* ---- what a warp made, into memory ---- */

/* Sums of 16 rows × HEAD columns, times `factor` for the upper and lower 8 rows, rounded, by way of the warp's own
 * rows of a tile that no other warp reads any more, so that whole pieces are written. */
template <int HEAD, typename T>
static __device__ __forceinline__ void tile_store(T *tile, int row, const float sums[HEAD / 8][4],
                                                  const float factor[2], T *to, int64_t row_elements, int first,
                                                  int rows, int size, int lane)
{
	constexpr int PIECES = HEAD / PIECE;
	__syncwarp();
#pragma unroll
	for (int n = 0; n < HEAD / 8; n++) {
#pragma unroll
		for (int side = 0; side < 2; side++) {
			int place = piece<HEAD>(row + lane / 4 + 8 * side, n) + lane % 4 * 2;
			*reinterpret_cast<uint32_t *>(tile + place) =
			        pack_pair<T>(sums[n][2 * side] * factor[side], sums[n][2 * side + 1] * factor[side]);
		}
	}
	__syncwarp();
#pragma unroll
	for (int i = 0; i < 16 * PIECES / WARP; i++) {
		int index = i * WARP + lane, r = index / PIECES, number = index % PIECES;
		if (first + r < rows && number * PIECE < size)
			*reinterpret_cast<uint4 *>(to + (first + r) * row_elements + number * PIECE) =
			        *reinterpret_cast<const uint4 *>(tile + piece<HEAD>(row + r, number));
	}
}

/* ---- the backward pass's δ ---- */

/* δ of a row, from global memory; each of 4 lanes that are neighbours has a quarter of every 64 bytes. */
template <typename T, int HEAD>
static __device__ __forceinline__ float row_delta(const T *y, const T *dy, int size, int lane)
{
	float sum = 0;
#pragma unroll
	for (int i = 0; i < HEAD; i += 4 * PIECE) {
		const int column = i + lane % 4 * PIECE;
		float of_y[PIECE] = {}, of_dy[PIECE] = {};
		if (column < size) {
			load(y + column, of_y);
			load(dy + column, of_dy);
		}
#pragma unroll
		for (int j = 0; j < PIECE; j++)
			sum = fmaf(of_y[j], of_dy[j], sum);
	}
	sum += __shfl_xor_sync(WHOLE_WARP, sum, 1);
	return sum + __shfl_xor_sync(WHOLE_WARP, sum, 2);
}

/* ---- softmax of 16 rows, whose columns come a tile at a time ---- */

/* LOCAL's additional data about rows. slope: ALiBi's, divided by the scores' scale. */
struct local_rows {
	int window;
	float slope;
};

/* Adds ALiBi to S, and hides the keys that lie before a row's window. `seen` as below. */
template <int KEYS>
static __device__ __forceinline__ void softmax_local(float s[KEYS / 8][4], const local_rows &local, int seen, int lane)
{
	const int nearest = lane % 4 * 2 - (seen - 1);
#pragma unroll
	for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const int ahead = nearest + 8 * n + (i & 1) - (i >> 1) * 8; /* of the query */
			s[n][i] = ahead <= -local.window ? -INFINITY
			                                 : fmaf(local.slope, static_cast<float>(ahead), s[n][i]);
		}
}

/* S becomes e^(scale · S − maximum). `correction`: what sums and output were made with must be multiplied by it.
 * `seen`: how many keys of this tile the lane's upper row sees; its lower row sees 8 more. LOCAL rows may have seen
 * none yet: their maximum is −∞. */
template <int KEYS, bool LOCAL>
static __device__ __forceinline__ void softmax(float s[KEYS / 8][4], float maximum[2], float sum[2],
                                               float correction[2], float scale, bool masked, int seen, int lane,
                                               const local_rows &local)
{
	if constexpr (LOCAL)
		softmax_local<KEYS>(s, local, seen, lane);
	if (masked) {
		const int end = seen - lane % 4 * 2;
#pragma unroll
		for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
			for (int i = 0; i < 4; i++)
				if (8 * n + (i & 1) - (i >> 1) * 8 >= end)
					s[n][i] = -INFINITY;
	}
#pragma unroll
	for (int side = 0; side < 2; side++) {
		float largest = maximum[side];
#pragma unroll
		for (int n = 0; n < KEYS / 8; n++)
			largest = fmaxf(largest, fmaxf(s[n][2 * side], s[n][2 * side + 1]));
		largest = fmaxf(largest, __shfl_xor_sync(WHOLE_WARP, largest, 1));
		largest = fmaxf(largest, __shfl_xor_sync(WHOLE_WARP, largest, 2));
		const float from = LOCAL && largest == -INFINITY ? 0 : largest;
		float offset = from * scale, added = 0;
		correction[side] = exp2_fast((maximum[side] - from) * scale);
		maximum[side] = largest;
#pragma unroll
		for (int n = 0; n < KEYS / 8; n++) {
			float *x = s[n] + 2 * side;
			x[0] = exp2_fast(fmaf(x[0], scale, -offset));
			x[1] = exp2_fast(fmaf(x[1], scale, -offset));
			added += x[0] + x[1];
		}
		sum[side] = fmaf(sum[side], correction[side], added);
	}
}

template <int HEAD> static __device__ __forceinline__ void rescale(float output[HEAD / 8][4], const float correction[2])
{
#pragma unroll
	for (int n = 0; n < HEAD / 8; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			output[n][i] *= correction[i / 2];
}

/* Makes the factor of the output at the end, and writes log_sum_exp. `query`: the lane's upper row's. */
static __device__ __forceinline__ void softmax_end(float factor[2], const float maximum[2], const float sum[2],
                                                   const attention_arguments &a, int64_t row, int query, int tokens,
                                                   int lane)
{
#pragma unroll
	for (int side = 0; side < 2; side++) {
		float all = sum[side];
		all += __shfl_xor_sync(WHOLE_WARP, all, 1);
		all += __shfl_xor_sync(WHOLE_WARP, all, 2);
		factor[side] = 1 / all;
		if (lane % 4 == 0 && query + 8 * side < tokens)
			a.log_sum_exp_out[row + query + 8 * side] = maximum[side] * a.scale + logf(all);
	}
}

#endif
