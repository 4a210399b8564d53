/* The arithmetic of training, as plain functions over caller-owned memory.
 *
 * Every kernel reads and writes only what it is given, and works on its threads' stacks besides, with at most
 * KERNELS_STACK_BYTES of each. None allocates, or keeps state between calls: the plan accounts for every byte, and a
 * test intercepts allocation to prove it. Same input, same number of threads: the same bits.
 *
 * Shapes are row-major. `rows` is samples × tokens. Vectorized bodies are built for AVX-512, AVX2 and plain C from one
 * source and chosen at run time.
 *
 * A `void *` holds elements of the type that the shape or the first argument names; `float *` is fp32 whatever the
 * type: statistics, log-sum-exp, loss, master weights and moments. 16-bit elements are 16 bits in memory only. What is
 * made of them is computed in fp32 (sums, norms, softmax, GELU), or multiplied as 16-bit and summed in fp32, and is
 * rounded once, to the nearest, ties to even, when it is stored. fp32 matrix products go to OpenBLAS, 16-bit ones to
 * kernels/cpu/simd/product.c, which uses the processor's bf16 products where there are any.
 *
 * "accumulate" means += instead of =, for gradients that collect contributions of several micro-batches or uses.
 */
#ifndef SHARDLAB_KERNELS_H
#define SHARDLAB_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum element { ELEMENT_FP32, ELEMENT_BF16, ELEMENT_FP16, ELEMENT_TYPES };

static inline int64_t element_bytes(enum element type)
{
	return type == ELEMENT_FP32 ? 4 : 2;
}

/* Threads that each kernel may use (OpenBLAS and loops). 1 unless called. */
void kernels_set_threads(int threads);
int kernels_threads(void);

/* Takes the library's own memory now, for the threads that are set: its working buffers, which it would else take at
 * the first product. False if this process may not have that much; *bytes says how much it is at most. */
#define KERNELS_BLAS_BYTES ((int64_t)160 << 20) /* a thread; OpenBLAS 0.3.21 takes 128 MiB and a little */
bool kernels_prepare(int64_t *bytes);

/* Have the threads that are set stacks of that size? *bytes is the smallest. Threads beside the caller have what
 * OMP_STACKSIZE says, else, like the caller, what `ulimit -s` says; products of 16 bits take the most, 0.7 MiB. */
#define KERNELS_STACK_BYTES ((int64_t)1 << 20)
bool kernels_have_stack(int64_t *bytes);

/* "AVX-512 with BF16", "AVX-512", "AVX2" or "plain C": which bodies run; and the name of OpenBLAS's core ("SkylakeX",
 * "Cooperlake", …). */
const char *kernels_instruction_set(void);
const char *kernels_blas_core(void);
/* For tests: use at most this level (0 plain C, 1 AVX2, 2 AVX-512, 3 with BF16: fp32 and fp16 as at 2); returns the
 * level in use. */
int kernels_limit_instruction_set(int level);

/* y[rows,out] = x[rows,in] · W + bias (+ residual), and with gelu: pre = that, y = gelu(pre), tanh form (GPT-2's).
 * The weight is stored [out,in] as in torch.nn.Linear, or [in,out] as in GPT-2's Conv1D. */
struct linear_shape {
	int64_t rows, in, out;
	bool weight_in_out; /* Conv1D layout */
	bool gelu;
	enum element type;
	/* Elements from a row of y, and of dy, to the next, for a layer without bias, residual and GELU: those behind
	 * the row's `out` are neither read nor written. 0: out. */
	int64_t stride;
};

static inline int64_t linear_stride(const struct linear_shape *s)
{
	return s->stride ? s->stride : s->out;
}

/* bias, residual may be NULL; pre must be given if and only if gelu (and residual is then NULL). */
void linear_forward(const struct linear_shape *s, const void *x, const void *weight, const void *bias,
                    const void *residual, void *y, void *pre);

/* dy[rows,out] is the gradient of y; with gelu it is first turned into that of pre, in place. dx (may be NULL) is
 * written; dweight and dbias (may be NULL when there is no bias) are written or accumulated. The gradient of a residual
 * is dy itself: whoever owns it passes it on. */
void linear_backward(const struct linear_shape *s, void *dy, const void *x, const void *weight, const void *pre,
                     void *dx, void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias);

/* LayerNorm over the last dimension, eps 1e-5. statistics[rows,2] = mean, 1/std of each row. */
void norm_forward(enum element type, int64_t rows, int64_t width, const void *x, const void *weight, const void *bias,
                  void *y, float *statistics);
/* dx is written, or accumulated onto what is there (the gradient that came past on the residual stream).
 * dy may not alias dx. */
void norm_backward(enum element type, int64_t rows, int64_t width, const void *dy, const void *x,
                   const float *statistics, const void *weight, void *dx, bool accumulate_x, void *dweight,
                   bool accumulate_weight, void *dbias, bool accumulate_bias);

/* Batch normalization over rows, feature by feature, with tanh-form GELU after it if `gelu`: torch.nn.BatchNorm1d, and
 * torch.nn.SyncBatchNorm over the rows of several ranks. eps 1e-5, momentum 0.1.
 *
 *     part[2·width + 1]         of some rows: mean and (biased) variance of each feature, and how many rows
 *     statistics[2·width + 1]   of all parts together: mean and 1/std, and how many rows; what the passes below take
 *     running[2·width]          running mean, and running variance (unbiased)
 *     sums[2·width]             Σ du and Σ du·(x − mean) over the rows, du the gradient before GELU
 *
 * Where rows are spread over ranks, parts are gathered between _statistics and _merge, and sums are added up between
 * _sums and _backward. */
