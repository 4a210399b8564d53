/* A GPU, by the library that SHARDLAB_CUDA_LIBRARY names. Memory is the driver's managed memory: its pages lie on the
 * GPU when a kernel has touched them, and move to the host when the test does. A driver that has none of it (the
 * stand-in) gives the host's, pinned. On both sides of a piece lie guards, which are looked at when it is released.
 * Tests take and release thousands of pieces, and taking one is slow: so what is released is kept for the next piece of
 * its size. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cudnn.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/target.h"
#include "tests/support/suite.h"

enum {
	MOST_OPEN = 16,
	SIZES = 48,
	HEAD_BYTES = 256, /* before a piece, so that it is aligned */
	TAIL_BYTES = 256,
	GUARD = 0xA5
};

/* The header of a piece of 2^size bytes, of which a test has `bytes`. */
struct head {
	struct head *next; /* released */
	size_t bytes;
	int size;
};

/* From the driver's API (cuda.h); 0: it went well. */
typedef int allocate_managed(unsigned long long *out, size_t bytes, unsigned flags);
typedef int free_managed(unsigned long long address);
enum { ATTACH_GLOBAL = 1 };

static struct {
	allocate_managed *allocate; /* NULL: there is none */
	free_managed *release;
} managed;
static struct gpu gpu;
static struct kernel_context *opened[MOST_OPEN]; /* each workspace's size once, until the program ends */
static struct head *released[SIZES];

static void need(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "error: %s: %s\n", what, gpu.api->error_text(error));
	exit(EXIT_FAILURE);
}

const struct cuda_api *target_api(void)
{
	return gpu.api;
}

const struct kernel_table *target_kernels(void)
{
	return &gpu.api->kernels;
}

static struct kernel_context *open_once(size_t workspace_bytes)
{
	int i = 0;
	while (i < MOST_OPEN && opened[i] && opened[i]->workspace_bytes != workspace_bytes)
		i++;
	if (i == MOST_OPEN)
		abort();
	if (!opened[i])
		need(gpu.api->open(&opened[i], 0, workspace_bytes), "opening the GPU");
	return opened[i];
}

struct kernel_context *target_open(int multiprocessors, size_t workspace_bytes)
{
	(void)multiprocessors;
	struct kernel_context *c = open_once(workspace_bytes);
	need(gpu.api->kernels.fill(c, NULL, c->workspace, 0xff, workspace_bytes), "filling the workspace");
	return c;
}

void target_close(struct kernel_context *c)
{
	(void)c;
}

int target_wait(struct kernel_context *c, int error)
{
	int later = gpu.api->stream_synchronize(c, NULL);
	return error ? error : later;
}

bool target_is_gpu(void)
{
	return true;
}

bool target_cudnn(void)
{
	return target_api()->cudnn() >= CUDNN_OLDEST;
}

void target_order(bool descending)
{
	(void)descending;
}

bool target_products(struct kernel_context *c, unsigned epilogues)
{
	(void)c;
	(void)epilogues;
	return false;
}

/* ---- memory ---- */

static void find_managed(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *allocate = driver ? dlsym(driver, "cuMemAllocManaged") : NULL;
	void *release = driver ? dlsym(driver, "cuMemFree_v2") : NULL;
	if (!allocate || !release)
		return;
	memcpy(&managed.allocate, &allocate, sizeof allocate);
	memcpy(&managed.release, &release, sizeof release);
}

static struct head *new_piece(int size)
{
	unsigned long long address = 0;
	void *memory = NULL;
	struct kernel_context *c = open_once(0); /* makes the GPU the thread's */
	if (!managed.allocate)
		need(gpu.api->allocate_host(c, (size_t)1 << size, &memory), "pinned memory");
	else if (managed.allocate(&address, (size_t)1 << size, ATTACH_GLOBAL))
		fputs("error: the driver has no managed memory left\n", stderr), exit(EXIT_FAILURE);
	struct head *piece = memory ? memory : (void *)(uintptr_t)address;
	if (!piece)
		abort();
	piece->size = size;
	return piece;
}

static void free_piece(struct head *piece)
{
	if (managed.release)
		managed.release((uintptr_t)piece);
	else
		gpu.api->release_host(open_once(0), piece);
}

void *target_memory(size_t bytes)
{
	int size = 0;
	while (((size_t)1 << size) < HEAD_BYTES + bytes + TAIL_BYTES)
		size++;
	struct head *piece = released[size];
	if (piece)
		released[size] = piece->next;
	else
		piece = new_piece(size);
	piece->bytes = bytes;
	char *memory = (char *)piece + HEAD_BYTES;
	memset(piece + 1, GUARD, HEAD_BYTES - sizeof *piece);
	memset(memory + bytes, GUARD, TAIL_BYTES);
	return memory;
}

static bool is_whole(const unsigned char *guard, size_t bytes)
{
	size_t i = 0;
	while (i < bytes && guard[i] == GUARD)
		i++;
	return i == bytes;
}

void target_release(void *memory)
{
	if (!memory)
		return;
	unsigned char *bytes = memory;
	struct head *piece = (void *)(bytes - HEAD_BYTES);
	bool before = is_whole((unsigned char *)(piece + 1), HEAD_BYTES - sizeof *piece);
	bool behind = is_whole(bytes + piece->bytes, TAIL_BYTES);
	piece->next = released[piece->size];
	released[piece->size] = piece;
	ck_assert_msg(before && behind, "a kernel wrote %s memory of %zu bytes", before ? "behind" : "before",
	              piece->bytes);
}

static void release_all(void)
{
	for (int size = 0; size < SIZES; size++)
		while (released[size]) {
			struct head *piece = released[size];
			released[size] = piece->next;
			free_piece(piece);
		}
}

int target_run(const char *name, double seconds)
{
	SRunner *runner = suite_runner(name, seconds);
	enum gpu_found found = gpu_find(&gpu);
	int failures = 0;
	if (found != GPU_FOUND) {
		puts(gpu.why);
		srunner_free(runner);
		return found;
	}
	find_managed();
	srunner_set_fork_status(runner, CK_NOFORK); /* CUDA does not outlive a fork, and takes a while to start */
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	release_all();
	for (int i = 0; i < MOST_OPEN; i++)
		gpu.api->close(opened[i]);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
