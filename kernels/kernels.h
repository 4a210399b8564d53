/* The arithmetic of training, as plain functions over caller-owned memory.
 *
 * Every kernel reads and writes only what it is given. None allocates, keeps state between calls, or needs scratch that
 * the caller does not know (small tiles on the stack are fine): the plan accounts for every byte, and a test
 * intercepts allocation to prove it. Same input, same number of threads: the same bits.
 *
 * Shapes are row-major. `rows` is samples × tokens. Types are fp32. Vectorized bodies are built for AVX-512, AVX2 and
 * plain C from one source and chosen at run time; matrix products go to OpenBLAS.
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

/* Threads that each kernel may use (OpenBLAS and loops). 1 unless called. */
void kernels_set_threads(int threads);
int kernels_threads(void);

/* Takes the library's own memory now, for the threads that are set: its working buffers, which it would else take at
 * the first product. False if this process may not have that much; *bytes says how much it is at most. */
#define KERNELS_BLAS_BYTES ((int64_t)160 << 20) /* a thread; OpenBLAS 0.3.21 takes 128 MiB and a little */
bool kernels_prepare(int64_t *bytes);

/* "AVX-512", "AVX2" or "plain C": which bodies run; and the name of OpenBLAS's core ("SkylakeX", "Cooperlake", …). */
const char *kernels_instruction_set(void);
const char *kernels_blas_core(void);
/* For tests: use at most this level (0 plain C, 1 AVX2, 2 AVX-512); returns the level in use. */
int kernels_limit_instruction_set(int level);

/* y[rows,out] = x[rows,in] · W + bias (+ residual), and with gelu: pre = that, y = gelu(pre), tanh form (GPT-2's).
 * The weight is stored [out,in] as in torch.nn.Linear, or [in,out] as in GPT-2's Conv1D. */
struct linear_shape {
	int64_t rows, in, out;
	bool weight_in_out; /* Conv1D layout */
	bool gelu;
};

/* bias, residual may be NULL; pre must be given if and only if gelu (and residual is then NULL). */
void linear_forward(const struct linear_shape *s, const float *x, const float *weight, const float *bias,
                    const float *residual, float *y, float *pre);

/* dy[rows,out] is the gradient of y; with gelu it is first turned into that of pre, in place. dx (may be NULL) is
 * written; dweight and dbias (may be NULL when there is no bias) are written or accumulated. The gradient of a residual
 * is dy itself: whoever owns it passes it on. */
void linear_backward(const struct linear_shape *s, float *dy, const float *x, const float *weight, const float *pre,
                     float *dx, float *dweight, bool accumulate_weight, float *dbias, bool accumulate_bias);

/* LayerNorm over the last dimension, eps 1e-5. statistics[rows,2] = mean, 1/std of each row. */
void norm_forward(int64_t rows, int64_t width, const float *x, const float *weight, const float *bias, float *y,
                  float *statistics);
/* dx is written, or accumulated onto what is there (the gradient that came past on the residual stream).
 * dy may not alias dx. */
void norm_backward(int64_t rows, int64_t width, const float *dy, const float *x, const float *statistics,
                   const float *weight, float *dx, bool accumulate_x, float *dweight, bool accumulate_weight,
                   float *dbias, bool accumulate_bias);

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
};
void batch_norm_statistics(const struct batch_norm_shape *s, const float *x, float *part);
/* Merges parts in their order, in double (Chan, Golub & LeVeque 1979), and moves the running statistics by the
 * momentum. All rows together must be more than one. */
void batch_norm_merge(int64_t parts, int64_t width, const float *part, float *running, float *statistics);
/* For validation: the running statistics in place of a batch's, of 0 rows. */
void batch_norm_running(int64_t width, const float *running, float *statistics);
void batch_norm_forward(const struct batch_norm_shape *s, const float *x, const float *statistics, const float *weight,
                        const float *bias, float *y);
