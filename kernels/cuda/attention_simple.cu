/* Attention without tensor cores: fp32, and 16-bit heads whose size or address they do not take. A warp owns a row, 8
 * of them a block; 32 rows of what the row meets stand in shared memory as fp32. A lane makes the dot products of one
 * of these rows, and then adds up every 32nd column of the results. Sums run in one order. */
#include "kernels/cuda/attention.cuh"

namespace
{

enum { WARPS = 8, THREADS = WARPS * WARP, STEP = WARP, GROUPS = SIMPLE_HEAD / WARP };

static_assert((2 * WARPS * SIMPLE_HEAD + 2 * STEP * (SIMPLE_HEAD + 1)) * 4 <= 48 << 10, "what every device has");

/* Shared memory: two rows of each warp's own, and two tiles; their rows have an odd number of words, so that what 32
 * lanes read of 32 rows lies in 32 banks. */
struct tiles {
	int size, row;
	float *own, *own_second, *first, *second;

	__device__ tiles(int head_size, int warp) : size(head_size), row(head_size | 1)
	{
		float *all = shared_memory<float>();
		own = all + 2 * warp * size;
		own_second = own + size;
		first = all + 2 * WARPS * size;
		second = first + STEP * row;
	}

	template <typename T> __device__ void load_own(float *to, const T *from, bool valid, int lane) const
	{
		for (int d = lane; d < size; d += WARP)
			to[d] = valid ? widen(from[d]) : 0;
	}

	template <typename T>
	__device__ void load(float *to, const T *from, int64_t row_elements, int begin, int rows) const
	{
		for (int i = static_cast<int>(threadIdx.x); i < STEP * size; i += THREADS) {
			int r = i / size, d = i % size;
			to[r * row + d] = begin + r < rows ? widen(from[(begin + r) * row_elements + d]) : 0;
		}
	}

	__device__ float dot(const float *x, const float *tile, int lane) const
	{
		float sum = 0;
		for (int d = 0; d < size; d++)
			sum = fmaf(x[d], tile[lane * row + d], sum);
		return sum;
	}

	/* sums[j] += the lanes' weights · column lane + 32·j of the tile */
	__device__ void add(float sums[GROUPS], float weight, const float *tile, int lane) const
	{
		for (int i = 0; i < STEP; i++) {
			float w = __shfl_sync(WHOLE_WARP, weight, i);
#pragma unroll
			for (int j = 0; j < GROUPS; j++)
				if (lane + WARP * j < size)
					sums[j] = fmaf(w, tile[i * row + lane + WARP * j], sums[j]);
		}
	}

	template <typename T> __device__ void store(T *to, const float sums[GROUPS], float factor, int lane) const
	{
#pragma unroll
		for (int j = 0; j < GROUPS; j++)
			if (lane + WARP * j < size)
				narrow(sums[j] * factor, *(to + lane + WARP * j));
	}
};

__device__ float warp_maximum(float x)
{
	for (int i = WARP / 2; i; i /= 2)
		x = fmaxf(x, __shfl_xor_sync(WHOLE_WARP, x, i));
	return x;
}

template <typename T> __global__ void __launch_bounds__(THREADS) forward(const attention_arguments a)
{
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), block = static_cast<int>(blockIdx.x) * WARPS,
	          query = block + warp;
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads),
	                          blockIdx.y % static_cast<unsigned>(a.heads));
	const T *qkv = static_cast<const T *>(a.qkv), *q = qkv + h.q, *k = qkv + h.k, *v = qkv + h.v;
	const tiles t(static_cast<int>(a.size), warp);
	const int window = static_cast<int>(a.window);
	float output[GROUPS] = {}, maximum = -INFINITY, sum = 0;

	t.load_own(t.own, q + query * h.qkv_row, query < tokens, lane);
	for (int begin = first_tile<int>(block, window, STEP); begin < min(block + WARPS, tokens); begin += STEP) {
		__syncthreads();
		t.load(t.first, k, h.qkv_row, begin, tokens);
		t.load(t.second, v, h.qkv_row, begin, tokens);
		__syncthreads();
		const int ahead = begin + lane - query;
		if (query >= tokens || begin > query || begin + STEP - 1 <= query - window)
			continue;
		float s = fmaf(h.slope, static_cast<float>(ahead), t.dot(t.own, t.first, lane) * a.scale);
		s = ahead <= 0 && ahead > -window ? s : -INFINITY;
		float largest = fmaxf(maximum, warp_maximum(s)), p = expf(s - largest);
		float correction = expf(maximum - largest);
		maximum = largest;
		sum = fmaf(sum, correction, warp_reduce(p, sum_of()));
#pragma unroll
		for (int j = 0; j < GROUPS; j++)
			output[j] *= correction;
		t.add(output, p, t.second, lane);
	}
	if (query >= tokens)
		return;
	t.store(static_cast<T *>(a.y_out) + h.y + query * h.y_row, output, 1 / sum, lane);
	if (lane == 0)
		a.log_sum_exp_out[h.row + query] = maximum + logf(sum);
}

