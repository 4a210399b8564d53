/* The emulator itself: barriers, a warp's operations, tensor cores, copies; and that it stops what a GPU would not
 * forgive. */
#include <csignal>
#include <cstdio>
#include <vector>

#include "kernels/cuda/wgmma.cuh"
#include "tests/support/suite.h"

/* ---- barriers ---- */

static __global__ void reversed(const int *x, int *y)
{
	__shared__ int tile[256];
	tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	y[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
	__syncthreads(); /* the next block has the same tile */
}

START_LOOP_TEST(barriers, 0, 2)
{
	std::vector<int> x(3 * 256), y(x.size());
	for (size_t i = 0; i < x.size(); i++)
		x[i] = static_cast<int>(7 * i);
	emulated_order(_i);
	ck_assert_int_eq(launch(reversed, 3, 256, 0, nullptr, x.data(), y.data()), 0);
	for (size_t i = 0; i < x.size(); i++)
		ck_assert_int_eq(y[i], x[i / 256 * 256 + 255 - i % 256]);
	ck_assert_int_ne(launch(reversed, 3, 1025, 0, nullptr, x.data(), y.data()), 0);
	ck_assert_int_ne(launch(reversed, 0, 256, 0, nullptr, x.data(), y.data()), 0);
}

/* Without the barrier the threads see what others have not written yet, in one order or the other. That it is a race,
 * tests/cuda/test_cuda_races.cpp sees. */
static __global__ void neighbour(int *y)
{
	int *tile = shared_memory<int>();
	tile[threadIdx.x] = static_cast<int>(threadIdx.x);
	y[threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x];
}

START_TEST(missing_barrier)
{
	std::vector<int> y(64), z(64);
	emulated_races(false);
	emulated_order(false);
	launch(neighbour, 1, 64, 64 * sizeof(int), nullptr, y.data());
	emulated_order(true);
	launch(neighbour, 1, 64, 64 * sizeof(int), nullptr, z.data());
	emulated_order(false);
	ck_assert(y != z);
}

/* ---- a warp ---- */

static __global__ void sums(const float *x, float *y, unsigned *ballots)
{
	float sum = x[threadIdx.x];
	for (int i = 16; i; i /= 2)
		sum += __shfl_xor_sync(WHOLE_WARP, sum, i);
	unsigned odd = __ballot_sync(WHOLE_WARP, threadIdx.x % 2);
	float down = __shfl_down_sync(WHOLE_WARP, x[threadIdx.x], 1), first = __shfl_sync(WHOLE_WARP, down, 0);
	y[threadIdx.x] = sum + first;
	ballots[threadIdx.x] = odd;
}

START_TEST(warps)
{
	std::vector<float> x(96), y(96);
	std::vector<unsigned> ballots(96);
	for (size_t i = 0; i < x.size(); i++)
		x[i] = static_cast<float>(i);
	ck_assert_int_eq(launch(sums, 1, 96, 0, nullptr, x.data(), y.data(), ballots.data()), 0);
	for (size_t i = 0; i < x.size(); i++) {
		size_t w = i / 32 * 32;
		ck_assert_float_eq(y[i], static_cast<float>(32 * w + 496 + w + 1));
		ck_assert_uint_eq(ballots[i], 0xaaaaaaaaU);
	}
}

/* ---- what is stopped ---- */

static __global__ void different_barriers()
{
	if (threadIdx.x < 5) {
		__syncthreads();
	} else {
		__syncthreads();
	}
}
static __global__ void half_a_warp()
{
	if (threadIdx.x < 16)
		__syncwarp();
}
static __global__ void barrier_in_a_branch()
{
	if (threadIdx.x < 32)
		__syncthreads();
	else
		__syncwarp(threadIdx.x < 40 ? 0xffffU : ~0U);
}

static __global__ void products_without_a_fence()
{
	float sums[16][4] = {};
	uint64_t d = wgmma_descriptor(1024, 16, 1024);
	wgmma_shared<__half>(sums, d, d, false);
}
static __global__ void products_without_a_wait()
{
	float sums[16][4] = {};
	uint64_t d = wgmma_descriptor(1024, 16, 1024);
	wgmma_fence();
	wgmma_shared<__half>(sums, d, d, false);
	wgmma_commit();
}
static __global__ void products_beside_memory()
{
	float sums[16][4] = {};
	uint64_t d = wgmma_descriptor(3 << 16, 16, 1024);
	wgmma_fence();
	wgmma_shared<__half>(sums, d, d, false);
	wgmma_commit();
	wgmma_wait<0>();
}

START_SIGNAL_TEST(stopped, SIGABRT, 0, 6)
{
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
	void (*const kernels[])() = {different_barriers,      half_a_warp,
	                             barrier_in_a_branch,     products_without_a_fence,
	                             products_without_a_wait, products_beside_memory};
	launch(kernels[_i], 1, 128, _i < 3 ? 0 : 4096, nullptr);
}

/* ---- tensor cores: fragments loaded by ldmatrix from tiles that were copied, against plain sums ---- */

template <typename T> static T narrow(float x);
template <> __nv_bfloat16 narrow(float x)
{
	return __float2bfloat16_rn(x);
}
template <> __half narrow(float x)
{
	return __float2half_rn(x);
}

/* d[16,8] = a[16,16] · b; b is stored as [8,16] (its columns in rows), or as [16,8] and loaded transposed. */
template <typename T> static __global__ void product(const T *a, const T *b, bool transposed, float *d)
{
	T *tile_a = shared_memory<T>(), *tile_b = tile_a + 256;
	unsigned lane = threadIdx.x;
	cp_async_16(tile_a + 8 * lane, a + 8 * lane);
	cp_async_commit();
	if (lane < 16)
		cp_async_16(tile_b + 8 * lane, b + 8 * lane);
	cp_async_commit();
	cp_async_wait<0>();
	__syncwarp();
	uint32_t x[4], y[4];
	float sum[4] = {};
	/* matrices: rows 0-7, rows 8-15, then the same of columns 8-15; of b, which has 8 columns, the same twice */
	ldmatrix_x4(x, tile_a + lane % 16 * 16 + lane / 16 * 8);
	if (transposed)
		ldmatrix_x4_transposed(y, tile_b + lane % 16 * 8);
	else
		ldmatrix_x4(y, tile_b + lane % 8 * 16 + lane / 8 % 2 * 8);
	mma_m16n8k16<T>(sum, x, y);
	for (int i = 0; i < 4; i++)
		d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

template <typename T> static void product_check(bool transposed)
{
	std::vector<T> a(256), b(128);
	std::vector<float> d(128);
	for (size_t i = 0; i < 256; i++)
		a[i] = narrow<T>(static_cast<float>(i % 13) - 6);
	for (size_t i = 0; i < 128; i++)
		b[i] = narrow<T>(static_cast<float>(i % 11) - 5);
	ck_assert_int_eq(launch(product<T>, 1, 32, 384 * sizeof(T), nullptr, a.data(), b.data(), transposed, d.data()),
	                 0);
	for (size_t i = 0; i < 16; i++)
		for (size_t j = 0; j < 8; j++) {
			float sum = 0;
			for (size_t k = 0; k < 16; k++)
				sum += (static_cast<float>((i * 16 + k) % 13) - 6) *
				       (static_cast<float>((transposed ? k * 8 + j : j * 16 + k) % 11) - 5);
			ck_assert_float_eq(d[i * 8 + j], sum);
		}
}

START_LOOP_TEST(tensor_cores, 0, 2)
{
	product_check<__nv_bfloat16>(_i);
	product_check<__half>(_i);
}

/* ---- a warpgroup's products: s = a · bᵀ, then o = s · b, from rows of 64 as attention.cuh's piece<64>() places them
 * ---- */

static __device__ uint16_t *swizzled(unsigned char *tile, int row, int column)
{
	return reinterpret_cast<uint16_t *>(tile + 128 * row + ((column / 8) ^ (row & 7)) * 16) + column % 8;
}

/* a[64,16] and b[128,64], of which the first 16 columns meet a's. What products add to is NaN until it is waited for.
 */
static __global__ void group_products(const float *a, const float *b, float *s, float *o, bool *early)
{
	unsigned char *begin = shared_memory<unsigned char>();
	begin += (SWIZZLE_BYTES - shared_address(begin) % SWIZZLE_BYTES) % SWIZZLE_BYTES;
	int thread = static_cast<int>(threadIdx.x), upper = thread / 32 * 16 + thread % 32 / 4;
	for (int i = thread; i < 64 * 16; i += 128)
		*swizzled(begin, i / 16, i % 16) = __float2half_rn(a[i]).bits;
	for (int i = thread; i < 128 * 64; i += 128)
		*swizzled(begin + 64 * 128, i / 64, i % 64) = __float2half_rn(b[i]).bits;
	shared_fence();
	__syncthreads();
	float first[16][4], second[8][4] = {};
	uint32_t of_a = shared_address(begin), of_b = of_a + 64 * 128;
	wgmma_fence();
	wgmma_shared<__half>(first, wgmma_descriptor(of_a, 16, 1024), wgmma_descriptor(of_b, 16, 1024), false);
	wgmma_commit();
	bool before = first[0][0] == first[0][0];
	wgmma_wait<0>();
	wgmma_fence();
	for (int step = 0; step < 8; step++) {
		uint32_t p[4];
		for (int i = 0; i < 4; i++) {
			const float *pair = first[2 * step + i / 2] + 2 * (i % 2);
			p[i] = __float2half_rn(pair[0]).bits | static_cast<uint32_t>(__float2half_rn(pair[1]).bits)
			                                               << 16;
		}
		wgmma_registers<__half>(second, p,
		                        wgmma_descriptor(of_b + static_cast<uint32_t>(step) * 2048, 16, 1024));
	}
	wgmma_commit();
	wgmma_wait<0>();
	if (before && thread == 0)
		*early = true;
	for (int i = 0; i < 64; i++)
		s[(upper + i / 2 % 2 * 8) * 128 + i / 4 * 8 + thread % 4 * 2 + i % 2] = first[i / 4][i % 4];
	for (int i = 0; i < 32; i++)
		o[(upper + i / 2 % 2 * 8) * 64 + i / 4 * 8 + thread % 4 * 2 + i % 2] = second[i / 4][i % 4];
}

/* Small whole numbers, which neither fp16 nor sums in fp32 round. */
START_TEST(warpgroups)
{
	std::vector<float> a(64 * 16), b(128 * 64), s(64 * 128), o(64 * 64);
	bool early = false;
	for (size_t i = 0; i < a.size(); i++)
		a[i] = static_cast<float>(i * i % 7) - 3;
	for (size_t i = 0; i < b.size(); i++)
		b[i] = static_cast<float>(i * i % 11 + i / 64 % 3) - 5;
	ck_assert_int_eq(launch(group_products, 1, 128, 1024 + 192 * 128, nullptr, a.data(), b.data(), s.data(),
	                        o.data(), &early),
	                 0);
	ck_assert(!early);
	for (size_t i = 0; i < 64; i++)
		for (size_t j = 0; j < 128; j++) {
			float sum = 0;
			for (size_t k = 0; k < 16; k++)
				sum += a[16 * i + k] * b[64 * j + k];
			ck_assert_float_eq(s[128 * i + j], sum);
		}
	for (size_t i = 0; i < 64; i++)
		for (size_t j = 0; j < 64; j++) {
			float sum = 0;
			for (size_t k = 0; k < 128; k++)
				sum += s[128 * i + k] * b[64 * k + j];
			ck_assert_float_eq(o[64 * i + j], sum);
		}
}

SUITE("cuda_emulate", 0)
