/* Operations bound to the CPU's kernels: one function a kind, in one table. */
#ifndef SHARDLAB_CPU_OPERATIONS_H
#define SHARDLAB_CPU_OPERATIONS_H

#include "real/cpu_device.h"

/* NULL for memory operations and collectives. */
extern enum status (*const cpu_operation_table[OP_KIND_COUNT])(struct cpu_device *d, const struct op *op);

/* The learning rate of step `step` (from 1): linear warm-up, then linear decay to a tenth (strategy/settings.h). */
double settings_learning_rate(const struct settings *s, int64_t step);

#endif
