/* The model's kernels. */
#include <math.h>

#include "kernels/exact.h"
#include "real/rank/bind.h"
#include "real/rank/operand.h"

BOUND(embedding_forward)
{
	const struct kernel *k = kernel_of(m, op);
	const struct model *model = m->plan->model;
	if (model->tensors[k->weight].partition != PARTITION_NONE) {
		struct class_slice slice = token_slice_of(m, model->tensors[k->weight].rows);
		return RUN(embedding_sliced_forward, ELEMENT(EMBEDDING_FORWARD_Y), samples_of(m, op), k->tokens, k->out,
		           &slice, USE(EMBEDDING_FORWARD_IDS), USE(EMBEDDING_FORWARD_TOKEN_TABLE),
		           USE(EMBEDDING_FORWARD_Y));
	}
	const unsigned char *positions = USE(EMBEDDING_FORWARD_POSITION_TABLE);
	if (positions)
		positions += k->first_position * k->out * element_bytes(ELEMENT(EMBEDDING_FORWARD_Y));
	return RUN(embedding_forward, ELEMENT(EMBEDDING_FORWARD_Y), samples_of(m, op), k->tokens, k->out,
	           USE(EMBEDDING_FORWARD_IDS), USE(EMBEDDING_FORWARD_TOKEN_TABLE), positions, USE(EMBEDDING_FORWARD_Y));
}

BOUND(embedding_finish)
{
	struct embedding_rows e = embedding_rows_of(m, op);
	int error = 0;
	while (!error && embedding_rows_next(&e))
		error = RUN(embedding_finish, ELEMENT(EMBEDDING_FINISH_Y), e.samples, e.tokens, kernel_of(m, op)->out,
		            e.positions, e.y);
	return error;
}

BOUND(embedding_backward)
{
	const struct kernel *k = kernel_of(m, op);
	const struct model *model = m->plan->model;
	const struct tensor *tokens = &model->tensors[k->weight];
	int64_t positions = k->bias < 0 ? 0 : model->tensors[k->bias].rows;
	if (tokens->partition != PARTITION_NONE) {
		struct class_slice slice = token_slice_of(m, tokens->rows);
		return RUN(embedding_sliced_backward, ELEMENT(EMBEDDING_BACKWARD_DY), samples_of(m, op), k->tokens,
		           k->out, &slice, positions, k->first_position, USE(EMBEDDING_BACKWARD_IDS),
		           USE(EMBEDDING_BACKWARD_DY), ADD_TO(EMBEDDING_BACKWARD_DTOKEN_TABLE),
		           ADD_TO(EMBEDDING_BACKWARD_DPOSITION_TABLE));
	}
	return RUN(embedding_backward, ELEMENT(EMBEDDING_BACKWARD_DY), samples_of(m, op), k->tokens, k->out,
	           tokens->rows, positions, k->first_position, USE(EMBEDDING_BACKWARD_IDS), USE(EMBEDDING_BACKWARD_DY),
	           ADD_TO(EMBEDDING_BACKWARD_DTOKEN_TABLE), ADD_TO(EMBEDDING_BACKWARD_DPOSITION_TABLE));
}

BOUND(norm_forward)
{
	int64_t rows = rows_of(m, op), width = kernel_of(m, op)->out;
	return RUN(norm_forward, ELEMENT(NORM_FORWARD_X), rows, width, USE(NORM_FORWARD_X), USE(NORM_FORWARD_WEIGHT),
	           USE(NORM_FORWARD_BIAS), USE(NORM_FORWARD_Y), USE(NORM_FORWARD_STATISTICS));
}

BOUND(norm_backward)
{
	int64_t rows = rows_of(m, op), width = kernel_of(m, op)->out;
	return RUN(norm_backward, ELEMENT(NORM_BACKWARD_DY), rows, width, USE(NORM_BACKWARD_DY), USE(NORM_BACKWARD_X),
	           USE(NORM_BACKWARD_STATISTICS), USE(NORM_BACKWARD_WEIGHT), ADD_TO(NORM_BACKWARD_DX),
	           ADD_TO(NORM_BACKWARD_DWEIGHT), ADD_TO(NORM_BACKWARD_DBIAS));
}

