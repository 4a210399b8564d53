/* Rotary embedding, and the norms of heads before it. A warp has a head of one token, lane l its pairs l, l + 32, …, at
 * most 4 of them. Backward, blocks stay for many tokens, and their warps sum up the norms' gradients in registers, of
 * queries, then of keys; blocks leave their sums in the workspace, and a second kernel adds those, in one order. */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256, WARPS = THREADS / WARP, MOST = ROTARY_PAIRS / WARP };

struct rotary_task {
	int64_t rows, tokens, first;
	int heads, kv_heads, size;
	float epsilon, amplitude;
	float frequency[ROTARY_PAIRS];
	const void *from, *x, *q_norm, *k_norm;
	void *to;
	float *parts; /* [block][2][size] */
};

rotary_task task_of(const struct rotary_shape *s, const void *q_norm, const void *k_norm)
{
	rotary_task t = {};
	t.rows = s->samples * s->tokens;
	t.tokens = s->tokens;
	t.first = s->first;
	t.heads = static_cast<int>(s->heads);
	t.kv_heads = static_cast<int>(s->kv_heads);
	t.size = static_cast<int>(s->head_size);
	t.epsilon = s->epsilon;
	t.amplitude = s->amplitude;
	t.q_norm = q_norm;
	t.k_norm = k_norm;
	for (int i = 0; i < t.size / 2; i++)
		t.frequency[i] = s->frequency[i];
	return t;
}

/* A lane's elements of a head: the first and the second of its pairs. */
struct pairs {
	float first[MOST], second[MOST];
};

template <typename T> __device__ __forceinline__ void load_pairs(const T *head, int size, int lane, pairs &p)
{
#pragma unroll
	for (int i = 0; i < MOST; i++) {
		const int place = lane + i * WARP;
		const bool valid = place < size / 2;
		p.first[i] = valid ? widen(head[place]) : 0;
		p.second[i] = valid ? widen(head[size / 2 + place]) : 0;
	}
}

template <typename T> __device__ __forceinline__ void store_pairs(T *head, int size, int lane, const pairs &p)
{
#pragma unroll
	for (int i = 0; i < MOST; i++) {
		const int place = lane + i * WARP;
		if (place < size / 2) {
			narrow(p.first[i], head[place]);
			narrow(p.second[i], head[size / 2 + place]);
		}
	}
}

__device__ __forceinline__ float warp_product(const pairs &a, const pairs &b)
{
	float sum = 0;
#pragma unroll
	for (int i = 0; i < MOST; i++)
		sum += a.first[i] * b.first[i] + a.second[i] * b.second[i];
	return warp_reduce(sum, sum_of());
}

/* The frequencies of a lane's pairs, which stay in registers: 32 lanes read 32 places of what all have alike. */
struct lane_frequencies {
	float at[MOST];

	__device__ lane_frequencies(const rotary_task &t, int lane)
	{
#pragma unroll
		for (int i = 0; i < MOST; i++)
			at[i] = t.frequency[lane + i * WARP];
	}
};

/* Turns each pair by the token's angle; with `direction` −1, back. */
__device__ __forceinline__ void turn(const rotary_task &t, const lane_frequencies &frequency, int64_t token,
                                     float direction, int lane, pairs &p)
{
#pragma unroll
	for (int i = 0; i < MOST; i++) {
		const int place = lane + i * WARP;
		if (place >= t.size / 2)
			continue;
		const float angle = static_cast<float>(token) * frequency.at[i];
		const float cosine = t.amplitude * cosf(angle), sine = direction * t.amplitude * sinf(angle);
		const float first = p.first[i] * cosine - p.second[i] * sine;
		p.second[i] = p.second[i] * cosine + p.first[i] * sine;
		p.first[i] = first;
	}
}

/* The first element of a head in a row; heads of values come last. */
__device__ __forceinline__ int64_t head_place(const rotary_task &t, int64_t row, int head)
{
	return (row * (t.heads + 2 * t.kv_heads) + head) * t.size;
}

template <typename T> __device__ __forceinline__ const T *norm_of(const rotary_task &t, int head)
{
	return static_cast<const T *>(head < t.heads ? t.q_norm : t.k_norm);
}

template <typename T> __device__ __forceinline__ void copy_head(const rotary_task &t, int64_t place, int lane)
{
	for (int i = lane; i < t.size; i += WARP)
		static_cast<T *>(t.to)[place + i] = static_cast<const T *>(t.from)[place + i];
}

/* One warp takes one head. */
template <typename T> __global__ void __launch_bounds__(THREADS) forward(const rotary_task t)
{
	const int lane = static_cast<int>(threadIdx.x) % WARP, all = t.heads + 2 * t.kv_heads;
	const lane_frequencies frequency(t, lane);
	int64_t i = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; i < t.rows * all; i += static_cast<int64_t>(gridDim.x) * WARPS) {
		const int64_t row = i / all;
		const int head = static_cast<int>(i % all);
		const int64_t place = head_place(t, row, head);
		if (head >= t.heads + t.kv_heads) {
			copy_head<T>(t, place, lane);
			continue;
		}
		pairs p, weight;
		load_pairs(static_cast<const T *>(t.from) + place, t.size, lane, p);
		if (t.q_norm) {
			const float inverse = 1 / sqrtf(warp_product(p, p) / static_cast<float>(t.size) + t.epsilon);
			load_pairs(norm_of<T>(t, head), t.size, lane, weight);
#pragma unroll
			for (int j = 0; j < MOST; j++) {
				p.first[j] *= inverse * weight.first[j];
				p.second[j] *= inverse * weight.second[j];
			}
		}
		turn(t, frequency, t.first + row % t.tokens, 1, lane, p);
		store_pairs(static_cast<T *>(t.to) + place, t.size, lane, p);
	}
}

