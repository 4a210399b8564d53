/* How fast products and attention are on this GPU, and what share that is of what it can do.
 *
 *     bench_cuda_matrix [--repeats N] [--peak TFLOPS]        --peak: dense 16-bit, of the card; H100 and H200: 989
 *
 * Products: TFLOP/s in each type, squares and those of GPT-2 124M at 16 × 1024 tokens, with their epilogues. Attention:
 * causal, bf16, 65536 tokens: half of 4·T²·D products a head forward, 2.5 times as many backward; against the largest
 * rate of a bf16 product in this run. Numbers are random, as in training: on zeros a GPU draws less power, and is
 * faster.
 *
 * The library is that of `make`, or what SHARDLAB_CUDA_LIBRARY names. Where there is none, or no GPU, it says so.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "tests/bench/median.h"

enum { MOST_REPEATS = 1000, WARM_UP = 3, ROWS = 16 * 1024, TOKENS = 65536 };

static const struct cuda_api *api;
static struct cuda *gpu;
static cuda_stream stream;
static int repeats = 20;
static double peak = 989, product_rate; /* TFLOP/s; the fastest bf16 product so far */

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "error: bench_cuda_matrix: %s: %s\n", what, api->error_text(error));
	exit(2);
}

/* n random elements in [−1, 1). */
static void *filled(enum element type, int64_t n)
{
	float *floats = malloc((size_t)n * sizeof *floats);
	void *elements = malloc((size_t)(n * element_bytes(type))), *p = NULL;
	uint32_t state = 1;
	if (!floats || !elements) {
		fprintf(stderr, "fatal: bench_cuda_matrix: out of memory\n");
		exit(2);
	}
	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		floats[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
	}
	vector_convert(n, ELEMENT_FP32, floats, type, elements);
	check(api->allocate(gpu, (size_t)(n * element_bytes(type)), &p), "memory");
	check(api->copy(gpu, stream, p, elements, (size_t)(n * element_bytes(type))), "a copy");
	check(api->stream_synchronize(gpu, stream), "a copy");
	free(floats);
	free(elements);
	return p;
}

static void release(int n, void **p)
{
	for (int i = 0; i < n; i++)
		api->release(gpu, p[i]);
}

/* The median of the repeats. */
static double seconds_of(int (*run)(const void *), const void *what)
{
	double times[MOST_REPEATS];
	cuda_event begin, end;
	check(api->event_create(gpu, true, &begin), "an event");
	check(api->event_create(gpu, true, &end), "an event");
	for (int i = -WARM_UP; i < repeats; i++) {
		check(api->event_record(gpu, begin, stream), "an event");
		check(run(what), "a kernel");
		check(api->event_record(gpu, end, stream), "an event");
		check(api->stream_synchronize(gpu, stream), "a kernel");
		if (i >= 0)
			check(api->event_elapsed(gpu, begin, end, &times[i]), "an event");
	}
	api->event_destroy(gpu, begin);
	api->event_destroy(gpu, end);
	return median(times, repeats);
}

/* ---- products ---- */

struct layer {
	const char *name;
	struct linear_shape shape;
	bool has_bias, has_residual;
	void *x, *weight, *bias, *residual, *y, *pre, *dx, *dweight, *dbias;
};

static int forward(const void *what)
{
	const struct layer *l = what;
	return api->linear_forward(gpu, stream, &l->shape, l->x, l->weight, l->has_bias ? l->bias : NULL,
	                           l->has_residual ? l->residual : NULL, l->y, l->shape.gelu ? l->pre : NULL);
}

static int backward(const void *what)
{
	const struct layer *l = what;
	return api->linear_backward(gpu, stream, &l->shape, l->residual, l->x, l->weight, l->shape.gelu ? l->pre : NULL,
	                            l->dx, l->dweight, false, l->has_bias ? l->dbias : NULL, false);
}

