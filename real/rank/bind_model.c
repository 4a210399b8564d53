/* The model's kernels. */
#include "real/rank/bind.h"
#include "real/rank/operand.h"

int bind_embedding_forward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	const struct kernel *k = kernel_of(m, op);
	const struct model *model = m->plan->model;
	int64_t rows = rows_of(m, op);
	if (op->operand[EMBEDDING_FORWARD_POSITION_TABLE].buffer < 0) {
		struct class_slice slice = token_slice_of(m, model->tensors[k->weight].rows);
		return b->kernels->embedding_sliced_forward(
		        b->context, b->stream, element_of(m, op, EMBEDDING_FORWARD_Y), samples_of(m, op), k->tokens,
		        k->out, &slice, use(m, op, EMBEDDING_FORWARD_IDS, rows),
		        use(m, op, EMBEDDING_FORWARD_TOKEN_TABLE, model->tensors[k->weight].elements),
		        use(m, op, EMBEDDING_FORWARD_Y, rows * k->out));
	}
	return b->kernels->embedding_forward(
	        b->context, b->stream, element_of(m, op, EMBEDDING_FORWARD_Y), samples_of(m, op), k->tokens, k->out,
	        use(m, op, EMBEDDING_FORWARD_IDS, rows),
	        use(m, op, EMBEDDING_FORWARD_TOKEN_TABLE, model->tensors[k->weight].elements),
	        use(m, op, EMBEDDING_FORWARD_POSITION_TABLE, model->tensors[k->bias].elements),
	        use(m, op, EMBEDDING_FORWARD_Y, rows * k->out));
}

int bind_embedding_finish(const struct binding *b, const struct op *op)
{
	struct embedding_rows e = embedding_rows_of(b->memory, op);
	int error = 0;
	while (!error && embedding_rows_next(&e))
		error = b->kernels->embedding_finish(b->context, b->stream,
		                                     element_of(b->memory, op, EMBEDDING_FINISH_Y), e.samples, e.tokens,
		                                     kernel_of(b->memory, op)->out, e.positions, e.y);
	return error;
}

int bind_embedding_backward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	const struct kernel *k = kernel_of(m, op);
	const struct model *model = m->plan->model;
	const struct tensor *tokens = &model->tensors[k->weight], *positions = &model->tensors[k->bias];
	int64_t rows = rows_of(m, op);
	if (tokens->cut != CUT_NONE) {
		struct class_slice slice = token_slice_of(m, tokens->rows);
		return b->kernels->embedding_sliced_backward(
		        b->context, b->stream, element_of(m, op, EMBEDDING_BACKWARD_DY), samples_of(m, op), k->tokens,
		        k->out, &slice, positions->rows, use(m, op, EMBEDDING_BACKWARD_IDS, rows),
		        use(m, op, EMBEDDING_BACKWARD_DY, rows * k->out),
		        use(m, op, EMBEDDING_BACKWARD_DTOKEN_TABLE, tokens->elements),
		        adds(op, EMBEDDING_BACKWARD_DTOKEN_TABLE),
		        use(m, op, EMBEDDING_BACKWARD_DPOSITION_TABLE, positions->elements),
		        adds(op, EMBEDDING_BACKWARD_DPOSITION_TABLE));
	}
	return b->kernels->embedding_backward(b->context, b->stream, element_of(m, op, EMBEDDING_BACKWARD_DY),
	                                      samples_of(m, op), k->tokens, k->out, tokens->rows, positions->rows,
	                                      use(m, op, EMBEDDING_BACKWARD_IDS, rows),
	                                      use(m, op, EMBEDDING_BACKWARD_DY, rows * k->out),
	                                      use(m, op, EMBEDDING_BACKWARD_DTOKEN_TABLE, tokens->elements),
	                                      adds(op, EMBEDDING_BACKWARD_DTOKEN_TABLE),
	                                      use(m, op, EMBEDDING_BACKWARD_DPOSITION_TABLE, positions->elements),
	                                      adds(op, EMBEDDING_BACKWARD_DPOSITION_TABLE));
}

