/* The kernels on the host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulate/emulate.h"
#include "tests/gpu/target.h"
#include "tests/support/suite.h"

const struct cuda_api *target_api(void)
{
	return emulated_api();
}

const struct kernel_table *target_kernels(void)
{
	return &emulated_api()->kernels;
}

struct kernel_context *target_open(int multiprocessors, size_t workspace_bytes)
{
	return emulated_open(multiprocessors, workspace_bytes);
}

void target_close(struct kernel_context *c)
{
	emulated_close(c);
}

int target_wait(struct kernel_context *c, int error)
{
	(void)c;
	return error;
}

bool target_is_gpu(void)
{
	return false;
}

bool target_cudnn(void)
{
	const char *program = getenv("SHARDLAB"), *end = program ? strrchr(program, '/') : NULL;
	char path[4096];
	snprintf(path, sizeof path, "%.*s/tests/emulate/libcudnn.so.9", end ? (int)(end - program) : 5,
	         end ? program : "build");
	return !setenv("SHARDLAB_CUDNN", path, 1) && emulated_api()->cudnn() > 0;
}

void target_order(bool descending)
{
	emulated_order(descending);
	/* A race shows in either order: once is enough. */
	emulated_races(!descending && emulated_tells());
}

bool target_products(struct kernel_context *c, unsigned epilogues)
{
	static unsigned has;
	has = epilogues;
	c->algorithms = epilogues ? &has : NULL;
	return true;
}

void *target_memory(size_t bytes)
{
	void *memory = malloc(bytes);
	if (!memory)
		abort();
	return memory;
}

void target_release(void *memory)
{
	free(memory);
}

int target_run(const char *name, double seconds)
{
	return suite_run(name, seconds);
}
