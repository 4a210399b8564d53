/* Operations of the model that are more than one call of a kernel with their operands. */
#include <math.h>

#include "kernels/exact.h"
#include "real/rank/bind.h"

/* The positions come later, with `finish`. */
BOUND(embedding_sliced_forward)
{
	const struct class_slice slice = class_slice_of(m, op);
	const struct kernel *k = kernel_of(m, op);
	return RUN(embedding_sliced_forward, element_of(m, op, EMBEDDING_FORWARD_Y), samples_of(m, op), k->tokens,
	           k->out, &slice, o->EMBEDDING_FORWARD.ids, o->EMBEDDING_FORWARD.token_table, o->EMBEDDING_FORWARD.y);
}

BOUND(embedding_sliced_backward)
{
	const struct class_slice slice = class_slice_of(m, op);
	const struct operands_EMBEDDING_BACKWARD *all = &o->EMBEDDING_BACKWARD;
	const struct kernel *k = kernel_of(m, op);
	return RUN(embedding_sliced_backward, element_of(m, op, EMBEDDING_BACKWARD_DY), samples_of(m, op), k->tokens,
	           k->out, &slice, context_of(m, op), k->first_position, all->ids, all->dy, all->dtoken_table,
	           adds(op, EMBEDDING_BACKWARD_DTOKEN_TABLE), all->dposition_table,
	           adds(op, EMBEDDING_BACKWARD_DPOSITION_TABLE));
}

BOUND(embedding_finish)
{
	struct embedding_rows e = embedding_rows_of(m, op, o);
	int error = 0;
	while (!error && embedding_rows_next(&e))
		error = RUN(embedding_finish, element_of(m, op, EMBEDDING_FINISH_Y), e.samples, e.tokens,
		            kernel_of(m, op)->out, e.positions, e.y);
	return error;
}

BOUND(linear_backward)
{
	struct linear_shape s = linear_shape_of(m, op);
	const struct fusion *f = b->fusion ? &b->fusion[op - m->role->ops] : NULL;
	const void *pre = o->LINEAR_BACKWARD.pre, *x_pre = NULL;
	if (f && f->next >= 0) /* what that operation would do to its dy */
		x_pre = operands_of(m, &m->role->ops[f->next]).LINEAR_BACKWARD.pre;
	if (f && f->done) {
		s.activation = ACTIVATION_NONE;
		pre = NULL;
	}
	return RUN(linear_backward, &s, o->LINEAR_BACKWARD.dy, o->LINEAR_BACKWARD.x, o->LINEAR_BACKWARD.weight, pre,
	           x_pre, o->LINEAR_BACKWARD.dx, o->LINEAR_BACKWARD.dweight, adds(op, LINEAR_BACKWARD_DWEIGHT),
	           o->LINEAR_BACKWARD.dbias, adds(op, LINEAR_BACKWARD_DBIAS));
}

BOUND(classifier)
{
	bool exact = m->plan->settings.reproducible;
	float *sum = o->CLASSIFIER.loss, *loss = exact ? b->scalar : sum;
	int error = RUN(classifier, element_of(m, op, CLASSIFIER_LOGITS), rows_of(m, op), kernel_of(m, op)->out,
	                m->plan->model->logits_stride, o->CLASSIFIER.logits, o->CLASSIFIER.targets, op->scale,
	                o->CLASSIFIER.scaler, loss, !exact && adds(op, CLASSIFIER_LOSS));
	if (exact)
		exact_add(exact_begin(sum, adds(op, CLASSIFIER_LOSS)), (double)*loss);
	return error;
}

/* Whole numbers of such steps add up in a double without rounding, so that ranks may cut validation data as they like.
 */
#define EVALUATE_STEPS (1 << 20)

BOUND(evaluate)
{
	m->evaluate_total += m->evaluate_rows;
	if (!m->evaluate_rows)
		return 0;
	bool exact = m->plan->settings.reproducible;
	double before = exact ? *b->loss : 0;
	if (exact)
		*b->loss = 0;
	int error =
	        RUN(classifier_evaluate, element_of(m, op, EVALUATE_LOGITS), m->evaluate_rows, kernel_of(m, op)->out,
	            m->plan->model->logits_stride, o->EVALUATE.logits, o->EVALUATE.targets, b->loss, b->correct);
	if (exact)
		*b->loss = before + round(*b->loss * EVALUATE_STEPS) / EVALUATE_STEPS;
	return error;
}

BOUND(evaluate_count)
{
	(void)op;
	m->evaluate_total += m->evaluate_rows;
	return m->evaluate_rows ? RUN(evaluate_count, m->evaluate_rows, o->EVALUATE_COUNT.maxima,
	                              o->EVALUATE_COUNT.sums, b->loss, b->correct)
	                        : 0;
}

const struct binding_row bind_model[OP_KIND_COUNT] = {
        BIND(EMBEDDING_FINISH, embedding_finish, embedding_finish),
        BIND(LINEAR_BACKWARD, linear_backward, linear_backward),
        BIND(CLASSIFIER, classifier, classifier),
        BIND(EVALUATE, evaluate, classifier_evaluate),
        BIND(EVALUATE_COUNT, evaluate_count, evaluate_count),
};

const struct binding_row bind_sliced[OP_KIND_COUNT] = {
        BIND(EMBEDDING_FORWARD, embedding_sliced_forward, embedding_sliced_forward),
        BIND(EMBEDDING_BACKWARD, embedding_sliced_backward, embedding_sliced_backward),
};
