/* The kernels that memory limits, those of Llama too, at the sizes of GPT-2 124M in bf16: what each is called with, and
 * how many bytes it must move, each number once; what a kernel reads again, and what it keeps in the workspace, is its
 * own affair. How often a step of `single` has it tells what its time is worth.
 *
 *     struct job jobs[JOBS];
 *     jobs_make(jobs);
 *     …                                    memory for jobs[k].b[i].n elements at jobs[k].b[i].p, for each i
 *     jobs[k].run(&(struct on){kernels, gpu, stream}, jobs[k].b);
 */
#ifndef SHARDLAB_CUDA_JOBS_H
#define SHARDLAB_CUDA_JOBS_H

#include <string.h>

#include "kernels/cuda/cuda.h"

enum { MOST_BUFFERS = 8, JOBS = 19 };
enum { WIDTH = 768, VOCABULARY = 50257, STRIDE = 50304, PARAMETERS = 124439808 };

/* 100 MB an operand: several times what an L2 holds, which 50 to 60 MB are. */
static int64_t samples = 64, tokens = 1024, parameters = PARAMETERS;

struct on {
	const struct kernel_table *kernels;
	struct kernel_context *gpu;
	kernel_stream stream;
};

/* Numbers in [0, 1) less `shift`; or token ids. */
struct buffer {
	enum element type;
	int64_t n;
	float shift;
	bool ids, step, is_result; /* step: one int64_t, 1, in two places */
	void *p;
};

struct job {
	const char *name;
	double bytes; /* that must be read and written */
	int in_step;  /* runs in a step of GPT-2 124M's 12 blocks */
	int (*run)(const struct on *o, const struct buffer *b);
	struct buffer b[MOST_BUFFERS];
};

static inline int64_t rows(void)
{
	return samples * tokens;
}

/* run_NAME calls that kernel with these arguments. */
#define RUN(name, kernel, ...)                                                                                         \
	static inline int run_##name(const struct on *o, const struct buffer *b)                                       \
	{                                                                                                              \
		return o->kernels->kernel(o->gpu, o->stream, __VA_ARGS__);                                             \
	}

RUN(copy, copy, b[1].p, b[0].p, (size_t)b[0].n * 2)
RUN(norm_forward, norm_forward, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p, b[2].p, b[3].p, b[4].p)
RUN(norm_backward, norm_backward, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p, b[2].p, b[3].p, b[4].p, true, b[5].p,
    true, b[6].p, true)
RUN(classifier, classifier, ELEMENT_BF16, rows(), VOCABULARY, STRIDE, b[0].p, b[1].p, 1.0 / (double)rows(), NULL,
    b[2].p, false)
RUN(embedding_forward, embedding_forward, ELEMENT_BF16, samples, tokens, WIDTH, b[0].p, b[1].p, b[2].p, b[3].p)
RUN(embedding_backward, embedding_backward, ELEMENT_BF16, samples, tokens, WIDTH, VOCABULARY, tokens, 0, b[0].p, b[1].p,
    b[2].p, false, b[3].p, false)
#define UPDATE                                                                                                         \
	(&(struct update){.learning_rate = 1e-4,                                                                       \
	                  .beta1 = 0.9F,                                                                               \
	                  .beta2 = 0.999F,                                                                             \
	                  .epsilon = 1e-8F,                                                                            \
	                  .weight_decay = 0.1F,                                                                        \
	                  .step = b[5].p})
RUN(adamw, adamw_update, ELEMENT_BF16, UPDATE, parameters, b[0].p, b[1].p, b[2].p, b[3].p, b[4].p)
RUN(add, vector_add, ELEMENT_BF16, parameters, b[0].p, b[1].p)
RUN(squares, vector_squares, ELEMENT_BF16, parameters, b[0].p, b[1].p, false)
RUN(overflow, vector_overflow, ELEMENT_BF16, parameters, b[0].p, b[1].p, false)
RUN(convert, vector_convert, parameters, ELEMENT_FP32, b[0].p, ELEMENT_BF16, b[1].p)
RUN(finish, linear_finish, ELEMENT_BF16, ACTIVATION_GELU_TANH, rows(), b[0].n, b[0].p, b[1].p, b[2].p, b[3].p)

RUN(rms_norm_forward, rms_norm_forward, ELEMENT_BF16, rows(), WIDTH, 1e-5F, b[0].p, b[1].p, b[2].p, b[3].p)
RUN(rms_norm_backward, rms_norm_backward, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p, b[2].p, b[3].p, b[4].p, true,
    b[5].p, true)
RUN(swiglu_forward, swiglu_forward, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p)
RUN(swiglu_backward, swiglu_backward, ELEMENT_BF16, rows(), WIDTH, b[0].p, b[1].p, b[2].p)
/* A row of q, k and v is as wide as the model. */
static const float frequencies[32] = {1, 0.7F, 0.5F, 0.3F, 0.2F, 0.1F};
#define ROTARY                                                                                                         \
	(&(struct rotary_shape){.samples = samples,                                                                    \
	                        .tokens = tokens,                                                                      \
	                        .heads = 8,                                                                            \
	                        .kv_heads = 2,                                                                         \
	                        .head_size = 64,                                                                       \
	                        .amplitude = 1,                                                                        \
	                        .frequency = frequencies,                                                              \
	                        .type = ELEMENT_BF16})
