/* How fast each kernel is against what this machine can do, at the sizes of a small GPT: GFLOP/s against SGEMM
 * (n = 1024), or GB/s against copying memory; of 16-bit kernels GFLOP/s too, against the same SGEMM, which they may
 * exceed. A whole training step is tests/bench/bench_step.c.
 *
 *     bench-kernels [--repeats N] [--level 0|1|2 (plain C, AVX2, AVX-512)] [--threads N]
 *
 * The GPT: 6 layers of width 256, 8 heads, context 128, vocabulary 256, tied head; 16 × 128 tokens. One step of its
 * kernels fills the buffers with what they hold in training.
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"

enum {
	LAYERS = 6,
	WIDTH = 256,
	HEADS = 8,
	TOKENS = 128,
	SAMPLES = 16,
	VOCABULARY = 256,
	ROWS = SAMPLES * TOKENS,
	SQUARE = 1024
};
enum { PARAMETERS = VOCABULARY * WIDTH + TOKENS * WIDTH + 2 * WIDTH + LAYERS * (12 * WIDTH * WIDTH + 13 * WIDTH) };
_Static_assert(PARAMETERS == 4837376, "the model that is named above");

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(int n, double *values)
{
	qsort(values, (size_t)n, sizeof *values, compare_doubles);
	return values[n / 2];
}

static float *allocate(int64_t n, float scale)
{
	float *f = aligned_alloc(64, ((size_t)n * sizeof *f + 63) / 64 * 64);
	if (!f) {
		fprintf(stderr, "fatal: no memory for %lld floats\n", (long long)n);
		exit(2);
	}
	static uint32_t state = 12345;
	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		f[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
	}
	return f;
}

/* ---- the model ---- */

struct linear_parameters {
	float *weight, *bias;
};

struct norm_parameters {
	float *weight, *bias;
};

struct layer {
	struct norm_parameters norm1, norm2;
	struct linear_parameters qkv, projection, up, down;
};

struct parameters {
	float *all, *token, *position;
	struct layer layers[LAYERS];
	struct norm_parameters norm;
};

struct activations { /* of one layer; input is the residual stream that comes in */
	float *input, *norm1, *statistics1, *qkv, *log_sum_exp, *attention, *middle, *norm2, *statistics2, *pre, *gelu;
};

struct model {
	struct parameters p, gradients;
	float *first_moment, *second_moment;
	struct activations layers[LAYERS];
	float *last, *norm, *statistics, *logits;
	float *d, *dwide, *dnorm; /* gradients: of the residual stream, and two to work in */
	int32_t ids[ROWS], targets[ROWS];
	int64_t step;
};

static const struct linear_shape shape_qkv = {ROWS, WIDTH, 3 * WIDTH, false, false, ELEMENT_FP32, 0},
                                 shape_projection = {ROWS, WIDTH, WIDTH, false, false, ELEMENT_FP32, 0},
                                 shape_up = {ROWS, WIDTH, 4 * WIDTH, false, true, ELEMENT_FP32, 0},
                                 shape_down = {ROWS, 4 * WIDTH, WIDTH, false, false, ELEMENT_FP32, 0},
                                 shape_head = {ROWS, WIDTH, VOCABULARY, false, false, ELEMENT_FP32, 0};
static const struct attention_shape shape_attention = {SAMPLES, TOKENS, HEADS, WIDTH / HEADS, ELEMENT_FP32};

static void parameters_init(struct parameters *p, float scale)
{
	float *next = p->all = allocate(PARAMETERS, scale);
#define TAKE(field, n) (field = next, next += (n))
	TAKE(p->token, VOCABULARY * WIDTH);
	TAKE(p->position, TOKENS * WIDTH);
	TAKE(p->norm.weight, WIDTH);
	TAKE(p->norm.bias, WIDTH);
	for (int l = 0; l < LAYERS; l++) {
		struct layer *layer = &p->layers[l];
		TAKE(layer->norm1.weight, WIDTH);
		TAKE(layer->norm1.bias, WIDTH);
		TAKE(layer->norm2.weight, WIDTH);
		TAKE(layer->norm2.bias, WIDTH);
		TAKE(layer->qkv.weight, 3 * WIDTH * WIDTH);
		TAKE(layer->qkv.bias, 3 * WIDTH);
		TAKE(layer->projection.weight, WIDTH * WIDTH);
		TAKE(layer->projection.bias, WIDTH);
		TAKE(layer->up.weight, 4 * WIDTH * WIDTH);
		TAKE(layer->up.bias, 4 * WIDTH);
		TAKE(layer->down.weight, 4 * WIDTH * WIDTH);
		TAKE(layer->down.bias, WIDTH);
		for (int i = 0; i < WIDTH; i++)
			layer->norm1.weight[i] = layer->norm2.weight[i] = p->norm.weight[i] = 1.0f;
	}
#undef TAKE
}