static void line(const char *name, const char *pass, const char *type, double flops, double seconds, double limit)
{
	double rate = 1e-12 * flops / seconds;
	printf("%-24s %-8s %-4s %9.1f us %7.1f TFLOP/s", name, pass, type, 1e6 * seconds, rate);
	if (limit > 0)
		printf(" %5.1f%% of peak", 100 * rate / limit);
	printf("\n");
	if (!strcmp(type, "bf16") && rate > product_rate)
		product_rate = rate;
}

static double products_of(const struct linear_shape *s)
{
	return 2.0 * (double)s->rows * (double)s->in * (double)s->out;
}

/* tf32's peak is half of that of 16 bits; fp32's, without tensor cores, is not asked for. */
static void squares(void (*allow_tf32)(struct cuda *c, bool allow))
{
	static const struct {
		const char *name;
		enum element type;
		bool tf32;
	} types[] = {{"bf16", ELEMENT_BF16, false},
	             {"fp16", ELEMENT_FP16, false},
	             {"tf32", ELEMENT_FP32, true},
	             {"fp32", ELEMENT_FP32, false}};
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (int64_t n = 1024; n <= 8192 && (allow_tf32 || !types[t].tf32); n *= 2) {
			struct layer l = {.shape = {n, n, n, false, false, types[t].type}};
			char name[32];
			l.x = filled(types[t].type, n * n);
			l.weight = filled(types[t].type, n * n);
			l.y = filled(types[t].type, n * n);
			if (allow_tf32)
				allow_tf32(gpu, types[t].tf32);
			snprintf(name, sizeof name, "product of %lld", (long long)n);
			line(name, "", types[t].name, products_of(&l.shape), seconds_of(forward, &l),
			     types[t].type != ELEMENT_FP32 ? peak
			     : types[t].tf32               ? peak / 2
			                                   : 0);
			release(3, (void *[]){l.x, l.weight, l.y});
		}
	if (allow_tf32)
		allow_tf32(gpu, false);
}

/* GPT-2 124M's: backward has twice the products. */
static void layers(void)
{
	struct layer all[] = {
	        {.name = "attn.c_attn", .shape = {ROWS, 768, 2304, true, false, ELEMENT_BF16, 0}, .has_bias = true},
	        {.name = "attn.c_proj + residual",
	         .shape = {ROWS, 768, 768, true, false, ELEMENT_BF16, 0},
	         .has_bias = true,
	         .has_residual = true},
	        {.name = "mlp.c_fc + GELU", .shape = {ROWS, 768, 3072, true, true, ELEMENT_BF16, 0}, .has_bias = true},
	        {.name = "mlp.c_proj + residual",
	         .shape = {ROWS, 3072, 768, true, false, ELEMENT_BF16, 0},
	         .has_bias = true,
	         .has_residual = true},
	        {.name = "logits, 50257 classes", .shape = {ROWS, 768, 50257, false, false, ELEMENT_BF16, 50304}},
	        {.name = "logits, rows of 50257 apart", .shape = {ROWS, 768, 50257, false, false, ELEMENT_BF16, 0}},
	        {.name = "logits, 50304 classes", .shape = {ROWS, 768, 50304, false, false, ELEMENT_BF16, 0}},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct layer *l = &all[i];
		const struct linear_shape *s = &l->shape;
		l->x = filled(s->type, s->rows * s->in);
		l->weight = filled(s->type, s->in * s->out);
		l->bias = filled(s->type, s->out);
		l->residual = filled(s->type, s->rows * s->out);
		l->y = filled(s->type, s->rows * linear_stride(s));
		l->pre = filled(s->type, s->rows * s->out);
		l->dx = filled(s->type, s->rows * s->in);
		l->dweight = filled(s->type, s->in * s->out);
		l->dbias = filled(s->type, s->out);
		line(l->name, "forward", "bf16", products_of(s), seconds_of(forward, l), peak);
		line(l->name, "backward", "bf16", 2 * products_of(s), seconds_of(backward, l), peak);
		release(9,
		        (void *[]){l->x, l->weight, l->bias, l->residual, l->y, l->pre, l->dx, l->dweight, l->dbias});
	}
}

