/* Elements on the GPU: fp32 for sums, the type only in memory, 16 bytes at a time where addresses allow it. */
#ifndef SHARDLAB_CUDA_ELEMENT_CUH
#define SHARDLAB_CUDA_ELEMENT_CUH

#include <initializer_list>
#include <type_traits>

#include "kernels/cuda/device.cuh"

static __device__ __forceinline__ float widen(float x)
{
	return x;
}
static __device__ __forceinline__ float widen(__nv_bfloat16 x)
{
	return __bfloat162float(x);
}
static __device__ __forceinline__ float widen(__half x)
{
	return __half2float(x);
}

/* Rounds to the nearest, ties to even. */
static __device__ __forceinline__ void narrow(float x, float &out)
{
	out = x;
}
static __device__ __forceinline__ void narrow(float x, __nv_bfloat16 &out)
{
	out = __float2bfloat16_rn(x);
}
static __device__ __forceinline__ void narrow(float x, __half &out)
{
	out = __float2half_rn(x);
}

/* x as it would be when stored and loaded again. */
template <typename T> __device__ __forceinline__ float rounded(float x)
{
	T stored;
	narrow(x, stored);
	return widen(stored);
}

/* e^x: to 2 units in the last place for fp32; for 16 bits, which lose much more when they are stored, the fast one. */
template <typename T> __device__ __forceinline__ float exponential(float x)
{
	return exp2_fast(x * 1.44269504088896340736F);
}
template <> __device__ __forceinline__ float exponential<float>(float x)
{
	return expf(x);
}

/* Elements in 16 bytes: 4 or 8. */
template <typename T> __host__ __device__ constexpr int lanes_of()
{
	return static_cast<int>(16 / sizeof(T));
}

/* N elements that are read or written together. */
template <int BYTES> struct words {
	typedef uint4 type; /* as often as it takes */
};
template <> struct words<2> {
	typedef unsigned short type;
};
template <> struct words<4> {
	typedef unsigned type;
};
template <> struct words<8> {
	typedef uint2 type;
};

template <typename T, int N> struct pack {
	T at[N];
};

#ifdef SHARDLAB_EMULATE
template <typename T, int N> __forceinline__ void pack_load(const T *p, pack<T, N> &out)
{
	emulate_load(&out, p, sizeof out, sizeof(typename words<sizeof(T) * N>::type));
}
template <typename T, int N> __forceinline__ void pack_store(T *p, const pack<T, N> &in)
{
	emulate_store(p, &in, sizeof in, sizeof(typename words<sizeof(T) * N>::type));
}
#else
template <typename T, int N> __device__ __forceinline__ void pack_load(const T *p, pack<T, N> &out)
{
	typedef typename words<sizeof(T) * N>::type word;
	constexpr int count = static_cast<int>(sizeof out / sizeof(word));
	word w[count];
#pragma unroll
	for (int i = 0; i < count; i++)
		w[i] = reinterpret_cast<const word *>(p)[i];
	memcpy(&out, w, sizeof out);
}
template <typename T, int N> __device__ __forceinline__ void pack_store(T *p, const pack<T, N> &in)
{
	typedef typename words<sizeof(T) * N>::type word;
	constexpr int count = static_cast<int>(sizeof in / sizeof(word));
	word w[count];
	memcpy(w, &in, sizeof in);
#pragma unroll
	for (int i = 0; i < count; i++)
		reinterpret_cast<word *>(p)[i] = w[i];
}
#endif

template <typename T, int N> __device__ __forceinline__ void load(const T *p, float (&x)[N])
{
	pack<T, N> e;
	pack_load(p, e);
#pragma unroll
	for (int i = 0; i < N; i++)
		x[i] = widen(e.at[i]);
}

template <typename T, int N> __device__ __forceinline__ void store(T *p, const float (&x)[N])
{
	pack<T, N> e;
#pragma unroll
	for (int i = 0; i < N; i++)
		narrow(x[i], e.at[i]);
	pack_store(p, e);
}

/* ---- sums over a warp and a block: the same tree each time ---- */

struct sum_of {
	template <typename V> __device__ __forceinline__ V operator()(V a, V b) const
	{
		return a + b;
	}
};
struct maximum_of {
	template <typename V> __device__ __forceinline__ V operator()(V a, V b) const
	{
		return a > b ? a : b;
	}
};

template <typename V, typename Op> __device__ __forceinline__ V warp_reduce(V value, Op op)
{
#pragma unroll
	for (int i = WARP / 2; i; i /= 2)
		value = op(value, __shfl_xor_sync(WHOLE_WARP, value, i));
	return value;
}

/* Every thread gets the result. The block is a whole number of warps, in one dimension. */
template <typename V, typename Op> __device__ __forceinline__ V block_reduce(V value, Op op, V nothing)
{
	__shared__ V parts[WARP];
	unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
	value = warp_reduce(value, op);
	__syncthreads(); /* an earlier call's values have been read */
	if (lane == 0)
		parts[warp] = value;
	__syncthreads();
	value = lane < blockDim.x / WARP ? parts[lane] : nothing;
	return warp_reduce(value, op);
}

/* ---- choosing a kernel ---- */

template <typename T> struct type_tag {
	typedef T type;
};

/* Calls f with the tag of a type. */
template <typename F> int with_type(enum element type, F f)
{
	switch (type) {
	case ELEMENT_FP32:
		return f(type_tag<float>());
	case ELEMENT_BF16:
		return f(type_tag<__nv_bfloat16>());
	default:
		return f(type_tag<__half>());
	}
}

static inline bool is_aligned(const void *p, size_t bytes)
{
	return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

/* Blocks for `count` pieces of work, at most `most`, at least 1. */
static inline unsigned blocks_for(int64_t count, int64_t each, int64_t most)
{
	int64_t blocks = (count + each - 1) / each;
	return static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* Enough of them to keep memory busy, for kernels that pass over all elements once. */
static inline int64_t passing_blocks(const struct kernel_context *c)
{
	return static_cast<int64_t>(c->multiprocessors) * 64;
}

/* True if rows of `width` elements are whole packs of `lanes`, at addresses of 16 bytes. NULL counts as such an
 * address. */
static inline bool in_packs(int64_t width, int lanes, std::initializer_list<const void *> rows)
{
	bool packs = width % lanes == 0;
	for (const void *p : rows)
		packs = packs && is_aligned(p, 16);
	return packs;
}

/* Calls f with the elements that a lane has at a time: a pack, or one where rows or addresses do not allow packs. */
template <typename T, typename F> int with_lanes(int64_t width, std::initializer_list<const void *> rows, F f)
{
	if (in_packs(width, lanes_of<T>(), rows))
		return f(std::integral_constant<int, lanes_of<T>()>());
	return f(std::integral_constant<int, 1>());
}

static inline int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

#endif