static struct model *model_new(void)
{
	struct model *m = calloc(1, sizeof *m);
	if (!m)
		exit(2);
	parameters_init(&m->p, 0.04f);
	parameters_init(&m->gradients, 0.0f);
	m->first_moment = allocate(PARAMETERS, 0.0f);
	m->second_moment = allocate(PARAMETERS, 0.0f);
	for (int l = 0; l < LAYERS; l++)
		m->layers[l] = (struct activations){
		        allocate(ROWS * WIDTH, 1),     allocate(ROWS * WIDTH, 1),    allocate(2 * ROWS, 1),
		        allocate(3 * ROWS * WIDTH, 1), allocate(ROWS * HEADS, 1),    allocate(ROWS * WIDTH, 1),
		        allocate(ROWS * WIDTH, 1),     allocate(ROWS * WIDTH, 1),    allocate(2 * ROWS, 1),
		        allocate(4 * ROWS * WIDTH, 1), allocate(4 * ROWS * WIDTH, 1)};
	m->last = allocate(ROWS * WIDTH, 1);
	m->norm = allocate(ROWS * WIDTH, 1);
	m->statistics = allocate(2 * ROWS, 1);
	m->logits = allocate(ROWS * VOCABULARY, 1);
	m->d = allocate(ROWS * WIDTH, 1);
	m->dwide = allocate(4 * ROWS * WIDTH, 1);
	m->dnorm = allocate(3 * ROWS * WIDTH, 1);
	for (int i = 0; i < ROWS; i++) {
		m->ids[i] = i * 31 % VOCABULARY;
		m->targets[i] = (i + 1) * 31 % VOCABULARY;
	}
	return m;
}

/* ---- one training step ---- */

static void step_forward(struct model *m)
{
	const struct parameters *p = &m->p;
	embedding_forward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, m->ids, p->token, p->position, m->layers[0].input);
	for (int l = 0; l < LAYERS; l++) {
		struct activations *a = &m->layers[l];
		const struct layer *w = &p->layers[l];
		float *out = l + 1 < LAYERS ? m->layers[l + 1].input : m->last;
		norm_forward(ELEMENT_FP32, ROWS, WIDTH, a->input, w->norm1.weight, w->norm1.bias, a->norm1,
		             a->statistics1);
		linear_forward(&shape_qkv, a->norm1, w->qkv.weight, w->qkv.bias, NULL, a->qkv, NULL);
		attention_forward(&shape_attention, a->qkv, a->attention, a->log_sum_exp);
		linear_forward(&shape_projection, a->attention, w->projection.weight, w->projection.bias, a->input,
		               a->middle, NULL);
		norm_forward(ELEMENT_FP32, ROWS, WIDTH, a->middle, w->norm2.weight, w->norm2.bias, a->norm2,
		             a->statistics2);
		linear_forward(&shape_up, a->norm2, w->up.weight, w->up.bias, NULL, a->gelu, a->pre);
		linear_forward(&shape_down, a->gelu, w->down.weight, w->down.bias, a->middle, out, NULL);
	}
	norm_forward(ELEMENT_FP32, ROWS, WIDTH, m->last, p->norm.weight, p->norm.bias, m->norm, m->statistics);
	linear_forward(&shape_head, m->norm, p->token, NULL, NULL, m->logits, NULL);
}

