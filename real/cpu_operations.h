/* Operations bound to the CPU's kernels: one function a kind, in one table. */
#ifndef SHARDLAB_CPU_OPERATIONS_H
#define SHARDLAB_CPU_OPERATIONS_H

#include "kernels/kernels.h"
#include "real/cpu_device.h"

/* NULL for memory operations and collectives. */
extern enum status (*const cpu_operation_table[OP_KIND_COUNT])(struct cpu_device *d, const struct op *op);

/* Which kernel an operation is bound to follows from the types of its operands' buffers (cpu_types.c). The type of one
 * operand's elements: */
enum element cpu_element(const struct cpu_device *d, const struct op *op, int operand);
/* STATUS_INPUT, and a line, if an operation of the role has operands for whose types there is no kernel. Once it has
 * passed, the first operand that is not absent stands for all that cpu_types.c lists as alike. */
enum status cpu_types_check(const struct cpu_device *d);

/* The learning rate of step `step` (from 1): linear warm-up, then linear decay to a tenth (strategy/settings.h). */
double settings_learning_rate(const struct settings *s, int64_t step);

/* cpu_loss_scale.c: what 16-bit training does besides. */
enum status cpu_overflow(struct cpu_device *d, const struct op *op);
enum status cpu_scaler_begin(struct cpu_device *d, const struct op *op);
enum status cpu_scaler_update(struct cpu_device *d, const struct op *op);

/* What an update reads of it. */
struct cpu_range {
	bool skip;      /* the gradients overflowed: nothing is to change */
	int64_t step;   /* counts the updates that were made, from 1: the optimizer's own step */
	double unscale; /* what the gradients are to be multiplied by to be gradients of the loss */
};
/* What the gradient of a classifier's loss is multiplied by: the scale of its scaler at `operand`, 1 without. */
double cpu_loss_scale(struct cpu_device *d, const struct op *op, int operand);
/* Of an update whose step counter is at `step` operand, and whose scaler and overflow follow after the norm. */
struct cpu_range cpu_range_of(struct cpu_device *d, const struct op *op, int step_operand);

#endif
