/* The model's kernels. */
#include "real/rank/operand.h"

enum status cpu_embedding_forward(struct rank_memory *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	const struct model *m = d->plan->model;
	int64_t rows = rows_of(d, op);
	if (op->operand[2].buffer < 0) {
		struct class_slice slice = token_slice_of(d, m->tensors[k->weight].rows);
		embedding_sliced_forward(element_of(d, op, 3), samples_of(d, op), k->tokens, k->out, &slice,
		                         use(d, op, 0, rows), use(d, op, 1, m->tensors[k->weight].elements),
		                         use(d, op, 3, rows * k->out));
		return STATUS_OK;
	}
	embedding_forward(element_of(d, op, 3), samples_of(d, op), k->tokens, k->out, use(d, op, 0, rows),
	                  use(d, op, 1, m->tensors[k->weight].elements), use(d, op, 2, m->tensors[k->bias].elements),
	                  use(d, op, 3, rows * k->out));
	return STATUS_OK;
}

enum status cpu_embedding_finish(struct rank_memory *d, const struct op *op)
{
	struct embedding_rows e = embedding_rows_of(d, op);
	while (embedding_rows_next(&e))
		embedding_finish(element_of(d, op, 1), e.samples, e.tokens, kernel_of(d, op)->out, e.positions, e.y);
	return STATUS_OK;
}

enum status cpu_embedding_backward(struct rank_memory *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	const struct model *m = d->plan->model;
	const struct tensor *tokens = &m->tensors[k->weight], *positions = &m->tensors[k->bias];
	int64_t rows = rows_of(d, op);
	if (tokens->cut != CUT_NONE) {
		struct class_slice slice = token_slice_of(d, tokens->rows);
		embedding_sliced_backward(element_of(d, op, 0), samples_of(d, op), k->tokens, k->out, &slice,
		                          positions->rows, use(d, op, 1, rows), use(d, op, 0, rows * k->out),
		                          use(d, op, 2, tokens->elements), adds(op, 2),
		                          use(d, op, 3, positions->elements), adds(op, 3));
		return STATUS_OK;
	}
	embedding_backward(element_of(d, op, 0), samples_of(d, op), k->tokens, k->out, tokens->rows, positions->rows,
	                   use(d, op, 1, rows), use(d, op, 0, rows * k->out), use(d, op, 2, tokens->elements),
	                   adds(op, 2), use(d, op, 3, positions->elements), adds(op, 3));
	return STATUS_OK;
}

enum status cpu_norm_forward(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), width = kernel_of(d, op)->out;
	norm_forward(element_of(d, op, 0), rows, width, use(d, op, 0, rows * width), use(d, op, 1, width),
	             use(d, op, 2, width), use(d, op, 3, rows * width), use(d, op, 4, 2 * rows));
	return STATUS_OK;
}

enum status cpu_norm_backward(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), width = kernel_of(d, op)->out;
	norm_backward(element_of(d, op, 0), rows, width, use(d, op, 0, rows * width), use(d, op, 1, rows * width),
	              use(d, op, 2, 2 * rows), use(d, op, 3, width), use(d, op, 4, rows * width), adds(op, 4),
	              use(d, op, 5, width), adds(op, 5), use(d, op, 6, width), adds(op, 6));
	return STATUS_OK;
}

enum status cpu_linear_forward(struct rank_memory *d, const struct op *op)
{
	struct linear_shape s = linear_shape_of(d, op);
	s.gelu &= op->operand[5].buffer >= 0; /* else it is a part of a sum, and GELU comes after that */
	linear_forward(&s, use(d, op, 0, s.rows * s.in), use(d, op, 1, s.in * s.out), use(d, op, 2, s.out),
	               use(d, op, 3, s.rows * s.out), use(d, op, 4, s.rows * s.stride), use(d, op, 5, s.rows * s.out));
	return STATUS_OK;
}

enum status cpu_linear_finish(struct rank_memory *d, const struct op *op)
{
	int64_t rows = made_rows(d, op), width = kernel_of(d, op)->out;
	/* Of operand 2, as bias and residual may be absent. */
	linear_finish(element_of(d, op, 2), rows, width, use(d, op, 0, width), use(d, op, 1, rows * width),
	              use(d, op, 2, rows * width), use(d, op, 3, rows * width));
	return STATUS_OK;
}

