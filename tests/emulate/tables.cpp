/* The table of kernels on the host, and the device that they are for: one of compute capability 9.0. */
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/stopwatch.h"
#include "tests/emulate/emulate.h"

/* Kernels that are not linked in stay NULL. */
extern "C" {
#define KERNEL(name, place)                                                                                            \
	__attribute__((weak)) int cuda_##name(struct kernel_context *c,                                                \
	                                      kernel_stream s PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE));
#include "kernels/table.def"
__attribute__((weak)) void cuda_products_lost(const struct kernel_context *c, struct cuda_products *out);
__attribute__((weak)) void cuda_use_products(struct kernel_context *c, enum cuda_product_rung most);
__attribute__((weak)) void cuda_use_algorithms(struct kernel_context *c, const struct cuda_algorithm *given, int count,
                                               bool time);
__attribute__((weak)) int cuda_algorithms(const struct kernel_context *c, struct cuda_algorithm *out, int most);
__attribute__((weak)) int cuda_bias_choices(const struct kernel_context *c, struct cuda_bias_choice *out, int most);
__attribute__((weak)) int cuda_use_attention(struct kernel_context *c, enum cuda_attention most, bool time);
__attribute__((weak)) enum cuda_attention cuda_attention_rung(struct kernel_context *c,
                                                              const struct attention_shape *shape, bool backward);
__attribute__((weak)) void cuda_attention_chosen(struct kernel_context *c, const struct attention_shape *shape,
                                                 bool backward, struct cuda_attention_choice *out);
__attribute__((weak)) int cuda_cudnn(void);
__attribute__((weak)) void attention_cudnn_close(struct kernel_context *c);
}

const struct cuda_api *emulated_api(void)
{
	static struct cuda_api api;
	api.version = CUDA_API_VERSION;
	api.products = cuda_products_lost;
	api.use_products = cuda_use_products;
	api.use_algorithms = cuda_use_algorithms;
	api.algorithms = cuda_algorithms;
	api.bias_choices = cuda_bias_choices;
	api.use_attention = cuda_use_attention;
	api.attention_rung = cuda_attention_rung;
	api.attention_choice = cuda_attention_chosen;
	api.cudnn = cuda_cudnn;
#define KERNEL(name, place) api.kernels.name = cuda_##name;
#include "kernels/table.def"
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
	if (attention_cudnn_close)
		attention_cudnn_close(c);
	free(spare);
	spare = c->workspace;
	spare_bytes = c->workspace_bytes;
	delete c;
}

/* ---- time, which a test says ---- */

static const float *times;
static int times_left;

void emulated_times(const float *milliseconds, int count)
{
	times = milliseconds;
	times_left = count;
}

void *stopwatch_memory(size_t bytes)
{
	return malloc(bytes);
}

void stopwatch_memory_release(void *memory)
{
	free(memory);
}

bool stopwatch_may(kernel_stream)
{
	return times_left > 0;
}

float stopwatch_run(kernel_stream, int (*run)(void *context), void *context)
{
	if (run(context) || !times_left)
		return -1;
	times_left--;
	return *times++;
}
