/* Products of a warpgroup (4 warps, the first of which has a number divisible by 4), wgmma of the PTX ISA: compute
 * capability 9.0 alone. They run by themselves:
 *
 *     wgmma_fence();                     what was done to registers and, by this thread, to shared memory is seen
 *     wgmma_shared<T>(s, a, b, false);   s[64,N] = A · Bᵀ: A[64,16], B[N,16] in shared memory, columns contiguous
 *     wgmma_commit();
 *     wgmma_registers<T>(o, p, b);       o[64,N] += P · B: P[64,16] in registers, B[16,N] in shared memory, N
 * contiguous wgmma_commit(); wgmma_wait<1>();                   s may be read; until then registers of both stay as
 * they are
 *     wgmma_either<T, A_ACROSS, B_ACROSS>(d, a, b);             d[64,128] += A · B, both in shared memory, each with k
 *                                                               contiguous (as wgmma_shared's), or across: m or n is
 *
 * N is 64 or 128.
 *
 * Of D, a lane holds what it holds of mma.cuh's D[16,8], for the 16 rows of its warp and one column of tiles after the
 * other; of P, what it holds of A[16,16].
 *
 * In shared memory both are rows of 64 elements, 128 bytes, of which 8 make a pattern of 1024: within it, a row's
 * pieces of 16 bytes are exchanged, number p for p ^ row, as attention.cuh's piece<64>() does. Patterns begin at
 * multiples of 1024. A descriptor says where a matrix begins and how far patterns are apart (9.7.15.5.1.2, "Shared
 * Memory Matrix Layout"):
 *
 *     bits 0-13   address / 16      16-29  leading dimension's offset / 16    32-45  stride dimension's offset / 16
 *     bits 49-51  base offset       62-63  swizzle: 1 is 128 bytes
 *
 *     rows of k (wgmma_shared)      stride: from 8 rows to the next 8; leading: not used
 *     rows of n or m (across)       stride: from 8 rows of k to the next 8; leading: from 64 columns to the next 64
 */
#ifndef SHARDLAB_CUDA_WGMMA_CUH
#define SHARDLAB_CUDA_WGMMA_CUH

#include <type_traits>
#include <vector>

#include "kernels/cuda/mma.cuh"

enum { WARPGROUP = 128, SWIZZLE_BYTES = 1024 };

/* `leading` and `stride` in bytes. */
static __device__ __forceinline__ uint64_t wgmma_descriptor(uint32_t address, uint32_t leading, uint32_t stride)
{
	return (address & 0x3ffffU) >> 4 | static_cast<uint64_t>(leading >> 4) << 16 |
	       static_cast<uint64_t>(stride >> 4) << 32 | static_cast<uint64_t>(1) << 62;
}

#ifdef SHARDLAB_EMULATE

/* The place of an element under the PTX ISA's rules for canonical layouts and swizzling. */
static inline const unsigned char *emulate_wgmma_place(uint64_t d, bool contiguous_k, uint32_t mn, uint32_t k)
{
	uint32_t start = (d & 0x3fff) << 4, leading = (d >> 16 & 0x3fff) << 4, stride = (d >> 32 & 0x3fff) << 4;
	uint32_t base = d >> 49 & 7, mode = static_cast<uint32_t>(d >> 62), row = 256 >> mode, in_row = row / 2;
	if (mode == 0 || (d & 0x3ff1c000c000c000))
		emulate_fail("wgmma: a descriptor without swizzling, or with bits that mean nothing");
	uint32_t address =
	        start + (contiguous_k ? mn / 8 * stride + mn % 8 * row + 2 * k
	                              : mn / in_row * leading + k / 8 * stride + k % 8 * row + mn % in_row * 2);
	uint32_t change = ((address >> 7) - base) & (row / 16 - 1);
	return emulate_shared_at(address ^ change << 4);
}

static inline uint16_t emulate_wgmma_element(uint64_t d, bool contiguous_k, uint32_t mn, uint32_t k)
{
	uint16_t bits;
	memcpy(&bits, emulate_wgmma_place(d, contiguous_k, mn, k), sizeof bits);
	return bits;
}

/* The pieces of 16 bytes of a matrix of `n` rows or columns by 16 of k: the first lane of a warp tells them. */
static inline void emulate_wgmma_reads(std::vector<const void *> &to, uint64_t d, bool contiguous_k, uint32_t n)
{
	const uint32_t along_n = contiguous_k ? 1 : 8, along_k = contiguous_k ? 8 : 1;
	for (uint32_t mn = 0; emulate_lane() == 0 && mn < n; mn += along_n)
		for (uint32_t k = 0; k < 16; k += along_k)
			to.push_back(emulate_wgmma_place(d, contiguous_k, mn, k));
}

