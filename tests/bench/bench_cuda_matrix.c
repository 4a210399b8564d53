/* How fast products and attention are on this GPU, and what share that is of what it can do.
 *
 *     bench_cuda_matrix [--repeats N] [--peak TFLOPS] [--only products|attention]
 *
 * --peak: dense 16-bit, of the card; H100 and H200: 989.
 *
 * Products: TFLOP/s in each type, squares and those of GPT-2 124M at 16 × 1024 tokens, with their epilogues. Attention:
 * causal, bf16, 65536 tokens: half of 4·T²·D products a head forward, 2.5 times as many backward; against the largest
 * rate of a bf16 product in this run; `forward` and `backward` are by the rung that was the fastest here, as
 * `--attention auto` has it, and each rung of the ladder that takes the shape has a line of its own (a simple one at T
 * 1024 alone, no plain one: they take seconds). Numbers are random, as in training: on zeros a GPU draws less power,
 * and is faster.
 *
 * The library is that of `make`, or what SHARDLAB_CUDA_LIBRARY names. Where there is none, or no GPU, it says so.
 */
#include "tests/bench/cuda_bench.h"

enum { ROWS = 16 * 1024, TOKENS = 65536 };

static const char *only = "";
static double peak = 989, product_rate; /* TFLOP/s; the fastest bf16 product so far */

/* ---- products ---- */

struct layer {
	const char *name;
	struct linear_shape shape;
	bool has_bias, has_residual, after_gelu; /* x is what GELU made: its slope is the epilogue of dx */
	void *x, *weight, *bias, *residual, *y, *pre, *dy, *x_pre, *dx, *dweight, *dbias;
};

static int forward(const void *what)
{
	const struct layer *l = what;
	return kernels->linear_forward(gpu, stream, &l->shape, l->x, l->weight, l->has_bias ? l->bias : NULL,
	                               l->has_residual ? l->residual : NULL, l->y, l->shape.activation ? l->pre : NULL);
}

static int backward(const void *what)
{
	const struct layer *l = what;
	struct linear_shape s = l->shape;
	s.activation = ACTIVATION_NONE; /* of what came through GELU nothing is left to do */
	return kernels->linear_backward(gpu, stream, &s, l->dy, l->x, l->weight, NULL, l->after_gelu ? l->x_pre : NULL,
	                                l->dx, l->dweight, false, l->has_bias ? l->dbias : NULL, false);
}

/* The bias's gradient as the kernel of its own that it is where cuBLASLt has no epilogue for it: accumulated, which no
 * epilogue does. */
static int backward_columns(const void *what)
{
	const struct layer *l = what;
	struct linear_shape s = l->shape;
	s.activation = ACTIVATION_NONE;
	return kernels->linear_backward(gpu, stream, &s, l->dy, l->x, l->weight, NULL, l->after_gelu ? l->x_pre : NULL,
	                                l->dx, l->dweight, false, l->dbias, true);
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
static void squares(void)
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
		for (int64_t n = 1024; n <= 8192; n *= 2) {
			struct layer l = {.shape = {n, n, n, false, false, types[t].type}};
			char name[32];
			l.x = filled(types[t].type, n * n);
			l.weight = filled(types[t].type, n * n);
			l.y = filled(types[t].type, n * n);
			api->allow_tf32(gpu, types[t].tf32);
			snprintf(name, sizeof name, "product of %lld", (long long)n);
			line(name, "", types[t].name, products_of(&l.shape), gpu_seconds(forward, &l, name),
			     types[t].type != ELEMENT_FP32 ? peak
			     : types[t].tf32               ? peak / 2
			                                   : 0);
			release(3, (void *[]){l.x, l.weight, l.y});
		}
	api->allow_tf32(gpu, false);
}

/* Times both ways, whatever the rule would take. Products that have an algorithm keep it. */
static void bias_line(const struct layer *l)
{
	struct cuda_bias_choice choice[32];
	api->use_algorithms(gpu, NULL, 0, true);
	check(backward(l), l->name);
	api->use_algorithms(gpu, NULL, 0, false);
	const int n = api->bias_choices(gpu, choice, 32);
	for (int i = 0; i < n && i < 32; i++)
		if (choice[i].shape.in == l->shape.in && choice[i].shape.out == l->shape.out)
			printf("%-24s gradient of the bias: epilogue %.1f us, pass %.1f us\n", l->name,
			       1e6 * choice[i].seconds[CUDA_BIAS_EPILOGUE], 1e6 * choice[i].seconds[CUDA_BIAS_PASS]);
}

