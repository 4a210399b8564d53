/* The model's kernels. */
#include "real/cuda/operations.h"

int cuda_embedding_forward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	const struct kernel *k = kernel_of(d, op);
	const struct model *m = d->plan->model;
	int64_t rows = rows_of(d, op);
	if (op->operand[2].buffer < 0) {
		struct class_slice slice = token_slice_of(d, m->tensors[k->weight].rows);
		return c->api->embedding_sliced_forward(c->cuda, stream, element_of(d, op, 3), samples_of(d, op),
		                                        k->tokens, k->out, &slice, use(d, op, 0, rows),
		                                        use(d, op, 1, m->tensors[k->weight].elements),
		                                        use(d, op, 3, rows * k->out));
	}
	return c->api->embedding_forward(c->cuda, stream, element_of(d, op, 3), samples_of(d, op), k->tokens, k->out,
	                                 use(d, op, 0, rows), use(d, op, 1, m->tensors[k->weight].elements),
	                                 use(d, op, 2, m->tensors[k->bias].elements), use(d, op, 3, rows * k->out));
}

int cuda_embedding_finish(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct embedding_rows e = embedding_rows_of(&c->rank, op);
	int error = 0;
	while (!error && embedding_rows_next(&e))
		error = c->api->embedding_finish(c->cuda, stream, element_of(&c->rank, op, 1), e.samples, e.tokens,
		                                 kernel_of(&c->rank, op)->out, e.positions, e.y);
	return error;
}

int cuda_embedding_backward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	const struct kernel *k = kernel_of(d, op);
	const struct model *m = d->plan->model;
	const struct tensor *tokens = &m->tensors[k->weight], *positions = &m->tensors[k->bias];
	int64_t rows = rows_of(d, op);
	if (tokens->cut != CUT_NONE) {
		struct class_slice slice = token_slice_of(d, tokens->rows);
		return c->api->embedding_sliced_backward(
		        c->cuda, stream, element_of(d, op, 0), samples_of(d, op), k->tokens, k->out, &slice,
		        positions->rows, use(d, op, 1, rows), use(d, op, 0, rows * k->out),
		        use(d, op, 2, tokens->elements), adds(op, 2), use(d, op, 3, positions->elements), adds(op, 3));
	}
	return c->api->embedding_backward(c->cuda, stream, element_of(d, op, 0), samples_of(d, op), k->tokens, k->out,
	                                  tokens->rows, positions->rows, use(d, op, 1, rows),
	                                  use(d, op, 0, rows * k->out), use(d, op, 2, tokens->elements), adds(op, 2),
	                                  use(d, op, 3, positions->elements), adds(op, 3));
}

int cuda_norm_forward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op), width = kernel_of(d, op)->out;
	return c->api->norm_forward(c->cuda, stream, element_of(d, op, 0), rows, width, use(d, op, 0, rows * width),
	                            use(d, op, 1, width), use(d, op, 2, width), use(d, op, 3, rows * width),
	                            use(d, op, 4, 2 * rows));
}

int cuda_norm_backward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op), width = kernel_of(d, op)->out;
	return c->api->norm_backward(c->cuda, stream, element_of(d, op, 0), rows, width, use(d, op, 0, rows * width),
	                             use(d, op, 1, rows * width), use(d, op, 2, 2 * rows), use(d, op, 3, width),
	                             use(d, op, 4, rows * width), adds(op, 4), use(d, op, 5, width), adds(op, 5),
	                             use(d, op, 6, width), adds(op, 6));
}

int cuda_linear_forward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct linear_shape s = linear_shape_of(d, op);
	s.gelu &= op->operand[5].buffer >= 0; /* else it is a part of a sum, and GELU comes after that */
	return c->api->linear_forward(c->cuda, stream, &s, use(d, op, 0, s.rows * s.in), use(d, op, 1, s.in * s.out),
	                              use(d, op, 2, s.out), use(d, op, 3, s.rows * s.out),
	                              use(d, op, 4, s.rows * s.stride), use(d, op, 5, s.rows * s.out));
}

int cuda_linear_finish(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct linear_shape s = linear_shape_of(d, op);
	s.rows = made_rows(d, op);
	return c->api->linear_finish(c->cuda, stream, s.type, s.rows, s.out, use(d, op, 0, s.out),
	                             use(d, op, 1, s.rows * s.out), use(d, op, 2, s.rows * s.out),
	                             use(d, op, 3, s.rows * s.out));
}

int cuda_linear_backward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct linear_shape s = linear_shape_of(d, op);
	const struct cuda_fusion *f = &c->fusion[op - d->role->ops];
	const void *pre = use(d, op, 3, s.rows * s.out), *x_pre = NULL;
	if (f->next >= 0) /* what that operation would do to its dy */
		x_pre = use(d, &d->role->ops[f->next], 3, s.rows * s.in);
	if (f->done) {
		s.gelu = false;
		pre = NULL;
	}
	return c->api->linear_backward_gelu(c->cuda, stream, &s, use(d, op, 0, s.rows * s.stride),
	                                    use(d, op, 1, s.rows * s.in), use(d, op, 2, s.in * s.out), pre, x_pre,
	                                    use(d, op, 4, s.rows * s.in), use(d, op, 5, s.in * s.out), adds(op, 5),
	                                    use(d, op, 6, s.out), adds(op, 6));
}

int cuda_attention_forward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct attention_shape s = attention_shape_of(d, op);
	int64_t rows = rows_of(d, op), width = s.heads * s.head_size;
	return c->api->attention_forward(c->cuda, stream, &s, use(d, op, 0, 3 * rows * width),
	                                 use(d, op, 1, rows * width), use(d, op, 2, rows * s.heads));
}

