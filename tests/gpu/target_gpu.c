/* A GPU, by the library that SHARDLAB_CUDA_LIBRARY names. Memory is the host's, pinned: a GPU reads and writes it over
 * its link, at the addresses that the host has. Tests take and release thousands of pieces, and pinning one is slow: so
 * what is released is kept for the next piece of its size. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/gpu.h"
#include "tests/gpu/target.h"
#include "tests/support/suite.h"

enum { MOST_OPEN = 16, SIZES = 48, HEAD_BYTES = 256 /* before a piece, so that it is aligned */ };

/* The header of a piece of 2^size bytes. */
struct head {
	struct head *next; /* released */
	int size;
};

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

void *target_memory(size_t bytes)
{
	void *memory = NULL;
	int size = 0;
	while (((size_t)1 << size) < bytes + HEAD_BYTES)
		size++;
	struct head *piece = released[size];
	if (piece) {
		released[size] = piece->next;
	} else {
		need(gpu.api->allocate_host(open_once(0), (size_t)1 << size, &memory), "pinned memory");
		piece = memory;
		piece->size = size;
	}
	return (char *)piece + HEAD_BYTES;
}

void target_release(void *memory)
{
	if (!memory)
		return;
	struct head *piece = (void *)((char *)memory - HEAD_BYTES);
	piece->next = released[piece->size];
	released[piece->size] = piece;
}

static void release_all(void)
{
	for (int size = 0; size < SIZES; size++)
		while (released[size]) {
			struct head *piece = released[size];
			released[size] = piece->next;
			gpu.api->release_host(open_once(0), piece);
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
	srunner_set_fork_status(runner, CK_NOFORK); /* CUDA does not outlive a fork, and takes a while to start */
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	release_all();
	for (int i = 0; i < MOST_OPEN; i++)
		gpu.api->close(opened[i]);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
