/* The race check of the emulated GPU (tests/emulate/races.cpp): of each kind a planted race, which it must name,
 * and beside it the same kernel as it should be, of which it must say nothing. */
#include <csignal>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cuda/wgmma.cuh"
#include "tests/emulate/emulate.h"
#include "tests/support/suite.h"

enum { THREADS = 128 };

/* ---- kernels: as they should be with RIGHT; x[THREADS · blocks + 1] ---- */

enum { WRITE_LINE = __LINE__ + 4, READ_LINE = WRITE_LINE + 3 };
template <bool RIGHT> static __global__ void read_after_write(int *x)
{
	__shared__ int tile[THREADS];
	tile[threadIdx.x] = x[blockIdx.x * THREADS + threadIdx.x];
	if (RIGHT)
		__syncthreads();
	x[blockIdx.x * THREADS + threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

/* A buffer that is used again while others still read it. */
template <bool RIGHT> static __global__ void write_after_read(int *x)
{
	int *tile = shared_memory<int>(), sum = 0;
	for (int turn = 0; turn < 3; turn++) {
		tile[threadIdx.x] = x[threadIdx.x] + turn;
		__syncthreads();
		sum += tile[(threadIdx.x + 64) % THREADS];
		if (RIGHT)
			__syncthreads();
	}
	x[threadIdx.x] = sum;
}

template <bool RIGHT> static __global__ void same_place(int *x)
{
	__shared__ int one;
	if (!RIGHT || threadIdx.x == 0)
		one = 7; /* the same from all is a race all the same */
	__syncthreads();
	x[threadIdx.x] = one;
}

template <bool RIGHT> static __global__ void lanes(int *x)
{
	__shared__ int tile[THREADS];
	tile[threadIdx.x] = x[threadIdx.x];
	if (RIGHT)
		__syncwarp();
	x[threadIdx.x] = tile[threadIdx.x ^ 1];
}

/* Half a warp each: an order within the halves, and across them. */
template <bool RIGHT> static __global__ void half_warps(int *x)
{
	__shared__ int tile[THREADS];
	tile[threadIdx.x] = x[threadIdx.x];
	__syncwarp(threadIdx.x % 32 < 16 ? 0xffffU : 0xffff0000U);
	x[threadIdx.x] = tile[threadIdx.x ^ (RIGHT ? 1 : 16)];
}

/* A shuffle makes lanes wait, and orders no memory; nor does a vote, or what tensor cores do. */
template <bool RIGHT> static __global__ void shuffled(int *x)
{
	__shared__ int tile[THREADS];
	tile[threadIdx.x] = x[threadIdx.x];
	int other = __shfl_xor_sync(WHOLE_WARP, x[threadIdx.x], 1) + __any_sync(WHOLE_WARP, 1);
	if (RIGHT)
		__syncwarp();
	x[threadIdx.x] = tile[threadIdx.x ^ 1] + other;
}

/* Order through a third thread: lane 0 is ordered after all lanes' writes, and all threads after it by the barrier. */
template <bool RIGHT> static __global__ void by_way_of(int *x)
{
	__shared__ int tile[THREADS];
	tile[threadIdx.x] = x[threadIdx.x];
	if (RIGHT || threadIdx.x < 32)
		__syncwarp();
	if (threadIdx.x % 32 == 31)
		return; /* not at the barrier */
	__syncthreads();
	x[threadIdx.x] = tile[THREADS - 1 - threadIdx.x % 32];
}

/* Two elements of 16 bits in one word are two places. */
template <bool RIGHT> static __global__ void halves(int *x)
{
	__shared__ uint16_t tile[2 * THREADS];
	tile[threadIdx.x] = static_cast<uint16_t>(x[threadIdx.x]);
	if (RIGHT)
		x[threadIdx.x] = tile[threadIdx.x];
	else
		x[threadIdx.x] = reinterpret_cast<const int *>(tile)[threadIdx.x / 2];
}

template <bool RIGHT> static __global__ void blocks(int *x)
{
	if (RIGHT || blockIdx.x == 0)
		x[blockIdx.x * THREADS + threadIdx.x] = 1;
	else if (threadIdx.x == 0)
		x[3] = 1;
}

template <bool RIGHT> static __global__ void read_of_a_block(int *x)
{
	int *place = x + blockIdx.x * THREADS + threadIdx.x;
	*place = RIGHT ? *place : x[(threadIdx.x + 1) % THREADS];
}

template <bool RIGHT> static __global__ void atomics(int *x)
{
	if (RIGHT)
		(void)atomicAdd(x + THREADS, 1);
	else if (threadIdx.x == 5)
		x[THREADS] = 1;
	else
		(void)atomicAdd(x + THREADS, 1);
}

/* A copy is visible to its own thread after the wait, and to others after a barrier as well. */
template <bool RIGHT> static __global__ void copied(int *x)
{
	int *tile = shared_memory<int>();
	cp_async_16(tile + 4 * threadIdx.x, x + threadIdx.x / 4 * 4);
	cp_async_commit();
	if (RIGHT)
		cp_async_wait<0>();
	__syncthreads();
	int sum = tile[(4 * threadIdx.x + 4) % (4 * THREADS)];
	if (!RIGHT)
		cp_async_wait<0>();
	__syncthreads();
	x[threadIdx.x] = sum;
}

/* The second copy by the same instruction, where the first was waited for. */
template <bool RIGHT> static __global__ void copied_again(int *x)
{
	int *tile = shared_memory<int>() + 4 * threadIdx.x;
	for (int turn = 0; turn < 2; turn++) {
		cp_async_16(tile, x + threadIdx.x / 4 * 4);
		cp_async_commit();
		if (RIGHT || turn == 0)
			cp_async_wait<0>();
	}
	int first = tile[0];
	cp_async_wait<0>();
	__syncthreads();
	x[threadIdx.x] = first;
}

/* One lane's row is written while ldmatrix of others may still read it. */
template <bool RIGHT> static __global__ void matrix(int *x)
{
	int *tile = shared_memory<int>() + threadIdx.x / 32 * 128;
	uint32_t r[4];
	for (unsigned i = 0; i < 4; i++)
		tile[threadIdx.x % 32 * 4 + i] = static_cast<int>(i);
	__syncwarp();
	ldmatrix_x4(r, tile + threadIdx.x % 32 * 4);
	if (RIGHT)
		__syncwarp();
	tile[(threadIdx.x + 1) % 32 * 4] = 1;
	x[threadIdx.x] = static_cast<int>(r[0]);
}

/* Products read by the asynchronous proxy: stores before them need its fence, not a barrier alone. */
template <bool FENCE, bool WAIT> static __device__ void product_of(int *x)
{
	unsigned char *begin = shared_memory<unsigned char>();
	begin += (SWIZZLE_BYTES - shared_address(begin) % SWIZZLE_BYTES) % SWIZZLE_BYTES;
	uint16_t *tile = reinterpret_cast<uint16_t *>(begin);
	for (unsigned i = threadIdx.x; i < 192 * 64; i += THREADS)
		tile[i] = 0;
	if (FENCE)
		shared_fence();
	__syncthreads();
	float sums[16][4];
	uint32_t a = shared_address(begin);
	wgmma_fence();
	wgmma_shared<__half>(sums, wgmma_descriptor(a, 16, 1024), wgmma_descriptor(a + 64 * 128, 16, 1024), false);
	wgmma_commit();
	if (WAIT)
		wgmma_wait<0>();
	__syncthreads();
	if (threadIdx.x < 16)
		tile[64 * 8 + threadIdx.x] = 1;
	wgmma_wait<0>();
	x[threadIdx.x] = static_cast<int>(sums[0][0]);
}
template <bool RIGHT> static __global__ void fenced(int *x)
{
	product_of<RIGHT, true>(x);
}
template <bool RIGHT> static __global__ void waited_for(int *x)
{
	product_of<true, RIGHT>(x);
}

/* ---- what is said ---- */

typedef void (*kernel)(int *);

static std::string said(kernel k, unsigned grid, bool descending)
{
	int ends[2];
	std::string text;
	char part[512];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		std::vector<int> x(grid * THREADS + 1);
		emulated_order(descending);
		launch(k, grid, THREADS, 32 << 10, nullptr, x.data());
		_exit(0);
	}
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
		text.append(part, static_cast<size_t>(n));
	close(ends[0]);
	int status = 0;
	waitpid(child, &status, 0);
	ck_assert_msg(WIFEXITED(status) ? text.empty() : WTERMSIG(status) == SIGABRT, "status %d: %s", status,
	              text.c_str());
	return text;
}

static bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

#define BOTH(k) k<false>, k<true>
static const struct {
	kernel wrong, right;
	unsigned grid;
	const char *memory, *one, *other, *why;
} CASES[] = {
        {BOTH(read_after_write), 2, "shared", "write of thread", "read of thread", "nothing orders"},
        {BOTH(write_after_read), 1, "shared", "write of thread", "read of thread", "nothing orders"},
        {BOTH(same_place), 1, "shared", "write of thread", "write of thread", "nothing orders"},
        {BOTH(lanes), 1, "shared", "write of thread", "read of thread", "nothing orders"},
        {BOTH(half_warps), 1, "shared", "write of thread", "read of thread", "nothing orders"},
        {BOTH(shuffled), 1, "shared", "write of thread", "read of thread", "nothing orders"},
        {BOTH(by_way_of), 1, "shared", "read of thread", "write of thread 127", "nothing orders"},
        {BOTH(halves), 1, "shared", "write of thread", "read of thread", "nothing orders"},
        {BOTH(blocks), 2, "global", "write of thread 0 ", "write of thread 3 ", "in another block"},
        {BOTH(read_of_a_block), 2, "global", "write of thread", "read of thread", "nothing orders"},
        {BOTH(atomics), 2, "global", "atomic of thread", "write of thread 5", "nothing orders"},
        {BOTH(copied), 1, "shared", "write by cp.async of thread", "read of thread", "still under way"},
        {BOTH(copied_again), 1, "shared", "write by cp.async of thread", "read of thread", "still under way"},
        {BOTH(matrix), 1, "shared", "write of thread", "read of thread", "nothing orders"},
        {BOTH(fenced), 1, "shared", "read by wgmma of thread", "write of thread", "no fence.proxy.async"},
        {BOTH(waited_for), 1, "shared", "read by wgmma of thread", "write of thread", "nothing orders"},
};
enum { COUNT = sizeof CASES / sizeof *CASES };

START_LOOP_TEST(found, 0, COUNT)
{
	for (int descending = 0; descending < 2; descending++) {
		std::string text = said(CASES[_i].wrong, CASES[_i].grid, descending);
		for (const char *part : {CASES[_i].memory, CASES[_i].one, CASES[_i].other, CASES[_i].why})
			ck_assert_msg(has(text, part), "'%s' is not in: %s", part, text.c_str());
		text = said(CASES[_i].right, CASES[_i].grid, descending);
		ck_assert_msg(text.empty(), "the right one: %s", text.c_str());
	}
}

START_TEST(both_lines_and_the_kernel)
{
	std::string text = said(read_after_write<false>, 1, false);
	ck_assert_msg(has(text, "test_cuda_races.cpp:" + std::to_string(WRITE_LINE)) &&
	                      has(text, "test_cuda_races.cpp:" + std::to_string(READ_LINE)) &&
	                      has(text, "race in void read_after_write<false>(int*)") && has(text, "block (0, 0, 0)"),
	              "%s", text.c_str());
}

int main()
{
	return emulated_tells() ? suite_run("cuda_races", 0)
	                        : suite_skip("kernels of this build have another sanitizer");
}