int cuda_attention_backward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct attention_shape s = attention_shape_of(d, op);
	int64_t rows = rows_of(d, op), width = s.heads * s.head_size;
	return c->api->attention_backward(c->cuda, stream, &s, use(d, op, 0, rows * width),
	                                  use(d, op, 1, 3 * rows * width), use(d, op, 2, rows * width),
	                                  use(d, op, 3, rows * s.heads), use(d, op, 4, 3 * rows * width));
}

int cuda_classifier(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op), stride = d->plan->model->logits_stride, n;
	const float *scaler = use_all(d, op, 3, &n);
	return c->api->classifier(c->cuda, stream, element_of(d, op, 0), rows, kernel_of(d, op)->out, stride,
	                          use(d, op, 0, rows * stride), use(d, op, 1, rows), op->scale, scaler,
	                          use(d, op, 2, 1), adds(op, 2));
}

int cuda_evaluate(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op), classes = kernel_of(d, op)->out, stride = d->plan->model->logits_stride;
	const void *logits = use(d, op, 0, rows * stride);
	const int32_t *targets = use(d, op, 1, rows);
	d->evaluate_total += d->evaluate_rows;
	return d->evaluate_rows
	               ? c->api->classifier_evaluate(c->cuda, stream, element_of(d, op, 0), d->evaluate_rows, classes,
	                                             stride, logits, targets, &c->sums->loss, &c->sums->correct)
	               : 0;
}

int cuda_classifier_maxima(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op);
	struct class_slice slice = class_slice_of(d, op);
	return c->api->classifier_maxima(c->cuda, stream, element_of(d, op, 0), rows, &slice,
	                                 use(d, op, 0, rows * slice.stride), use(d, op, 1, rows));
}

int cuda_classifier_sums(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op);
	bool evaluate = op->kind == OP_EVALUATE_SUMS;
	struct class_slice slice = class_slice_of(d, op);
	return (evaluate ? c->api->evaluate_sums : c->api->classifier_sums)(
	        c->cuda, stream, element_of(d, op, 0), rows, &slice, use(d, op, 0, rows * slice.stride),
	        use(d, op, 1, rows), use(d, op, 2, rows), use(d, op, 3, (evaluate ? 3 : 2) * rows));
}

int cuda_classifier_gradient(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op), n;
	struct class_slice slice = class_slice_of(d, op);
	const float *scaler = use_all(d, op, 5, &n);
	return c->api->classifier_gradient(c->cuda, stream, element_of(d, op, 0), rows, &slice,
	                                   use(d, op, 0, rows * slice.stride), use(d, op, 1, rows), use(d, op, 2, rows),
	                                   use(d, op, 3, 2 * rows), op->scale, scaler, use(d, op, 4, 1), adds(op, 4));
}

int cuda_evaluate_count(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t rows = rows_of(d, op);
	const float *maxima = use(d, op, 0, rows), *sums = use(d, op, 1, 3 * rows);
	d->evaluate_total += d->evaluate_rows;
	return d->evaluate_rows ? c->api->evaluate_count(c->cuda, stream, d->evaluate_rows, maxima, sums,
	                                                 &c->sums->loss, &c->sums->correct)
	                        : 0;
}

int cuda_batch_norm_statistics(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	return c->api->batch_norm_statistics(c->cuda, stream, &s, use(d, op, 0, s.rows * s.width),
	                                     use(d, op, 1, 2 * s.width + 1));
}

int cuda_batch_norm_merge(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t n, width = kernel_of(d, op)->out;
	const float *parts = use_all(d, op, 0, &n);
	return c->api->batch_norm_merge(c->cuda, stream, n / (2 * width + 1), width, parts, use(d, op, 1, 2 * width),
	                                use(d, op, 2, 2 * width + 1));
}

int cuda_batch_norm_running(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	int64_t width = kernel_of(d, op)->out;
	return c->api->batch_norm_running(c->cuda, stream, width, use(d, op, 0, 2 * width),
	                                  use(d, op, 1, 2 * width + 1));
}

int cuda_batch_norm_forward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	return c->api->batch_norm_forward(c->cuda, stream, &s, use(d, op, 0, s.rows * s.width),
	                                  use(d, op, 1, 2 * s.width + 1), use(d, op, 2, s.width),
	                                  use(d, op, 3, s.width), use(d, op, 4, s.rows * s.width));
}

int cuda_batch_norm_sums(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	return c->api->batch_norm_sums(c->cuda, stream, &s, use(d, op, 0, s.rows * s.width),
	                               use(d, op, 1, s.rows * s.width), use(d, op, 2, 2 * s.width + 1),
	                               use(d, op, 3, s.width), use(d, op, 4, s.width), use(d, op, 5, 2 * s.width),
	                               use(d, op, 6, s.width), adds(op, 6), use(d, op, 7, s.width), adds(op, 7));
}

int cuda_batch_norm_backward(struct cuda_device *c, const struct op *op, cuda_stream stream)
{
	struct rank_memory *d = &c->rank;
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	return c->api->batch_norm_backward(c->cuda, stream, &s, use(d, op, 0, s.rows * s.width),
	                                   use(d, op, 1, s.rows * s.width), use(d, op, 2, 2 * s.width + 1),
	                                   use(d, op, 3, 2 * s.width), use(d, op, 4, s.width),
	                                   use(d, op, 5, s.rows * s.width));
}