BOUND(rms_norm_forward)
{
	const struct kernel *k = kernel_of(m, op);
	return RUN(rms_norm_forward, ELEMENT(RMS_NORM_FORWARD_X), rows_of(m, op), k->out, k->epsilon,
	           USE(RMS_NORM_FORWARD_X), USE(RMS_NORM_FORWARD_WEIGHT), USE(RMS_NORM_FORWARD_Y),
	           USE(RMS_NORM_FORWARD_STATISTICS));
}

BOUND(rms_norm_backward)
{
	int64_t rows = rows_of(m, op), width = kernel_of(m, op)->out;
	return RUN(rms_norm_backward, ELEMENT(RMS_NORM_BACKWARD_DY), rows, width, USE(RMS_NORM_BACKWARD_DY),
	           USE(RMS_NORM_BACKWARD_X), USE(RMS_NORM_BACKWARD_STATISTICS), USE(RMS_NORM_BACKWARD_WEIGHT),
	           ADD_TO(RMS_NORM_BACKWARD_DX), ADD_TO(RMS_NORM_BACKWARD_DWEIGHT));
}

BOUND(swiglu_forward)
{
	int64_t rows = rows_of(m, op), width = kernel_of(m, op)->out;
	return RUN(swiglu_forward, ELEMENT(SWIGLU_FORWARD_X), rows, width, USE(SWIGLU_FORWARD_X),
	           USE(SWIGLU_FORWARD_Y));
}

BOUND(swiglu_backward)
{
	int64_t rows = rows_of(m, op), width = kernel_of(m, op)->out;
	return RUN(swiglu_backward, ELEMENT(SWIGLU_BACKWARD_DY), rows, width, USE(SWIGLU_BACKWARD_DY),
	           USE(SWIGLU_BACKWARD_X), USE(SWIGLU_BACKWARD_DX));
}

BOUND(rotary_forward)
{
	struct rotary_shape s = rotary_shape_of(m, op);
	return RUN(rotary_forward, &s, USE(ROTARY_FORWARD_X), USE(ROTARY_FORWARD_WEIGHT), USE(ROTARY_FORWARD_BIAS),
	           USE(ROTARY_FORWARD_Y));
}

BOUND(rotary_backward)
{
	struct rotary_shape s = rotary_shape_of(m, op);
	return RUN(rotary_backward, &s, USE(ROTARY_BACKWARD_DY), USE(ROTARY_BACKWARD_X), USE(ROTARY_BACKWARD_WEIGHT),
	           USE(ROTARY_BACKWARD_BIAS), USE(ROTARY_BACKWARD_DX), ADD_TO(ROTARY_BACKWARD_DWEIGHT),
	           ADD_TO(ROTARY_BACKWARD_DBIAS));
}

BOUND(linear_forward)
{
	struct linear_shape s = linear_shape_of(m, op);
	if (op->operand[LINEAR_FORWARD_PRE].buffer < 0) /* it is a part of a sum, and the activation comes after that */
		s.activation = ACTIVATION_NONE;
	return RUN(linear_forward, &s, USE(LINEAR_FORWARD_X), USE(LINEAR_FORWARD_WEIGHT), USE(LINEAR_FORWARD_BIAS),
	           USE(LINEAR_FORWARD_RESIDUAL), USE(LINEAR_FORWARD_Y), USE(LINEAR_FORWARD_PRE));
}

BOUND(linear_finish)
{
	int64_t rows = made_rows(m, op), width = kernel_of(m, op)->out;
	/* The sum's type: bias and residual may be absent. */
	return RUN(linear_finish, ELEMENT(LINEAR_FINISH_SUM), activation_of(kernel_of(m, op)), rows, width,
	           USE(LINEAR_FINISH_BIAS), USE(LINEAR_FINISH_RESIDUAL), USE(LINEAR_FINISH_SUM), USE(LINEAR_FINISH_Y));
}

