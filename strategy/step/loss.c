/* The last kernel of the forward pass: the loss, and in place of the logits their gradient; or, evaluating, what the
 * loss and the accuracy are counted from. */
#include "strategy/step/step.h"

static void put_loss(struct step *s, struct op *op, int loss, int scaler)
{
	op->operand[loss] = region_whole(s->b, s->state.loss);
	op->accumulate = s->micro ? 1u << loss : 0;
	op->operand[scaler] = s->state.scaler >= 0 ? region_whole(s->b, s->state.scaler) : region_none();
	op->scale = 1.0 / ((double)s->settings->batch * (double)s->model->tokens);
}

struct op *step_classifier(struct step *s, bool wide)
{
	const struct model *m = s->model;
	int index = m->kernel_count - 1;
	struct op *op = step_kernel_op(s, s->evaluating ? OP_EVALUATE : OP_CLASSIFIER, index, PASS_FORWARD);
	op->operand[CLASSIFIER_LOGITS] = s->value[m->logits].at;
	op->operand[CLASSIFIER_TARGETS] = s->value[m->target].at;
	op->wide = wide;
	if (!s->evaluating)
		put_loss(s, op, CLASSIFIER_LOSS, CLASSIFIER_SCALER);
	return op;
}

/* ---- logits that no rank has whole ---- */

static struct region largest_logits(struct step *s, int index, struct region logits)
{
	step_alloc_value(s, s->model->maxima);
	step_alloc_value(s, s->model->sums);
	struct region maxima = s->value[s->model->maxima].at;
	struct op *op = step_kernel_op(s, OP_CLASSIFIER_MAXIMA, index, PASS_FORWARD);
	op->operand[CLASSIFIER_MAXIMA_LOGITS] = logits;
	op->operand[CLASSIFIER_MAXIMA_MAXIMA] = maxima;
	sliced_all_reduce(s, OP_ALL_REDUCE_MAXIMUM, PASS_FORWARD, maxima);
	return maxima;
}

static void sliced_classifier(struct step *s)
{
	const struct model *m = s->model;
	int index = m->kernel_count - 1;
	struct region logits = s->value[m->logits].at, targets = s->value[m->target].at;
	struct region maxima = largest_logits(s, index, logits), sums = s->value[m->sums].at;

	struct op *op = step_kernel_op(s, s->evaluating ? OP_EVALUATE_SUMS : OP_CLASSIFIER_SUMS, index, PASS_FORWARD);
	op->operand[CLASSIFIER_SUMS_LOGITS] = logits;
	op->operand[CLASSIFIER_SUMS_TARGETS] = targets;
	op->operand[CLASSIFIER_SUMS_MAXIMA] = maxima;
	op->operand[CLASSIFIER_SUMS_SUMS] = sums;
	sliced_all_reduce(s, OP_ALL_REDUCE, PASS_FORWARD, sums);

	op = step_kernel_op(s, s->evaluating ? OP_EVALUATE_COUNT : OP_CLASSIFIER_GRADIENT, index, PASS_FORWARD);
	if (s->evaluating) {
		op->operand[EVALUATE_COUNT_MAXIMA] = maxima;
		op->operand[EVALUATE_COUNT_SUMS] = sums;
	} else {
		op->operand[CLASSIFIER_GRADIENT_LOGITS] = logits;
		op->operand[CLASSIFIER_GRADIENT_TARGETS] = targets;
		op->operand[CLASSIFIER_GRADIENT_MAXIMA] = maxima;
		op->operand[CLASSIFIER_GRADIENT_SUMS] = sums;
		put_loss(s, op, CLASSIFIER_GRADIENT_LOSS, CLASSIFIER_GRADIENT_SCALER);
	}
	step_free_value(s, m->maxima);
	step_free_value(s, m->sums);
}

/* ---- */

/* What were logits are their gradient now. */
static void turn_into_gradient(struct step *s, int logits)
{
	struct value_state *v = &s->value[logits];
	v->gradient = v->at;
	v->gradient_owned = v->owned;
	v->at = region_none();
	v->owned = false;
}

void step_forward_loss(struct step *s)
{
	const struct model *m = s->model;
	if (s->hooks.loss)
		s->hooks.loss(s);
	else if (m->maxima >= 0)
		sliced_classifier(s);
	else
		step_classifier(s, false);
	step_value_used(s, m->target);
	if (s->evaluating)
		step_value_used(s, m->logits);
	else
		turn_into_gradient(s, m->logits);
}