/* dz becomes dx, and what it adds to the weight's gradient is added. */
template <typename T>
__device__ __forceinline__ void norm_backward(const rotary_task &t, int head, int64_t place, int lane, pairs &dz,
                                              pairs &sum)
{
	pairs x, weight;
	load_pairs(static_cast<const T *>(t.x) + place, t.size, lane, x);
	load_pairs(norm_of<T>(t, head), t.size, lane, weight);
	const float width = static_cast<float>(t.size), inverse = 1 / sqrtf(warp_product(x, x) / width + t.epsilon);
#pragma unroll
	for (int j = 0; j < MOST; j++) {
		sum.first[j] += dz.first[j] * x.first[j] * inverse;
		sum.second[j] += dz.second[j] * x.second[j] * inverse;
		dz.first[j] *= weight.first[j];
		dz.second[j] *= weight.second[j];
	}
	const float slope = warp_product(dz, x) / width * inverse * inverse;
#pragma unroll
	for (int j = 0; j < MOST; j++) {
		dz.first[j] = (dz.first[j] - x.first[j] * slope) * inverse;
		dz.second[j] = (dz.second[j] - x.second[j] * slope) * inverse;
	}
}

/* The warps' sums, added up in shared memory and left in the workspace. */
__device__ __forceinline__ void sums_store(const rotary_task &t, int which, int lane, const pairs &sum)
{
	__shared__ float sums[WARPS][2 * ROTARY_PAIRS];
	const int warp = static_cast<int>(threadIdx.x) / WARP;
	__syncthreads(); /* an earlier call's values have been read */
	store_pairs(sums[warp], t.size, lane, sum);
	__syncthreads();
	for (int i = static_cast<int>(threadIdx.x); i < t.size; i += THREADS) {
		float total = 0;
		for (int w = 0; w < WARPS; w++)
			total += sums[w][i];
		t.parts[(static_cast<int64_t>(blockIdx.x) * 2 + which) * t.size + i] = total;
	}
}

/* A warp goes through heads [begin, end) of its rows. */
template <typename T>
__device__ __forceinline__ void heads_backward(const rotary_task &t, int begin, int end, int lane, pairs &sum)
{
	const int64_t warps = static_cast<int64_t>(gridDim.x) * WARPS, heads = end - begin;
	const lane_frequencies frequency(t, lane);
	int64_t i = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; i < t.rows * heads; i += warps) {
		const int64_t row = i / heads;
		const int head = begin + static_cast<int>(i % heads);
		const int64_t place = head_place(t, row, head);
		pairs p;
		load_pairs(static_cast<const T *>(t.from) + place, t.size, lane, p);
		turn(t, frequency, t.first + row % t.tokens, -1, lane, p);
		if (t.q_norm)
			norm_backward<T>(t, head, place, lane, p, sum);
		store_pairs(static_cast<T *>(t.to) + place, t.size, lane, p);
	}
}

template <typename T> __global__ void __launch_bounds__(THREADS) backward(const rotary_task t)
{
	const int lane = static_cast<int>(threadIdx.x) % WARP, keys = t.heads + t.kv_heads;
	for (int which = 0; which < 2; which++) {
		pairs sum = {};
		heads_backward<T>(t, which ? t.heads : 0, which ? keys : t.heads, lane, sum);
		if (t.q_norm)
			sums_store(t, which, lane, sum);
	}
	int64_t i = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
	for (; i < t.rows * t.kv_heads; i += static_cast<int64_t>(gridDim.x) * WARPS)
		copy_head<T>(t, head_place(t, i / t.kv_heads, keys + static_cast<int>(i % t.kv_heads)), lane);
}

} // namespace

CUDA_KERNEL(rotary_forward)
{
	rotary_task t = task_of(shape, q_norm, k_norm);
	t.from = x;
	t.to = y;
	return with_type(shape->type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		unsigned blocks = blocks_for(t.rows * (t.heads + 2 * t.kv_heads), WARPS, passing_blocks(c));
		return launch(forward<T>, blocks, THREADS, 0, s, t);
	});
}

CUDA_KERNEL(rotary_backward)
{
	rotary_task t = task_of(shape, q_norm, k_norm);
	int64_t most = columns_most_parts(c, 2, t.size);
	t.from = dy;
	t.x = x;
	t.to = dx;
	t.parts = static_cast<float *>(c->workspace);
	if (most < 1)
		return CUDA_ERROR_WORKSPACE;
	return with_type(shape->type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		int64_t enough =
		        q_norm ? smaller(most, static_cast<int64_t>(c->multiprocessors) * 8) : passing_blocks(c);
		unsigned blocks = blocks_for(t.rows * t.heads, WARPS, enough);
		T *sums[] = {static_cast<T *>(dq_norm), static_cast<T *>(dk_norm)};
		const bool accumulate[] = {accumulate_q, accumulate_k};
		int error = launch(backward<T>, blocks, THREADS, 0, s, t);
		return error || !q_norm ? error : columns_finish<2>(s, t.size, blocks, t.parts, sums, accumulate);
	});
}