BOUND(linear_backward)
{
	struct linear_shape s = linear_shape_of(m, op);
	const struct fusion *f = b->fusion ? &b->fusion[op - m->role->ops] : NULL;
	const void *pre = USE(LINEAR_BACKWARD_PRE), *x_pre = NULL;
	if (f && f->next >= 0) /* what that operation would do to its dy */
		x_pre = use(m, &m->role->ops[f->next], LINEAR_BACKWARD_PRE);
	if (f && f->done) {
		s.activation = ACTIVATION_NONE;
		pre = NULL;
	}
	return RUN(linear_backward, &s, USE(LINEAR_BACKWARD_DY), USE(LINEAR_BACKWARD_X), USE(LINEAR_BACKWARD_WEIGHT),
	           pre, x_pre, USE(LINEAR_BACKWARD_DX), ADD_TO(LINEAR_BACKWARD_DWEIGHT), ADD_TO(LINEAR_BACKWARD_DBIAS));
}

BOUND(attention_forward)
{
	struct attention_shape s = attention_shape_of(m, op);
	return RUN(attention_forward, &s, USE(ATTENTION_FORWARD_QKV), USE(ATTENTION_FORWARD_Y),
	           USE(ATTENTION_FORWARD_LOG_SUM_EXP));
}

BOUND(attention_backward)
{
	struct attention_shape s = attention_shape_of(m, op);
	return RUN(attention_backward, &s, USE(ATTENTION_BACKWARD_DY), USE(ATTENTION_BACKWARD_QKV),
	           USE(ATTENTION_BACKWARD_Y), USE(ATTENTION_BACKWARD_LOG_SUM_EXP), USE(ATTENTION_BACKWARD_DQKV));
}

BOUND(classifier)
{
	int64_t rows = rows_of(m, op), stride = m->plan->model->logits_stride, n;
	const float *scaler = use_all(m, op, CLASSIFIER_SCALER, &n);
	bool exact = m->plan->settings.reproducible;
	float *sum = USE(CLASSIFIER_LOSS), *loss = exact ? b->scalar : sum;
	int error =
	        RUN(classifier, ELEMENT(CLASSIFIER_LOGITS), rows, kernel_of(m, op)->out, stride, USE(CLASSIFIER_LOGITS),
	            USE(CLASSIFIER_TARGETS), op->scale, scaler, loss, !exact && adds(op, CLASSIFIER_LOSS));
	if (exact)
		exact_add(exact_begin(sum, adds(op, CLASSIFIER_LOSS)), (double)*loss);
	return error;
}

/* Whole numbers of such steps add up in a double without rounding, so that ranks may cut validation data as they like.
 */
#define EVALUATE_STEPS (1 << 20)

BOUND(evaluate)
{
	int64_t stride = m->plan->model->logits_stride;
	const void *logits = USE(EVALUATE_LOGITS);
	const int32_t *targets = USE(EVALUATE_TARGETS);
	m->evaluate_total += m->evaluate_rows;
	if (!m->evaluate_rows)
		return 0;
	bool exact = m->plan->settings.reproducible;
	double before = exact ? *b->loss : 0;
	if (exact)
		*b->loss = 0;
	int error = RUN(classifier_evaluate, ELEMENT(EVALUATE_LOGITS), m->evaluate_rows, kernel_of(m, op)->out, stride,
	                logits, targets, b->loss, b->correct);
	if (exact)
		*b->loss = before + round(*b->loss * EVALUATE_STEPS) / EVALUATE_STEPS;
	return error;
}