/* The 64 rows' sums of this lane: A's element of (row of the warpgroup, k) from `a`, whose places are `reads`. */
template <typename T, int N, typename A>
__forceinline__ void emulate_wgmma(float (&d)[N / 8][4], uint64_t b, bool contiguous_k, bool accumulate, A a,
                                   std::vector<const void *> reads)
{
	const unsigned char *slots = emulate_exchange(~0U, &b, sizeof b, "wgmma");
	for (int i = 0; i < 32; i++)
		if (memcmp(slots + EMULATE_SLOT * i, &b, sizeof b) != 0)
			emulate_fail("wgmma: lanes have different descriptors");
	int lane = emulate_lane(), warp = static_cast<int>(threadIdx.x) % WARPGROUP / 32;
	emulate_wgmma_reads(reads, b, contiguous_k, N);
	auto run = [=](float *sums) {
		for (int i = 0; i < N / 2; i++) {
			int row = 16 * warp + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
			float sum = 0;
			for (int k = 0; k < 16; k++)
				sum += mma_element(T{}, a(row, k)) *
				       mma_element(T{},
				                   emulate_wgmma_element(b, contiguous_k, static_cast<uint32_t>(column),
				                                         static_cast<uint32_t>(k)));
			sums[i] = accumulate ? sums[i] + sum : sum;
		}
	};
	emulate_product(&d[0][0], N / 2, run, std::move(reads));
}

template <typename T, bool A_ACROSS, bool B_ACROSS, int TILES>
__forceinline__ void emulate_wgmma_shared(float (&d)[TILES][4], uint64_t a, uint64_t b, bool accumulate)
{
	emulate_untold meanwhile;
	std::vector<const void *> reads;
	emulate_wgmma_reads(reads, a, !A_ACROSS, 64);
	auto element = [=](int row, int k) {
		return emulate_wgmma_element(a, !A_ACROSS, static_cast<uint32_t>(row), static_cast<uint32_t>(k));
	};
	emulate_wgmma<T, 8 * TILES>(d, b, !B_ACROSS, accumulate, element, std::move(reads));
}

template <typename T, int TILES>
__forceinline__ void wgmma_shared(float (&d)[TILES][4], uint64_t a, uint64_t b, bool accumulate)
{
	emulate_wgmma_shared<T, false, false>(d, a, b, accumulate);
}

template <typename T, bool A_ACROSS, bool B_ACROSS>
__forceinline__ void wgmma_either(float (&d)[16][4], uint64_t a, uint64_t b)
{
	emulate_wgmma_shared<T, A_ACROSS, B_ACROSS>(d, a, b, true);
}

template <typename T, int TILES>
__forceinline__ void wgmma_registers(float (&d)[TILES][4], const uint32_t (&a)[4], uint64_t b)
{
	emulate_untold meanwhile;
	struct registers {
		uint32_t a[4];
	} mine = {{a[0], a[1], a[2], a[3]}}, all[32];
	const unsigned char *slots = emulate_exchange(~0U, &mine, sizeof mine, "wgmma");
	for (int i = 0; i < 32; i++)
		memcpy(all + i, slots + EMULATE_SLOT * i, sizeof *all);
	std::vector<registers> kept(all, all + 32);
	auto element = [kept](int row, int k) {
		const registers &r = kept[static_cast<size_t>(row % 8 * 4 + k % 8 / 2)];
		return static_cast<uint16_t>(r.a[row % 16 / 8 + k / 8 * 2] >> k % 2 * 16);
	};
	emulate_wgmma<T, 8 * TILES>(d, b, false, true, element, {});
}

static inline void wgmma_fence()
{
	emulate_product_fence();
}
static inline void wgmma_commit()
{
	emulate_product_commit();
}
template <int GROUPS> void wgmma_wait()
{
	emulate_product_wait(GROUPS);
}
static inline void shared_fence()
{
	emulate_proxy_fence();
}
static inline void wgmma_before(const float (&)[2], uint32_t)
{
}

#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define WGMMA_4(d, i) "+f"((d)[i][0]), "+f"((d)[i][1]), "+f"((d)[i][2]), "+f"((d)[i][3])
#define WGMMA_32(d, i)                                                                                                 \
	WGMMA_4(d, i), WGMMA_4(d, (i) + 1), WGMMA_4(d, (i) + 2), WGMMA_4(d, (i) + 3), WGMMA_4(d, (i) + 4),             \
	        WGMMA_4(d, (i) + 5), WGMMA_4(d, (i) + 6), WGMMA_4(d, (i) + 7)
