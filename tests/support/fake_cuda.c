#include "tests/support/fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/fake_cuda_internal.h"

struct fake_cuda_settings fake_settings;
struct fake_cuda_counts fake_counts;
struct kernel_context *fake_device;
void (*fake_graph_goes)(const struct CUgraphExec_st *g);

const struct fake_cuda_counts *fake_cuda_counts(void)
{
	return &fake_counts;
}

void *fake_grown(void *list, int64_t count, size_t size)
{
	list = realloc(list, (size_t)count * size);
	if (!list)
		abort();
	return list;
}

uint64_t fake_random(struct kernel_context *c)
{
	c->random = c->random * 6364136223846793005u + 1442695040888963407u;
	return c->random >> 33;
}

/* ---- the device ---- */

static const char *error_text(int error)
{
	switch (error) {
	case ERROR_MEMORY:
		return "out of memory";
	case ERROR_KERNEL:
		return "an illegal memory access was encountered";
	case ERROR_STANDSTILL:
		return "streams wait for each other";
	case ERROR_NOT_PERMITTED:
		return "operation not permitted";
	case ERROR_INVALIDATED:
		return "operation failed due to a previous error during capture";
	case ERROR_CAPTURED_EVENT:
		return "operation not permitted on an event last recorded in a capturing stream";
	case ERROR_CAPTURING:
		return "operation not permitted when stream is capturing";
	case ERROR_UNJOINED:
		return "unjoined work";
	case ERROR_ISOLATION:
		return "dependency created on uncaptured work in another stream";
	default:
		return "some error";
	}
}

static int device_count(int *devices)
{
	*devices = fake_settings.devices < 0 ? 0 : fake_settings.devices ? fake_settings.devices : 1;
	return fake_settings.count_error;
}

static int64_t memory_bytes(void)
{
	return fake_settings.memory_bytes ? fake_settings.memory_bytes : (int64_t)8 << 30;
}

static int describe(int device, struct cuda_properties *out)
{
	(void)device;
	*out = (struct cuda_properties){.name = "a fake GPU",
	                                .major = 9,
	                                .multiprocessors = 1,
	                                .memory_bytes = memory_bytes(),
	                                .driver = 13000,
	                                .runtime = 13000,
	                                .runs_kernels = !fake_settings.no_code};
	return 0;
}

static int device_open(struct kernel_context **out, int device, size_t workspace_bytes)
{
	(void)device;
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	struct cuda_opening *o = &(*out)->opening;
	o->total_bytes = memory_bytes();
	o->after_context = o->total_bytes - FAKE_CONTEXT_BYTES;
	o->after_workspace = o->after_context - (int64_t)workspace_bytes;
	o->after_cublaslt = o->after_workspace - FAKE_CUBLASLT_BYTES;
	fake_device = *out;
	(*out)->thread = pthread_self();
	(*out)->random = fake_settings.seed * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < PLACES; i++)
		(*out)->rank[i] = fake_random(*out);
	fake_counts = (struct fake_cuda_counts){.launches = 0};
	return 0;
}

static void device_close(struct kernel_context *c)
{
	if (!c)
		return;
	for (int i = 0; i < PLACES; i++)
		free(c->streams[i].work.items);
	for (int64_t i = 0; i < c->kept_count; i++)
		free(c->kept[i]);
	free(c->kept);
	free(c->tickets);
	free(c);
}

int fake_refuses(struct kernel_context *c, bool captures)
{
	if (!pthread_equal(pthread_self(), c->thread))
		return ERROR_NOT_PERMITTED;
	if (!c->capturing || captures)
		return 0;
	c->capturing->invalid = true;
	return ERROR_CAPTURING;
}

/* For functions that return nothing. */
static void must_not_refuse(struct kernel_context *c)
{
	int error = fake_refuses(c, false);
	if (!error)
		return;
	fprintf(stderr, "fatal: the fake GPU: releasing memory: %s\n", error_text(error));
	abort();
}

