/* The emulator itself: barriers, a warp's operations, tensor cores, copies; and that it stops what a GPU would not
 * forgive. */
#include <check.h>
#include <csignal>
#include <cstdio>
#include <vector>

#include "kernels/cuda/mma.cuh"

extern "C" {
#include "tests/support/suite.h"
}

/* ---- barriers ---- */

static __global__ void reversed(const int *x, int *y)
{
	__shared__ int tile[256];
	tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	y[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
	__syncthreads(); /* the next block has the same tile */
}

START_TEST(barriers)
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
END_TEST

/* Without the barrier the threads see what others have not written yet, in one order or the other. */
static __global__ void neighbour(int *y)
{
	int *tile = shared_memory<int>();
	tile[threadIdx.x] = static_cast<int>(threadIdx.x);
	y[threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x];
}

START_TEST(missing_barrier)
{
	std::vector<int> y(64), z(64);
	emulated_order(false);
	launch(neighbour, 1, 64, 64 * sizeof(int), nullptr, y.data());
	emulated_order(true);
	launch(neighbour, 1, 64, 64 * sizeof(int), nullptr, z.data());
	emulated_order(false);
	ck_assert(y != z);
}
END_TEST

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
END_TEST

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

START_TEST(stopped)
{
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
	void (*const kernels[])() = {different_barriers, half_a_warp, barrier_in_a_branch};
	launch(kernels[_i], 1, 64, 0, nullptr);
}
END_TEST

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
	cp_async_16(tile_b + 8 * (lane % 16), lane < 16 ? b + 8 * lane : b + 8 * (lane - 16));
	cp_async_commit();
	cp_async_wait<0>();
	__syncwarp();
	uint32_t x[4], y[2];
	float sum[4] = {};
	/* matrices: rows 0-7, rows 8-15, then the same of columns 8-15 */
	ldmatrix_x4(x, tile_a + lane % 16 * 16 + lane / 16 * 8);
	if (transposed)
		ldmatrix_x2_transposed(y, tile_b + lane % 16 * 8);
	else
		ldmatrix_x2(y, tile_b + lane % 8 * 16 + lane / 8 % 2 * 8);
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

START_TEST(tensor_cores)
{
	product_check<__nv_bfloat16>(_i);
	product_check<__half>(_i);
}
END_TEST

int main()
{
	Suite *suite = suite_create("cuda_emulate");
	TCase *c = tcase_create("emulate");
	tcase_add_loop_test(c, barriers, 0, 2);
	tcase_add_test(c, missing_barrier);
	tcase_add_test(c, warps);
	tcase_add_loop_test_raise_signal(c, stopped, SIGABRT, 0, 3);
	tcase_add_loop_test(c, tensor_cores, 0, 2);
	suite_add_tcase(suite, c);
	return suite_run(suite);
}
