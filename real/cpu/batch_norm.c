/* Batch normalization. */
#include "real/rank/operand.h"

enum status cpu_batch_norm_statistics(struct rank_memory *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_statistics(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, 2 * s.width + 1));
	return STATUS_OK;
}

enum status cpu_batch_norm_merge(struct rank_memory *d, const struct op *op)
{
	int64_t n, width = kernel_of(d, op)->out;
	const float *parts = use_all(d, op, 0, &n);
	batch_norm_merge(n / (2 * width + 1), width, parts, use(d, op, 1, 2 * width), use(d, op, 2, 2 * width + 1));
	return STATUS_OK;
}

enum status cpu_batch_norm_running(struct rank_memory *d, const struct op *op)
{
	int64_t width = kernel_of(d, op)->out;
	batch_norm_running(width, use(d, op, 0, 2 * width), use(d, op, 1, 2 * width + 1));
	return STATUS_OK;
}

enum status cpu_batch_norm_forward(struct rank_memory *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_forward(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, 2 * s.width + 1), use(d, op, 2, s.width),
	                   use(d, op, 3, s.width), use(d, op, 4, s.rows * s.width));
	return STATUS_OK;
}

enum status cpu_batch_norm_sums(struct rank_memory *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_sums(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, s.rows * s.width),
	                use(d, op, 2, 2 * s.width + 1), use(d, op, 3, s.width), use(d, op, 4, s.width),
	                use(d, op, 5, 2 * s.width), use(d, op, 6, s.width), adds(op, 6), use(d, op, 7, s.width),
	                adds(op, 7));
	return STATUS_OK;
}

enum status cpu_batch_norm_backward(struct rank_memory *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_backward(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, s.rows * s.width),
	                    use(d, op, 2, 2 * s.width + 1), use(d, op, 3, 2 * s.width), use(d, op, 4, s.width),
	                    use(d, op, 5, s.rows * s.width));
	return STATUS_OK;
}
