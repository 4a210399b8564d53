/* The rate of each kernel beside what this machine can do, at the sizes of a small GPT: GFLOP/s against SGEMM
 * (n = 1024), or GB/s against copying memory; of 16-bit kernels GFLOP/s too, against the same SGEMM, which they may
 * exceed. A whole training step is tests/bench/bench_step.c.
 *
 *     bench_kernels [--repeats N] [--level 0|1|2 (plain C, AVX2, AVX-512)] [--threads N]
 *
 * The GPT: 6 layers of width 256, 8 heads, context 128, vocabulary 256, tied head; 16 × 128 tokens. Operands are random
 * numbers; what one kernel leaves for another (statistics, log-sum-exp) the first has left before the other is timed.
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/bench/bench.h"

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

static float *allocate(int64_t n, float scale)
{
	float *f = aligned_alloc(64, ((size_t)n * sizeof *f + 63) / 64 * 64);
	if (!f)
		bench_fail("out of memory");
	static uint32_t state = 12345;
	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		f[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
	}
	return f;
}

/* ---- operands ---- */

static const struct linear_shape shape_qkv = {ROWS, WIDTH, 3 * WIDTH, false, ACTIVATION_NONE, ELEMENT_FP32, 0},
                                 shape_projection = {ROWS, WIDTH, WIDTH, false, ACTIVATION_NONE, ELEMENT_FP32, 0},
                                 shape_up = {ROWS, WIDTH, 4 * WIDTH, false, ACTIVATION_GELU_TANH, ELEMENT_FP32, 0},
                                 shape_down = {ROWS, 4 * WIDTH, WIDTH, false, ACTIVATION_NONE, ELEMENT_FP32, 0};
static const struct attention_shape shape_attention = {SAMPLES, TOKENS,        HEADS,
                                                       HEADS,   WIDTH / HEADS, .type = ELEMENT_FP32};

/* One layer's, each used by several kernels: a weight and its gradient are as large as the largest. */
struct operands {
	float *parameters, *gradients, *first_moment, *second_moment; /* of the whole model */
	float *x, *y, *dy;                                            /* [ROWS, WIDTH] */
	float *wide, *pre, *dwide;                                    /* [ROWS, 4·WIDTH] */
	float *weight, *bias, *dweight, *dbias;
	float *qkv, *dqkv, *log_sum_exp, *statistics, *sums, *batch, *logits;
	int32_t ids[ROWS], targets[ROWS];
};

static struct operands *operands_new(void)
{
	struct operands *o = bench_zeroed(1, sizeof *o);
	o->parameters = allocate(PARAMETERS, 0.04f);
	o->gradients = allocate(PARAMETERS, 0.01f);
	o->first_moment = allocate(PARAMETERS, 0);
	o->second_moment = allocate(PARAMETERS, 0);
	float **const rows[] = {&o->x, &o->y, &o->dy},
	              **const wide[] = {&o->wide, &o->pre, &o->dwide, &o->qkv, &o->dqkv};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		*rows[i] = allocate(ROWS * WIDTH, 1);
	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
		*wide[i] = allocate(4 * ROWS * WIDTH, 1);
	o->weight = allocate(4 * WIDTH * WIDTH, 0.04f);
	o->dweight = allocate(4 * WIDTH * WIDTH, 0.04f);
	o->bias = allocate(4 * WIDTH, 0.04f);
	o->dbias = allocate(4 * WIDTH, 0.04f);
	o->log_sum_exp = allocate(ROWS * HEADS, 1);
	o->statistics = allocate(2 * ROWS, 1);
	o->sums = allocate(2 * WIDTH + 1, 1);
	o->batch = allocate(2 * WIDTH + 1, 1);
	o->logits = allocate(ROWS * VOCABULARY, 1);
	for (int i = 0; i < ROWS; i++) {
		o->ids[i] = i * 31 % VOCABULARY;
		o->targets[i] = (i + 1) * 31 % VOCABULARY;
	}
	return o;
}

/* Operands of 16 bits, rounded from fp32, and room for results. */
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

static struct narrow narrow_new(enum element type, const struct operands *o)
{
	return (struct narrow){.up = {ROWS, WIDTH, 4 * WIDTH, false, false, type, 0},
	                       .attention = {SAMPLES, TOKENS, HEADS, HEADS, WIDTH / HEADS, type},
	                       .x = rounded(type, ROWS * WIDTH, o->x),
	                       .weight = rounded(type, 4 * WIDTH * WIDTH, o->weight),
	                       .bias = rounded(type, 4 * WIDTH, o->bias),
	                       .wide = rounded(type, 4 * ROWS * WIDTH, o->wide),
	                       .dx = rounded(type, ROWS * WIDTH, o->x),
	                       .dweight = rounded(type, 4 * WIDTH * WIDTH, o->weight),
	                       .dbias = rounded(type, 4 * WIDTH, o->bias),
	                       .qkv = rounded(type, 3 * ROWS * WIDTH, o->qkv),
	                       .y = rounded(type, ROWS * WIDTH, o->y),
	                       .dqkv = rounded(type, 3 * ROWS * WIDTH, o->qkv),
	                       .log_sum_exp = allocate(ROWS * HEADS, 0)};
}

