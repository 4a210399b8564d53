/* The vectorized bodies behind kernels.h, and the tables through which they are called.
 *
 * Every body has one signature: the task (its arguments, below) and a range of independent items: rows, columns, heads,
 * elements. One helper, parallel_for, can therefore hand ranges to threads, and one list names all bodies. Each source
 * in simd/ is compiled once per element type and instruction level, which become part of the symbol's name:
 * norm_forward_bf16_level2. A `void *` here holds elements of that type; a `float *` is fp32 in all bodies.
 */
#ifndef SHARDLAB_KERNELS_CPU_BODIES_H
#define SHARDLAB_KERNELS_CPU_BODIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* X(name, …) with the arguments of the list. */
#define KERNEL_BODIES(X, ...)                                                                                          \
	X(activation_forward, __VA_ARGS__)       /* elements */                                                        \
	X(activation_backward, __VA_ARGS__)      /* columns */                                                         \
	X(column_sum, __VA_ARGS__)               /* columns */                                                         \
	X(norm_forward, __VA_ARGS__)             /* rows */                                                            \
	X(norm_backward_input, __VA_ARGS__)      /* rows */                                                            \
	X(norm_backward_weight, __VA_ARGS__)     /* columns */                                                         \
	X(rms_norm_forward, __VA_ARGS__)         /* rows */                                                            \
	X(rms_norm_backward_input, __VA_ARGS__)  /* rows */                                                            \
	X(rms_norm_backward_weight, __VA_ARGS__) /* columns */                                                         \
	X(swiglu_forward, __VA_ARGS__)           /* rows */                                                            \
	X(swiglu_backward, __VA_ARGS__)          /* rows */                                                            \
	X(rotary_forward, __VA_ARGS__)           /* tokens */                                                          \
	X(rotary_backward, __VA_ARGS__)          /* parts of the tokens */                                             \
	X(batch_norm_statistics, __VA_ARGS__)    /* columns */                                                         \
	X(batch_norm_forward, __VA_ARGS__)       /* rows */                                                            \
	X(batch_norm_sums, __VA_ARGS__)          /* columns */                                                         \
	X(batch_norm_backward, __VA_ARGS__)      /* rows */                                                            \
	X(attention_forward, __VA_ARGS__)        /* samples × heads */                                                \
	X(attention_backward, __VA_ARGS__)       /* samples × heads of keys */                                        \
	X(embedding_forward, __VA_ARGS__)        /* samples × tokens */                                               \
	X(embedding_token_rows, __VA_ARGS__)     /* columns of the token table */                                      \
	X(embedding_position_rows, __VA_ARGS__)  /* rows of the position table */                                      \
	X(classifier, __VA_ARGS__)               /* parts of the rows */                                               \
	X(classifier_evaluate, __VA_ARGS__)      /* parts of the rows */                                               \
	X(sum_finish, __VA_ARGS__)               /* rows */                                                            \
	X(embedding_sliced_forward, __VA_ARGS__) /* samples × tokens */                                               \
	X(classifier_maxima, __VA_ARGS__)        /* rows */                                                            \
	X(classifier_sums, __VA_ARGS__)          /* rows */                                                            \
	X(evaluate_sums, __VA_ARGS__)            /* rows */                                                            \
	X(classifier_gradient, __VA_ARGS__)      /* rows */                                                            \
	X(adamw, __VA_ARGS__)                    /* elements */                                                        \
	X(sgd, __VA_ARGS__)                      /* elements */                                                        \
	X(sum_of_squares, __VA_ARGS__)           /* parts of the elements */                                           \
	X(is_finite, __VA_ARGS__)                /* parts of the elements */                                           \
	X(elements_add, __VA_ARGS__)             /* elements */                                                        \
	X(narrow, __VA_ARGS__)                   /* elements */                                                        \
	X(widen, __VA_ARGS__)                    /* elements */

typedef void kernel_body(const void *task, int64_t begin, int64_t end);

/* Bodies of fp32 alone, which work beside OpenBLAS's products, and the products of 16-bit types, which do that work
 * themselves. */
#define KERNEL_BODIES_32(X, ...)                                                                                       \
	X(linear_prefill, __VA_ARGS__)                   /* rows of y */                                               \
	X(linear_row, __VA_ARGS__)                       /* columns of y */                                            \
	X(attention_cached, __VA_ARGS__)                 /* queries × heads */
#define KERNEL_BODIES_16(X, ...) X(product, __VA_ARGS__) /* rows of the result */

struct kernel_bodies {
#define X(name, ...) kernel_body *name;
	KERNEL_BODIES(X, )
	KERNEL_BODIES_32(X, )
	KERNEL_BODIES_16(X, )
#undef X
};

#if defined(__x86_64__)
#define KERNEL_LEVELS 4
#else
#define KERNEL_LEVELS 1
#endif

#define X(name, ...)                                                                                                   \
	kernel_body name##_fp32_level0, name##_bf16_level0, name##_fp16_level0;                                        \
	kernel_body name##_fp32_level1, name##_bf16_level1, name##_fp16_level1;                                        \
	kernel_body name##_fp32_level2, name##_bf16_level2, name##_fp16_level2;                                        \
	kernel_body name##_bf16_level3;
KERNEL_BODIES(X, )
KERNEL_BODIES_32(X, )
KERNEL_BODIES_16(X, )
#undef X

/* The bodies of the level in use. */
const struct kernel_bodies *kernel_bodies(enum element type);

/* The element at `index`. */
static inline void *element_at(enum element type, void *p, int64_t index)
{
	return p ? (char *)p + index * element_bytes(type) : NULL;
}

static inline const void *element_at_const(enum element type, const void *p, int64_t index)
{
	return p ? (const char *)p + index * element_bytes(type) : NULL;
}

