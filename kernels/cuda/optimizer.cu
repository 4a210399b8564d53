/* AdamW and SGD over a flat shard: each number is read once and written once. What depends on the step alone (rate,
 * corrections, clipping) is worked out in double by the first thread of each block, from device memory, so that a
 * captured graph goes on counting; blocks stay for the whole shard. */
#include <cmath>
#include <initializer_list>
#include <type_traits>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 256, BLOCKS_EACH = 5 }; /* blocks that a multiprocessor has at once */

template <typename T> struct update_task {
	struct update u;
	int64_t n;
	T *parameters;
	const T *gradients;
	float *first, *second, *master; /* master NULL: the parameters themselves */
	bool stochastic;
};

struct factors {
	struct update_now now;
	struct adamw_factors adamw;
};

__device__ factors factors_of(const struct update &u)
{
	struct update_now now = update_now_of(&u);
	struct adamw a = {now.rate, u.beta1, u.beta2, u.epsilon, u.weight_decay};
	return {now, adamw_factors_of(&a, now.step)};
}

/* ---- stochastic rounding ---- */

__device__ __forceinline__ void narrow_random(float x, uint32_t, float &out)
{
	out = x;
}
template <typename T> __device__ __forceinline__ void narrow_random(float x, uint32_t bits, T &out)
{
	uint32_t from = __float_as_uint(x);
	uint16_t to = std::is_same<T, __half>::value ? round_to_fp16(from, bits) : round_to_bf16(from, bits);
	memcpy(&out, &to, sizeof to);
}

template <typename T, int V>
__device__ __forceinline__ void parameters_store(const update_task<T> &t, uint64_t key, int64_t i, const float (&p)[V])
{
	if (!t.stochastic) {
		store(t.parameters + i, p);
		return;
	}
	pack<T, V> e;
#pragma unroll
	for (int v = 0; v < V; v++)
		narrow_random(p[v], rounding_bits(key, element_number(&t.u.rounding.numbers, i + v)), e.at[v]);
	pack_store(t.parameters + i, e);
}

/* ---- updates ---- */

/* V elements from i on. */
template <bool ADAMW, typename T, int V>
__device__ __forceinline__ void update_elements(const update_task<T> &t, const factors &f, uint64_t key, int64_t i)
{
	float p[V], g[V], m[V], v[V];
	if (t.master)
		load(t.master + i, p);
	else
		load(t.parameters + i, p);
	load(t.gradients + i, g);
	if (ADAMW) {
		load(t.first + i, m);
		load(t.second + i, v);
	}
#pragma unroll
	for (int k = 0; k < V; k++) {
		g[k] *= f.now.gradient_factor;
		if (ADAMW) {
			m[k] = m[k] * t.u.beta1 + g[k] * f.adamw.rest1;
			v[k] = v[k] * t.u.beta2 + g[k] * g[k] * f.adamw.rest2;
			p[k] = p[k] * f.adamw.decay -
			       f.adamw.step_size * m[k] / (sqrtf(v[k]) * f.adamw.root_correction + t.u.epsilon);
		} else {
			p[k] -= f.now.rate * g[k];
		}
	}
	if (ADAMW) {
		store(t.first + i, m);
		store(t.second + i, v);
	}
	if (t.master)
		store(t.master + i, p);
	parameters_store<T, V>(t, key, i, p);
}

template <bool ADAMW, typename T, int V>
__global__ void __launch_bounds__(THREADS, BLOCKS_EACH) update_all(update_task<T> t)
{
	__shared__ factors shared;
	if (threadIdx.x == 0)
		shared = factors_of(t.u);
	__syncthreads();
	factors f = shared;
	__syncthreads();
	int64_t thread = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x, whole = t.n / V * V;
	int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
	/* Kept parameters are rounded as the update before rounded them; initial ones, to the nearest. */
	uint64_t key = rounding_key(t.u.rounding.seed, f.now.kept ? f.now.step - 1 : f.now.step);
	if (f.now.kept) {
		t.stochastic = t.stochastic && f.now.step > 1;
		if (t.u.keep_parameters && t.master)
			for (int64_t i = thread; i < t.n; i += step) {
				float p[1] = {t.master[i]};
				parameters_store<T, 1>(t, key, i, p);
			}
		return;
	}
	for (int64_t i = thread * V; i < whole; i += step * V)
		update_elements<ADAMW, T, V>(t, f, key, i);
	if (whole + thread < t.n)
		update_elements<ADAMW, T, 1>(t, f, key, whole + thread);
}

template <bool ADAMW>
int update_cuda(struct kernel_context *c, kernel_stream s, enum element type, const struct update *u, int64_t n,
                void *parameters, const void *gradients, float *first, float *second, float *master)
{
	return n == 0 ? 0 : with_type(type, [&](auto tag) {
		typedef typename decltype(tag)::type T;
		const bool narrows = sizeof(T) < 4;
		update_task<T> t = {*u,    n,      static_cast<T *>(parameters), static_cast<const T *>(gradients),
		                    first, second, narrows ? master : nullptr,   narrows && u->stochastic};
		constexpr int V = 4; /* 16 bytes of fp32 */
		bool packs = is_aligned(parameters, V * sizeof(T)) && is_aligned(gradients, V * sizeof(T)) &&
		             is_aligned(first, 16) && is_aligned(second, 16) && is_aligned(master, 16);
		unsigned blocks = blocks_for(n, V * THREADS, static_cast<int64_t>(c->multiprocessors) * BLOCKS_EACH);
		if (packs)
			return launch(update_all<ADAMW, T, V>, blocks, THREADS, 0, s, t);
		return launch(update_all<ADAMW, T, 1>, blocks, THREADS, 0, s, t);
	});
}

} // namespace

CUDA_KERNEL(adamw_update)
{
	return update_cuda<true>(c, s, type, update, n, parameters, gradients, first_moment, second_moment, master);
}

CUDA_KERNEL(sgd_update)
{
	return update_cuda<false>(c, s, type, update, n, parameters, gradients, nullptr, nullptr, master);
}