/* ---- limits ---- */

static float *square_a, *square_b, *square_c, *copy_from, *copy_to;
enum { COPY = 1 << 25 }; /* 128 MiB: beyond every cache */

static double seconds_sgemm(void)
{
	double begin = clock_seconds();
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SQUARE, SQUARE, SQUARE, 1.0f, square_a, SQUARE, square_b,
	            SQUARE, 0.0f, square_c, SQUARE);
	return clock_seconds() - begin;
}

static double seconds_copy(void)
{
	double begin = clock_seconds();
	memcpy(copy_to, copy_from, COPY * sizeof(float));
	return clock_seconds() - begin;
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
	X(vector_sum_of_squares, 0, 4.0 * COPY, sink = vector_sum_of_squares(ELEMENT_FP32, COPY, copy_from))           \
	X(adamw_update, 0, 28.0 * PARAMETERS,                                                                          \
	  adamw_update(ELEMENT_FP32, &adamw, 1, PARAMETERS, o->parameters, o->gradients, 1, o->first_moment,           \
	               o->second_moment, NULL))                                                                        \
	X(sgd_update, 0, 12.0 * PARAMETERS,                                                                            \
	  sgd_update(ELEMENT_FP32, 1e-9f, PARAMETERS, o->parameters, o->gradients, 1, NULL))                           \
	X(embedding_forward, 0, 8 * N,                                                                                 \
	  embedding_forward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, o->ids, o->parameters, o->weight, o->y))             \
	X(embedding_backward, 0, 4 * N,                                                                                \
	  embedding_backward(ELEMENT_FP32, SAMPLES, TOKENS, WIDTH, VOCABULARY, TOKENS, 0, o->ids, o->dy, o->gradients, \
	                     true, o->dweight, false))                                                                 \
	X(norm_forward, 0, 8 * N,                                                                                      \
	  norm_forward(ELEMENT_FP32, ROWS, WIDTH, o->x, o->weight, o->bias, o->y, o->statistics))                      \
	X(norm_backward, 0, 16 * N,                                                                                    \
	  norm_backward(ELEMENT_FP32, ROWS, WIDTH, o->dwide, o->x, o->statistics, o->weight, o->dy, true, o->dweight,  \
	                false, o->dbias, false))                                                                       \
	X(classifier, 0, 8.0 * ROWS * VOCABULARY,                                                                      \
	  classifier(ELEMENT_FP32, ROWS, VOCABULARY, VOCABULARY, o->logits, o->targets, 1.0, 1.0, &loss, false))       \
	X(classifier_evaluate, 0, 4.0 * ROWS * VOCABULARY,                                                             \
	  classifier_evaluate(ELEMENT_FP32, ROWS, VOCABULARY, VOCABULARY, o->logits, o->targets, &sink, &correct))     \
	X(attention_forward, 4 * PAIR, 0, attention_forward(&shape_attention, o->qkv, o->y, o->log_sum_exp))           \
	X(attention_backward, 8 * PAIR, 0,                                                                             \
	  attention_backward(&shape_attention, o->dy, o->qkv, o->y, o->log_sum_exp, o->dqkv))                          \
	X(attention_forward_64, 4 * PAIR, 0, attention_forward(&heads_of_64, o->qkv, o->y, o->log_sum_exp))            \
	X(attention_backward_64, 8 * PAIR, 0,                                                                          \
	  attention_backward(&heads_of_64, o->dy, o->qkv, o->y, o->log_sum_exp, o->dqkv))                              \
	X(attention_forward_128, 4 * PAIR, 0, attention_forward(&heads_of_128, o->qkv, o->y, o->log_sum_exp))          \
	X(attention_backward_128, 8 * PAIR, 0,                                                                         \
	  attention_backward(&heads_of_128, o->dy, o->qkv, o->y, o->log_sum_exp, o->dqkv))                             \
	X(attention_forward_t1024, 32 * PAIR, 0, attention_forward(&long_context, o->qkv, o->y, o->log_sum_exp))       \
	X(attention_backward_t1024, 64 * PAIR, 0,                                                                      \
	  attention_backward(&long_context, o->dy, o->qkv, o->y, o->log_sum_exp, o->dqkv))                             \
	X(linear_forward_qkv, W(WIDTH, 3 * WIDTH), 0,                                                                  \
	  linear_forward(&shape_qkv, o->x, o->weight, o->bias, NULL, o->wide, NULL))                                   \
	X(linear_forward_residual, W(WIDTH, WIDTH), 0,                                                                 \
	  linear_forward(&shape_projection, o->x, o->weight, o->bias, o->dy, o->y, NULL))                              \
	X(linear_forward_gelu, W(WIDTH, 4 * WIDTH), 0,                                                                 \
	  linear_forward(&shape_up, o->x, o->weight, o->bias, NULL, o->wide, o->pre))                                  \
	X(linear_forward_down, W(4 * WIDTH, WIDTH), 0,                                                                 \
	  linear_forward(&shape_down, o->wide, o->weight, o->bias, o->x, o->y, NULL))                                  \
	X(linear_backward_qkv, 2 * W(WIDTH, 3 * WIDTH), 0,                                                             \
	  linear_backward(&shape_qkv, o->dqkv, o->x, o->weight, NULL, o->dwide, o->dweight, false, o->dbias, false))   \
	X(linear_backward_proj, 2 * W(WIDTH, WIDTH), 0,                                                                \
	  linear_backward(&shape_projection, o->dy, o->x, o->weight, NULL, o->dwide, o->dweight, false, o->dbias,      \
	                  false))                                                                                      \
	X(linear_backward_gelu, 2 * W(WIDTH, 4 * WIDTH), 0,                                                            \
	  linear_backward(&shape_up, o->dwide, o->x, o->weight, o->pre, o->dqkv, o->dweight, false, o->dbias, false))  \
	X(linear_backward_down, 2 * W(4 * WIDTH, WIDTH), 0,                                                            \
	  linear_backward(&shape_down, o->dy, o->wide, o->weight, NULL, o->dwide, o->dweight, false, o->dbias, false)) \
	X(batch_norm_statistics, 0, 4 * N, batch_norm_statistics(&shape_batch, o->x, o->sums))                         \
	X(batch_norm_forward, 0, 8 * N, batch_norm_forward(&shape_batch, o->x, o->batch, o->weight, o->bias, o->y))    \
	X(batch_norm_sums, 0, 8 * N,                                                                                   \
	  batch_norm_sums(&shape_batch, o->dy, o->x, o->batch, o->weight, o->bias, o->sums, o->dweight, false,         \
	                  o->dbias, false))                                                                            \
	X(batch_norm_backward, 0, 12 * N,                                                                              \
	  batch_norm_backward(&shape_batch, o->dy, o->x, o->batch, o->sums, o->weight, o->dwide))                      \
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
	static const struct attention_shape heads_of_64 = {SAMPLES, TOKENS, 4, 4, 64, .type = ELEMENT_FP32},
	                                    heads_of_128 = {SAMPLES, TOKENS, 2, 2, 128, .type = ELEMENT_FP32},
	                                    long_context = {2, 1024, HEADS, HEADS, 32, .type = ELEMENT_FP32};
	static const struct batch_norm_shape shape_batch = {ROWS, WIDTH, false, ELEMENT_FP32};
	static const struct adamw adamw = {1e-9f, 0.9f, 0.999f, 1e-8f, 0.01f};
	struct operands *o = operands_new();
	float loss;
	double sink = 0;
	int64_t correct = 0;
	int samples = repeats * PER_REPEAT;
	double *times = bench_zeroed((size_t)samples, sizeof *times),
	       *limits = bench_zeroed((size_t)samples, sizeof *limits);

	batch_norm_statistics(&shape_batch, o->x, o->sums);
	batch_norm_merge(1, WIDTH, o->sums, o->dbias, o->batch);
	struct narrow bf16 = narrow_new(ELEMENT_BF16, o), fp16 = narrow_new(ELEMENT_FP16, o);
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
			double begin = clock_seconds();                                                                \
			call;                                                                                          \
			times[i] = clock_seconds() - begin;                                                            \
		}                                                                                                      \
		double t = median(times, samples), limit = limit_work / median(limits, samples);                       \
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
			        "fatal: bench_kernels: %s: not an option, or not with this value; known are "
			        "--repeats N, --level 0|1|2, --threads N\n",
			        argv[i]);
			return 2;
		}
	}
	if (getenv("OPENBLAS_CORETYPE"))
		bench_fail("OPENBLAS_CORETYPE is set: unset it: a forced core halves the denominator");
	kernels_set_threads(threads);
	limits_init();
	printf("OpenBLAS core %s, vectors %s, %d thread%s\n\n", kernels_blas_core(), kernels_instruction_set(),
	       kernels_threads(), kernels_threads() == 1 ? "" : "s");
	return table(repeats);
}
