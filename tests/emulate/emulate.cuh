/* CUDA's words in plain C++. A block's threads are fibers, which are switched at barriers and at operations of a warp;
 * blocks run one after another. Shared memory is static: one block has it at a time. Dynamic shared memory is as large
 * as the launch says and not a byte more, so that AddressSanitizer sees what goes beyond it.
 *
 * A thread that leaves others waiting (at a barrier of another line, or at an operation of a warp that it does not
 * take part in) ends the program with a message that says who waits where.
 *
 * Fibers run in an order, which hides a barrier that is missing. Kernels are therefore compiled to tell of every access
 * to memory (watch.h), and a race, too, ends the program: a message names the kernel, both lines and what
 * nothing orders (races.cpp). The same accesses can be counted as a GPU would carry them out, in sectors of
 * global memory and conflicts of shared memory's banks (accesses.cpp).
 */
#ifndef SHARDLAB_CUDA_EMULATE_CUH
#define SHARDLAB_CUDA_EMULATE_CUH

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/emulate/emulate.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
	unsigned x, y, z;
	constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
	{
	}
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

/* ---- launching, barriers and what a warp does together: fibers.cpp; copies and products: async.cpp ---- */

/* run(context), `context_bytes` long, in every thread; `kernel` is what to call it. */
int emulate_launch(const void *kernel, void (*run)(const void *), const void *context, size_t context_bytes, dim3 grid,
                   dim3 block, size_t shared_bytes);
void *emulate_shared();
/* Waits for all threads of the block; adds up what each gives. */
int emulate_barrier(const char *file, int line, int value);
/* Waits for the lanes of the mask; returns what each lane gave, EMULATE_SLOT bytes apart. Valid until the next but one.
 * `together`: once, before any lane goes on, with what all gave, which it may change. */
enum { EMULATE_SLOT = 32 };
const unsigned char *emulate_exchange(unsigned mask, const void *mine, size_t bytes, const char *what,
                                      void (*together)(unsigned char *slots) = nullptr);
int emulate_thread(); /* of the block */
int emulate_lane();
unsigned emulate_lanes(); /* those that this warp has */
[[noreturn]] void emulate_fail(const char *text);
/* Accesses that are one instruction: bytes in pieces of `word`, which their address must be a multiple of. */
void emulate_load(void *to, const void *from, size_t bytes, size_t word);
void emulate_store(void *to, const void *from, size_t bytes, size_t word);
void emulate_atomic(const void *p, size_t bytes, const void *site);
/* While one lives, what this thread does to memory is the emulator's affair. */
struct emulate_untold {
	emulate_untold();
	~emulate_untold();
	emulate_untold(const emulate_untold &) = delete;
};
/* cp.async: the copy happens when it is waited for, and until then the place holds NaNs. */
void emulate_copy(void *to, const void *from, size_t bytes, size_t filled);
void emulate_copy_commit();
void emulate_copy_wait(int groups);
/* Shared-memory addresses in bytes from its start, and back to pointers. */
uint32_t emulate_shared_address(const void *p);
const unsigned char *emulate_shared_at(uint32_t address);
/* wgmma: run(sums) happens when it is waited for, and until then what it adds to holds NaNs. */
/* `reads`: 16 bytes each of shared memory; a warp tells them once. */
void emulate_product(float *sums, size_t n, const std::function<void(float *)> &run, std::vector<const void *> reads);
void emulate_product_fence();
void emulate_product_commit();
void emulate_product_wait(int groups);
void emulate_async_end();
/* fence.proxy.async: what this thread sees, products of threads that come after it in order see too. */
void emulate_proxy_fence();

template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, kernel_stream,
           Arguments... arguments)
{
	struct call {
		void (*kernel)(Parameters...);
		std::tuple<Parameters...> parameters;
	} c = {kernel, std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)};
	return emulate_launch(
	        reinterpret_cast<const void *>(kernel),
	        [](const void *context) {
		        const call *k = static_cast<const call *>(context);
		        std::apply(k->kernel, k->parameters);
	        },
	        &c, sizeof c, grid, block, shared_bytes);
}

static inline int device_fill(kernel_stream, void *to, int byte, size_t bytes)
{
	if (bytes)
		memset(to, byte, bytes);
	return 0;
}

template <typename T> T *shared_memory()
{
	return static_cast<T *>(emulate_shared());
}

#define __syncthreads() (void)emulate_barrier(__FILE__, __LINE__, 0)
#define __syncthreads_or(value) emulate_barrier(__FILE__, __LINE__, (value) != 0)
#define __syncthreads_count(value) emulate_barrier(__FILE__, __LINE__, (value) != 0)

