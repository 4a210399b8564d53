/* The arithmetic of training, as plain functions over caller-owned memory.
 *
 * Every kernel reads and writes only what it is given, and works on its threads' stacks besides, with at most
 * KERNELS_STACK_BYTES of each. None allocates or keeps state between calls: the plan accounts for every byte, and a
 * test intercepts allocation to prove it. The same input gives the same bits at the same number of threads.
 *
 * Shapes are row-major. `rows` is samples × tokens. Vectorized bodies are built for AVX-512, AVX2 and plain C from one
 * source and chosen at run time.
 *
 * A `void *` holds elements of the type that the shape or the first argument names; `float *` is fp32 whatever the
 * type: statistics, log-sum-exp, loss, master weights and moments. 16-bit elements have 16 bits in memory only. Results
 * are computed in fp32 (sums, norms, softmax, GELU), or multiplied in 16 bits and summed in fp32, and are rounded once,
 * to the nearest, ties to even, when they are stored. fp32 matrix products go to OpenBLAS, 16-bit ones to
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

/* Takes OpenBLAS's working buffers now, for the threads that are set; it would else take them at its first product.
 * False if this process may not have that much memory; *bytes is the most that it takes. */
#define KERNELS_BLAS_BYTES ((int64_t)160 << 20) /* a thread; OpenBLAS 0.3.21 takes 128 MiB and a little */
bool kernels_prepare(int64_t *bytes);

/* True if the threads that are set have stacks of that size; *bytes is the smallest. OMP_STACKSIZE sets the stacks of
 * threads other than the caller; without it, and for the caller, `ulimit -s` does. Products of 16 bits take the most,
 * 0.7 MiB. */
#define KERNELS_STACK_BYTES ((int64_t)1 << 20)
bool kernels_have_stack(int64_t *bytes);

/* "AVX-512 with BF16", "AVX-512", "AVX2" or "plain C": which bodies run; and the name of OpenBLAS's core ("SkylakeX",
 * "Cooperlake", …). */
const char *kernels_instruction_set(void);
const char *kernels_blas_core(void);
/* The core that has this processor's vectors, if OpenBLAS does not know the processor and took a general core; NULL:
 * none is better. OpenBLAS takes it only from its environment (OPENBLAS_CORETYPE), and only at its start. */
const char *kernels_better_core(void);
/* The core that OPENBLAS_CORETYPE forces on OpenBLAS; NULL if OpenBLAS chose, or the core has this processor's vectors.
 * Rates under a forced core belong to that core, and must be shown with a note that says so. */
const char *kernels_forced_core(void);
/* For tests: use at most this level (0 plain C, 1 AVX2, 2 AVX-512, 3 with BF16: fp32 and fp16 as at 2); returns the
 * level in use. */
int kernels_limit_instruction_set(int level);

/* ---- shapes ---- */

/* A linear layer applies one to its sums: GELU in its tanh form (GPT-2's gelu_new) or with the error function, or
 * ReLU. */
enum activation { ACTIVATION_NONE, ACTIVATION_GELU_TANH, ACTIVATION_GELU, ACTIVATION_RELU, ACTIVATIONS };

/* The weight is stored [out,in] as in torch.nn.Linear, or [in,out] as in GPT-2's Conv1D. */
struct linear_shape {
	int64_t rows, in, out;
	bool weight_in_out; /* Conv1D layout */
	enum activation activation;
	enum element type;
	/* Elements from a row of y, and of dy, to the next, for a layer without bias, residual and activation: those
	 * behind the row's `out` are neither read nor written. 0: out. */
	int64_t stride;
};

static inline int64_t linear_stride(const struct linear_shape *s)
{
	return s->stride ? s->stride : s->out;
}

struct batch_norm_shape {
	int64_t rows, width;
	bool gelu;
	enum element type;
};

/* Grouped-query attention (Ainslie et al. 2023, arXiv 2305.13245): heads/kv_heads neighbouring heads of queries share
 * one head of keys and values. A row of qkv has (heads + 2·kv_heads)·head_size elements. */
struct attention_shape {
	int64_t samples, tokens, heads, kv_heads, head_size;
	enum element type;
	/* Sliding window (Jiang et al. 2023, arXiv 2310.06825): token i attends to the tokens j with i − window < j ≤
	 * i. 0: to all j ≤ i. */
	int64_t window;
	/* ALiBi (alibi.h): these are the heads from first_head on of alibi_heads. 0: none. */
	int64_t alibi_heads, first_head;
};