static void step_backward(struct model *m)
{
	const struct parameters *p = &m->p, *g = &m->gradients;
	linear_backward(&shape_head, m->logits, m->norm, p->token, NULL, m->dnorm, g->token, false, NULL, false);
	norm_backward(ELEMENT_FP32, ROWS, WIDTH, m->dnorm, m->last, m->statistics, p->norm.weight, m->d, false,
	              g->norm.weight, false, g->norm.bias, false);
	for (int l = LAYERS - 1; l >= 0; l--) {
		struct activations *a = &m->layers[l];
		const struct layer *w = &p->layers[l], *dw = &g->layers[l];
		linear_backward(&shape_down, m->d, a->gelu, w->down.weight, NULL, m->dwide, dw->down.weight, false,
		                dw->down.bias, false);
		linear_backward(&shape_up, m->dwide, a->norm2, w->up.weight, a->pre, m->dnorm, dw->up.weight, false,
		                dw->up.bias, false);
		norm_backward(ELEMENT_FP32, ROWS, WIDTH, m->dnorm, a->middle, a->statistics2, w->norm2.weight, m->d,
		              true, dw->norm2.weight, false, dw->norm2.bias, false);
		linear_backward(&shape_projection, m->d, a->attention, w->projection.weight, NULL, m->dwide,
		                dw->projection.weight, false, dw->projection.bias, false);
		attention_backward(&shape_attention, m->dwide, a->qkv, a->attention, a->log_sum_exp, m->dnorm);
		linear_backward(&shape_qkv, m->dnorm, a->norm1, w->qkv.weight, NULL, m->dwide, dw->qkv.weight, false,
		                dw->qkv.bias, false);
		norm_backward(ELEMENT_FP32, ROWS, WIDTH, m->dwide, a->input, a->statistics1, w->norm1.weight, m->d,
		              true, dw->norm1.weight, false, dw->norm1.bias, false);
	}
	embedding_backward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, VOCABULARY, TOKENS, m->ids, m->d, g->token, true,
	                   g->position, false);
}

static float model_step(struct model *m)
{
	const struct adamw adamw = {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f};
	float loss;
	step_forward(m);
	classifier(ELEMENT_FP32, ROWS, VOCABULARY, VOCABULARY, m->logits, m->targets, 1.0 / ROWS, 1.0 / ROWS, &loss,
	           false);
	step_backward(m);
	adamw_update(ELEMENT_FP32, &adamw, ++m->step, PARAMETERS, m->p.all, m->gradients.all, 1, m->first_moment,
	             m->second_moment, NULL);
	return loss;
}

/* ---- 16 bits ---- */

/* One layer's operands, rounded, and room for what is made of them. */
struct narrow {
	struct linear_shape up;
	struct attention_shape attention;
	void *x, *weight, *bias, *wide, *dx, *dweight, *dbias, *qkv, *y, *dqkv;
	float *log_sum_exp;
};

static void *rounded(enum element type, int64_t n, const float *x)
{
	void *y = allocate((n + 1) / 2, 0);
	vector_convert(n, ELEMENT_FP32, x, type, y);
	return y;
}

static struct narrow narrow_new(enum element type, const struct model *m)
{
	const struct activations *a = &m->layers[0];
	const struct layer *w = &m->p.layers[0];
	return (struct narrow){.up = {ROWS, WIDTH, 4 * WIDTH, false, false, type, 0},
	                       .attention = {SAMPLES, TOKENS, HEADS, WIDTH / HEADS, type},
	                       .x = rounded(type, ROWS * WIDTH, a->norm1),
	                       .weight = rounded(type, 4 * WIDTH * WIDTH, w->up.weight),
	                       .bias = rounded(type, 4 * WIDTH, w->up.bias),
	                       .wide = rounded(type, 4 * ROWS * WIDTH, a->gelu),
	                       .dx = rounded(type, ROWS * WIDTH, a->norm1),
	                       .dweight = rounded(type, 4 * WIDTH * WIDTH, w->up.weight),
	                       .dbias = rounded(type, 4 * WIDTH, w->up.bias),
	                       .qkv = rounded(type, 3 * ROWS * WIDTH, a->qkv),
	                       .y = rounded(type, ROWS * WIDTH, a->attention),
	                       .dqkv = rounded(type, 3 * ROWS * WIDTH, a->qkv),
	                       .log_sum_exp = allocate(ROWS * HEADS, 0)};
}

/* ---- limits ---- */

static float *square_a, *square_b, *square_c, *copy_from, *copy_to;
enum { COPY = 1 << 25 }; /* 128 MiB: beyond every cache */

static double seconds_sgemm(void)
{
	double begin = now();
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SQUARE, SQUARE, SQUARE, 1.0f, square_a, SQUARE, square_b,
	            SQUARE, 0.0f, square_c, SQUARE);
	return now() - begin;
}

static double seconds_copy(void)
{
	double begin = now();
	memcpy(copy_to, copy_from, COPY * sizeof(float));
	return now() - begin;
}

