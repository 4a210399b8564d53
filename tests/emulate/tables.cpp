/* The table of kernels on the host, and the device that they are for: one of compute capability 9.0. */
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/table.h"
#include "tests/emulate/emulate.h"

/* Kernels that are not linked in stay NULL. */
#define FILLS(X)                                                                                                       \
	X(cuda_fill_linear)                                                                                            \
	X(cuda_fill_finish)                                                                                            \
	X(cuda_fill_attention)                                                                                         \
	X(cuda_fill_norm)                                                                                              \
	X(cuda_fill_batch_norm)                                                                                        \
	X(cuda_fill_embedding)                                                                                         \
	X(cuda_fill_classifier)                                                                                        \
	X(cuda_fill_optimizer)                                                                                         \
	X(cuda_fill_vector)
#define X(name) extern "C" __attribute__((weak)) void name(struct cuda_api *api);
FILLS(X)
#undef X

#define X(name)                                                                                                        \
	if (name)                                                                                                      \
		name(&api);

const struct cuda_api *emulated_api(void)
{
	static struct cuda_api api;
	api.version = CUDA_API_VERSION;
	FILLS(X)
	return &api;
}

/* The workspace that was closed last, for the next that is as large: mapping megabytes takes longer than most kernels.
 */
static void *spare;
static size_t spare_bytes;

struct kernel_context *emulated_open(int multiprocessors, size_t workspace_bytes)
{
	struct kernel_context *c = new struct kernel_context();
	c->multiprocessors = multiprocessors;
	c->shared_bytes = 227 << 10;
	c->major = 9;
	c->workspace_bytes = workspace_bytes;
	if (spare && spare_bytes == workspace_bytes)
		std::swap(c->workspace, spare);
	else if (posix_memalign(&c->workspace, 256, workspace_bytes))
		emulate_fail("no memory for the workspace");
	memset(c->workspace, 0xff, workspace_bytes);
	return c;
}

void emulated_close(struct kernel_context *c)
{
	if (!c)
		return;
	free(spare);
	spare = c->workspace;
	spare_bytes = c->workspace_bytes;
	delete c;
}