/* GPT-2 124M's: backward has twice the products, and no product turns dy into something else, so that runs are alike.
 * Without bias: what its gradient costs beside the products; "… + pass" has it as a kernel of its own, and "gradient of
 * the bias" is dweight with it, in both ways, as --autotune times them. The gradient through GELU is the epilogue of
 * c_proj's, as training has it; "GELU unfused" is without. */
static void layers(void)
{
	struct layer all[] = {
	        {.name = "attn.c_attn", .shape = {ROWS, 768, 2304, true, false, ELEMENT_BF16, 0}, .has_bias = true},
	        {.name = "attn.c_attn without bias", .shape = {ROWS, 768, 2304, true, false, ELEMENT_BF16, 0}},
	        {.name = "attn.c_proj + residual",
	         .shape = {ROWS, 768, 768, true, false, ELEMENT_BF16, 0},
	         .has_bias = true,
	         .has_residual = true},
	        {.name = "mlp.c_fc + GELU", .shape = {ROWS, 768, 3072, true, true, ELEMENT_BF16, 0}, .has_bias = true},
	        {.name = "mlp.c_proj + residual",
	         .shape = {ROWS, 3072, 768, true, false, ELEMENT_BF16, 0},
	         .has_bias = true,
	         .has_residual = true,
	         .after_gelu = true},
	        {.name = "mlp.c_proj, GELU unfused",
	         .shape = {ROWS, 3072, 768, true, false, ELEMENT_BF16, 0},
	         .has_bias = true,
	         .has_residual = true},
	        {.name = "mlp.c_proj without bias", .shape = {ROWS, 3072, 768, true, false, ELEMENT_BF16, 0}},
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
		l->dy = filled(s->type, s->rows * linear_stride(s));
		l->x_pre = filled(s->type, s->rows * s->in);
		l->dx = filled(s->type, s->rows * s->in);
		l->dweight = filled(s->type, s->in * s->out);
		l->dbias = filled(s->type, s->out);
		line(l->name, "forward", "bf16", products_of(s), gpu_seconds(forward, l, l->name), peak);
		line(l->name, "backward", "bf16", 2 * products_of(s), gpu_seconds(backward, l, l->name), peak);
		if (l->has_bias)
			line(l->name, "… + pass", "bf16", 2 * products_of(s), gpu_seconds(backward_columns, l, l->name),
			     peak);
		if (l->has_bias)
			bias_line(l);
		release(11, (void *[]){l->x, l->weight, l->bias, l->residual, l->y, l->pre, l->dy, l->x_pre, l->dx,
		                       l->dweight, l->dbias});
	}
}

/* ---- attention ---- */

static const char *const rung_names[] = {
#define X(NAME, name) #name,
        CUDA_ATTENTION_LIST(X)
#undef X
};

/* A pass by one rung; AUTO: by the one that is shipped. */
static double attention_line(const struct attention *a, const char *name, bool backward, enum cuda_attention rung)
{
	const double flops = 2.0 * TOKENS * 768 * (double)a->shape.tokens * (backward ? 2.5 : 1);
	(void)api->use_attention(gpu, rung, rung == CUDA_ATTENTION_AUTO);
	double seconds = gpu_seconds(backward ? attend_backward : attend, a, "attention"),
	       rate = 1e-12 * flops / seconds;
	printf("attention, head %3lld, T %4lld %-15s bf16 %9.1f us %7.1f TFLOP/s %5.1f%% of products'\n",
	       (long long)a->shape.head_size, (long long)a->shape.tokens, name, 1e6 * seconds, rate,
	       100 * rate / product_rate);
	if (rung == CUDA_ATTENTION_AUTO) {
		struct cuda_attention_choice choice;
		api->attention_choice(gpu, &a->shape, backward, &choice);
		printf("attention, head %3lld, T %4lld, %s: the fastest is %s\n", (long long)a->shape.head_size,
		       (long long)a->shape.tokens, name, rung_names[choice.rung]);
	}
	return seconds;
}