/* Elements 0 … and head_size/2 … of a head are pairs: pair i of token t is turned by the angle
 * (first + t)·frequency[i], and multiplied by `amplitude`. */
enum { ROTARY_PAIRS = 128 /* at most */ };
struct rotary_shape {
	int64_t samples, tokens, heads, kv_heads, head_size;
	int64_t first; /* the position of a sample's first token: tokens before it have been turned already */
	float epsilon, amplitude;
	const float *frequency; /* [head_size/2], in the caller's memory */
	enum element type;
};

/* A slice of a table or of logits: classes (token ids) [first, first + count) stand in columns or rows 0 … count-1.
 * `stride` ≥ count is how many there are with padding. Padding is never read as if it were a class. */
struct class_slice {
	int64_t first, count, stride;
};

/* Attention of new tokens, whose first stands at position `first`, to themselves and all before. Keys and values are in
 * a cache with room for `capacity` tokens: a head's keys stand together, one token after another, and so do its values,
 * [kv_heads, capacity, head_size]. */
struct attention_cached_shape {
	struct attention_shape of; /* one sample of the new tokens */
	int64_t first, capacity;
};

/* ---- kernels: table.def says what each computes ---- */

/* A kernel's parameters as a prototype has them, after others. */
#define KERNEL_VALUE(type, name) , type name
#define KERNEL_SHAPE(type, name) , const struct type *name

/* A function with a kernel's parameters: KERNEL_FUNCTION(norm_forward) { … } */
#define KERNEL_FUNCTION(name) KERNEL_FUNCTION_OF(name PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE))
#define KERNEL_FUNCTION_OF(...) KERNEL_FUNCTION_TAKING(__VA_ARGS__)
#define KERNEL_FUNCTION_TAKING(name, ...) void name(__VA_ARGS__)

#define KERNEL(name, place) KERNEL_FUNCTION(name);
#define OWN_KERNEL(name, place)
#include "kernels/table.def"

/* ---- kernels that the CPU calls with numbers where a device reads its memory, and vectors ---- */

/* No layer before this one is fused with it. */
void linear_backward(const struct linear_shape *s, void *dy, const void *x, const void *weight, const void *pre,
                     void *dx, void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias);

/* The gradient is of `gradient_scale` × the sum of the rows' losses, the loss that sum times `scale`. The two differ by
 * the loss scale of 16-bit training. */
void classifier(enum element type, int64_t rows, int64_t classes, int64_t stride, void *logits, const int32_t *targets,
                double scale, double gradient_scale, float *loss, bool accumulate);
void classifier_gradient(enum element type, int64_t rows, const struct class_slice *slice, void *logits,
                         const int32_t *targets, const float *maxima, const float *sums, double scale,
                         double gradient_scale, float *loss, bool accumulate);
/* step counts from 1. Gradients are multiplied by gradient_factor when they are read: 1, or what undoes a loss scale or
 * clips them. */
struct adamw {
	float learning_rate, beta1, beta2, epsilon, weight_decay;
};
void adamw_update(enum element type, const struct adamw *a, int64_t step, int64_t n, void *parameters,
                  const void *gradients, float gradient_factor, float *first_moment, float *second_moment,
                  float *master);
void sgd_update(enum element type, float learning_rate, int64_t n, void *parameters, const void *gradients,
                float gradient_factor, float *master);

/* Attention of a model that writes, in fp32: as attention_forward, but of a few new tokens, whose qkv[queries, …] holds
 * queries, keys and values. Their keys and values are stored in the cache first; those of the tokens before are read
 * from it. A query's y[queries, heads·head_size] does not depend on how many others come with it. */
void attention_cached(const struct attention_cached_shape *s, const float *qkv, float *keys, float *values, float *y);

/* y = x; y = 0; sum of squares in double, fixed order. Regions do not overlap. */
void vector_copy(enum element type, int64_t n, const void *x, void *y);
void vector_zero(enum element type, int64_t n, void *y);
double vector_sum_of_squares(enum element type, int64_t n, const void *x);

/* sum = x + y on the calling thread alone, for those who add what comes in from other ranks while a kernel has the
 * threads. sum may be x or y. */
void elements_add(enum element type, int64_t n, const void *x, const void *y, void *sum);

/* True if no element is infinite or NaN. */
bool vector_is_finite(enum element type, int64_t n, const void *x);

#ifdef __cplusplus
}
#endif
#endif