enum status cpu_linear_backward(struct rank_memory *d, const struct op *op)
{
	struct linear_shape s = linear_shape_of(d, op);
	linear_backward(&s, use(d, op, 0, s.rows * s.stride), use(d, op, 1, s.rows * s.in), use(d, op, 2, s.in * s.out),
	                use(d, op, 3, s.rows * s.out), use(d, op, 4, s.rows * s.in), use(d, op, 5, s.in * s.out),
	                adds(op, 5), use(d, op, 6, s.out), adds(op, 6));
	return STATUS_OK;
}

enum status cpu_attention_forward(struct rank_memory *d, const struct op *op)
{
	struct attention_shape s = attention_shape_of(d, op);
	int64_t rows = rows_of(d, op), width = s.heads * s.head_size;
	attention_forward(&s, use(d, op, 0, 3 * rows * width), use(d, op, 1, rows * width),
	                  use(d, op, 2, rows * s.heads));
	return STATUS_OK;
}

enum status cpu_attention_backward(struct rank_memory *d, const struct op *op)
{
	struct attention_shape s = attention_shape_of(d, op);
	int64_t rows = rows_of(d, op), width = s.heads * s.head_size;
	attention_backward(&s, use(d, op, 0, rows * width), use(d, op, 1, 3 * rows * width),
	                   use(d, op, 2, rows * width), use(d, op, 3, rows * s.heads), use(d, op, 4, 3 * rows * width));
	return STATUS_OK;
}

enum status cpu_classifier(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), stride = d->plan->model->logits_stride;
	classifier(element_of(d, op, 0), rows, kernel_of(d, op)->out, stride, use(d, op, 0, rows * stride),
	           use(d, op, 1, rows), op->scale, op->scale * cpu_loss_scale(d, op, 3), use(d, op, 2, 1), adds(op, 2));
	return STATUS_OK;
}

static enum status count_evaluated(struct rank_memory *d, double loss, int64_t correct)
{
	d->evaluate_loss += loss;
	d->evaluate_correct += correct;
	d->evaluate_total += d->evaluate_rows;
	return STATUS_OK;
}

enum status cpu_evaluate(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), stride = d->plan->model->logits_stride, correct = 0;
	double loss = 0;
	const void *logits = use(d, op, 0, rows * stride);
	const int32_t *targets = use(d, op, 1, rows);
	classifier_evaluate(element_of(d, op, 0), d->evaluate_rows, kernel_of(d, op)->out, stride, logits, targets,
	                    &loss, &correct);
	return count_evaluated(d, loss, correct);
}

enum status cpu_classifier_maxima(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op);
	struct class_slice slice = class_slice_of(d, op);
	classifier_maxima(element_of(d, op, 0), rows, &slice, use(d, op, 0, rows * slice.stride), use(d, op, 1, rows));
	return STATUS_OK;
}

enum status cpu_classifier_sums(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op);
	bool evaluate = op->kind == OP_EVALUATE_SUMS;
	struct class_slice slice = class_slice_of(d, op);
	(evaluate ? evaluate_sums : classifier_sums)(element_of(d, op, 0), rows, &slice,
	                                             use(d, op, 0, rows * slice.stride), use(d, op, 1, rows),
	                                             use(d, op, 2, rows), use(d, op, 3, (evaluate ? 3 : 2) * rows));
	return STATUS_OK;
}

enum status cpu_classifier_gradient(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op);
	struct class_slice slice = class_slice_of(d, op);
	classifier_gradient(element_of(d, op, 0), rows, &slice, use(d, op, 0, rows * slice.stride), use(d, op, 1, rows),
	                    use(d, op, 2, rows), use(d, op, 3, 2 * rows), op->scale,
	                    op->scale * cpu_loss_scale(d, op, 5), use(d, op, 4, 1), adds(op, 4));
	return STATUS_OK;
}

enum status cpu_evaluate_count(struct rank_memory *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), correct = 0;
	double loss = 0;
	const float *maxima = use(d, op, 0, rows), *sums = use(d, op, 1, 3 * rows);
	evaluate_count(d->evaluate_rows, maxima, sums, &loss, &correct);
	return count_evaluated(d, loss, correct);
}
