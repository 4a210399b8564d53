/* Kernels of a layer whose weights are sliced over a group of ranks: what comes before and after the group's sums
 * (tensor parallelism, Shoeybi et al. 2019, arXiv 1909.08053, section 3). Between them stands an all-reduce:
 *
 *     linear_forward (no bias)     ─► sum over the ranks ─►  linear_finish
 *     embedding_sliced_forward     ─► sum over the ranks ─►  embedding_finish
 *     classifier_maxima            ─► maximum …          ─►  classifier_sums  ─► sum … ─►  classifier_gradient
 *
 * As in kernels.h: row-major, `void *` of the type that is named, else fp32; only what is given is read and written;
 * the same input gives the same bits.
 */
#ifndef SHARDLAB_KERNELS_SLICED_H
#define SHARDLAB_KERNELS_SLICED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sum[rows,width] += bias + residual, of which either may be NULL; with y, also y = gelu(sum). */
void linear_finish(enum element type, int64_t rows, int64_t width, const void *bias, const void *residual, void *sum,
                   void *y);

/* A slice of a table or of logits: classes (token ids) [first, first + count) stand in columns or rows 0 … count-1.
 * `stride` ≥ count is how many there are with padding. Padding is never read as if it were a class. */
struct class_slice {
	int64_t first, count, stride;
};

/* y[samples,tokens,width] = token_table[id] if the slice has the id, else 0. */
void embedding_sliced_forward(enum element type, int64_t samples, int64_t tokens, int64_t width,
                              const struct class_slice *slice, const int32_t *ids, const void *token_table, void *y);
/* y += position_table[t]. */
void embedding_finish(enum element type, int64_t samples, int64_t tokens, int64_t width, const void *position_table,
                      void *y);
/* As embedding_backward, with the slice's rows of the token table: all `stride` rows are written. */
void embedding_sliced_backward(enum element type, int64_t samples, int64_t tokens, int64_t width,
                               const struct class_slice *slice, int64_t context, const int32_t *ids, const void *dy,
                               void *dtoken_table, bool accumulate_token, void *dposition_table,
                               bool accumulate_position);

/* Softmax cross-entropy of logits[rows,stride], in three pieces. maxima[rows]: of the slice; -infinity for an empty
 * one. */
void classifier_maxima(enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
                       float *maxima);
/* With the maxima over all ranks: sums[rows,2] = the slice's sum of e^(logit − maximum), and the target's logit if the
 * slice has it, else 0. */
void classifier_sums(enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
                     const int32_t *targets, const float *maxima, float *sums);
/* With the sums over all ranks: logits become the gradient of `gradient_scale` × the sum of the rows' losses (0 at
 * padding), and *loss += scale × that sum (or = when not accumulating), the same on every rank. */
void classifier_gradient(enum element type, int64_t rows, const struct class_slice *slice, void *logits,
                         const int32_t *targets, const float *maxima, const float *sums, double scale,
                         double gradient_scale, float *loss, bool accumulate);

/* For validation, sums[rows,3]: as above, and how many of the slice's classes before the target have the maximum: of
 * equal logits the first counts as the largest. */
void evaluate_sums(enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
                   const int32_t *targets, const float *maxima, float *sums);
void evaluate_count(int64_t rows, const float *maxima, const float *sums, double *loss, int64_t *correct);

#ifdef __cplusplus
}
#endif
#endif