BOUND(classifier_maxima)
{
	int64_t rows = rows_of(m, op);
	struct class_slice slice = class_slice_of(m, op);
	return RUN(classifier_maxima, ELEMENT(CLASSIFIER_MAXIMA_LOGITS), rows, &slice, USE(CLASSIFIER_MAXIMA_LOGITS),
	           USE(CLASSIFIER_MAXIMA_MAXIMA));
}

BOUND(classifier_sums)
{
	int64_t rows = rows_of(m, op);
	struct class_slice slice = class_slice_of(m, op);
	return RUN(classifier_sums, ELEMENT(CLASSIFIER_SUMS_LOGITS), rows, &slice, USE(CLASSIFIER_SUMS_LOGITS),
	           USE(CLASSIFIER_SUMS_TARGETS), USE(CLASSIFIER_SUMS_MAXIMA), USE(CLASSIFIER_SUMS_SUMS));
}

BOUND(evaluate_sums)
{
	int64_t rows = rows_of(m, op);
	struct class_slice slice = class_slice_of(m, op);
	return RUN(evaluate_sums, ELEMENT(EVALUATE_SUMS_LOGITS), rows, &slice, USE(EVALUATE_SUMS_LOGITS),
	           USE(EVALUATE_SUMS_TARGETS), USE(EVALUATE_SUMS_MAXIMA), USE(EVALUATE_SUMS_SUMS));
}

BOUND(classifier_gradient)
{
	int64_t rows = rows_of(m, op), n;
	struct class_slice slice = class_slice_of(m, op);
	const float *scaler = use_all(m, op, CLASSIFIER_GRADIENT_SCALER, &n);
	return RUN(classifier_gradient, ELEMENT(CLASSIFIER_GRADIENT_LOGITS), rows, &slice,
	           USE(CLASSIFIER_GRADIENT_LOGITS), USE(CLASSIFIER_GRADIENT_TARGETS), USE(CLASSIFIER_GRADIENT_MAXIMA),
	           USE(CLASSIFIER_GRADIENT_SUMS), op->scale, scaler, ADD_TO(CLASSIFIER_GRADIENT_LOSS));
}

BOUND(evaluate_count)
{
	const float *maxima = USE(EVALUATE_COUNT_MAXIMA);
	const float *sums = USE(EVALUATE_COUNT_SUMS);
	m->evaluate_total += m->evaluate_rows;
	return m->evaluate_rows ? RUN(evaluate_count, m->evaluate_rows, maxima, sums, b->loss, b->correct) : 0;
}

BOUND(batch_norm_statistics)
{
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return RUN(batch_norm_statistics, &s, USE(BATCH_NORM_STATISTICS_X), USE(BATCH_NORM_STATISTICS_LOCAL));
}

BOUND(batch_norm_merge)
{
	int64_t n, width = kernel_of(m, op)->out;
	const float *parts = use_all(m, op, BATCH_NORM_MERGE_PARTS, &n);
	return RUN(batch_norm_merge, n / (2 * width + 1), width, parts, USE(BATCH_NORM_MERGE_RUNNING),
	           USE(BATCH_NORM_MERGE_STATISTICS));
}

BOUND(batch_norm_running)
{
	int64_t width = kernel_of(m, op)->out;
	return RUN(batch_norm_running, width, USE(BATCH_NORM_RUNNING_RUNNING), USE(BATCH_NORM_RUNNING_STATISTICS));
}

BOUND(batch_norm_forward)
{
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return RUN(batch_norm_forward, &s, USE(BATCH_NORM_FORWARD_X), USE(BATCH_NORM_FORWARD_STATISTICS),
	           USE(BATCH_NORM_FORWARD_WEIGHT), USE(BATCH_NORM_FORWARD_BIAS), USE(BATCH_NORM_FORWARD_Y));
}

BOUND(batch_norm_sums)
{
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return RUN(batch_norm_sums, &s, USE(BATCH_NORM_SUMS_DY), USE(BATCH_NORM_SUMS_X),
	           USE(BATCH_NORM_SUMS_STATISTICS), USE(BATCH_NORM_SUMS_WEIGHT), USE(BATCH_NORM_SUMS_BIAS),
	           USE(BATCH_NORM_SUMS_SUMS), ADD_TO(BATCH_NORM_SUMS_DWEIGHT), ADD_TO(BATCH_NORM_SUMS_DBIAS));
}

