/* Operations bound to the GPU's kernels: one function a kind, in one table, as cpu_operations.h has the CPU's.
 *
 *     cuda_load.c       samples
 *     cuda_kernels.c    the model's kernels
 *     cuda_update.c     the optimizer, the loss scale, and vectors
 *
 * Each finds its memory, says what it touches by the kernel's own shape (cpu_operand.h), and puts the kernel on a
 * stream. They return CUDA's error, 0 if there is none.
 */
#ifndef SHARDLAB_CUDA_OPERATIONS_H
#define SHARDLAB_CUDA_OPERATIONS_H

#include "real/cuda/device.h"
#include "real/rank/operand.h"

/* kind, function, what of the table of functions it needs (a second entry: where the model is sliced, or types differ)
 */
#define CUDA_OPERATION_LIST(X)                                                                                         \
	X(ZERO, cuda_zero, fill, fill)                                                                                 \
	X(COPY, cuda_copy, copy, vector_convert)                                                                       \
	X(ADD, cuda_add, vector_add, vector_add)                                                                       \
	X(LOAD, cuda_load, copy, copy)                                                                                 \
	X(EMBEDDING_FORWARD, cuda_embedding_forward, embedding_forward, embedding_sliced_forward)                      \
	X(EMBEDDING_FINISH, cuda_embedding_finish, embedding_finish, embedding_finish)                                 \
	X(EMBEDDING_BACKWARD, cuda_embedding_backward, embedding_backward, embedding_sliced_backward)                  \
	X(NORM_FORWARD, cuda_norm_forward, norm_forward, norm_forward)                                                 \
	X(NORM_BACKWARD, cuda_norm_backward, norm_backward, norm_backward)                                             \
	X(LINEAR_FORWARD, cuda_linear_forward, linear_forward, linear_forward)                                         \
	X(LINEAR_FINISH, cuda_linear_finish, linear_finish, linear_finish)                                             \
	X(LINEAR_BACKWARD, cuda_linear_backward, linear_backward_gelu, linear_backward_gelu)                           \
	X(ATTENTION_FORWARD, cuda_attention_forward, attention_forward, attention_forward)                             \
	X(ATTENTION_BACKWARD, cuda_attention_backward, attention_backward, attention_backward)                         \
	X(BATCH_NORM_STATISTICS, cuda_batch_norm_statistics, batch_norm_statistics, batch_norm_statistics)             \
	X(BATCH_NORM_MERGE, cuda_batch_norm_merge, batch_norm_merge, batch_norm_merge)                                 \
	X(BATCH_NORM_RUNNING, cuda_batch_norm_running, batch_norm_running, batch_norm_running)                         \
	X(BATCH_NORM_FORWARD, cuda_batch_norm_forward, batch_norm_forward, batch_norm_forward)                         \
	X(BATCH_NORM_SUMS, cuda_batch_norm_sums, batch_norm_sums, batch_norm_sums)                                     \
	X(BATCH_NORM_BACKWARD, cuda_batch_norm_backward, batch_norm_backward, batch_norm_backward)                     \
	X(CLASSIFIER, cuda_classifier, classifier, classifier)                                                         \
	X(EVALUATE, cuda_evaluate, classifier_evaluate, classifier_evaluate)                                           \
	X(CLASSIFIER_MAXIMA, cuda_classifier_maxima, classifier_maxima, classifier_maxima)                             \
	X(CLASSIFIER_SUMS, cuda_classifier_sums, classifier_sums, classifier_sums)                                     \
	X(CLASSIFIER_GRADIENT, cuda_classifier_gradient, classifier_gradient, classifier_gradient)                     \
	X(EVALUATE_SUMS, cuda_classifier_sums, evaluate_sums, evaluate_sums)                                           \
	X(EVALUATE_COUNT, cuda_evaluate_count, evaluate_count, evaluate_count)                                         \
	X(ADAMW, cuda_adamw, adamw_update, adamw_update)                                                               \
	X(SGD, cuda_sgd, sgd_update, sgd_update)                                                                       \
	X(SQUARES, cuda_squares, vector_squares, vector_squares)                                                       \
	X(OVERFLOW, cuda_overflow, vector_overflow, vector_overflow)                                                   \
	X(SCALER_BEGIN, cuda_scaler_begin, copy, copy)                                                                 \
	X(SCALER_UPDATE, cuda_scaler_update, scaler_update, scaler_update)                                             \
	X(ADVANCE, cuda_advance, advance, advance)

#define X(kind, function, entry, other) int function(struct cuda_device *c, const struct op *op, cuda_stream s);
CUDA_OPERATION_LIST(X)
#undef X

#endif