struct batch_norm_shape {
	int64_t rows, width;
	bool gelu;
	enum element type;
};
void batch_norm_statistics(const struct batch_norm_shape *s, const void *x, float *part);
/* Merges parts in their order, in double (Chan, Golub & LeVeque 1979), and moves the running statistics by the
 * momentum. All rows together must be more than one. */
void batch_norm_merge(int64_t parts, int64_t width, const float *part, float *running, float *statistics);
/* For validation: the running statistics in place of a batch's, of 0 rows. */
void batch_norm_running(int64_t width, const float *running, float *statistics);
void batch_norm_forward(const struct batch_norm_shape *s, const void *x, const float *statistics, const void *weight,
                        const void *bias, void *y);
/* dy becomes du; dweight and dbias, of these rows, are written or accumulated. */
void batch_norm_sums(const struct batch_norm_shape *s, void *dy, const void *x, const float *statistics,
                     const void *weight, const void *bias, float *sums, void *dweight, bool accumulate_weight,
                     void *dbias, bool accumulate_bias);
void batch_norm_backward(const struct batch_norm_shape *s, const void *du, const void *x, const float *statistics,
                         const float *sums, const void *weight, void *dx);

/* Causal self-attention. qkv[samples, tokens, 3·heads·head_size]: q, then k, then v, each heads × head_size, as GPT-2's
 * c_attn gives them. y[samples, tokens, heads·head_size]. Scores are scaled by 1/sqrt(head_size). Never stores
 * tokens × tokens: keeps log_sum_exp[samples, heads, tokens] for the backward pass, which recomputes the probabilities
 * (FlashAttention, arXiv 2205.14135, algorithm 1 and appendix B). */
struct attention_shape {
	int64_t samples, tokens, heads, head_size;
	enum element type;
};
void attention_forward(const struct attention_shape *s, const void *qkv, void *y, float *log_sum_exp);
void attention_backward(const struct attention_shape *s, const void *dy, const void *qkv, const void *y,
                        const float *log_sum_exp, void *dqkv);

/* y[samples,tokens,width] = token_table[id] + position_table[t]. */
void embedding_forward(enum element type, int64_t samples, int64_t tokens, int64_t width, const int32_t *ids,
                       const void *token_table, const void *position_table, void *y);
/* dtoken_table[vocabulary,width] and dposition_table[context,width]. If not accumulating, all of the table is written
 * (rows that no token used become 0; position rows ≥ tokens become 0). Deterministic order. In 16 bits a table row is
 * rounded once for every 1024 tokens that may add to it, not for each. */
void embedding_backward(enum element type, int64_t samples, int64_t tokens, int64_t width, int64_t vocabulary,
                        int64_t context, const int32_t *ids, const void *dy, void *dtoken_table, bool accumulate_token,
                        void *dposition_table, bool accumulate_position);

/* Softmax cross-entropy in one pass, in place: logits[rows,classes] become the gradient of `gradient_scale` × the sum
 * of the rows' losses; *loss += scale × the sum of the rows' losses (or = when not accumulating). The two differ by the
 * loss scale of 16-bit training. targets in [0, classes). The sum runs in double. No probabilities are stored beside.
 * A row begins `stride` ≥ classes elements after the one before; what lies between is never read. */
void classifier(enum element type, int64_t rows, int64_t classes, int64_t stride, void *logits, const int32_t *targets,
                double scale, double gradient_scale, float *loss, bool accumulate);
/* Forward only, for validation: sum of the rows' losses, and how many rows have their largest logit at the target. */
void classifier_evaluate(enum element type, int64_t rows, int64_t classes, int64_t stride, const void *logits,
                         const int32_t *targets, double *loss, int64_t *correct);

/* AdamW as torch.optim.AdamW (decoupled weight decay, Loshchilov & Hutter 2019, algorithm 2). step counts from 1.
 * Gradients are multiplied by gradient_factor when they are read: 1, or what undoes a loss scale or clips them. 16-bit
 * parameters are the rounded copy of the fp32 master, which is what is updated; fp32 has no master (NULL). */
struct adamw {
	float learning_rate, beta1, beta2, epsilon, weight_decay;
};
void adamw_update(enum element type, const struct adamw *a, int64_t step, int64_t n, void *parameters,
                  const void *gradients, float gradient_factor, float *first_moment, float *second_moment,
                  float *master);
void sgd_update(enum element type, float learning_rate, int64_t n, void *parameters, const void *gradients,
                float gradient_factor, float *master);

/* y += x; y = x; y = 0; y *= factor; sum of squares in double, fixed order. Regions do not overlap. */
void vector_add(enum element type, int64_t n, const void *x, void *y);
void vector_copy(enum element type, int64_t n, const void *x, void *y);
void vector_zero(enum element type, int64_t n, void *y);
void vector_scale(enum element type, int64_t n, float factor, void *y);
double vector_sum_of_squares(enum element type, int64_t n, const void *x);

/* y = x, from one type to another. Widening is exact; narrowing rounds to the nearest, ties to even: what is too large
 * becomes infinite, and a NaN stays one. */
void vector_convert(int64_t n, enum element from, const void *x, enum element to, void *y);

/* sum = x + y on the calling thread alone, for those who add what comes in from other ranks while a kernel has the
 * threads. sum may be x or y. */
void elements_add(enum element type, int64_t n, const void *x, const void *y, void *sum);

/* Neither infinite nor NaN, all of them? */
bool vector_is_finite(enum element type, int64_t n, const void *x);

#ifdef __cplusplus
}
#endif
#endif