static void limits_init(void)
{
	square_a = allocate(SQUARE * SQUARE, 1);
	square_b = allocate(SQUARE * SQUARE, 1);
	square_c = allocate(SQUARE * SQUARE, 1);
	copy_from = allocate(COPY, 1);
	copy_to = allocate(COPY, 1);
}

/* ---- the table ---- */

/* name, FLOPs (0: bound by memory), bytes, call. Bytes are what must be read and written once. */
#define N ((double)ROWS * WIDTH)
#define PAIR ((double)SAMPLES * TOKENS * TOKENS / 2 * WIDTH)
#define W(in, out) (2.0 * ROWS * (in) * (out))
/* clang-format off: a table */
#define CASES(X)                                                                                                       \
	X(vector_copy, 0, 8.0 * COPY, vector_copy(ELEMENT_FP32, COPY, copy_from, copy_to))                             \
	X(vector_add, 0, 12.0 * COPY, vector_add(ELEMENT_FP32, COPY, copy_from, copy_to))                              \
	X(vector_zero, 0, 4.0 * COPY, vector_zero(ELEMENT_FP32, COPY, copy_to))                                        \
	X(vector_scale, 0, 8.0 * COPY, vector_scale(ELEMENT_FP32, COPY, 0.5f, copy_to))                                \
	X(vector_sum_of_squares, 0, 4.0 * COPY, sink = vector_sum_of_squares(ELEMENT_FP32, COPY, copy_from))           \
	X(adamw_update, 0, 28.0 * PARAMETERS,                                                                          \
	  adamw_update(ELEMENT_FP32, &adamw, 1, PARAMETERS, m->p.all, m->gradients.all, 1, m->first_moment,            \
	               m->second_moment, NULL))                                                                        \
	X(sgd_update, 0, 12.0 * PARAMETERS,                                                                            \
	  sgd_update(ELEMENT_FP32, 1e-9f, PARAMETERS, m->p.all, m->gradients.all, 1, NULL))                            \
	X(embedding_forward, 0, 8 * N,                                                                                 \
	  embedding_forward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, m->ids, m->p.token, m->p.position, a->input))        \
	X(embedding_backward, 0, 4 * N,                                                                                \
	  embedding_backward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, VOCABULARY, TOKENS, m->ids, m->d,                   \
	                     m->gradients.token, true, m->gradients.position, false))                                  \
	X(norm_forward, 0, 8 * N,                                                                                      \
	  norm_forward(ELEMENT_FP32, ROWS, WIDTH, a->input, w->norm1.weight, w->norm1.bias, a->norm1, a->statistics1)) \
	X(norm_backward, 0, 16 * N,                                                                                    \
	  norm_backward(ELEMENT_FP32, ROWS, WIDTH, m->dnorm, a->input, a->statistics1, w->norm1.weight, m->d, true,    \
	                dw->norm1.weight, false, dw->norm1.bias, false))                                               \
	X(classifier, 0, 8.0 * ROWS * VOCABULARY,                                                                      \
	  classifier(ELEMENT_FP32, ROWS, VOCABULARY, VOCABULARY, m->logits, m->targets, 1.0, 1.0, &loss, false))       \
	X(classifier_evaluate, 0, 4.0 * ROWS * VOCABULARY,                                                             \
	  classifier_evaluate(ELEMENT_FP32, ROWS, VOCABULARY, VOCABULARY, m->logits, m->targets, &sink, &correct))     \
	X(attention_forward, 4 * PAIR, 0, attention_forward(&shape_attention, a->qkv, a->attention, a->log_sum_exp))   \
	X(attention_backward, 8 * PAIR, 0,                                                                             \
	  attention_backward(&shape_attention, m->d, a->qkv, a->attention, a->log_sum_exp, m->dnorm))                  \
	X(attention_forward_64, 4 * PAIR, 0, attention_forward(&heads_of_64, a->qkv, a->attention, a->log_sum_exp))    \
	X(attention_backward_64, 8 * PAIR, 0,                                                                          \
	  attention_backward(&heads_of_64, m->d, a->qkv, a->attention, a->log_sum_exp, m->dnorm))                      \
	X(attention_forward_128, 4 * PAIR, 0, attention_forward(&heads_of_128, a->qkv, a->attention, a->log_sum_exp))  \
	X(attention_backward_128, 8 * PAIR, 0,                                                                         \
	  attention_backward(&heads_of_128, m->d, a->qkv, a->attention, a->log_sum_exp, m->dnorm))                     \
	X(attention_forward_t1024, 32 * PAIR, 0,                                                                       \
	  attention_forward(&long_context, a->qkv, a->attention, a->log_sum_exp))                                      \
	X(attention_backward_t1024, 64 * PAIR, 0,                                                                      \
	  attention_backward(&long_context, m->d, a->qkv, a->attention, a->log_sum_exp, m->dnorm))                     \
	X(linear_forward_qkv, W(WIDTH, 3 * WIDTH), 0,                                                                  \
	  linear_forward(&shape_qkv, a->norm1, w->qkv.weight, w->qkv.bias, NULL, a->qkv, NULL))                        \
	X(linear_forward_residual, W(WIDTH, WIDTH), 0,                                                                 \
	  linear_forward(&shape_projection, a->attention, w->projection.weight, w->projection.bias, a->input,          \
	                 a->middle, NULL))                                                                             \
	X(linear_forward_gelu, W(WIDTH, 4 * WIDTH), 0,                                                                 \
	  linear_forward(&shape_up, a->norm2, w->up.weight, w->up.bias, NULL, a->gelu, a->pre))                        \
	X(linear_forward_down, W(4 * WIDTH, WIDTH), 0,                                                                 \
	  linear_forward(&shape_down, a->gelu, w->down.weight, w->down.bias, a->middle, m->last, NULL))                \
	X(linear_backward_qkv, 2 * W(WIDTH, 3 * WIDTH), 0,                                                             \
	  linear_backward(&shape_qkv, m->dnorm, a->norm1, w->qkv.weight, NULL, m->dwide, dw->qkv.weight, false,        \
	                  dw->qkv.bias, false))                                                                        \
	X(linear_backward_proj, 2 * W(WIDTH, WIDTH), 0,                                                                \
	  linear_backward(&shape_projection, m->d, a->attention, w->projection.weight, NULL, m->dwide,                 \
	                  dw->projection.weight, false, dw->projection.bias, false))                                   \
	X(linear_backward_gelu, 2 * W(WIDTH, 4 * WIDTH), 0,                                                            \
	  linear_backward(&shape_up, m->dwide, a->norm2, w->up.weight, a->pre, m->dnorm, dw->up.weight, false,         \
	                  dw->up.bias, false))                                                                         \
	X(linear_backward_down, 2 * W(4 * WIDTH, WIDTH), 0,                                                            \
	  linear_backward(&shape_down, m->d, a->gelu, w->down.weight, NULL, m->dwide, dw->down.weight, false,          \
	                  dw->down.bias, false))                                                                       \
	X(batch_norm_statistics, 0, 4 * N, batch_norm_statistics(&shape_batch, a->input, m->statistics))               \
	X(batch_norm_forward, 0, 8 * N,                                                                                \
	  batch_norm_forward(&shape_batch, a->input, batch, w->norm1.weight, w->norm1.bias, a->norm1))                 \
	X(batch_norm_sums, 0, 8 * N,                                                                                   \
	  batch_norm_sums(&shape_batch, m->d, a->input, batch, w->norm1.weight, w->norm1.bias, m->statistics,          \
	                  dw->norm1.weight, false, dw->norm1.bias, false))                                             \
	X(batch_norm_backward, 0, 12 * N,                                                                              \
	  batch_norm_backward(&shape_batch, m->d, a->input, batch, m->statistics, w->norm1.weight, m->dnorm))          \
	CASES_16(X, bf16)                                                                                              \
	CASES_16(X, fp16)