/* ---- attention ---- */

struct attention {
	struct attention_shape shape;
	void *qkv, *y, *dy, *dqkv, *log_sum_exp;
};

static int attend(const void *what)
{
	const struct attention *a = what;
	return api->attention_forward(gpu, stream, &a->shape, a->qkv, a->y, a->log_sum_exp);
}

static int attend_backward(const void *what)
{
	const struct attention *a = what;
	return api->attention_backward(gpu, stream, &a->shape, a->dy, a->qkv, a->y, a->log_sum_exp, a->dqkv);
}

static void attention(int64_t size, int64_t tokens)
{
	const int64_t n = (int64_t)TOKENS * 768;
	struct attention a = {.shape = {TOKENS / tokens, tokens, 768 / size, size, ELEMENT_BF16}};
	const double flops = 2.0 * (double)n * (double)tokens;
	a.qkv = filled(ELEMENT_BF16, 3 * n);
	a.y = filled(ELEMENT_BF16, n);
	a.dy = filled(ELEMENT_BF16, n);
	a.dqkv = filled(ELEMENT_BF16, 3 * n);
	a.log_sum_exp = filled(ELEMENT_FP32, TOKENS * a.shape.heads);
	for (int back = 0; back < 2; back++) {
		double seconds = seconds_of(back ? attend_backward : attend, &a);
		double rate = 1e-12 * (back ? 2.5 : 1) * flops / seconds;
		printf("attention, head %3lld, T %4lld %-8s bf16 %9.1f us %7.1f TFLOP/s %5.1f%% of products'\n",
		       (long long)size, (long long)tokens, back ? "backward" : "forward", 1e6 * seconds, rate,
		       100 * rate / product_rate);
	}
	release(5, (void *[]){a.qkv, a.y, a.dy, a.dqkv, a.log_sum_exp});
}

/* ---- the library ---- */

static void *open_library(void)
{
	const char *path = getenv("SHARDLAB_CUDA_LIBRARY");
	void *library = dlopen(path ? path : "build/libshardlab-cuda.so", RTLD_NOW | RTLD_LOCAL);
	void *function = library ? dlsym(library, CUDA_API_SYMBOL) : NULL;
	const struct cuda_api *(*get)(void) = NULL;
	if (function)
		memcpy(&get, &function, sizeof get);
	api = get ? get() : NULL;
	return library;
}

int main(int argc, char **argv)
{
	struct cuda_properties properties;
	void (*allow_tf32)(struct cuda * c, bool allow) = NULL;
	int devices = 0;
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (!strcmp(argv[i], "--repeats") && atoi(value) > 0 && atoi(value) <= MOST_REPEATS) {
			repeats = atoi(value);
		} else if (!strcmp(argv[i], "--peak") && atof(value) > 0) {
			peak = atof(value);
		} else {
			fprintf(stderr, "usage: %s [--repeats N] [--peak TFLOPS]\n", argv[0]);
			return 2;
		}
	}
	void *library = open_library();
	int error = api ? api->count(&devices) : 0;
	if (!api || error || devices < 1) {
		printf("bench_cuda_matrix: not run: %s\n", !api    ? "no libshardlab-cuda.so"
		                                           : error ? api->error_text(error)
		                                                   : "no GPU");
		return 0;
	}
	check(api->describe(0, &properties), "the GPU");
	check(api->open(&gpu, 0, (size_t)64 << 20), "the GPU");
	check(api->stream_create(gpu, false, &stream), "a stream");
	void *function = dlsym(library, "product_allow_tf32");
	if (function)
		memcpy(&allow_tf32, &function, sizeof allow_tf32);
	printf("%s, %d multiprocessors; median of %d\n", properties.name, properties.multiprocessors, repeats);
	squares(allow_tf32);
	layers();
	for (int64_t size = 64; size <= 128; size *= 2)
		for (int64_t tokens = 1024; tokens <= 4096; tokens *= 4)
			attention(size, tokens);
	api->stream_destroy(gpu, stream);
	api->close(gpu);
	return 0;
}