int bind_norm_forward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op), width = kernel_of(m, op)->out;
	return b->kernels->norm_forward(b->context, b->stream, element_of(m, op, NORM_FORWARD_X), rows, width,
	                                use(m, op, NORM_FORWARD_X, rows * width),
	                                use(m, op, NORM_FORWARD_WEIGHT, width), use(m, op, NORM_FORWARD_BIAS, width),
	                                use(m, op, NORM_FORWARD_Y, rows * width),
	                                use(m, op, NORM_FORWARD_STATISTICS, 2 * rows));
}

int bind_norm_backward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op), width = kernel_of(m, op)->out;
	return b->kernels->norm_backward(
	        b->context, b->stream, element_of(m, op, NORM_BACKWARD_DY), rows, width,
	        use(m, op, NORM_BACKWARD_DY, rows * width), use(m, op, NORM_BACKWARD_X, rows * width),
	        use(m, op, NORM_BACKWARD_STATISTICS, 2 * rows), use(m, op, NORM_BACKWARD_WEIGHT, width),
	        use(m, op, NORM_BACKWARD_DX, rows * width), adds(op, NORM_BACKWARD_DX),
	        use(m, op, NORM_BACKWARD_DWEIGHT, width), adds(op, NORM_BACKWARD_DWEIGHT),
	        use(m, op, NORM_BACKWARD_DBIAS, width), adds(op, NORM_BACKWARD_DBIAS));
}

int bind_linear_forward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct linear_shape s = linear_shape_of(m, op);
	s.gelu &=
	        op->operand[LINEAR_FORWARD_PRE].buffer >= 0; /* else it is a part of a sum, and GELU comes after that */
	return b->kernels->linear_forward(
	        b->context, b->stream, &s, use(m, op, LINEAR_FORWARD_X, s.rows * s.in),
	        use(m, op, LINEAR_FORWARD_WEIGHT, s.in * s.out), use(m, op, LINEAR_FORWARD_BIAS, s.out),
	        use(m, op, LINEAR_FORWARD_RESIDUAL, s.rows * s.out), use(m, op, LINEAR_FORWARD_Y, s.rows * s.stride),
	        use(m, op, LINEAR_FORWARD_PRE, s.rows * s.out));
}

int bind_linear_finish(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = made_rows(m, op), width = kernel_of(m, op)->out;
	/* The sum's type: bias and residual may be absent. */
	return b->kernels->linear_finish(
	        b->context, b->stream, element_of(m, op, LINEAR_FINISH_SUM), rows, width,
	        use(m, op, LINEAR_FINISH_BIAS, width), use(m, op, LINEAR_FINISH_RESIDUAL, rows * width),
	        use(m, op, LINEAR_FINISH_SUM, rows * width), use(m, op, LINEAR_FINISH_Y, rows * width));
}

int bind_linear_backward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct linear_shape s = linear_shape_of(m, op);
	const struct fusion *f = b->fusion ? &b->fusion[op - m->role->ops] : NULL;
	const void *pre = use(m, op, LINEAR_BACKWARD_PRE, s.rows * s.out), *x_pre = NULL;
	if (f && f->next >= 0) /* what that operation would do to its dy */
		x_pre = use(m, &m->role->ops[f->next], LINEAR_BACKWARD_PRE, s.rows * s.in);
	if (f && f->done) {
		s.gelu = false;
		pre = NULL;
	}
	return b->kernels->linear_backward(
	        b->context, b->stream, &s, use(m, op, LINEAR_BACKWARD_DY, s.rows * s.stride),
	        use(m, op, LINEAR_BACKWARD_X, s.rows * s.in), use(m, op, LINEAR_BACKWARD_WEIGHT, s.in * s.out), pre,
	        x_pre, use(m, op, LINEAR_BACKWARD_DX, s.rows * s.in), use(m, op, LINEAR_BACKWARD_DWEIGHT, s.in * s.out),
	        adds(op, LINEAR_BACKWARD_DWEIGHT), use(m, op, LINEAR_BACKWARD_DBIAS, s.out),
	        adds(op, LINEAR_BACKWARD_DBIAS));
}

int bind_attention_forward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct attention_shape s = attention_shape_of(m, op);
	int64_t rows = rows_of(m, op), width = s.heads * s.head_size;
	return b->kernels->attention_forward(b->context, b->stream, &s,
	                                     use(m, op, ATTENTION_FORWARD_QKV, 3 * rows * width),
	                                     use(m, op, ATTENTION_FORWARD_Y, rows * width),
	                                     use(m, op, ATTENTION_FORWARD_LOG_SUM_EXP, rows * s.heads));
}