/* Rows of keys are owned, and meet the queries of all heads that share them; or rows of queries, and meet keys. */
template <typename T, bool KEYS> __global__ void __launch_bounds__(THREADS) backward(const attention_arguments a)
{
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int tokens = static_cast<int>(a.tokens), block = static_cast<int>(blockIdx.x) * WARPS,
	          owned = block + warp;
	const int64_t group = KEYS ? heads_a_key(a) : 1;
	const unsigned heads = static_cast<unsigned>(a.heads / group), sample = blockIdx.y / heads;
	const int64_t first = blockIdx.y % heads * group;
	const attention_head<T> own(a, sample, first);
	const T *qkv = static_cast<const T *>(a.qkv), *k = qkv + own.k, *v = qkv + own.v;
	const int64_t row = owned * own.qkv_row;
	const tiles t(static_cast<int>(a.size), warp);
	const int window = static_cast<int>(a.window);
	float dk_or_dq[GROUPS] = {}, dv[GROUPS] = {};

	t.load_own(t.own, (KEYS ? k : qkv + own.q) + row, owned < tokens, lane);
	t.load_own(t.own_second, KEYS ? v + row : static_cast<const T *>(a.dy) + own.y + owned * own.y_row,
	           owned < tokens, lane);
	const int from = KEYS ? block / STEP * STEP : first_tile<int>(block, window, STEP);
	const int to = min(KEYS ? block + WARPS - 1 + window : block + WARPS, tokens);
	for (int64_t g = 0; g < group; g++) {
		const attention_head<T> h(a, sample, first + g);
		const T *q = qkv + h.q, *dy = static_cast<const T *>(a.dy) + h.y;
		for (int begin = from; begin < to; begin += STEP) {
			__syncthreads();
			t.load(t.first, KEYS ? q : k, h.qkv_row, begin, tokens);
			t.load(t.second, KEYS ? dy : v, KEYS ? h.y_row : h.qkv_row, begin, tokens);
			__syncthreads();
			if (owned >= tokens || (KEYS ? begin + STEP <= owned : begin > owned))
				continue;
			if (KEYS ? begin >= owned + window : begin + STEP - 1 <= owned - window)
				continue;
			const int other = begin + lane, query = KEYS ? other : owned, key = KEYS ? owned : other;
			float s = t.dot(t.own, t.first, lane) * a.scale, dp = t.dot(t.own_second, t.second, lane),
			      p = 0, ds = 0;
			if (query < tokens && key <= query && key > query - window) {
				s = fmaf(h.slope, static_cast<float>(key - query), s);
				p = expf(s - a.log_sum_exp[h.row + query]);
				ds = p * (dp - a.delta[h.row + query]);
			}
			t.add(dk_or_dq, ds, t.first, lane);
			if (KEYS)
				t.add(dv, p, t.second, lane);
		}
	}
	if (owned >= tokens)
		return;
	T *out = static_cast<T *>(a.dqkv) + row;
	t.store(out + (KEYS ? own.k : own.q), dk_or_dq, a.scale, lane);
	if (KEYS)
		t.store(out + own.v, dv, 1, lane);
}

/* A warp a row. */
template <typename T> __global__ void __launch_bounds__(THREADS) make_delta(const attention_arguments a)
{
	const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
	const int64_t query = static_cast<int64_t>(blockIdx.x) * WARPS + warp;
	const attention_head<T> h(a, blockIdx.y / static_cast<unsigned>(a.heads),
	                          blockIdx.y % static_cast<unsigned>(a.heads));
	const T *y = static_cast<const T *>(a.y) + h.y + query * h.y_row;
	const T *dy = static_cast<const T *>(a.dy) + h.y + query * h.y_row;
	float sum = 0;
	if (query >= a.tokens)
		return;
	for (int64_t d = lane; d < a.size; d += WARP)
		sum = fmaf(widen(y[d]), widen(dy[d]), sum);
	sum = warp_reduce(sum, sum_of());
	if (lane == 0)
		a.delta[h.row + query] = sum;
}

int run(void (*kernel)(const attention_arguments), int64_t heads, size_t shared_bytes, kernel_stream s,
        const attention_arguments &a)
{
	dim3 grid(static_cast<unsigned>((a.tokens + WARPS - 1) / WARPS), static_cast<unsigned>(a.samples * heads));
	return launch(kernel, grid, dim3(THREADS), shared_bytes, s, a);
}

size_t shared_bytes(const attention_arguments &a)
{
	size_t size = static_cast<size_t>(a.size);
	return (2 * WARPS * size + 2 * STEP * (size | 1)) * sizeof(float);
}

template <typename T> int run_backward(kernel_stream s, const attention_arguments &a)
{
	int error = run(make_delta<T>, a.heads, 0, s, a);
	if (!error)
		error = run(backward<T, true>, a.kv_heads, shared_bytes(a), s, a);
	return error ? error : run(backward<T, false>, a.heads, shared_bytes(a), s, a);
}

} // namespace

int attention_forward_simple(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return run(type == ELEMENT_FP32   ? forward<float>
	           : type == ELEMENT_BF16 ? forward<__nv_bfloat16>
	                                  : forward<__half>,
	           a->heads, shared_bytes(*a), s, *a);
}

int attention_backward_simple(kernel_stream s, enum element type, const struct attention_arguments *a)
{
	return type == ELEMENT_FP32   ? run_backward<float>(s, *a)
	       : type == ELEMENT_BF16 ? run_backward<__nv_bfloat16>(s, *a)
	                              : run_backward<__half>(s, *a);
}