/* Does an upper rung compute what the tensor cores' does, and how much faster is it? */
static void compare_rungs(const struct attention *a, bool backward, enum cuda_attention rung, double times)
{
	const int64_t n = TOKENS * 768 * (backward ? 3 : 1);
	struct attention other = *a;
	double apart, size;
	other.y = backward ? a->y : filled(ELEMENT_BF16, n);
	other.dqkv = backward ? filled(ELEMENT_BF16, n) : NULL;
	(void)api->use_attention(gpu, CUDA_ATTENTION_TENSOR, false);
	check((backward ? attend_backward : attend)(a), "attention");
	(void)api->use_attention(gpu, rung, false);
	check((backward ? attend_backward : attend)(&other), "attention");
	furthest(ELEMENT_BF16, backward ? a->dqkv : a->y, backward ? other.dqkv : other.y, n, &apart, &size);
	printf("attention, head %3lld, T %4lld %s ÷ tensor, %s: %.3f times as fast; %.2g apart, of up to %.2g\n",
	       (long long)a->shape.head_size, (long long)a->shape.tokens, rung_names[rung],
	       backward ? "backward" : "forward", times, apart, size);
	release(1, (void *[]){backward ? other.dqkv : other.y});
}

/* The pass that is shipped, then each rung that takes the shape. */
static void attention_pass(const struct attention *a, bool backward)
{
	double seconds[CUDA_ATTENTIONS] = {0};
	static const char *const names[][2] = {{"forward", "backward"},
	                                       {"plain-forward", "plain-backward"},
	                                       {"simple-forward", "simple-backward"},
	                                       {"tensor-forward", "tensor-backward"},
	                                       {"hopper-forward", "hopper-backward"},
	                                       {"cudnn-forward", "cudnn-backward"}};
	for (int rung = CUDA_ATTENTION_AUTO; rung < CUDA_ATTENTIONS; rung++) {
		(void)api->use_attention(gpu, (enum cuda_attention)rung, false);
		/* a plain one takes seconds, and so does a simple one of thousands of tokens */
		bool small = rung == CUDA_ATTENTION_AUTO ||
		             rung >= (a->shape.tokens <= 1024 ? CUDA_ATTENTION_SIMPLE : CUDA_ATTENTION_TENSOR);
		if (small && (!rung || (int)api->attention_rung(gpu, &a->shape, backward) == rung))
			seconds[rung] = attention_line(a, names[rung][backward], backward, (enum cuda_attention)rung);
	}
	for (int rung = CUDA_ATTENTION_HOPPER; rung < CUDA_ATTENTIONS; rung++)
		if (seconds[rung] > 0)
			compare_rungs(a, backward, (enum cuda_attention)rung,
			              seconds[CUDA_ATTENTION_TENSOR] / seconds[rung]);
	(void)api->use_attention(gpu, CUDA_ATTENTION_AUTO, false);
}

static void attention(int64_t size, int64_t tokens)
{
	const int64_t n = (int64_t)TOKENS * 768;
	struct attention a = {.shape = {TOKENS / tokens, tokens, 768 / size, 768 / size, size, ELEMENT_BF16}};
	a.qkv = filled(ELEMENT_BF16, 3 * n);
	a.y = filled(ELEMENT_BF16, n);
	a.dy = filled(ELEMENT_BF16, n);
	a.dqkv = filled(ELEMENT_BF16, 3 * n);
	a.log_sum_exp = filled(ELEMENT_FP32, TOKENS * a.shape.heads);
	attention_pass(&a, false);
	attention_pass(&a, true);
	release(5, (void *[]){a.qkv, a.y, a.dy, a.dqkv, a.log_sum_exp});
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (!strcmp(argv[i], "--repeats") && atoi(value) > 0 && atoi(value) <= MOST_REPEATS) {
			repeats = atoi(value);
		} else if (!strcmp(argv[i], "--peak") && atof(value) > 0) {
			peak = atof(value);
		} else if (!strcmp(argv[i], "--only") && (!strcmp(value, "products") || !strcmp(value, "attention"))) {
			only = value;
		} else {
			fprintf(stderr, "usage: %s [--repeats N] [--peak TFLOPS] [--only products|attention]\n",
			        argv[0]);
			return 2;
		}
	}
	if (!gpu_open("bench_cuda_matrix"))
		return 0;
	squares();
	if (strcmp(only, "attention") != 0)
		layers();
	for (int64_t size = 64; size <= 128 && strcmp(only, "products") != 0; size *= 2)
		for (int64_t tokens = 1024; tokens <= 4096; tokens *= 4)
			attention(size, tokens);
	int status = gpu_products_status();
	gpu_close();
	return status;
}