#define CASES_16(X, type)                                                                                              \
	X(linear_forward_##type, W(WIDTH, 4 * WIDTH), 0,                                                               \
	  linear_forward(&type.up, type.x, type.weight, type.bias, NULL, type.wide, NULL))                             \
	X(linear_backward_##type, 2 * W(WIDTH, 4 * WIDTH), 0,                                                          \
	  linear_backward(&type.up, type.wide, type.x, type.weight, NULL, type.dx, type.dweight, false, type.dbias,    \
	                  false))                                                                                      \
	X(attention_forward_##type, 4 * PAIR, 0,                                                                       \
	  attention_forward(&type.attention, type.qkv, type.y, type.log_sum_exp))                                      \
	X(attention_backward_##type, 8 * PAIR, 0,                                                                      \
	  attention_backward(&type.attention, type.x, type.qkv, type.y, type.log_sum_exp, type.dqkv))
/* clang-format on */

static int table(int repeats)
{
	enum { PER_REPEAT = 5 };
	static const struct attention_shape heads_of_64 = {SAMPLES, TOKENS, 4, 64, ELEMENT_FP32},
	                                    heads_of_128 = {SAMPLES, TOKENS, 2, 128, ELEMENT_FP32},
	                                    long_context = {2, 1024, HEADS, 32, ELEMENT_FP32};
	static const struct batch_norm_shape shape_batch = {ROWS, WIDTH, false, ELEMENT_FP32};
	static const struct adamw adamw = {1e-9f, 0.9f, 0.999f, 1e-8f, 0.01f};
	struct model *m = model_new();
	struct activations *a = &m->layers[0];
	const struct layer *w = &m->p.layers[0], *dw = &m->gradients.layers[0];
	float loss;
	double sink;
	int64_t correct;
	int samples = repeats * PER_REPEAT;
	double *times = calloc((size_t)samples, sizeof *times), *limits = calloc((size_t)samples, sizeof *limits);
	if (!times || !limits)
		abort();

	model_step(m);
	float *part = allocate(2 * WIDTH + 1, 0), *batch = allocate(2 * WIDTH + 1, 0),
	      *running = allocate(2 * WIDTH, 0);
	batch_norm_statistics(&shape_batch, m->layers[0].input, part);
	batch_norm_merge(1, WIDTH, part, running, batch);
	struct narrow bf16 = narrow_new(ELEMENT_BF16, m), fp16 = narrow_new(ELEMENT_FP16, m);
	printf("%-26s %10s %18s %9s  of limit\n", "kernel", "time", "rate", "limit");
/* Limit and kernel take turns. The kernel runs twice, the second is timed: the limit has emptied the caches. Sizes that
 * fit the caches can so exceed the copy's rate. */
#define X(name, flops, bytes, call)                                                                                    \
	{                                                                                                              \
		double flops_ = (flops), work = flops_ > 0 ? flops_ : (bytes);                                         \
		double limit_work = flops_ > 0 ? 2.0 * SQUARE * SQUARE * SQUARE : 8.0 * COPY;                          \
		for (int i = 0; i < samples; i++) {                                                                    \
			limits[i] = flops_ > 0 ? seconds_sgemm() : i % PER_REPEAT ? limits[i - 1] : seconds_copy();    \
			call;                                                                                          \
			double begin = now();                                                                          \
			call;                                                                                          \
			times[i] = now() - begin;                                                                      \
		}                                                                                                      \
		double t = median(samples, times), limit = limit_work / median(samples, limits);                       \
		printf("%-26s %7.3f ms %10.1f %-7s %9.1f %8.0f%%\n", #name, 1e3 * t, 1e-9 * work / t,                  \
		       flops_ > 0 ? "GFLOP/s" : "GB/s", 1e-9 * limit, 100 * work / t / limit);                         \
		fflush(stdout);                                                                                        \
	}
	CASES(X)
#undef X
	printf("\nlimits: SGEMM of n = 1024, and memory copied (read + written), each measured in turn with the "
	       "kernel\n");
	return 0;
}

