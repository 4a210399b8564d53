/* Shared by the benchmarks on a GPU: opening the library and the first GPU, errors, and the time of a kernel.
 *
 *     if (!gpu_open("bench_cuda_matrix"))
 *             return 0;                              it has said why it does not run
 *     double seconds = gpu_seconds(forward, &layer, "a product");
 *     gpu_close();
 *
 * The library is that of `make`, or what SHARDLAB_CUDA_LIBRARY names.
 */
#ifndef SHARDLAB_CUDA_BENCH_H
#define SHARDLAB_CUDA_BENCH_H

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "tests/bench/bench.h"

enum { MOST_REPEATS = 1000, WARM_UP = 3, MOST_IN_A_ROW = 50, TILE = 1 << 22 };

static const char *bench_name;
static const struct cuda_api *api;
static const struct kernel_table *kernels;
static struct kernel_context *gpu;
static kernel_stream stream;
static int repeats = 20;

static inline void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "error: %s: %s: %s\n", bench_name, what, api->error_text(error));
	exit(2);
}

static inline void *host(size_t bytes)
{
	void *p = malloc(bytes);
	if (!p)
		bench_fail("out of memory");
	return p;
}

/* The next random number, in [0, 1). */
static inline float random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (float)(*state >> 8) / 16777216.0f;
}

/* Elements of device memory, as numbers. */
static inline float *fetched(enum element type, const void *p, int64_t n)
{
	void *elements = host((size_t)(n * element_bytes(type)));
	float *floats = host((size_t)n * sizeof *floats);
	check(kernels->copy(gpu, stream, elements, p, (size_t)(n * element_bytes(type))), "a copy");
	check(api->stream_synchronize(gpu, stream), "a copy");
	vector_convert(n, type, elements, ELEMENT_FP32, floats);
	free(elements);
	return floats;
}

/* n elements in [−1, 1): as many random ones as no cache or predictor remembers, again and again. */
static inline void *filled(enum element type, int64_t n)
{
	static float floats[TILE];
	const int64_t most = n < TILE ? n : TILE, size = element_bytes(type);
	char *elements = host((size_t)(most * size)), *p = NULL;
	uint32_t state = 1;
	for (int64_t i = 0; i < TILE; i++)
		floats[i] = 2 * random_next(&state) - 1;
	vector_convert(most, ELEMENT_FP32, floats, type, elements);
	check(api->allocate(gpu, (size_t)(n * size), (void **)&p), "memory");
	for (int64_t done = 0; done < n; done += most)
		check(kernels->copy(gpu, stream, p + done * size, elements,
		                    (size_t)((n - done < most ? n - done : most) * size)),
		      "a copy");
	check(api->stream_synchronize(gpu, stream), "a copy");
	free(elements);
	return p;
}

static inline void release(int n, void **p)
{
	for (int i = 0; i < n; i++)
		api->release(gpu, p[i]);
}

/* The largest difference between the first `n` results of two passes, and the largest of them. */
static inline void furthest(enum element type, const void *one, const void *other, int64_t n, double *apart,
                            double *size)
{
	float *x = fetched(type, one, n), *y = fetched(type, other, n);
	*apart = *size = 0;
	for (int64_t i = 0; i < n; i++) {
		double difference = fabs((double)x[i] - (double)y[i]);
		if (!(difference <= *apart)) /* or is no number */
			*apart = difference;
		if (fabs((double)x[i]) > *size)
			*size = fabs((double)x[i]);
	}
	free(x);
	free(y);
}

/* The time of one run among `count` in a row. */
static inline double gpu_seconds_of(int (*run)(const void *), const void *what, const char *name, int count,
                                    cuda_event begin, cuda_event end)
{
	double seconds = 0;
	check(api->event_record(gpu, begin, stream), "an event");
	for (int i = 0; i < count; i++)
		check(run(what), name);
	check(api->event_record(gpu, end, stream), "an event");
	check(api->stream_synchronize(gpu, stream), name);
	check(api->event_elapsed(gpu, begin, end, &seconds), "an event");
	return seconds / count;
}