#define WGMMA_NAMES_32                                                                                                 \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                       \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_64                                                                                                 \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                       \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                             \
	"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                             \
	"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

template <typename T>
__device__ __forceinline__ void wgmma_shared(float (&d)[8][4], uint64_t a, uint64_t b, bool accumulate);
template <typename T>
__device__ __forceinline__ void wgmma_shared(float (&d)[16][4], uint64_t a, uint64_t b, bool accumulate);
template <typename T>
__device__ __forceinline__ void wgmma_registers(float (&d)[8][4], const uint32_t (&a)[4], uint64_t b);
template <typename T>
__device__ __forceinline__ void wgmma_registers(float (&d)[16][4], const uint32_t (&a)[4], uint64_t b);

/* The last operands: whether D is added to, signs of A and B, and which of the two have k as their rows. */
#define WGMMA_OF(T, type)                                                                                              \
	template <>                                                                                                    \
	__device__ __forceinline__ void wgmma_shared<T>(float(&d)[8][4], uint64_t a, uint64_t b, bool accumulate)      \
	{                                                                                                              \
		asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                              \
		             "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" WGMMA_NAMES_32           \
		             "}, %32, %33, p, 1, 1, 0, 0;\n}"                                                          \
		             : WGMMA_32(d, 0)                                                                          \
		             : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                                     \
	}                                                                                                              \
	template <>                                                                                                    \
	__device__ __forceinline__ void wgmma_shared<T>(float(&d)[16][4], uint64_t a, uint64_t b, bool accumulate)     \
	{                                                                                                              \
		asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"                                              \
		             "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" WGMMA_NAMES_64          \
		             "}, %64, %65, p, 1, 1, 0, 0;\n}"                                                          \
		             : WGMMA_32(d, 0), WGMMA_32(d, 8)                                                          \
		             : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                                     \
	}                                                                                                              \
	template <>                                                                                                    \
	__device__ __forceinline__ void wgmma_registers<T>(float(&d)[16][4], const uint32_t(&a)[4], uint64_t b)        \
	{                                                                                                              \
		asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" WGMMA_NAMES_64          \
		             "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"                                               \
		             : WGMMA_32(d, 0), WGMMA_32(d, 8)                                                          \
		             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                    \
	}                                                                                                              \
	template <>                                                                                                    \
	__device__ __forceinline__ void wgmma_registers<T>(float(&d)[8][4], const uint32_t(&a)[4], uint64_t b)         \
	{                                                                                                              \
		asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" WGMMA_NAMES_32           \
		             "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"                                               \
		             : WGMMA_32(d, 0)                                                                          \
		             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                    \
	}
WGMMA_OF(__nv_bfloat16, "bf16")
WGMMA_OF(__half, "f16")
#undef WGMMA_OF

/* The last operands: as above; those of the two flags are numbers of the instruction. */
#define WGMMA_EITHER(type)                                                                                             \
	asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" WGMMA_NAMES_64                  \
	             "}, %64, %65, 1, 1, 1, %66, %67;"                                                                 \
	             : WGMMA_32(d, 0), WGMMA_32(d, 8)                                                                  \
	             : "l"(a), "l"(b), "n"(A_ACROSS), "n"(B_ACROSS))
template <typename T, bool A_ACROSS, bool B_ACROSS>
__device__ __forceinline__ void wgmma_either(float (&d)[16][4], uint64_t a, uint64_t b)
{
	if constexpr (std::is_same<T, __half>::value)
		WGMMA_EITHER("f16");
	else
		WGMMA_EITHER("bf16");
}
#undef WGMMA_EITHER

static __device__ __forceinline__ void wgmma_fence()
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void wgmma_commit()
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Until at most so many groups are under way. */
template <int GROUPS> static __device__ __forceinline__ void wgmma_wait()
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}
/* Shared memory that this thread wrote, cp.async included, is seen by products that begin after a barrier. */
static __device__ __forceinline__ void shared_fence()
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Keeps the arithmetic of these numbers before the wait that follows, beside the products that it waits for: a store to
 * shared memory (8 bytes of the thread's own, at `address`) is not moved over a wait, as arithmetic is. */
static __device__ __forceinline__ void wgmma_before(const float (&x)[2], uint32_t address)
{
	asm volatile("st.volatile.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x[0]), "f"(x[1]) : "memory");
}

#endif
#endif
