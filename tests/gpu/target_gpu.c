/* A GPU, by the library that SHARDLAB_CUDA_LIBRARY names. Each kernel gets copies of a test's memory in the GPU's own,
 * between guards (operands.h). */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/cudnn.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/operands.h"
#include "tests/gpu/target.h"
#include "tests/support/suite.h"

enum { MOST_OPEN = 16 };

static struct gpu gpu;
static const struct cuda_api *api;               /* the GPU's, which takes operands of a test's memory */
static struct kernel_context *opened[MOST_OPEN]; /* each workspace's size once, until the program ends */

static void need(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "error: %s: %s\n", what, gpu.api->error_text(error));
	exit(EXIT_FAILURE);
}

const struct cuda_api *target_api(void)
{
	return api;
}

const struct kernel_table *target_kernels(void)
{
	return &api->kernels;
}

static struct kernel_context *open_once(size_t workspace_bytes)
{
	int i = 0;
	while (i < MOST_OPEN && opened[i] && opened[i]->workspace_bytes != workspace_bytes)
		i++;
	if (i == MOST_OPEN)
		abort();
	if (opened[i])
		return opened[i];
	need(gpu.api->open(&opened[i], 0, operands_workspace(workspace_bytes)), "opening the GPU");
	operands_guard(opened[i]);
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

void *target_memory(size_t bytes)
{
	return operands_memory(bytes);
}

void target_release(void *memory)
{
	operands_release(memory);
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
	api = operands_api(gpu.api);
	srunner_set_fork_status(runner, CK_NOFORK); /* CUDA does not outlive a fork, and takes a while to start */
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	operands_end();
	for (int i = 0; i < MOST_OPEN; i++) {
		operands_unguard(opened[i]);
		gpu.api->close(opened[i]);
	}
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
