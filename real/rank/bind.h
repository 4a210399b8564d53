/* Binds operations to a device's kernels, whatever the device. The operands' memory is found, and what is touched of it
 * recorded (operand.h); then a function calls the kernel.
 *
 *     bind_kernel.c     made from the tables of kernels and of operations: most
 *     bind_model.c      the model's operations that are more than one call of a kernel with their operands
 *     bind_update.c     likewise the optimizer's, the loss scale's, and vectors'
 *     bind.c            copies and samples; what runs on the CPU
 *
 *     struct binding b = {.memory = &memory, .kernels = &api->kernels, .context = context, .stream = stream, …};
 *     int error = bind_issue(&b, op);
 */
#ifndef SHARDLAB_RANK_BIND_H
#define SHARDLAB_RANK_BIND_H

#include <stddef.h>

#include "kernels/table.h"
#include "real/rank/fusion.h"
#include "real/rank/operand.h"

/* The memory and device that operations run on. */
struct binding {
	struct rank_memory *memory;
	const struct kernel_table *kernels;
	struct kernel_context *context;
	kernel_stream stream;
	const struct fusion *fusion; /* by operation; NULL: the device fuses nothing */
	/* In memory that the kernels reach: */
	double *loss; /* sums of `evaluate` */
	int64_t *correct;
	struct loss_scale *scaler_begin; /* the first loss scale, until it is copied */
	int32_t *gave_up;                /* becomes 1 where the loss scale cannot become any smaller */
	float *scalar;                   /* CPU: a loss or a sum of squares beside its exact sum */
};

/* Puts an operation of class K or V on the stream: the device's error, or 0. */
int bind_issue(const struct binding *b, const struct op *op);
/* True if this process carries it out itself, wherever its operands are (rank_execute). */
bool bind_is_of_process(const struct op *op);
/* STATUS_INPUT, with its name, if an operation of the role in device memory has no kernel in the table. */
enum status bind_check(const struct rank_memory *memory, const struct kernel_table *kernels, const char *device);

/* True if the host carries it out, whatever the device. */
static inline bool op_is_of_host(const struct op *op)
{
	return op->queue == QUEUE_HOST_COMPUTE || op->queue == QUEUE_DISK;
}

/* Carries out an operation of any class but communication on the CPU; done on return. */
enum status rank_execute(struct rank_memory *memory, int number);

/* The loss scale's rule gave up: STATUS_RUN. */
enum status rank_loss_scale_ended(const struct loss_scale *scaler);

/* ---- the operations ---- */

/* An operation's function, and the entry of a table of kernels that it needs, by its place in it. */
struct binding_row {
	int (*function)(const struct binding *b, struct rank_memory *m, const struct op *op, const union operands *o);
	size_t entry;
};
#define BIND(constant, name, kernel) [OP_##constant] = {bind_##name, offsetof(struct kernel_table, kernel)}

/* The function of an operation, BOUND(classifier) { … }, and its call of a kernel, where it runs. */
#define BOUND(name)                                                                                                    \
	static int bind_##name(const struct binding *b, struct rank_memory *m, const struct op *op,                    \
	                       const union operands *o)
#define RUN(kernel, ...) b->kernels->kernel(b->context, b->stream, __VA_ARGS__)
extern const struct binding_row bind_kernel[OP_KIND_COUNT], bind_model[OP_KIND_COUNT], bind_update[OP_KIND_COUNT];
/* In place of the others where the weights are sliced over ranks. */
extern const struct binding_row bind_sliced[OP_KIND_COUNT];

#endif