static inline void __syncwarp(unsigned mask = 0xffffffffU)
{
	(void)emulate_exchange(mask, "", 0, "__syncwarp");
}

template <typename T> T emulate_shuffle(unsigned mask, T value, int from, const char *what)
{
	static_assert(sizeof(T) <= EMULATE_SLOT, "a shuffle's value");
	const unsigned char *all = emulate_exchange(mask, &value, sizeof value, what);
	T result = value;
	if (from < 0 || from >= 32 || !(mask & emulate_lanes() & 1U << from))
		emulate_fail("a shuffle reads from a lane that does not take part");
	memcpy(&result, all + EMULATE_SLOT * from, sizeof result);
	return result;
}

template <typename T> T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
	int lane = emulate_lane();
	return emulate_shuffle(mask, value, (lane & ~(width - 1)) | (from & (width - 1)), "__shfl_sync");
}
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32)
{
	int lane = emulate_lane(), from = lane ^ lane_mask;
	return emulate_shuffle(mask, value, from / width > lane / width ? lane : from, "__shfl_xor_sync");
}
template <typename T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
	int lane = emulate_lane(), from = lane + static_cast<int>(delta);
	return emulate_shuffle(mask, value, from / width > lane / width ? lane : from, "__shfl_down_sync");
}
template <typename T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
	int lane = emulate_lane(), from = lane - static_cast<int>(delta);
	return emulate_shuffle(mask, value, lane % width < static_cast<int>(delta) ? lane : from, "__shfl_up_sync");
}
/* The lanes of the mask that gave `asked`. */
static inline unsigned emulate_lanes_with(unsigned mask, unsigned mine, unsigned asked, const char *what)
{
	const unsigned char *all = emulate_exchange(mask, &mine, sizeof mine, what);
	unsigned result = 0;
	for (int i = 0; i < 32; i++) {
		unsigned value = 0;
		memcpy(&value, all + EMULATE_SLOT * i, sizeof value);
		if ((mask & emulate_lanes() & 1U << i) && value == asked)
			result |= 1U << i;
	}
	return result;
}
static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
	return emulate_lanes_with(mask, predicate != 0, 1, "__ballot_sync");
}
static inline int __any_sync(unsigned mask, int predicate)
{
	return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(unsigned mask, int predicate)
{
	return __ballot_sync(mask, !predicate) == 0;
}
static inline unsigned __match_any_sync(unsigned mask, unsigned value)
{
	return emulate_lanes_with(mask, value, value, "__match_any_sync");
}

/* ---- atomics: nothing else runs meanwhile. No fences between blocks: who needs an order launches two kernels ---- */

#define EMULATE_UNTOLD __attribute__((noinline, no_sanitize("thread")))

template <typename T> EMULATE_UNTOLD T atomicExch(T *p, T value)
{
	emulate_atomic(p, sizeof *p, __builtin_return_address(0));
	T before = *p;
	*p = value;
	return before;
}
template <typename T> EMULATE_UNTOLD T atomicAdd(T *p, T value)
{
	static_assert(static_cast<T>(0.5) == 0, "the order of atomic additions of floats varies on a GPU");
	emulate_atomic(p, sizeof *p, __builtin_return_address(0));
	T before = *p;
	*p = static_cast<T>(before + value);
	return before;
}

/* ---- numbers ---- */

using std::max;
using std::min;

/* glibc has functions of these names. */
#define __expf(x) expf(x)
#define __logf(x) logf(x)
static inline float exp2_fast(float x)
{
#ifdef EMULATE_NOISE /* a GPU's is off by a unit in the last place, and right at 0 */
	unsigned bits;
	memcpy(&bits, &x, sizeof bits);
	return bits & 0x7fffffff ? nextafterf(exp2f(x), bits & 1 ? 0.0F : HUGE_VALF) : 1.0F;
#else
	return exp2f(x);
#endif
}
static inline float __fdividef(float a, float b)
{
	return a / b;
}
static inline float rsqrtf(float x)
{
	return 1 / sqrtf(x);
}
static inline float __frcp_rn(float x)
{
	return 1 / x;
}
static inline float __fsqrt_rn(float x)
{
	return sqrtf(x);
}
static inline float __fmaf_rn(float a, float b, float c)
{
	return fmaf(a, b, c);
}
static inline float __fadd_rn(float a, float b)
{
	return a + b;
}
static inline float __fmul_rn(float a, float b)
{
	return a * b;
}
static inline float __fdiv_rn(float a, float b)
{
	return a / b;
}
template <typename To, typename From> To emulate_bits(From from)
{
	static_assert(sizeof(To) == sizeof(From), "bits of one size");
	To to;
	memcpy(&to, &from, sizeof to);
	return to;
}
static inline unsigned __float_as_uint(float x)
{
	return emulate_bits<unsigned>(x);
}
static inline float __uint_as_float(unsigned x)
{
	return emulate_bits<float>(x);
}
static inline int __float_as_int(float x)
{
	return emulate_bits<int>(x);
}
static inline float __int_as_float(int x)
{
	return emulate_bits<float>(x);
}
static inline int __popc(unsigned x)
{
	return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
	return __builtin_popcountll(x);
}
static inline int __ffs(int x)
{
	return __builtin_ffs(x);
}
static inline int __clz(int x)
{
	return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
	return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}

/* ---- memory ---- */

template <typename T> T __ldg(const T *p)
{
	return *p;
}
template <typename T> T __ldcs(const T *p)
{
	return *p;
}
template <typename T> T __ldcg(const T *p)
{
	return *p;
}
template <typename T> void __stcs(T *p, T value)
{
	*p = value;
}
template <typename T> void __stcg(T *p, T value)
{
	*p = value;
}

/* ---- vectors: as on a GPU, reading one from an address that is not a multiple of its size is an error ---- */

#define EMULATE_VECTOR(type, element)                                                                                  \
	struct type##2                                                                                                 \
	{                                                                                                              \
		element x, y;                                                                                          \
	}                                                                                                              \
	__attribute__((aligned(2 * sizeof(element))));                                                                 \
	struct type##4                                                                                                 \
	{                                                                                                              \
		element x, y, z, w;                                                                                    \
	}                                                                                                              \
	__attribute__((aligned(4 * sizeof(element) > 16 ? 16 : 4 * sizeof(element))));                                 \
	static inline type##2 make_##type##2(element x, element y)                                                     \
	{                                                                                                              \
		return {x, y};                                                                                         \
	}                                                                                                              \
	static inline type##4 make_##type##4(element x, element y, element z, element w)                               \
	{                                                                                                              \
		return {x, y, z, w};                                                                                   \
	}
EMULATE_VECTOR(float, float)
EMULATE_VECTOR(double, double)
EMULATE_VECTOR(int, int)
EMULATE_VECTOR(uint, unsigned)
EMULATE_VECTOR(ushort, unsigned short)
#undef EMULATE_VECTOR

/* ---- 16-bit elements ---- */

struct __nv_bfloat16 {
	uint16_t bits;
};
struct __half {
	uint16_t bits;
};
struct __nv_bfloat162 {
	__nv_bfloat16 x, y;
} __attribute__((aligned(4)));
struct __half2 {
	__half x, y;
} __attribute__((aligned(4)));
typedef __nv_bfloat16 nv_bfloat16;
typedef __half half;
typedef __nv_bfloat162 nv_bfloat162;
typedef __half2 half2;

static inline float __bfloat162float(__nv_bfloat16 h)
{
	return __uint_as_float(static_cast<unsigned>(h.bits) << 16);
}
static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
	unsigned bits = __float_as_uint(x);
	if (x != x)
		return {0x7fff}; /* CUDA's NaN */
	return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
static inline __nv_bfloat16 __float2bfloat16(float x)
{
	return __float2bfloat16_rn(x);
}
static inline float __half2float(__half h)
{
	unsigned sign = (h.bits & 0x8000U) << 16, rest = (h.bits & 0x7fffU) << 13;
	float scaled = __uint_as_float(rest) * 0x1p112f; /* the exponent's bias is 112 less */
	unsigned bits = rest >= 0x7c00U << 13 ? rest | 0x7f800000U : __float_as_uint(scaled);
	return __uint_as_float(sign | bits);
}
static inline __half __float2half_rn(float x)
{
	unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000U, size = bits & 0x7fffffffU, out;
	if (size > 0x7f800000U)
		return {0x7fff};
	if (size >= 143U << 23) /* from 2^16 on */
		out = 0x7c00;
	else if (size < 113U << 23) /* 0.5's last digit is the smallest number: the addition rounds */
		out = __float_as_uint(__uint_as_float(size) + 0.5F) - 0x3f000000U;
	else
		out = (size - (112U << 23) + 0xfff + (size >> 13 & 1)) >> 13;
	return {static_cast<uint16_t>(sign | out)};
}
static inline __half __float2half(float x)
{
	return __float2half_rn(x);
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
	return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
static inline __half2 __floats2half2_rn(float x, float y)
{
	return {__float2half_rn(x), __float2half_rn(y)};
}
static inline float2 __bfloat1622float2(__nv_bfloat162 h)
{
	return {__bfloat162float(h.x), __bfloat162float(h.y)};
}
static inline float2 __half22float2(__half2 h)
{
	return {__half2float(h.x), __half2float(h.y)};
}

#endif