BOUND(batch_norm_backward)
{
	struct batch_norm_shape s = batch_norm_shape_of(m, op);
	return RUN(batch_norm_backward, &s, USE(BATCH_NORM_BACKWARD_DY), USE(BATCH_NORM_BACKWARD_X),
	           USE(BATCH_NORM_BACKWARD_STATISTICS), USE(BATCH_NORM_BACKWARD_SUMS), USE(BATCH_NORM_BACKWARD_WEIGHT),
	           USE(BATCH_NORM_BACKWARD_DX));
}

const struct binding_row bind_model[OP_KIND_COUNT] = {
        BIND(EMBEDDING_FORWARD, embedding_forward, embedding_forward, embedding_sliced_forward),
        BIND(EMBEDDING_FINISH, embedding_finish, embedding_finish, embedding_finish),
        BIND(EMBEDDING_BACKWARD, embedding_backward, embedding_backward, embedding_sliced_backward),
        BIND(NORM_FORWARD, norm_forward, norm_forward, norm_forward),
        BIND(NORM_BACKWARD, norm_backward, norm_backward, norm_backward),
        BIND(RMS_NORM_FORWARD, rms_norm_forward, rms_norm_forward, rms_norm_forward),
        BIND(RMS_NORM_BACKWARD, rms_norm_backward, rms_norm_backward, rms_norm_backward),
        BIND(SWIGLU_FORWARD, swiglu_forward, swiglu_forward, swiglu_forward),
        BIND(SWIGLU_BACKWARD, swiglu_backward, swiglu_backward, swiglu_backward),
        BIND(ROTARY_FORWARD, rotary_forward, rotary_forward, rotary_forward),
        BIND(ROTARY_BACKWARD, rotary_backward, rotary_backward, rotary_backward),
        BIND(LINEAR_FORWARD, linear_forward, linear_forward, linear_forward),
        BIND(LINEAR_FINISH, linear_finish, linear_finish, linear_finish),
        BIND(LINEAR_BACKWARD, linear_backward, linear_backward, linear_backward),
        BIND(ATTENTION_FORWARD, attention_forward, attention_forward, attention_forward),
        BIND(ATTENTION_BACKWARD, attention_backward, attention_backward, attention_backward),
        BIND(BATCH_NORM_STATISTICS, batch_norm_statistics, batch_norm_statistics, batch_norm_statistics),
        BIND(BATCH_NORM_MERGE, batch_norm_merge, batch_norm_merge, batch_norm_merge),
        BIND(BATCH_NORM_RUNNING, batch_norm_running, batch_norm_running, batch_norm_running),
        BIND(BATCH_NORM_FORWARD, batch_norm_forward, batch_norm_forward, batch_norm_forward),
        BIND(BATCH_NORM_SUMS, batch_norm_sums, batch_norm_sums, batch_norm_sums),
        BIND(BATCH_NORM_BACKWARD, batch_norm_backward, batch_norm_backward, batch_norm_backward),
        BIND(CLASSIFIER, classifier, classifier, classifier),
        BIND(EVALUATE, evaluate, classifier_evaluate, classifier_evaluate),
        BIND(CLASSIFIER_MAXIMA, classifier_maxima, classifier_maxima, classifier_maxima),
        BIND(CLASSIFIER_SUMS, classifier_sums, classifier_sums, classifier_sums),
        BIND(CLASSIFIER_GRADIENT, classifier_gradient, classifier_gradient, classifier_gradient),
        BIND(EVALUATE_SUMS, evaluate_sums, evaluate_sums, evaluate_sums),
        BIND(EVALUATE_COUNT, evaluate_count, evaluate_count, evaluate_count),
};
