/* The ladders of products and of attention on this GPU, every rung beside the others (docs/ladder.md):
 *
 *     bench_cuda_ladder [--repeats N] [--small]
 *
 *     products, 16384 tokens        plain          simple          tensor          hopper        cublaslt
 *     attn.c_attn forward       0.1   0.0%     9.9   1.5%   250.0  38.0%   400.0  62.0%   640.0 100.0%
 *
 * TFLOP/s, and the share of the library's: cuBLASLt's, cuDNN's, or the highest rung where there is none. Products are
 * those of GPT-2 124M in bf16, with bias and residual; backward is two, dx and dweight. Attention is causal. The lower
 * rungs have fewer tokens, or take seconds: their rate is the same. What a rung does not take, or would take too long
 * for, is "–".
 *
 * Before it is timed each rung makes the same small numbers; where one is further from the library's (of attention,
 * from the simple rung's) than bf16 rounds, a line says so, and the exit status is 1. --small: that alone, of shapes
 * that a host carries out in seconds with the kernels compiled for it (build/tests/gpu/bench_cuda_ladder).
 *
 * The library is that of `make`, or what SHARDLAB_CUDA_LIBRARY names. Where there is none, or no GPU, it says so.
 */
#include "tests/bench/cuda_bench.h"

enum { MOST_RUNGS = 5 };

/* Sizes: GPT-2 124M's, or small ones. */
static struct {
	int64_t rows, checked_rows, width, vocabulary, stride, tokens, samples;
} size = {16 * 1024, 256, 768, 50257, 50304, 1024, 64};
static bool small;
static int failed;

/* ---- a table ---- */

/* A rung's place in a table, in ascending order; the last is the library's. */
struct rung {
	const char *name;
	int number;
};

static const struct rung of_products[] = {{"plain", CUDA_PRODUCT_PLAIN},
                                          {"simple", CUDA_PRODUCT_SIMPLE},
                                          {"tensor", CUDA_PRODUCT_TENSOR},
                                          {"hopper", CUDA_PRODUCT_HOPPER},
                                          {"cublaslt", CUDA_PRODUCT_CUBLASLT}};
static const struct rung of_attention[] = {{"plain", CUDA_ATTENTION_PLAIN},
                                           {"simple", CUDA_ATTENTION_SIMPLE},
                                           {"tensor", CUDA_ATTENTION_TENSOR},
                                           {"hopper", CUDA_ATTENTION_HOPPER},
                                           {"cudnn", CUDA_ATTENTION_CUDNN}};
_Static_assert(sizeof of_products / sizeof *of_products == MOST_RUNGS, "the table's columns");
_Static_assert(sizeof of_attention / sizeof *of_attention == MOST_RUNGS, "the table's columns");

static void header(const char *what, const struct rung *rungs)
{
	printf("\n%-32s", what);
	for (int i = 0; i < MOST_RUNGS; i++)
		printf(" %15s", rungs[i].name);
	printf("\n");
}

/* TFLOP/s of each rung; 0: it was not measured. */
static void row(const char *name, const double rates[MOST_RUNGS])
{
	double library = 0;
	for (int i = 0; i < MOST_RUNGS; i++)
		library = rates[i] > 0 ? rates[i] : library;
	printf("%-32s", name);
	for (int i = 0; i < MOST_RUNGS; i++)
		if (small && rates[i] > 0)
			printf(" %15s", "ran");
		else if (rates[i] > 0)
			printf(" %8.1f %5.1f%%", rates[i], 100 * rates[i] / library);
		else
			printf(" %17s", "–"); /* of three bytes */
	printf("\n");
	fflush(stdout);
}

/* Is a rung's result what it should be, as far as bf16 rounds sums that are made in another order? */
static void compare(const char *what, const char *rung, const void *got, const void *want, int64_t n)
{
	double apart, most;
	furthest(ELEMENT_BF16, got, want, n, &apart, &most);
	if (apart <= most / 64)
		return;
	printf("%s: %s is %.2g apart, of up to %.2g\n", what, rung, apart, most);
	failed = 1;
}

/* TFLOP/s */
static double rate_of(double flops, int (*run)(const void *), const void *what, const char *name)
{
	return small ? 1 : 1e-12 * flops / gpu_seconds(run, what, name);
}

/* ---- products ---- */

/* Widths are multiples of the model's; 0: the vocabulary. */
static const struct {
	const char *name;
	int in, out;
	bool in_out, bias, residual;
} layers[] = {{"attn.c_attn", 1, 3, true, true, false},
              {"attn.c_proj + residual", 1, 1, true, true, true},
              {"mlp.c_fc", 1, 4, true, true, false},
              {"mlp.c_proj + residual", 4, 1, true, true, true},
              {"logits", 1, 0, false, false, false}};

