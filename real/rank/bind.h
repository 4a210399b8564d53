/* Operations bound to a device's kernels, whatever the device: one function an operation, in one table.
 *
 *     bind.c            the table, what runs on the CPU, copies and samples
 *     bind_model.c      the model's kernels
 *     bind_update.c     the optimizer, the loss scale, and vectors
 *
 * Each finds its memory, says what it touches by the kernel's own shape (operand.h), and calls the kernel.
 *
 *     struct binding b = {.memory = &memory, .kernels = &api->kernels, .context = context, .stream = stream, …};
 *     int error = bind_issue(&b, op);
 */
#ifndef SHARDLAB_RANK_BIND_H
#define SHARDLAB_RANK_BIND_H

#include "kernels/table.h"
#include "real/rank/fusion.h"
#include "real/rank/memory.h"

/* Where an operation runs. */
struct binding {
	struct rank_memory *memory;
	const struct kernel_table *kernels;
	struct kernel_context *context;
	kernel_stream stream;
	const struct fusion *fusion; /* by operation; NULL: the device fuses nothing */
	/* In memory that the kernels reach: */
	double *loss; /* sums of `evaluate` */
	int64_t *correct;
	struct loss_scale *scaler_begin; /* what the loss scale begins with, until it is copied */
	int32_t *gave_up;                /* becomes 1 where the loss scale cannot become any smaller */
};

/* Puts an operation of class K or V on the stream: the device's error, or 0. */
int bind_issue(const struct binding *b, const struct op *op);
/* Does this process carry it out itself, wherever its operands are (rank_execute)? */
bool bind_is_of_process(const struct op *op);
/* STATUS_INPUT, and which it is, if an operation of the role in device memory has no kernel in the table. */
enum status bind_check(const struct rank_memory *memory, const struct kernel_table *kernels, const char *device);

/* Is it the host's, on whatever device the others are? */
static inline bool op_is_of_host(const struct op *op)
{
	return op->queue == QUEUE_HOST_COMPUTE || op->queue == QUEUE_DISK;
}

/* Carries out an operation of any class but communication on the CPU; done on return. */
enum status rank_execute(struct rank_memory *memory, int number);

/* The loss scale's rule gave up: STATUS_RUN. */
enum status rank_loss_scale_ended(const struct loss_scale *scaler);

/* ---- the operations ---- */

/* constant, function, what of the table of kernels it needs (a second entry: where the model is sliced, or types
 * differ). Sums of evaluation are a classifier's. */
#define BIND_LIST(X)                                                                                                   \
	X(ZERO, bind_zero, fill, fill)                                                                                 \
	X(COPY, bind_copy, copy, vector_convert)                                                                       \
	X(ADD, bind_add, vector_add, vector_add)                                                                       \
	X(LOAD, bind_load, copy, copy)                                                                                 \
	X(EMBEDDING_FORWARD, bind_embedding_forward, embedding_forward, embedding_sliced_forward)                      \
	X(EMBEDDING_FINISH, bind_embedding_finish, embedding_finish, embedding_finish)                                 \
	X(EMBEDDING_BACKWARD, bind_embedding_backward, embedding_backward, embedding_sliced_backward)                  \
	X(NORM_FORWARD, bind_norm_forward, norm_forward, norm_forward)                                                 \
	X(NORM_BACKWARD, bind_norm_backward, norm_backward, norm_backward)                                             \
	X(LINEAR_FORWARD, bind_linear_forward, linear_forward, linear_forward)                                         \
	X(LINEAR_FINISH, bind_linear_finish, linear_finish, linear_finish)                                             \
	X(LINEAR_BACKWARD, bind_linear_backward, linear_backward, linear_backward)                                     \
	X(ATTENTION_FORWARD, bind_attention_forward, attention_forward, attention_forward)                             \
	X(ATTENTION_BACKWARD, bind_attention_backward, attention_backward, attention_backward)                         \
	X(BATCH_NORM_STATISTICS, bind_batch_norm_statistics, batch_norm_statistics, batch_norm_statistics)             \
	X(BATCH_NORM_MERGE, bind_batch_norm_merge, batch_norm_merge, batch_norm_merge)                                 \
	X(BATCH_NORM_RUNNING, bind_batch_norm_running, batch_norm_running, batch_norm_running)                         \
	X(BATCH_NORM_FORWARD, bind_batch_norm_forward, batch_norm_forward, batch_norm_forward)                         \
	X(BATCH_NORM_SUMS, bind_batch_norm_sums, batch_norm_sums, batch_norm_sums)                                     \
	X(BATCH_NORM_BACKWARD, bind_batch_norm_backward, batch_norm_backward, batch_norm_backward)                     \
	X(CLASSIFIER, bind_classifier, classifier, classifier)                                                         \
	X(EVALUATE, bind_evaluate, classifier_evaluate, classifier_evaluate)                                           \
	X(CLASSIFIER_MAXIMA, bind_classifier_maxima, classifier_maxima, classifier_maxima)                             \
	X(CLASSIFIER_SUMS, bind_classifier_sums, classifier_sums, classifier_sums)                                     \
	X(CLASSIFIER_GRADIENT, bind_classifier_gradient, classifier_gradient, classifier_gradient)                     \
	X(EVALUATE_SUMS, bind_evaluate_sums, evaluate_sums, evaluate_sums)                                             \
	X(EVALUATE_COUNT, bind_evaluate_count, evaluate_count, evaluate_count)                                         \
	X(ADAMW, bind_adamw, adamw_update, adamw_update)                                                               \
	X(SGD, bind_sgd, sgd_update, sgd_update)                                                                       \
	X(SQUARES, bind_squares, vector_squares, vector_squares)                                                       \
	X(OVERFLOW, bind_overflow, vector_overflow, vector_overflow)                                                   \
	X(SCALER_BEGIN, bind_scaler_begin, copy, copy)                                                                 \
	X(SCALER_UPDATE, bind_scaler_update, scaler_update, scaler_update)                                             \
	X(ADVANCE, bind_advance, advance, advance)

#define X(constant, function, entry, other) int function(const struct binding *b, const struct op *op);
BIND_LIST(X)
#undef X

#endif
