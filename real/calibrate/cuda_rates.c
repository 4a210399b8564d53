/* The GPU's own rates: matrix products by size and type, memory, copies to and from the host, the start of a kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/calibrate/cuda.h"
#include "strategy/base/clock.h"
#include "strategy/base/memory.h"

enum { REPEATS = 11, TILE = 1 << 20 };

#define MIB (INT64_C(1) << 20)

static const int64_t product_sizes[] = {512, 1024, 2048, 4096, 8192};
enum { PRODUCTS = sizeof product_sizes / sizeof *product_sizes };

static const struct product_type {
	const char *name;
	enum element type;
	bool tf32;
} product_types[] = {{"fp32", ELEMENT_FP32, false},
                     {"tf32", ELEMENT_FP32, true},
                     {"bf16", ELEMENT_BF16, false},
                     {"fp16", ELEMENT_FP16, false}};
enum { PRODUCT_TYPES = sizeof product_types / sizeof *product_types };

/* ---- matrix products ---- */

struct products {
	struct linear_shape shape;
	void *x, *weight, *y;
};

static int issue_product(struct gpu *g, const void *what)
{
	const struct products *p = what;
	return g->api->kernels.linear_forward(g->cuda, g->stream, &p->shape, p->x, p->weight, NULL, NULL, p->y, NULL);
}

/* The values have all signs and sizes: on zeros a GPU draws less power and runs faster than it ever will in training.
 */
static int fill_operand(struct gpu *g, enum element type, void *to, int64_t elements)
{
	float *values = malloc((size_t)TILE * sizeof *values);
	void *tile = malloc((size_t)TILE * sizeof *values);
	uint64_t state = 88172645463325252u;
	int error = 0;
	if (!values || !tile)
		memory_exhausted();
	for (int i = 0; i < TILE; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		values[i] = (float)(state >> 40) / (float)(1 << 23) - 1;
	}
	vector_convert(TILE, ELEMENT_FP32, values, type, tile);
	for (int64_t done = 0; done < elements && !error; done += TILE) {
		int64_t n = elements - done < TILE ? elements - done : TILE;
		error = g->api->kernels.copy(g->cuda, g->stream, (char *)to + done * element_bytes(type), tile,
		                             (size_t)(n * element_bytes(type)));
	}
	if (!error)
		error = g->api->stream_synchronize(g->cuda, g->stream);
	free(values);
	free(tile);
	return error;
}

static enum status measure_product(struct calibration *k, struct gpu *g, struct products *p, const char *type,
                                   int64_t n)
{
	int64_t ns[REPEATS], flops = 2 * n * n * n;
	char name[64];
	p->shape = (struct linear_shape){.rows = n, .in = n, .out = n, .type = p->shape.type};
	/* The first run chooses an algorithm. The second tells how many runs fit into two milliseconds. */
	enum status s = gpu_time(g, issue_product, p, 1, false, 1, ns);
	int64_t begin = clock_ns();
	if (!s)
		s = gpu_time(g, issue_product, p, 1, false, 1, ns);
	int several = (int)(4000000 / (clock_ns() - begin + 40000)) + 1;
	if (!s)
		s = gpu_time(g, issue_product, p, several, false, REPEATS, ns);
	snprintf(name, sizeof name, "product of %s, %lld", type, (long long)n);
	if (!s)
		calibrate_figure(k, name, CALIBRATE_FLOPS, calibrate_rate(flops, ns, REPEATS));
	return s;
}

static enum status measure_products(struct calibration *k, struct gpu *g, const struct product_type *type)
{
	struct products p = {.shape = {.type = type->type}};
	enum status s = STATUS_OK;
	int first = k->options->quick ? 1 : 0, step = k->options->quick ? 2 : 1, largest = -1;
	for (int i = first; i < PRODUCTS; i += step)
		if (3 * product_sizes[i] * product_sizes[i] * element_bytes(type->type) < g->available_bytes / 2)
			largest = i;
	if (largest < 0)
		return STATUS_OK;
	int64_t elements = product_sizes[largest] * product_sizes[largest];
	void **places[] = {&p.x, &p.weight, &p.y};
	int error = 0;
	for (int i = 0; i < 3 && !error; i++)
		error = g->api->allocate(g->cuda, (size_t)(elements * element_bytes(type->type)), places[i]);
	for (int i = 0; i < 2 && !error; i++)
		error = fill_operand(g, type->type, *places[i], elements);
	s = gpu_error(g, error, "taking memory for matrix products");
	g->api->allow_tf32(g->cuda, type->tf32);
	for (int i = first; i <= largest && !s; i += step)
		s = measure_product(k, g, &p, type->name, product_sizes[i]);
	g->api->allow_tf32(g->cuda, false);
	for (int i = 0; i < 3; i++)
		g->api->release(g->cuda, *places[i]);
	return s;
}

/* ---- copies ---- */

struct copy {
	void *to;
	const void *from;
	int64_t bytes;
};

static int issue_copy(struct gpu *g, const void *what)
{
	const struct copy *c = what;
	return g->api->kernels.copy(g->cuda, g->stream, c->to, c->from, (size_t)c->bytes);
}

static int64_t a_quarter(const struct gpu *g, int64_t most)
{
	return g->available_bytes / 4 < most ? g->available_bytes / 4 : most;
}