struct layer {
	struct linear_shape shape;
	void *x, *weight, *bias, *residual, *y, *dy, *dx, *dweight;
};

static int forward(const void *what)
{
	const struct layer *l = what;
	return kernels->linear_forward(gpu, stream, &l->shape, l->x, l->weight, l->bias, l->residual, l->y, NULL);
}

static int backward(const void *what)
{
	const struct layer *l = what;
	return kernels->linear_backward(gpu, stream, &l->shape, l->dy, l->x, l->weight, NULL, NULL, l->dx, l->dweight,
	                                false, NULL, false);
}

static void layer_open(struct layer *l, size_t i)
{
	const int64_t in = layers[i].in * size.width,
	              out = layers[i].out ? layers[i].out * size.width : size.vocabulary;
	l->shape = (struct linear_shape){
	        size.rows, in, out, layers[i].in_out, ACTIVATION_NONE, ELEMENT_BF16, layers[i].out ? 0 : size.stride};
	const int64_t y = size.rows * linear_stride(&l->shape);
	l->x = filled(ELEMENT_BF16, size.rows * in);
	l->weight = filled(ELEMENT_BF16, in * out);
	l->bias = layers[i].bias ? filled(ELEMENT_BF16, out) : NULL;
	l->residual = layers[i].residual ? filled(ELEMENT_BF16, y) : NULL;
	l->y = filled(ELEMENT_BF16, y);
	l->dy = filled(ELEMENT_BF16, y);
	l->dx = filled(ELEMENT_BF16, size.rows * in);
	l->dweight = filled(ELEMENT_BF16, in * out);
}

static void layer_close(struct layer *l)
{
	release(8, (void *[]){l->x, l->weight, l->bias, l->residual, l->y, l->dy, l->dx, l->dweight});
}

static void use_products(const struct rung *r)
{
	api->use_products(gpu, (enum cuda_product_rung)r->number);
}

/* Does this rung make any product of the pass? */
static bool makes(const struct rung *r, const struct layer *l, int (*pass)(const void *))
{
	struct cuda_products before, after;
	struct layer few = *l;
	few.shape.rows = size.checked_rows;
	use_products(r);
	api->products(gpu, &before);
	check(pass(&few), "a product");
	check(api->stream_synchronize(gpu, stream), "a product");
	api->products(gpu, &after);
	return after.by[r->number] > before.by[r->number];
}

/* Results of a rung beside cuBLASLt's, of few rows. */
static void compare_products(const char *name, const struct rung *r, const struct layer *l)
{
	struct layer other = *l;
	struct linear_shape *s = &other.shape;
	s->rows = size.checked_rows;
	const int64_t x = s->rows * s->in, y = s->rows * linear_stride(s), weight = s->in * s->out;
	other.y = filled(ELEMENT_BF16, y);
	other.dx = filled(ELEMENT_BF16, x);
	other.dweight = filled(ELEMENT_BF16, weight);
	(void)makes(r, &other, forward);
	(void)makes(r, &other, backward);
	(void)makes(&of_products[MOST_RUNGS - 1], l, forward);
	(void)makes(&of_products[MOST_RUNGS - 1], l, backward);
	compare(name, r->name, other.y, l->y, y);
	compare(name, r->name, other.dx, l->dx, x);
	compare(name, r->name, other.dweight, l->dweight, weight);
	release(3, (void *[]){other.y, other.dx, other.dweight});
}

static double product_rate(const struct rung *r, const struct layer *l, bool is_backward)
{
	struct layer timed = *l;
	if (!makes(r, l, is_backward ? backward : forward))
		return 0;
	timed.shape.rows /= r->number == CUDA_PRODUCT_PLAIN ? 64 : r->number == CUDA_PRODUCT_SIMPLE ? 16 : 1;
	const struct linear_shape *s = &timed.shape;
	const double flops = (is_backward ? 4 : 2) * (double)s->rows * (double)s->in * (double)s->out;
	return rate_of(flops, is_backward ? backward : forward, &timed, "a product");
}

static void products(void)
{
	char title[64];
	snprintf(title, sizeof title, "products, %lld tokens", (long long)size.rows);
	header(title, of_products);
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
		struct layer l;
		layer_open(&l, i);
		for (int k = 0; k < MOST_RUNGS - 1; k++)
			compare_products(layers[i].name, &of_products[k], &l);
		for (int is_backward = 0; is_backward < 2; is_backward++) {
			double rates[MOST_RUNGS];
			snprintf(title, sizeof title, "%s %s", layers[i].name, is_backward ? "backward" : "forward");
			for (int k = 0; k < MOST_RUNGS; k++)
				rates[k] = product_rate(&of_products[k], &l, is_backward);
			row(title, rates);
		}
		layer_close(&l);
	}
	use_products(&of_products[MOST_RUNGS - 1]);
}