/* dy becomes du; dweight and dbias, of these rows, are written or accumulated. */
void batch_norm_sums(const struct batch_norm_shape *s, float *dy, const float *x, const float *statistics,
                     const float *weight, const float *bias, float *sums, float *dweight, bool accumulate_weight,
                     float *dbias, bool accumulate_bias);
void batch_norm_backward(const struct batch_norm_shape *s, const float *du, const float *x, const float *statistics,
                         const float *sums, const float *weight, float *dx);

/* Causal self-attention. qkv[samples, tokens, 3·heads·head_size]: q, then k, then v, each heads × head_size, as GPT-2's
 * c_attn gives them. y[samples, tokens, heads·head_size]. Scores are scaled by 1/sqrt(head_size). Never stores
 * tokens × tokens: keeps log_sum_exp[samples, heads, tokens] for the backward pass, which recomputes the probabilities
 * (FlashAttention, arXiv 2205.14135, algorithm 1 and appendix B). */
struct attention_shape {
	int64_t samples, tokens, heads, head_size;
};
void attention_forward(const struct attention_shape *s, const float *qkv, float *y, float *log_sum_exp);
void attention_backward(const struct attention_shape *s, const float *dy, const float *qkv, const float *y,
                        const float *log_sum_exp, float *dqkv);

/* y[samples,tokens,width] = token_table[id] + position_table[t]. */
void embedding_forward(int64_t samples, int64_t tokens, int64_t width, const int32_t *ids, const float *token_table,
                       const float *position_table, float *y);
/* dtoken_table[vocabulary,width] and dposition_table[context,width]. If not accumulating, all of the table is written
 * (rows that no token used become 0; position rows ≥ tokens become 0). Deterministic order. */
void embedding_backward(int64_t samples, int64_t tokens, int64_t width, int64_t vocabulary, int64_t context,
                        const int32_t *ids, const float *dy, float *dtoken_table, bool accumulate_token,
                        float *dposition_table, bool accumulate_position);

/* Softmax cross-entropy in one pass, in place: logits[rows,classes] become the gradient of `scale` × the sum of the
 * rows' losses; *loss += scale × the sum of the rows' losses (or = when not accumulating). targets in [0, classes).
 * The sum runs in double. No probabilities are stored beside. */
void classifier(int64_t rows, int64_t classes, float *logits, const int32_t *targets, double scale, float *loss,
                bool accumulate);
/* Forward only, for validation: sum of the rows' losses, and how many rows have their largest logit at the target. */
void classifier_evaluate(int64_t rows, int64_t classes, const float *logits, const int32_t *targets, double *loss,
                         int64_t *correct);

/* AdamW as torch.optim.AdamW (decoupled weight decay, Loshchilov & Hutter 2019, algorithm 2). step counts from 1. */
struct adamw {
	float learning_rate, beta1, beta2, epsilon, weight_decay;
};
void adamw_update(const struct adamw *a, int64_t step, int64_t n, float *parameters, const float *gradients,
                  float *first_moment, float *second_moment);
void sgd_update(float learning_rate, int64_t n, float *parameters, const float *gradients);

/* y += x; y = x; y = 0; y *= factor; sum of squares in double, fixed order. Regions do not overlap. */
void vector_add(int64_t n, const float *x, float *y);
void vector_copy(int64_t n, const float *x, float *y);
void vector_zero(int64_t n, float *y);
void vector_scale(int64_t n, float factor, float *y);
double vector_sum_of_squares(int64_t n, const float *x);

/* Neither infinite nor NaN, all of them? Of 16-bit elements `exponent` are the bits of the exponent: 0x7f80 in bf16,
 * 0x7c00 in fp16. */
bool vector_is_finite(int64_t n, const float *x);
bool vector_is_finite_16(int64_t n, const uint16_t *x, uint16_t exponent);

#ifdef __cplusplus
}
#endif
#endif