int bind_attention_backward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct attention_shape s = attention_shape_of(m, op);
	int64_t rows = rows_of(m, op), width = s.heads * s.head_size;
	return b->kernels->attention_backward(
	        b->context, b->stream, &s, use(m, op, ATTENTION_BACKWARD_DY, rows * width),
	        use(m, op, ATTENTION_BACKWARD_QKV, 3 * rows * width), use(m, op, ATTENTION_BACKWARD_Y, rows * width),
	        use(m, op, ATTENTION_BACKWARD_LOG_SUM_EXP, rows * s.heads),
	        use(m, op, ATTENTION_BACKWARD_DQKV, 3 * rows * width));
}

int bind_classifier(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op), stride = m->plan->model->logits_stride, n;
	const float *scaler = use_all(m, op, CLASSIFIER_SCALER, &n);
	return b->kernels->classifier(b->context, b->stream, element_of(m, op, CLASSIFIER_LOGITS), rows,
	                              kernel_of(m, op)->out, stride, use(m, op, CLASSIFIER_LOGITS, rows * stride),
	                              use(m, op, CLASSIFIER_TARGETS, rows), op->scale, scaler,
	                              use(m, op, CLASSIFIER_LOSS, 1), adds(op, CLASSIFIER_LOSS));
}

int bind_evaluate(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op), stride = m->plan->model->logits_stride;
	const void *logits = use(m, op, EVALUATE_LOGITS, rows * stride);
	const int32_t *targets = use(m, op, EVALUATE_TARGETS, rows);
	m->evaluate_total += m->evaluate_rows;
	if (!m->evaluate_rows)
		return 0;
	return b->kernels->classifier_evaluate(b->context, b->stream, element_of(m, op, EVALUATE_LOGITS),
	                                       m->evaluate_rows, kernel_of(m, op)->out, stride, logits, targets,
	                                       b->loss, b->correct);
}

int bind_classifier_maxima(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op);
	struct class_slice slice = class_slice_of(m, op);
	return b->kernels->classifier_maxima(b->context, b->stream, element_of(m, op, CLASSIFIER_MAXIMA_LOGITS), rows,
	                                     &slice, use(m, op, CLASSIFIER_MAXIMA_LOGITS, rows * slice.stride),
	                                     use(m, op, CLASSIFIER_MAXIMA_MAXIMA, rows));
}

int bind_classifier_sums(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op);
	struct class_slice slice = class_slice_of(m, op);
	return b->kernels->classifier_sums(
	        b->context, b->stream, element_of(m, op, CLASSIFIER_SUMS_LOGITS), rows, &slice,
	        use(m, op, CLASSIFIER_SUMS_LOGITS, rows * slice.stride), use(m, op, CLASSIFIER_SUMS_TARGETS, rows),
	        use(m, op, CLASSIFIER_SUMS_MAXIMA, rows), use(m, op, CLASSIFIER_SUMS_SUMS, 2 * rows));
}

int bind_evaluate_sums(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op);
	struct class_slice slice = class_slice_of(m, op);
	return b->kernels->evaluate_sums(
	        b->context, b->stream, element_of(m, op, EVALUATE_SUMS_LOGITS), rows, &slice,
	        use(m, op, EVALUATE_SUMS_LOGITS, rows * slice.stride), use(m, op, EVALUATE_SUMS_TARGETS, rows),
	        use(m, op, EVALUATE_SUMS_MAXIMA, rows), use(m, op, EVALUATE_SUMS_SUMS, 3 * rows));
}

int bind_classifier_gradient(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op), n;
	struct class_slice slice = class_slice_of(m, op);
	const float *scaler = use_all(m, op, CLASSIFIER_GRADIENT_SCALER, &n);
	return b->kernels->classifier_gradient(
	        b->context, b->stream, element_of(m, op, CLASSIFIER_GRADIENT_LOGITS), rows, &slice,
	        use(m, op, CLASSIFIER_GRADIENT_LOGITS, rows * slice.stride),
	        use(m, op, CLASSIFIER_GRADIENT_TARGETS, rows), use(m, op, CLASSIFIER_GRADIENT_MAXIMA, rows),
	        use(m, op, CLASSIFIER_GRADIENT_SUMS, 2 * rows), op->scale, scaler,
	        use(m, op, CLASSIFIER_GRADIENT_LOSS, 1), adds(op, CLASSIFIER_GRADIENT_LOSS));
}

