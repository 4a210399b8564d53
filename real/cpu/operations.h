/* Operations bound to the CPU's kernels: one function a kind, in one table.
 *
 *     cpu_weights.c      what parameters begin with, and what is shown in the end
 *     cpu_load.c         samples
 *     cpu_kernels.c      the model's kernels; cpu_batch_norm.c
 *     cpu_update.c       the optimizer; cpu_loss_scale.c what 16 bits need besides
 *     cpu_vectors.c      the rest
 *
 * Each finds its memory, says what it touches by the kernel's own shape (cpu_operand.h), and calls the kernel.
 */
#ifndef SHARDLAB_CPU_OPERATIONS_H
#define SHARDLAB_CPU_OPERATIONS_H

#include "kernels/kernels.h"
#include "real/rank/memory.h"

/* kind, function. Evaluation's sums are a classifier's. */
#define CPU_OPERATION_LIST(X)                                                                                          \
	X(INITIALIZE, cpu_initialize)                                                                                  \
	X(ZERO, cpu_zero)                                                                                              \
	X(COPY, cpu_copy)                                                                                              \
	X(ADD, cpu_add)                                                                                                \
	X(LOAD, cpu_load)                                                                                              \
	X(EMBEDDING_FORWARD, cpu_embedding_forward)                                                                    \
	X(EMBEDDING_FINISH, cpu_embedding_finish)                                                                      \
	X(EMBEDDING_BACKWARD, cpu_embedding_backward)                                                                  \
	X(NORM_FORWARD, cpu_norm_forward)                                                                              \
	X(NORM_BACKWARD, cpu_norm_backward)                                                                            \
	X(LINEAR_FORWARD, cpu_linear_forward)                                                                          \
	X(LINEAR_FINISH, cpu_linear_finish)                                                                            \
	X(LINEAR_BACKWARD, cpu_linear_backward)                                                                        \
	X(ATTENTION_FORWARD, cpu_attention_forward)                                                                    \
	X(ATTENTION_BACKWARD, cpu_attention_backward)                                                                  \
	X(BATCH_NORM_STATISTICS, cpu_batch_norm_statistics)                                                            \
	X(BATCH_NORM_MERGE, cpu_batch_norm_merge)                                                                      \
	X(BATCH_NORM_RUNNING, cpu_batch_norm_running)                                                                  \
	X(BATCH_NORM_FORWARD, cpu_batch_norm_forward)                                                                  \
	X(BATCH_NORM_SUMS, cpu_batch_norm_sums)                                                                        \
	X(BATCH_NORM_BACKWARD, cpu_batch_norm_backward)                                                                \
	X(INITIALIZE_BUFFERS, cpu_initialize_buffers)                                                                  \
	X(SHOW_BUFFERS, cpu_show_buffers)                                                                              \
	X(CLASSIFIER, cpu_classifier)                                                                                  \
	X(EVALUATE, cpu_evaluate)                                                                                      \
	X(CLASSIFIER_MAXIMA, cpu_classifier_maxima)                                                                    \
	X(CLASSIFIER_SUMS, cpu_classifier_sums)                                                                        \
	X(CLASSIFIER_GRADIENT, cpu_classifier_gradient)                                                                \
	X(EVALUATE_SUMS, cpu_classifier_sums)                                                                          \
	X(EVALUATE_COUNT, cpu_evaluate_count)                                                                          \
	X(ADAMW, cpu_adamw)                                                                                            \
	X(SGD, cpu_sgd)                                                                                                \
	X(SQUARES, cpu_squares)                                                                                        \
	X(OVERFLOW, cpu_overflow)                                                                                      \
	X(SCALER_BEGIN, cpu_scaler_begin)                                                                              \
	X(SCALER_UPDATE, cpu_scaler_update)                                                                            \
	X(ADVANCE, cpu_advance)                                                                                        \
	X(WEIGHTS, cpu_weights)

#define X(kind, function) enum status function(struct rank_memory *d, const struct op *op);
CPU_OPERATION_LIST(X)
#undef X

/* NULL for memory operations and collectives. */
extern enum status (*const cpu_operation_table[OP_KIND_COUNT])(struct rank_memory *d, const struct op *op);

/* Which kernel an operation is bound to follows from the types of its operands' buffers (cpu_types.c). The type of one
 * operand's elements: */
enum element element_of(const struct rank_memory *d, const struct op *op, int operand);
/* STATUS_INPUT, and a line, if an operation of the role has operands for whose types there is no kernel. Once it has
 * passed, the first operand that is not absent stands for all that cpu_types.c lists as alike. */
enum status rank_types_check(const struct rank_memory *d);

/* The learning rate of step `step` (from 1): linear warm-up, then linear decay to a tenth
 * (strategy/settings/settings.h). */
double settings_learning_rate(const struct settings *s, int64_t step);

/* A load's samples, of the step or of the pass at hand, to this process's memory; either may be NULL. */
void rank_load_samples(struct rank_memory *d, const struct op *op, int64_t step, void *inputs, int32_t *targets);

/* Where in its group the first element of operand 0 stands: it is this rank's slice of what the buffer has of the
 * group, which is this rank's shard of it. Of initialize, weights, and updates that round stochastically. */
int64_t place_in_group(const struct rank_memory *d, const struct op *op);

/* The rule gave up: STATUS_RUN. */
enum status cpu_loss_scale_ended(const struct loss_scale *scaler);

/* What an update reads of it. */
struct cpu_range {
	bool skip;      /* the gradients overflowed: nothing is to change */
	int64_t step;   /* counts the updates that were made, from 1: the optimizer's own step */
	double unscale; /* what the gradients are to be multiplied by to be gradients of the loss */
};
/* What the gradient of a classifier's loss is multiplied by: the scale of its scaler at `operand`, 1 without. */
double cpu_loss_scale(struct rank_memory *d, const struct op *op, int operand);
/* Of an update whose step counter is at `step` operand, and whose scaler and overflow follow after the norm. */
struct cpu_range cpu_range_of(struct rank_memory *d, const struct op *op, int step_operand);

#endif