static int memory(struct kernel_context *c, int64_t *free_bytes, int64_t *total_bytes)
{
	int error = fake_refuses(c, false);
	if (error)
		return error;
	*total_bytes = memory_bytes();
	*free_bytes = c->opening.after_cublaslt - c->graphs * FAKE_GRAPH_BYTES - (c->loaded ? FAKE_CODE_BYTES : 0);
	for (int i = 0; i < PLACES; i++)
		if (c->places[i].at && c->places[i].device)
			*free_bytes -= (int64_t)c->places[i].bytes;
	return 0;
}

static void opening(const struct kernel_context *c, struct cuda_opening *out)
{
	*out = c->opening;
}

static int take(struct kernel_context *c, size_t bytes, bool device, void **out)
{
	struct place *p = c->places;
	int64_t free_bytes, total;
	int error = memory(c, &free_bytes, &total);
	if (error)
		return error;
	if (device && (int64_t)bytes > free_bytes)
		return ERROR_MEMORY;
	while (p < c->places + PLACES && p->at)
		p++;
	if (p == c->places + PLACES)
		return ERROR_VALUE;
	void *at = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		abort();
	memset(at, 0xff, bytes);
	*p = (struct place){at, bytes + 1, device};
	if (device && mprotect(at, bytes + 1, PROT_NONE))
		abort();
	fake_counts.live++;
	*out = at;
	return 0;
}

static int allocate(struct kernel_context *c, size_t bytes, void **out)
{
	return take(c, bytes, true, out);
}

static int allocate_host(struct kernel_context *c, size_t bytes, void **out)
{
	return take(c, bytes, false, out);
}

static void release(struct kernel_context *c, void *at)
{
	must_not_refuse(c);
	for (int i = 0; i < PLACES && at; i++)
		if (c->places[i].at == at) {
			munmap(at, c->places[i].bytes);
			c->places[i].at = NULL;
			fake_counts.live--;
		}
}

void fake_lock_memory(const struct kernel_context *c, int protection)
{
	for (int i = 0; i < PLACES; i++)
		if (c->places[i].at && c->places[i].device && mprotect(c->places[i].at, c->places[i].bytes, protection))
			abort();
}

static bool tf32_allowed;
enum { FAKE_ALGORITHMS = 16 };
static struct cuda_algorithm algorithm_list[FAKE_ALGORITHMS];
static int algorithm_count;

static void allow_tf32(struct kernel_context *c, bool allow)
{
	(void)c;
	tf32_allowed = allow;
}

bool fake_cuda_tf32(void)
{
	return tf32_allowed;
}

static void products(const struct kernel_context *c, struct cuda_products *out)
{
	(void)c;
	if (fake_settings.shipped) {
		fake_settings.shipped->products(fake_settings.shipped_on, out);
		return;
	}
	*out = (struct cuda_products){.plain = fake_settings.plain_products,
	                              .first = "8 x 16 x 32 bf16, A whole, B whole",
	                              .why = ERROR_VALUE};
	out->by[fake_counts.rung_of_products] = 3;
}

static void cublaslt(int *built, int *here)
{
	*built = 130100;
	*here = 130200;
}

static void use_algorithms(struct kernel_context *c, const struct cuda_algorithm *given, int count, bool time)
{
	(void)c;
	fake_counts.algorithms_given = count;
	fake_counts.times_products = time;
	if (fake_settings.shipped) {
		fake_settings.shipped->use_algorithms(fake_settings.shipped_on, given, count, time);
		return;
	}
	algorithm_count = 0;
	for (int i = 0; i < count && i < FAKE_ALGORITHMS - 1; i++)
		algorithm_list[algorithm_count++] = given[i];
	if (time)
		algorithm_list[algorithm_count++] = (struct cuda_algorithm){{(uint64_t)count + 1}, {7}};
}

static int algorithms(const struct kernel_context *c, struct cuda_algorithm *out, int most)
{
	(void)c;
	if (fake_settings.shipped)
		return fake_settings.shipped->algorithms(fake_settings.shipped_on, out, most);
	for (int i = 0; i < algorithm_count && i < most; i++)
		out[i] = algorithm_list[i];
	return algorithm_count;
}