int main(int argc, char **argv)
{
	int repeats = 7, threads = 1;
	for (int i = 1; i < argc; i++) {
		bool value = i + 1 < argc;
		if (strcmp(argv[i], "--repeats") == 0 && value && atoi(argv[i + 1]) > 0)
			repeats = atoi(argv[++i]);
		else if (strcmp(argv[i], "--level") == 0 && value &&
		         kernels_limit_instruction_set(atoi(argv[i + 1])) == atoi(argv[i + 1]))
			i++;
		else if (strcmp(argv[i], "--threads") == 0 && value && atoi(argv[i + 1]) > 0)
			threads = atoi(argv[++i]);
		else {
			fprintf(stderr,
			        "fatal: bench-kernels: %s: not an option, or not with this value; known are "
			        "--repeats N, --level 0|1|2, --threads N\n",
			        argv[i]);
			return 2;
		}
	}
	if (getenv("OPENBLAS_CORETYPE")) {
		fprintf(stderr, "fatal: bench-kernels: OPENBLAS_CORETYPE is set: unset it: a forced core halves the "
		                "denominator\n");
		return 2;
	}
	kernels_set_threads(threads);
	limits_init();
	printf("OpenBLAS core %s, vectors %s, %d thread%s\n\n", kernels_blas_core(), kernels_instruction_set(),
	       kernels_threads(), kernels_threads() == 1 ? "" : "s");
	return table(repeats);
}