/* The median of the repeats. As in a step, one run follows another, so that the time to launch the first is none of
 * theirs: as many as take a millisecond. run returns an error's number, or 0. */
static inline double gpu_seconds(int (*run)(const void *), const void *what, const char *name)
{
	double times[MOST_REPEATS], once = 0;
	cuda_event begin, end;
	check(api->event_create(gpu, true, &begin), "an event");
	check(api->event_create(gpu, true, &end), "an event");
	for (int i = 0; i < WARM_UP; i++)
		once = gpu_seconds_of(run, what, name, 1, begin, end);
	int in_a_row = once * MOST_IN_A_ROW < 1e-3 ? MOST_IN_A_ROW : 1 + (int)(1e-3 / once);
	for (int i = 0; i < repeats; i++)
		times[i] = gpu_seconds_of(run, what, name, in_a_row, begin, end);
	api->event_destroy(gpu, begin);
	api->event_destroy(gpu, end);
	return median(times, repeats);
}

/* A table that the program itself was linked with: tests/gpu/fake_bench.c. */
__attribute__((weak)) const struct cuda_api *shardlab_cuda_api(void);

static inline const struct cuda_api *table_of(void *library)
{
	void *function = library ? dlsym(library, CUDA_API_SYMBOL) : NULL;
	const struct cuda_api *(*get)(void) = NULL;
	if (function)
		memcpy(&get, &function, sizeof get);
	return get ? get() : NULL;
}

/* Says which GPU it is; or, returning false, why there is none. */
static inline bool gpu_open(const char *name)
{
	struct cuda_properties properties;
	const char *path = getenv("SHARDLAB_CUDA_LIBRARY");
	path = path ? path : "build/libshardlab-cuda.so";
	int devices = 0;
	bench_name = name;
	api = shardlab_cuda_api ? shardlab_cuda_api() : table_of(dlopen(path, RTLD_NOW | RTLD_LOCAL));
	kernels = api ? &api->kernels : NULL;
	int error = api ? api->count(&devices) : 0;
	if (!api || error || devices < 1) {
		printf("%s: not run: %s\n", name,
		       !api    ? "no libshardlab-cuda.so"
		       : error ? api->error_text(error)
		               : "no GPU");
		return false;
	}
	check(api->describe(0, &properties), "the GPU");
	check(api->open(&gpu, 0, (size_t)64 << 20), "the GPU");
	check(api->stream_create(gpu, false, &stream), "a stream");
	int built, here;
	api->cublaslt(&built, &here);
	printf("%s, %d multiprocessors; cuBLASLt %d, built with %d; median of %d\n", properties.name,
	       properties.multiprocessors, here, built, repeats);
	return true;
}

/* Returns the exit status: 1, and a line, if cuBLASLt had nothing for a product, so that its rate says nothing. */
static inline int gpu_products_status(void)
{
	struct cuda_products p;
	api->products(gpu, &p);
	if (!p.plain)
		return 0;
	fprintf(stderr, "error: %s: %lld products were computed without cuBLASLt; the first: %s: %s\n", bench_name,
	        (long long)p.plain, p.first, api->error_text(p.why));
	return 1;
}

/* A pass of attention, for the calls below. */
struct attention {
	struct attention_shape shape;
	void *qkv, *y, *dy, *dqkv, *log_sum_exp;
};

static inline int attend(const void *what)
{
	const struct attention *a = what;
	return kernels->attention_forward(gpu, stream, &a->shape, a->qkv, a->y, a->log_sum_exp);
}

static inline int attend_backward(const void *what)
{
	const struct attention *a = what;
	return kernels->attention_backward(gpu, stream, &a->shape, a->dy, a->qkv, a->y, a->log_sum_exp, a->dqkv);
}

static inline void gpu_close(void)
{
	api->stream_destroy(gpu, stream);
	api->close(gpu);
}

#endif
