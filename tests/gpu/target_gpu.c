/* A GPU, by the library that SHARDLAB_CUDA_LIBRARY names. Memory is the host's, pinned: a GPU reads and writes it over
 * its link, at the addresses that the host has. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/gpu.h"
#include "tests/gpu/target.h"

enum { MOST_OPEN = 16 };

static struct gpu gpu;
static struct cuda *opened[MOST_OPEN]; /* each workspace's size once, until the program ends */

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

const struct cuda_api *target_plain_api(void)
{
	return gpu.plain;
}

static struct cuda *open_once(size_t workspace_bytes)
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

struct cuda *target_open(int multiprocessors, size_t workspace_bytes)
{
	(void)multiprocessors;
	struct cuda *c = open_once(workspace_bytes);
	need(gpu.api->fill(c, NULL, c->workspace, 0xff, workspace_bytes), "filling the workspace");
	return c;
}

void target_close(struct cuda *c)
{
	(void)c;
}

int target_wait(struct cuda *c, int error)
{
	int later = gpu.api->stream_synchronize(c, NULL);
	return error ? error : later;
}

void target_order(bool descending)
{
	(void)descending;
}

bool target_products(struct cuda *c, bool there)
{
	(void)c;
	(void)there;
	return false;
}

void *target_memory(size_t bytes)
{
	void *memory = NULL;
	need(gpu.api->allocate_host(open_once(0), bytes ? bytes : 1, &memory), "pinned memory");
	return memory;
}

void target_release(void *memory)
{
	if (memory)
		gpu.api->release_host(open_once(0), memory);
}

int target_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	enum gpu_found found = gpu_find(&gpu);
	int failures = 0;
	if (found == GPU_FOUND && !gpu.plain) {
		snprintf(gpu.why, sizeof gpu.why,
		         "error: SHARDLAB_CUDA_LIBRARY names no library with the plain kernels");
		found = GPU_BROKEN;
	}
	if (found != GPU_FOUND) {
		puts(gpu.why);
		srunner_free(runner);
		return found;
	}
	srunner_set_fork_status(runner, CK_NOFORK); /* CUDA does not outlive a fork, and takes a while to start */
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	for (int i = 0; i < MOST_OPEN; i++)
		gpu.api->close(opened[i]);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
