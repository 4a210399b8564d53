/* What the functions of CPU operations begin with: find an operand's memory, and say how much of it is used. */
#ifndef SHARDLAB_CPU_OPERAND_H
#define SHARDLAB_CPU_OPERAND_H

#include "real/cpu_operations.h"

/* An operand's memory, of which `count` elements are used. */
static inline void *use(struct cpu_device *d, const struct op *op, int operand, int64_t count)
{
	int64_t n;
	cpu_device_touch(d, op, operand, count);
	return cpu_device_region(d, &op->operand[operand], &n);
}

/* An operand used as far as its region goes: vector operations have no shape of their own. */
static inline void *use_all(struct cpu_device *d, const struct op *op, int operand, int64_t *count)
{
	void *p = cpu_device_region(d, &op->operand[operand], count);
	cpu_device_touch(d, op, operand, *count);
	return p;
}

static inline const struct kernel *kernel_of(const struct cpu_device *d, const struct op *op)
{
	return &d->plan->model->kernels[op->kernel];
}

static inline int64_t samples_of(const struct cpu_device *d, const struct op *op)
{
	return d->plan->settings.micro_batch * (op->wide ? plan_data_ranks(d->plan) : 1);
}

static inline int64_t rows_of(const struct cpu_device *d, const struct op *op)
{
	return samples_of(d, op) * kernel_of(d, op)->tokens;
}

static inline bool adds(const struct op *op, int operand)
{
	return op->accumulate >> operand & 1;
}

#endif
