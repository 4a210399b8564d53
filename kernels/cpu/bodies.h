/* The vectorized bodies behind kernels.h, and the table through which they are called.
 *
 * Every body has one signature: the task (its arguments, below) and a range of independent items: rows, columns, heads,
 * elements. So one helper, parallel_for, can hand ranges to threads, and one list names all bodies. Each source in
 * simd/ is compiled once per instruction level, and the level becomes part of the symbol's name: norm_forward_level2.
 */
#ifndef SHARDLAB_KERNELS_CPU_BODIES_H
#define SHARDLAB_KERNELS_CPU_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/sliced.h"

#define KERNEL_BODIES(X)                                                                                               \
	X(linear_prefill)          /* rows of y */                                                                     \
	X(gelu_forward)            /* elements */                                                                      \
	X(gelu_backward)           /* columns */                                                                       \
	X(column_sum)              /* columns */                                                                       \
	X(norm_forward)            /* rows */                                                                          \
	X(norm_backward_input)     /* rows */                                                                          \
	X(norm_backward_weight)    /* columns */                                                                       \
	X(batch_norm_statistics)   /* columns */                                                                       \
	X(batch_norm_forward)      /* rows */                                                                          \
	X(batch_norm_sums)         /* columns */                                                                       \
	X(batch_norm_backward)     /* rows */                                                                          \
	X(attention_forward)       /* samples × heads */                                                              \
	X(attention_backward)      /* samples × heads */                                                              \
	X(embedding_forward)       /* samples × tokens */                                                             \
	X(embedding_token_rows)    /* columns of the token table */                                                    \
	X(embedding_position_rows) /* rows of the position table */                                                    \
	X(classifier)              /* parts of the rows */                                                             \
	X(classifier_evaluate)     /* parts of the rows */                                                             \
	X(sum_finish)              /* rows */                                                                          \
	X(embedding_slice_forward) /* samples × tokens */                                                             \
	X(embedding_slice_rows)    /* columns of the token table */                                                    \
	X(classifier_maxima)       /* rows */                                                                          \
	X(classifier_sums)         /* rows */                                                                          \
	X(classifier_gradient)     /* rows */                                                                          \
	X(adamw)                   /* elements */                                                                      \
	X(sgd)                     /* elements */                                                                      \
	X(vector_add)              /* elements */                                                                      \
	X(vector_scale)            /* elements */                                                                      \
	X(sum_of_squares)          /* parts of the elements */

typedef void kernel_body(const void *task, int64_t begin, int64_t end);

struct kernel_bodies {
	const char *instruction_set;
#define X(name) kernel_body *name;
	KERNEL_BODIES(X)
#undef X
};

#if defined(__x86_64__)
#define KERNEL_LEVELS 3
#else
#define KERNEL_LEVELS 1
#endif

#define X(name)                                                                                                        \
	kernel_body name##_level0;                                                                                     \
	kernel_body name##_level1;                                                                                     \
	kernel_body name##_level2;
KERNEL_BODIES(X)
#undef X

/* The bodies of the level in use. */
const struct kernel_bodies *kernel_bodies(void);

/* Run body over [0, count), split among the threads in contiguous ranges whose inner boundaries are multiples of
 * `grain`. With one thread it is a plain call. */
void parallel_for(kernel_body *body, const void *task, int64_t count, int64_t grain);

/* Sums over all rows or elements are made of this many partial sums, whatever the number of threads, and then added in
 * order: so the bits do not depend on the threads. */
#define SUM_PARTS 64

/* The range of part `part` of `count` items. */
static inline int64_t part_begin(int64_t count, int64_t part)
{
	return count / SUM_PARTS * part + (count % SUM_PARTS) * part / SUM_PARTS;
}

/* Rows are taken in blocks of this many where a second pass wants to find them in cache. */
#define ROW_BLOCK 64

/* y[row] = bias + residual[row]; either may be NULL. */
struct linear_prefill_task {
	int64_t width;
	const float *bias, *residual;
	float *y;
};

/* gelu_forward: y = gelu(x). vector_add: y += x. */
struct elementwise_task {
	const float *x;
	float *y;
};

/* dy = dy · gelu'(pre); sum[column] (+)= sum of dy's rows, unless NULL. */
struct gelu_backward_task {
	int64_t rows, width;
	const float *pre;
	float *dy, *sum;
	bool accumulate;
};

/* sum[column] (+)= sum of the rows of x. */
struct column_sum_task {
	int64_t rows, width;
	const float *x;
	float *sum;
	bool accumulate;
};

struct norm_forward_task {
	int64_t width;
	const float *x, *weight, *bias;
	float *y, *statistics;
};

/* norm_backward_weight sums over [row_begin, row_end), for a range of columns. */
struct norm_backward_task {
	int64_t width, row_begin, row_end;
	const float *dy, *x, *statistics, *weight;
	float *dx, *dweight, *dbias;
	bool accumulate_x, accumulate_weight, accumulate_bias;
};

/* dy: batch_norm_sums turns it into du. batch_norm_statistics writes part, batch_norm_forward y, batch_norm_backward
 * dx.
 */
struct batch_norm_task {
	struct batch_norm_shape shape;
	const float *x, *statistics, *weight, *bias;
	float *part, *y;
	float *dy, *sums, *dweight, *dbias, *dx;
	bool accumulate_weight, accumulate_bias;
};

struct attention_task {
	struct attention_shape shape;
	const float *qkv, *dy, *output; /* the last two: backward only */
	float *y, *dqkv;
	const float *log_sum_exp; /* backward */
	float *log_sum_exp_out;   /* forward */
};

struct embedding_task {
	int64_t samples, tokens, width;
	const int32_t *ids;
	const float *token_table, *position_table, *dy;
	float *y, *dtable;
	bool accumulate;
};

struct classifier_task {
	int64_t rows, classes;
	const float *logits;
	float *gradient; /* classifier: the same memory as logits */
	const int32_t *targets;
	double scale;
	double *loss_parts;
	int64_t *correct_parts;
};

/* sum[row] += bias + residual[row % residual_rows]; either may be NULL. */
struct sum_finish_task {
	int64_t width, residual_rows;
	const float *bias, *residual;
	float *sum;
};

/* The position table, which is whole, is an embedding_task's. */
struct embedding_slice_task {
	struct class_slice slice;
	int64_t rows, width;
	const int32_t *ids;
	const float *table, *dy;
	float *y, *dtable;
};

struct classifier_slice_task {
	struct class_slice slice;
	int64_t rows;
	const float *logits;
	float *gradient; /* the same memory as logits */
	const int32_t *targets;
	const float *maxima, *sums;
	float *maxima_out, *sums_out;
	int64_t sums_width; /* 2, or 3: with the classes before the target that have the maximum */
	double scale;
};

struct adamw_task {
	float decay;                      /* 1 − learning rate · weight decay */
	float beta1, beta2, rest1, rest2; /* rest = 1 − beta */
	float step_size;                  /* learning rate / (1 − beta1^step) */
	float root_correction, epsilon;   /* 1 / sqrt(1 − beta2^step) */
	float *parameters;
	const float *gradients;
	float *first_moment, *second_moment;
};

/* sgd: y −= factor · x. vector_scale: y *= factor. */
struct scale_task {
	float factor;
	const float *x;
	float *y;
};

struct sum_of_squares_task {
	int64_t count;
	const float *x;
	double *parts;
};

#endif