/* ---- attention ---- */

static bool attends(const struct rung *r, const struct attention *a, bool is_backward)
{
	return !api->use_attention(gpu, (enum cuda_attention)r->number, false) &&
	       (int)api->attention_rung(gpu, &a->shape, is_backward) == r->number;
}

/* Results of a rung beside the simple one's, of one sample; forward leaves log_sum_exp for backward. */
static void compare_attention(const char *name, const struct rung *r, const struct attention *a, bool is_backward)
{
	struct attention one = *a, other;
	one.shape.samples = 1;
	const int64_t n = one.shape.tokens * one.shape.heads * one.shape.head_size * (is_backward ? 3 : 1);
	other = one;
	*(is_backward ? &other.dqkv : &other.y) = filled(ELEMENT_BF16, n);
	(void)attends(&of_attention[1], &one, is_backward);
	check((is_backward ? attend_backward : attend)(&one), "attention");
	(void)attends(r, &other, is_backward);
	check((is_backward ? attend_backward : attend)(&other), "attention");
	compare(name, r->name, is_backward ? other.dqkv : other.y, is_backward ? one.dqkv : one.y, n);
	release(1, (void *[]){is_backward ? other.dqkv : other.y});
}

/* A plain pass of thousands of tokens takes seconds. */
static double attention_rate(const char *name, const struct rung *r, const struct attention *a, bool is_backward)
{
	struct attention timed = *a;
	const struct attention_shape *s = &timed.shape;
	const bool lower = r->number <= CUDA_ATTENTION_SIMPLE;
	if (!attends(r, a, is_backward) || (r->number == CUDA_ATTENTION_PLAIN && s->tokens > 1024))
		return 0;
	compare_attention(name, r, a, is_backward);
	(void)attends(r, a, is_backward);
	timed.shape.samples = lower ? 1 : s->samples;
	const double flops = (is_backward ? 5 : 2) * (double)s->samples * (double)s->heads * (double)s->tokens *
	                     (double)s->tokens * (double)s->head_size;
	return rate_of(flops, is_backward ? attend_backward : attend, &timed, "attention");
}

static void attention_of(int64_t head_size, int64_t tokens)
{
	const int64_t samples = size.samples * size.tokens / tokens, n = samples * tokens * size.width;
	const int64_t heads = size.width / head_size;
	struct attention a = {.shape = {samples, tokens, heads, heads, head_size, ELEMENT_BF16}};
	a.qkv = filled(ELEMENT_BF16, 3 * n);
	a.y = filled(ELEMENT_BF16, n);
	a.dy = filled(ELEMENT_BF16, n);
	a.dqkv = filled(ELEMENT_BF16, 3 * n);
	a.log_sum_exp = filled(ELEMENT_FP32, samples * tokens * heads);
	for (int is_backward = 0; is_backward < 2; is_backward++) {
		double rates[MOST_RUNGS];
		char name[64];
		snprintf(name, sizeof name, "heads of %lld, T %lld %s", (long long)head_size, (long long)tokens,
		         is_backward ? "backward" : "forward");
		for (int k = 0; k < MOST_RUNGS; k++)
			rates[k] = attention_rate(name, &of_attention[k], &a, is_backward);
		row(name, rates);
	}
	release(5, (void *[]){a.qkv, a.y, a.dy, a.dqkv, a.log_sum_exp});
}

static void attention(void)
{
	header("attention", of_attention);
	for (int64_t head_size = 64; head_size <= 128; head_size *= 2)
		for (int64_t tokens = size.tokens; tokens <= 4 * size.tokens; tokens *= 4)
			attention_of(head_size, tokens);
	(void)api->use_attention(gpu, CUDA_ATTENTION_AUTO, false);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--small")) {
			small = true;
		} else if (!strcmp(argv[i], "--repeats") && ++i < argc && atoi(argv[i]) > 0 &&
		           atoi(argv[i]) <= MOST_REPEATS) {
			repeats = atoi(argv[i]);
		} else {
			fprintf(stderr, "usage: %s [--repeats N] [--small]\n", argv[0]);
			return 2;
		}
	}
	if (small) {
		size.rows = size.checked_rows = 32;
		size.width = 128;
		size.vocabulary = 133;
		size.stride = 192;
		size.tokens = 16;
		size.samples = 4;
		repeats = 1;
	}
	if (!gpu_open("bench_cuda_ladder"))
		return 0;
	products();
	attention();
	int status = gpu_products_status();
	gpu_close();
	return failed ? 1 : status;
}