/* Run body over [0, count), split among the threads in contiguous ranges whose inner boundaries are multiples of
 * `grain`. With one thread it is a plain call. */
void parallel_for(kernel_body *body, const void *task, int64_t count, int64_t grain);

/* Sums over all rows or elements are split into this many partial sums, which are then added in order, so that the bits
 * do not depend on the number of threads. */
#define SUM_PARTS 64

/* The range of part `part` of `count` items. */
static inline int64_t part_begin(int64_t count, int64_t part)
{
	return count / SUM_PARTS * part + (count % SUM_PARTS) * part / SUM_PARTS;
}

/* Rows are taken in blocks of this size where a second pass should find them in cache. */
#define ROW_BLOCK 64

/* The task of a body that is a kernel: the kernel's parameters. */
#define TASK_VALUE(type, name) type name;
#define TASK_SHAPE(type, name) const struct type *name;
#define BODY_KERNEL(name, ...)                                                                                         \
	struct name##_task {                                                                                           \
		PARAMETERS_##name(TASK_VALUE, TASK_SHAPE)                                                              \
	};
#define OWN_KERNEL(...)
#include "kernels/table.def"

/* y[row] = bias + residual[row]; either may be NULL. */
struct linear_prefill_task {
	int64_t width;
	const void *bias, *residual;
	void *y;
};

/* One row: y[out] += x[in] · W. */
struct linear_row_task {
	int64_t in, out;
	bool weight_in_out;
	const float *x, *weight;
	float *y;
};

struct attention_cached_task {
	const struct attention_cached_shape *shape;
	const float *qkv, *keys, *values;
	float *y;
};

/* c[m, n] = op(a) · op(b) (+ bias + residual, or + c), all of one 16-bit type, sums in fp32; then with an
 * activation activated = activation(c). lda, ldb, ldc: elements from one stored row to the next. */
struct product_task {
	bool a_transposed, b_transposed, accumulate;
	int64_t m, n, k, lda, ldb, ldc;
	const void *a, *b, *bias, *residual; /* bias[n], residual as c; may be NULL */
	void *c, *activated;                 /* activated as c; may be NULL */
	enum activation activation;
};

/* activation_forward: y = activation(x). */
struct activation_task {
	enum activation activation;
	const void *x;
	void *y;
};

struct elementwise_task {
	const void *x;
	void *y;
};

/* sum = x + y, elements_add; narrow: y = x rounded, added to what is there or not; widen: out = x. */
struct elements_add_task {
	const void *x, *y;
	void *sum;
};
struct narrow_task {
	const float *x;
	void *y;
	bool accumulate;
};
struct widen_task {
	const void *x;
	float *y;
};

/* The most columns whose fp32 sums stand on the stack before they are rounded to 16 bits. */
#define SUM_COLUMNS 1024

/* dy = dy · activation'(pre); sum[column − sum_begin] (+)= sum of dy's rows, unless NULL. */
struct activation_backward_task {
	enum activation activation;
	int64_t rows, width;
	const void *pre;
	void *dy;
	float *sum;
	bool accumulate;
	int64_t sum_begin;
};

/* sum[column − sum_begin] (+)= sum of the rows of x. */
struct column_sum_task {
	int64_t rows, width;
	const void *x;
	float *sum;
	bool accumulate;
	int64_t sum_begin;
};

/* sums[part][2][head_size]: of the norms' weights, of queries and keys; NULL without norms. */
struct rotary_backward_task {
	const struct rotary_shape *shape;
	const void *dy, *x, *q_norm, *k_norm;
	void *dx;
	float *sums;
};

/* norm_backward_weight sums over [row_begin, row_end), for a range of columns, into dweight[column − sum_begin] and
 * dbias. */
struct norm_backward_task {
	int64_t width, row_begin, row_end, sum_begin;
	const void *dy, *x;
	const float *statistics;
	const void *weight;
	void *dx;
	float *dweight, *dbias;
	bool accumulate_x, accumulate_weight, accumulate_bias;
};

/* embedding_token_rows: of the slice; embedding_position_rows: of the whole table. */
struct embedding_task {
	const struct class_slice *slice;
	int64_t samples, tokens, width;
	int64_t first; /* the position table's row of token 0 */
	const int32_t *ids;
	const void *dy;
	void *dtable;
	bool accumulate;
};

struct classifier_task {
	int64_t rows, classes, stride;
	const void *logits;
	void *gradient; /* classifier: the same memory as logits */
	const int32_t *targets;
	double scale;
	double *loss_parts;
	int64_t *correct_parts;
};

/* sum[row] += bias + residual[row % residual_rows]; either may be NULL. */
struct sum_finish_task {
	int64_t width, residual_rows;
	const void *bias, *residual;
	void *sum;
};

struct classifier_gradient_task {
	const struct class_slice *slice;
	void *logits;
	const int32_t *targets;
	const float *maxima, *sums;
	double scale;
};

struct adamw_task {
	float decay;                      /* 1 − learning rate · weight decay */
	float beta1, beta2, rest1, rest2; /* rest = 1 − beta */
	float step_size;                  /* learning rate / (1 − beta1^step) */
	float root_correction, epsilon;   /* 1 / sqrt(1 − beta2^step) */
	float gradient_factor;
	const void *gradients;
	float *master, *first_moment, *second_moment;
	void *parameters; /* 16-bit: the master's copy; fp32: the master itself */
};

struct sgd_task {
	float learning_rate, gradient_factor;
	const void *gradients;
	float *master;
	void *parameters;
};

struct is_finite_task {
	int64_t count;
	const void *x;
	bool *parts;
};

struct sum_of_squares_task {
	int64_t count;
	const void *x;
	double *parts;
};

#endif