/* Each byte is read once and written once. The copy is larger than the caches. */
static enum status measure_memory(struct calibration *k, struct gpu *g)
{
	int64_t ns[REPEATS], bytes = a_quarter(g, 512 * MIB);
	void *x = NULL, *y = NULL;
	int error = g->api->allocate(g->cuda, (size_t)bytes, &x);
	if (!error)
		error = g->api->allocate(g->cuda, (size_t)bytes, &y);
	enum status s = gpu_error(g, error, "taking memory to copy");
	if (!s)
		s = gpu_time(g, issue_copy, &(struct copy){y, x, bytes}, 4, false, REPEATS, ns);
	if (!s)
		k->cluster->device_bandwidth = calibrate_rate(2 * bytes, ns, REPEATS);
	g->api->release(g->cuda, x);
	g->api->release(g->cuda, y);
	return s;
}

static struct rate slower(struct rate a, struct rate b)
{
	struct rate r = a.value < b.value ? a : b;
	r.low = a.low < b.low ? a.low : b.low;
	r.high = a.high > b.high ? a.high : b.high;
	return r;
}

/* Measures both directions. The simulator has one rate for both, the slower one. */
static enum status measure_copies(struct calibration *k, struct gpu *g, void *device, void *pinned, void *pageable,
                                  int64_t bytes)
{
	enum { SMALL = 4096, KINDS = 4 };
	const struct {
		const char *name;
		struct copy copy;
	} kinds[KINDS] = {{"host to device, pinned", {device, pinned, bytes}},
	                  {"device to host, pinned", {pinned, device, bytes}},
	                  {"host to device, not pinned", {device, pageable, bytes}},
	                  {"device to host, not pinned", {pageable, device, bytes}}};
	struct rate rates[KINDS] = {0};
	int64_t ns[REPEATS];
	enum status s = STATUS_OK;
	for (int i = 0; i < KINDS; i++) {
		s = gpu_time(g, issue_copy, &kinds[i].copy, 1, false, REPEATS, ns);
		if (s)
			break;
		rates[i] = calibrate_rate(bytes, ns, REPEATS);
		calibrate_figure(k, kinds[i].name, CALIBRATE_BYTES, rates[i]);
	}
	if (!s)
		s = gpu_time(g, issue_copy, &(struct copy){pinned, device, SMALL}, 1, false, REPEATS, ns);
	if (s)
		return s;
	k->cluster->host_link.bandwidth = slower(rates[0], rates[1]);
	k->cluster->host_link.latency = calibrate_rate(0, ns, REPEATS);
	return STATUS_OK;
}

static enum status measure_host_link(struct calibration *k, struct gpu *g)
{
	int64_t bytes = a_quarter(g, 128 * MIB);
	void *device = NULL, *pinned = NULL, *pageable = malloc((size_t)bytes);
	int error = g->api->allocate(g->cuda, (size_t)bytes, &device);
	if (!error)
		error = g->api->allocate_host(g->cuda, (size_t)bytes, &pinned);
	enum status s = pageable ? gpu_error(g, error, "taking memory to copy from the host")
	                         : status_fail(STATUS_MEMORY, "out of memory");
	if (!s && pinned && pageable) {
		memset(pinned, 1, (size_t)bytes);
		memset(pageable, 1, (size_t)bytes);
		s = measure_copies(k, g, device, pinned, pageable, bytes);
	}
	g->api->release(g->cuda, device);
	g->api->release_host(g->cuda, pinned);
	free(pageable);
	return s;
}

/* ---- launches ---- */

/* The least that a kernel can do: one thread adds one. */
static int issue_least(struct gpu *g, const void *what)
{
	return g->api->kernels.advance(g->cuda, g->stream, *(int64_t *const *)what);
}

static enum status measure_launches(struct calibration *k, struct gpu *g)
{
	enum { CHAIN = 200 };
	int64_t eager[REPEATS], replayed[REPEATS], *step = NULL;
	int error = g->api->allocate(g->cuda, sizeof *step, (void **)&step);
	if (!error)
		error = g->api->kernels.fill(g->cuda, g->stream, step, 0, sizeof *step);
	enum status s = gpu_error(g, error, "taking memory for a counter");
	if (!s)
		s = gpu_time(g, issue_least, &step, CHAIN, false, REPEATS, eager);
	if (!s)
		s = gpu_time(g, issue_least, &step, CHAIN, true, REPEATS, replayed);
	if (!s) {
		struct rate issued = calibrate_rate(0, eager, REPEATS), captured = calibrate_rate(0, replayed, REPEATS);
		calibrate_figure(k, "start of a kernel, issued", CALIBRATE_NS, issued);
		calibrate_figure(k, "start of a kernel, in a graph", CALIBRATE_NS, captured);
		k->cluster->launch = k->options->no_graph ? issued : captured;
		k->gpu->launch_ns = k->cluster->launch.value;
	}
	g->api->release(g->cuda, step);
	return s;
}

static const struct {
	const char *name;
	enum status (*measure)(struct calibration *k, struct gpu *g);
} rates[] = {{"memory", measure_memory}, {"copies", measure_host_link}, {"launches", measure_launches}};
enum { RATES = sizeof rates / sizeof *rates };

int calibrate_cuda_rates_tasks(const struct calibration *k)
{
	(void)k;
	return PRODUCT_TYPES + RATES + 1; /* the host's memory */
}

enum status calibrate_cuda_rates(struct calibration *k)
{
	struct gpu g;
	enum status s = gpu_open(&g, k);
	for (int i = 0; i < PRODUCT_TYPES && !s; i++) {
		char text[64];
		snprintf(text, sizeof text, "products of %s", product_types[i].name);
		calibrate_progress(k, text);
		s = measure_products(k, &g, &product_types[i]);
	}
	for (int i = 0; i < RATES && !s; i++) {
		calibrate_progress(k, rates[i].name);
		s = rates[i].measure(k, &g);
	}
	gpu_close(&g);
	calibrate_progress(k, "the host's memory");
	/* This rate bounds offload's update on the host. */
	return s ? s : calibrate_copy(16 * MIB, &k->cluster->node_bandwidth);
}
