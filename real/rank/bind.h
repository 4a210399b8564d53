/* Binds operations to a device's kernels, whatever the device: a function for each operation, and a table of them.
 *
 *     bind.c            what runs on the CPU, copies and samples
 *     bind_model.c      the model's kernels
 *     bind_update.c     the optimizer, the loss scale, and vectors
 *
 * Each function finds the operands' memory, records what is touched of it (operand.h), and calls the kernel.
 *
 *     struct binding b = {.memory = &memory, .kernels = &api->kernels, .context = context, .stream = stream, …};
 *     int error = bind_issue(&b, op);
 */
#ifndef SHARDLAB_RANK_BIND_H
#define SHARDLAB_RANK_BIND_H

#include <stddef.h>

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

/* An operation's function, and which entries of a table of kernels it needs, by their place in it (a second one: where
 * the model is sliced, or types differ). */
struct binding_row {
	int (*function)(const struct binding *b, struct rank_memory *m, const struct op *op);
	size_t entry, other;
};
#define BIND(constant, name, entry, other)                                                                             \
	[OP_##constant] = {bind_##name, offsetof(struct kernel_table, entry), offsetof(struct kernel_table, other)}

/* The function of an operation, BOUND(norm_forward) { … }, its call of a kernel, where it runs, and what it gives that
 * kernel: an operand (operand.h), one that is written or added to and which of the two, and an operand's type. */
#define BOUND(name) static int bind_##name(const struct binding *b, struct rank_memory *m, const struct op *op)
#define RUN(kernel, ...) b->kernels->kernel(b->context, b->stream, __VA_ARGS__)
#define USE(operand) use(m, op, operand)
#define ADD_TO(operand) use(m, op, operand), adds(op, operand)
#define ELEMENT(operand) element_of(m, op, operand)
extern const struct binding_row bind_model[OP_KIND_COUNT], bind_update[OP_KIND_COUNT];

#endif