/* As if one layer had met both ways, and accumulated. */
static int bias_choices(const struct kernel_context *c, struct cuda_bias_choice *out, int most)
{
	(void)c;
	if (fake_settings.shipped)
		return fake_settings.shipped->bias_choices(fake_settings.shipped_on, out, most);
	for (int i = 0; i < 2 && i < most && fake_counts.times_products; i++)
		out[i] = (struct cuda_bias_choice){.shape = {.rows = 8, .in = 16, .out = 48},
		                                   .accumulates = i,
		                                   .used = true,
		                                   .way = CUDA_BIAS_PASS,
		                                   .seconds = {i ? 0 : 3e-4, 2e-4}};
	return fake_counts.times_products ? 2 : 0;
}

static void use_products(struct kernel_context *c, enum cuda_product_rung most)
{
	(void)c;
	fake_counts.rung_of_products = most;
	if (fake_settings.shipped)
		fake_settings.shipped->use_products(fake_settings.shipped_on, most);
}

static enum cuda_attention fake_attention;

/* It has the CPU's kernels alone, or those that are shipped. */
static int use_attention(struct kernel_context *c, enum cuda_attention most, bool time)
{
	(void)c;
	fake_attention = most;
	fake_counts.times_attention = time;
	return fake_settings.shipped ? fake_settings.shipped->use_attention(fake_settings.shipped_on, most, time) : 0;
}

static enum cuda_attention attention_rung(struct kernel_context *c, const struct attention_shape *shape, bool backward)
{
	(void)c;
	if (fake_settings.shipped)
		return fake_settings.shipped->attention_rung(fake_settings.shipped_on, shape, backward);
	return fake_attention && !backward ? fake_attention : CUDA_ATTENTION_PLAIN;
}

static void attention_choice(struct kernel_context *c, const struct attention_shape *shape, bool backward,
                             struct cuda_attention_choice *out)
{
	if (fake_settings.shipped) {
		fake_settings.shipped->attention_choice(fake_settings.shipped_on, shape, backward, out);
		return;
	}
	*out = (struct cuda_attention_choice){.rung = attention_rung(c, shape, backward),
	                                      .why = fake_attention ? CUDA_ATTENTION_ASKED : CUDA_ATTENTION_HIGHEST};
	if (!fake_counts.times_attention)
		return;
	out->why = CUDA_ATTENTION_MEASURED;
	out->seconds[CUDA_ATTENTION_PLAIN] = backward ? 5e-4 : 3e-4;
	out->seconds[CUDA_ATTENTION_CUDNN] = 6e-4;
	out->cudnn_plan = backward ? 1 : 0;
}

static int cudnn(void)
{
	return fake_settings.shipped ? fake_settings.shipped->cudnn() : fake_settings.cudnn;
}

const struct cuda_api *fake_cuda(const struct fake_cuda_settings *given)
{
	static struct cuda_api api;
	fake_settings = *given;
	api = (struct cuda_api){
	        .version = CUDA_API_VERSION,
	        .error_text = error_text,
	        .count = device_count,
	        .describe = describe,
	        .open = device_open,
	        .close = device_close,
	        .allow_tf32 = allow_tf32,
	        .cublaslt = cublaslt,
	        .products = products,
	        .use_products = use_products,
	        .use_algorithms = use_algorithms,
	        .algorithms = algorithms,
	        .bias_choices = bias_choices,
	        .use_attention = use_attention,
	        .attention_rung = attention_rung,
	        .attention_choice = attention_choice,
	        .cudnn = cudnn,
	        .memory = memory,
	        .opening = opening,
	        .allocate = allocate,
	        .release = release,
	        .allocate_host = allocate_host,
	        .release_host = release,
	};
	fake_fill_streams(&api);
	fake_fill_kernels(&api.kernels);
	if (fake_settings.no_attention)
		api.kernels.attention_forward = NULL;
	return &api;
}