_Static_assert((8 + 2 * 2) * 64 == WIDTH, "ROTARY's row");
RUN(rotary_forward, rotary_forward, ROTARY, b[0].p, NULL, NULL, b[1].p)
RUN(rotary_backward, rotary_backward, ROTARY, b[0].p, NULL, NULL, NULL, b[1].p, NULL, false, NULL, false)

#define BF16(count)                                                                                                    \
	{                                                                                                              \
		.type = ELEMENT_BF16, .n = (count), .shift = 0.5F                                                      \
	}
#define RESULT(t, count)                                                                                               \
	{                                                                                                              \
		.type = (t), .n = (count), .shift = 0.5F, .is_result = true                                            \
	}
#define IDS(count)                                                                                                     \
	{                                                                                                              \
		.n = (count), .ids = true                                                                              \
	}

static inline void jobs_make(struct job jobs[JOBS])
{
	int64_t r = rows(), n = r * WIDTH, table = (int64_t)VOCABULARY * WIDTH, p = parameters;
	double size = (double)n * 2;
	const struct job all[] = {
	        {"copy", 4.0 * (double)p, 0, run_copy, {BF16(p), BF16(p)}},
	        {"norm forward",
	         2 * size,
	         25,
	         run_norm_forward,
	         {BF16(n), BF16(WIDTH), BF16(WIDTH), RESULT(ELEMENT_BF16, n), RESULT(ELEMENT_FP32, 2 * r)}},
	        {"norm backward",
	         4 * size,
	         25,
	         run_norm_backward,
	         {BF16(n),
	          BF16(n),
	          {.type = ELEMENT_FP32, .n = 2 * r},
	          BF16(WIDTH),
	          RESULT(ELEMENT_BF16, n),
	          RESULT(ELEMENT_BF16, WIDTH),
	          RESULT(ELEMENT_BF16, WIDTH)}},
	        {"classifier",
	         4.0 * (double)r * VOCABULARY,
	         1,
	         run_classifier,
	         {RESULT(ELEMENT_BF16, r * STRIDE), IDS(r), RESULT(ELEMENT_FP32, 1)}},
	        {"embedding forward",
	         2 * size,
	         1,
	         run_embedding_forward,
	         {IDS(r), BF16(table), BF16(tokens * WIDTH), RESULT(ELEMENT_BF16, n)}},
	        {"embedding backward",
	         2 * size + 2.0 * (double)table,
	         1,
	         run_embedding_backward,
	         {IDS(r), BF16(n), RESULT(ELEMENT_BF16, table), RESULT(ELEMENT_BF16, tokens * WIDTH)}},
	        {"AdamW",
	         28.0 * (double)p,
	         1,
	         run_adamw,
	         {RESULT(ELEMENT_BF16, p),
	          BF16(p),
	          RESULT(ELEMENT_FP32, p),
	          {.type = ELEMENT_FP32, .n = p, .is_result = true},
	          RESULT(ELEMENT_FP32, p),
	          {.n = 2, .ids = true, .step = true}}},
	        {"vector add", 6.0 * (double)p, 0, run_add, {BF16(p), RESULT(ELEMENT_BF16, p)}},
	        {"sum of squares", 2.0 * (double)p, 0, run_squares, {BF16(p), RESULT(ELEMENT_FP32, 1)}},
	        {"overflow", 2.0 * (double)p, 0, run_overflow, {BF16(p), {.type = ELEMENT_FP32, .n = 1}}},
	        {"fp32 to bf16", 6.0 * (double)p, 0, run_convert, {{.type = ELEMENT_FP32, .n = p}, BF16(p)}},
	        {"bias, residual, GELU",
	         4 * size,
	         0,
	         run_finish,
	         {BF16(WIDTH), BF16(n), RESULT(ELEMENT_BF16, n), RESULT(ELEMENT_BF16, n)}},
	        {"bias, residual, GELU of 4×",
	         16 * size,
	         0,
	         run_finish,
	         {BF16(4 * WIDTH), BF16(4 * n), RESULT(ELEMENT_BF16, 4 * n), RESULT(ELEMENT_BF16, 4 * n)}},
	        {"RMSNorm forward",
	         2 * size,
	         0,
	         run_rms_norm_forward,
	         {BF16(n), BF16(WIDTH), RESULT(ELEMENT_BF16, n), RESULT(ELEMENT_FP32, r)}},
	        {"RMSNorm backward",
	         4 * size,
	         0,
	         run_rms_norm_backward,
	         {BF16(n),
	          BF16(n),
	          {.type = ELEMENT_FP32, .n = r},
	          BF16(WIDTH),
	          RESULT(ELEMENT_BF16, n),
	          RESULT(ELEMENT_BF16, WIDTH)}},
	        {"SwiGLU forward", 3 * size, 0, run_swiglu_forward, {BF16(2 * n), RESULT(ELEMENT_BF16, n)}},
	        {"SwiGLU backward",
	         5 * size,
	         0,
	         run_swiglu_backward,
	         {BF16(n), BF16(2 * n), RESULT(ELEMENT_BF16, 2 * n)}},
	        {"rotary forward", 2 * size, 0, run_rotary_forward, {BF16(n), RESULT(ELEMENT_BF16, n)}},
	        {"rotary backward", 2 * size, 0, run_rotary_backward, {BF16(n), RESULT(ELEMENT_BF16, n)}},
	};
	_Static_assert(sizeof all / sizeof *all == JOBS, "as many jobs");
	memcpy(jobs, all, sizeof all);
}

#endif