int bind_evaluate_count(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t rows = rows_of(m, op);
	const float *maxima = use(m, op, EVALUATE_COUNT_MAXIMA, rows);
	const float *sums = use(m, op, EVALUATE_COUNT_SUMS, 3 * rows);
	m->evaluate_total += m->evaluate_rows;
	return m->evaluate_rows ? b->kernels->evaluate_count(b->context, b->stream, m->evaluate_rows, maxima, sums,
	                                                     b->loss, b->correct)
	                        : 0;
}

int bind_batch_norm_statistics(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return b->kernels->batch_norm_statistics(b->context, b->stream, &s,
	                                         use(m, op, BATCH_NORM_STATISTICS_X, s.rows * s.width),
	                                         use(m, op, BATCH_NORM_STATISTICS_LOCAL, 2 * s.width + 1));
}

int bind_batch_norm_merge(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t n, width = kernel_of(m, op)->out;
	const float *parts = use_all(m, op, BATCH_NORM_MERGE_PARTS, &n);
	return b->kernels->batch_norm_merge(b->context, b->stream, n / (2 * width + 1), width, parts,
	                                    use(m, op, BATCH_NORM_MERGE_RUNNING, 2 * width),
	                                    use(m, op, BATCH_NORM_MERGE_STATISTICS, 2 * width + 1));
}

int bind_batch_norm_running(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	int64_t width = kernel_of(m, op)->out;
	return b->kernels->batch_norm_running(b->context, b->stream, width,
	                                      use(m, op, BATCH_NORM_RUNNING_RUNNING, 2 * width),
	                                      use(m, op, BATCH_NORM_RUNNING_STATISTICS, 2 * width + 1));
}

int bind_batch_norm_forward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return b->kernels->batch_norm_forward(
	        b->context, b->stream, &s, use(m, op, BATCH_NORM_FORWARD_X, s.rows * s.width),
	        use(m, op, BATCH_NORM_FORWARD_STATISTICS, 2 * s.width + 1),
	        use(m, op, BATCH_NORM_FORWARD_WEIGHT, s.width), use(m, op, BATCH_NORM_FORWARD_BIAS, s.width),
	        use(m, op, BATCH_NORM_FORWARD_Y, s.rows * s.width));
}

int bind_batch_norm_sums(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return b->kernels->batch_norm_sums(
	        b->context, b->stream, &s, use(m, op, BATCH_NORM_SUMS_DY, s.rows * s.width),
	        use(m, op, BATCH_NORM_SUMS_X, s.rows * s.width),
	        use(m, op, BATCH_NORM_SUMS_STATISTICS, 2 * s.width + 1), use(m, op, BATCH_NORM_SUMS_WEIGHT, s.width),
	        use(m, op, BATCH_NORM_SUMS_BIAS, s.width), use(m, op, BATCH_NORM_SUMS_SUMS, 2 * s.width),
	        use(m, op, BATCH_NORM_SUMS_DWEIGHT, s.width), adds(op, BATCH_NORM_SUMS_DWEIGHT),
	        use(m, op, BATCH_NORM_SUMS_DBIAS, s.width), adds(op, BATCH_NORM_SUMS_DBIAS));
}

int bind_batch_norm_backward(const struct binding *b, const struct op *op)
{
	struct rank_memory *m = b->memory;
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return b->kernels->batch_norm_backward(
	        b->context, b->stream, &s, use(m, op, BATCH_NORM_BACKWARD_DY, s.rows * s.width),
	        use(m, op, BATCH_NORM_BACKWARD_X, s.rows * s.width),
	        use(m, op, BATCH_NORM_BACKWARD_STATISTICS, 2 * s.width + 1),
	        use(m, op, BATCH_NORM_BACKWARD_SUMS, 2 * s.width), use(m, op, BATCH_NORM_BACKWARD_WEIGHT, s.width),
	        use(m, op, BATCH_NORM_BACKWARD_DX, s.rows * s.width));
}
