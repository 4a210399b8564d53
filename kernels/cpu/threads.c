/* Threads: static ranges handed to OpenMP's threads. OpenBLAS itself always runs on one thread, and its callers split
 * the matrices by rows, so that one pool of threads does all work and no second pool spins on the same cores. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include <cblas.h>
#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>

#include "kernels/cpu/bodies.h"

static int threads_in_use = 1;

/* Without a call OpenBLAS would start with a thread per core. */
__attribute__((constructor)) static void threads_init(void)
{
	openblas_set_num_threads(1);
}

void kernels_set_threads(int threads)
{
	threads_in_use = threads < 1 ? 1 : threads;
	openblas_set_num_threads(1);
}

/* How a product takes its buffer from a pool and gives it back. These are not in cblas.h, but every build of OpenBLAS
 * so far exports them. */
extern void *blas_memory_alloc(int position) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

/* A thread that looks for a buffer while another gives one back may miss that one and take the next. */
static int pool_size(int threads)
{
	return threads > 1 ? 2 * threads : 1;
}

/* Makes a pool of buffers for all products that run at the same time. Where these functions are missing, products make
 * the pool grow; if two threads' products have not overlapped by then, one more buffer is taken later. */
static void take_blas_buffers(int threads)
{
	enum { MOST = 64, N = 128 }; /* cores with AVX-512 multiply up to 100³ without a buffer */
	static const float a[N * N];
	static float c[N * N];
	void *buffer[MOST];
	int n = pool_size(threads) < MOST ? pool_size(threads) : MOST;
	if (blas_memory_alloc && blas_memory_free) {
		for (int i = 0; i < n; i++)
			buffer[i] = blas_memory_alloc(1);
		for (int i = 0; i < n; i++)
			blas_memory_free(buffer[i]);
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, a, N, 0, c, N);
}

/* OpenBLAS takes a buffer for each thread at its first product, and tries for ever if there is no memory for it. This
 * checks that there is memory, and then makes OpenBLAS take it. */
bool kernels_prepare(int64_t *bytes)
{
	*bytes = pool_size(threads_in_use) * KERNELS_BLAS_BYTES;
	void *room =
	        mmap(NULL, (size_t)*bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return false;
	munmap(room, (size_t)*bytes);
	take_blas_buffers(threads_in_use);
	return true;
}

static int64_t stack_bytes(void)
{
	pthread_attr_t attributes;
	size_t bytes = 0;
	if (pthread_getattr_np(pthread_self(), &attributes))
		return INT64_MAX; /* nothing is known */
	pthread_attr_getstacksize(&attributes, &bytes);
	pthread_attr_destroy(&attributes);
	return (int64_t)bytes;
}

bool kernels_have_stack(int64_t *bytes)
{
	int64_t least = INT64_MAX;
#pragma omp parallel num_threads(threads_in_use) reduction(min : least)
	least = stack_bytes();
	*bytes = least;
	return least >= KERNELS_STACK_BYTES;
}

int kernels_threads(void)
{
	return threads_in_use;
}

void parallel_for(kernel_body *body, const void *task, int64_t count, int64_t grain)
{
	int64_t pieces = (count + grain - 1) / grain;
	int64_t threads = threads_in_use < pieces ? threads_in_use : pieces;
	if (threads <= 1) {
		body(task, 0, count);
		return;
	}
#pragma omp parallel num_threads((int)threads)
	{
		/* The runtime may give fewer threads than asked for; the ranges do not depend on it. */
		int64_t given = omp_get_num_threads();
		for (int64_t t = omp_get_thread_num(); t < threads; t += given) {
			int64_t begin = pieces * t / threads * grain;
			int64_t end = t + 1 == threads ? count : pieces * (t + 1) / threads * grain;
			body(task, begin, end);
		}
	}
}
