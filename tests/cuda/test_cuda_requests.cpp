/* The count of requests of memory (tests/emulate/accesses.cpp) on kernels whose numbers follow from how a GPU
 * moves memory: sectors of 32 bytes, 32 banks of 4. */
#include <cstdio>
#include <cstring>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/mma.cuh"
#include "tests/emulate/emulate.h"
#include "tests/support/suite.h"

/* ---- kernels of one warp: x[WARP · 8 + 8], at a multiple of 32 bytes ---- */

/* 4 bytes a lane, `stride` elements apart, from element `first` on. */
static __global__ void strided(float *x, int stride, int first)
{
	x[(static_cast<int>(threadIdx.x) * stride + first) % 264] = 1;
}

/* 8 numbers a lane: two loads of 16 bytes, 32 apart from the next lane's. */
static __global__ void wide(float *x, int, int)
{
	float all[8];
	load(x + 8 * threadIdx.x, all);
	if (all[0] > 1)
		x[0] = 0;
}

/* A loop, which lanes leave at different times: the k-th rounds belong together. */
static __global__ void rounds(float *x, int, int)
{
	for (unsigned i = threadIdx.x; i < 80; i += WARP)
		x[i] = 1;
}

static __global__ void banks(float *, int stride, int first)
{
	float *tile = shared_memory<float>();
	tile[static_cast<int>(threadIdx.x) * stride + first] = 1;
}

/* 16 bytes a lane, `stride` pieces apart. */
static __global__ void quarters(float *, int stride, int)
{
	float all[4] = {};
	store(shared_memory<float>() + static_cast<int>(threadIdx.x) * stride * 4, all);
}

static __global__ void matrices(float *, int stride, int)
{
	uint32_t r[4];
	ldmatrix_x4(r, shared_memory<float>() + static_cast<int>(threadIdx.x) * stride * 4);
}

/* 16 bytes a lane from global memory to shared. */
static __global__ void copies(float *x, int stride, int)
{
	cp_async_16(shared_memory<float>() + static_cast<int>(threadIdx.x) * stride * 4, x + 4 * threadIdx.x);
	cp_async_commit();
	cp_async_wait<0>();
}

static const struct {
	const char *name;
	void (*kernel)(float *, int, int);
	int stride, first;
	int64_t read, written, sectors, least_sectors, wavefronts, least_wavefronts;
} CASES[] = {
        {"strided", strided, 1, 0, 0, 128, 4, 4, 0, 0},
        {"strided, 16 bytes further on", strided, 1, 4, 0, 128, 5, 4, 0, 0},
        {"every other element", strided, 2, 0, 0, 128, 8, 4, 0, 0},
        {"one a sector", strided, 8, 0, 0, 128, 32, 4, 0, 0},
        {"one element for all", strided, 0, 0, 0, 4, 1, 1, 0, 0},
        {"wide", wide, 0, 0, 1024, 0, 64, 32, 0, 0},
        {"rounds", rounds, 0, 0, 0, 320, 10, 10, 0, 0},
        {"banks", banks, 1, 3, 0, 0, 0, 0, 1, 1},
        {"two words a bank", banks, 2, 0, 0, 0, 0, 0, 2, 1},
        {"one bank", banks, 32, 0, 0, 0, 0, 0, 32, 1},
        {"an odd stride", banks, 33, 0, 0, 0, 0, 0, 1, 1},
        {"one word", banks, 0, 7, 0, 0, 0, 0, 1, 1},
        {"quarters", quarters, 1, 0, 0, 0, 0, 0, 4, 4},
        {"quarters in two places", quarters, 2, 0, 0, 0, 0, 0, 8, 4},
        {"rows of 128 bytes", matrices, 8, 0, 0, 0, 0, 0, 32, 4},
        {"rows of 144 bytes", matrices, 9, 0, 0, 0, 0, 0, 4, 4},
        {"copies", copies, 1, 0, 512, 0, 16, 16, 4, 4},
        {"copies to rows of 128 bytes", copies, 8, 0, 512, 0, 16, 16, 32, 4},
};
enum { COUNT = sizeof CASES / sizeof *CASES };

START_LOOP_TEST(requests, 0, COUNT)
{
	float *x = static_cast<float *>(aligned_alloc(4096, 4096));
	memset(x, 0, 4096); /* what a kernel reads decides what it writes */
	const auto &want = CASES[_i];
	const struct emulated_accesses *got = nullptr;
	emulated_accesses_begin();
	ck_assert_int_eq(launch(want.kernel, 1, WARP, 8 << 10, nullptr, x, want.stride, want.first), 0);
	ck_assert_int_eq(emulated_accesses_end(&got), 1);
	ck_assert_msg(got->read_bytes == want.read && got->written_bytes == want.written &&
	                      got->sectors == want.sectors && got->least_sectors == want.least_sectors &&
	                      got->wavefronts == want.wavefronts && got->least_wavefronts == want.least_wavefronts,
	              "%s: %d read, %d written, %d sectors of %d, %d wavefronts of %d", want.name,
	              static_cast<int>(got->read_bytes), static_cast<int>(got->written_bytes),
	              static_cast<int>(got->sectors), static_cast<int>(got->least_sectors),
	              static_cast<int>(got->wavefronts), static_cast<int>(got->least_wavefronts));
	free(x);
}

int main()
{
	return emulated_tells() ? suite_run("cuda_requests", 0)
	                        : suite_skip("kernels of this build have another sanitizer");
}
