/* Vector work that knows nothing of the model. */
#include <string.h>

#include "real/rank/operand.h"

enum status cpu_zero(struct rank_memory *d, const struct op *op)
{
	int64_t n;
	void *x = use_all(d, op, 0, &n);
	memset(x, 0, (size_t)(n * type_bytes(d->role->buffers[op->operand[0].buffer].type)));
	return STATUS_OK;
}

/* Elements of any type, which is the same on both sides: rank_types_check. */
enum status cpu_copy(struct rank_memory *d, const struct op *op)
{
	if (op_transfer(d->role, op) != TRANSFER_COUNT)
		return rank_memory_transfer(d, op);
	int64_t n;
	void *x = use_all(d, op, 0, &n), *y = use_all(d, op, 1, &n);
	memcpy(y, x, (size_t)(n * type_bytes(d->role->buffers[op->operand[0].buffer].type)));
	return STATUS_OK;
}

enum status cpu_add(struct rank_memory *d, const struct op *op)
{
	int64_t n;
	void *x = use_all(d, op, 0, &n), *y = use_all(d, op, 1, &n);
	vector_add(element_of(d, op, 0), n, x, y);
	return STATUS_OK;
}

enum status cpu_squares(struct rank_memory *d, const struct op *op)
{
	int64_t n;
	const void *x = use_all(d, op, 0, &n);
	float *norm = use(d, op, 1, 1);
	double sum = vector_sum_of_squares(element_of(d, op, 0), n, x);
	*norm = (float)(adds(op, 1) ? *norm + sum : sum);
	return STATUS_OK;
}

enum status cpu_advance(struct rank_memory *d, const struct op *op)
{
	int64_t *step = use(d, op, 0, 1);
	++*step;
	return STATUS_OK;
}
