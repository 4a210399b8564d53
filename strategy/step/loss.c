/* The last kernel of the forward pass: the loss, and in place of the logits their gradient; or, evaluating, what the
 * loss and the accuracy are counted from. */
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

static struct op *loss_op(struct step *s, enum op_kind kind)
{
	const struct model *m = s->model;
	struct op *op = step_kernel_op(s, kind, m->kernel_count - 1, PASS_FORWARD);
	build_operand(op, PART_X, s->value[m->logits].data.at, false);
	build_operand(op, PART_TARGET, s->value[m->target].data.at, false);
	build_operand(op, PART_MAXIMA, step_value(s, m->maxima), false);
	build_operand(op, PART_CLASS_SUMS, step_value(s, m->sums), false);
	if (!op_makes_loss(kind))
		return op;
	build_operand(op, PART_LOSS, region_whole(s->b, s->state.loss), s->micro > 0);
	if (s->state.scaler >= 0)
		build_operand(op, PART_SCALER, region_whole(s->b, s->state.scaler), false);
	op->scale = 1.0 / ((double)s->settings->batch * (double)m->tokens);
	return op;
}

struct op *step_classifier(struct step *s, bool all_ranks)
{
	struct op *op = loss_op(s, s->evaluating ? OP_EVALUATE : OP_CLASSIFIER);
	op->all_ranks = all_ranks;
	return op;
}

/* The loss of logits that no rank has whole. */
static void sliced_classifier(struct step *s)
{
	const struct model *m = s->model;
	step_alloc_value(s, m->maxima);
	step_alloc_value(s, m->sums);
	loss_op(s, OP_CLASSIFIER_MAXIMA);
	sliced_all_reduce(s, OP_ALL_REDUCE_MAXIMUM, PASS_FORWARD, s->value[m->maxima].data.at);
	loss_op(s, s->evaluating ? OP_EVALUATE_SUMS : OP_CLASSIFIER_SUMS);
	sliced_all_reduce(s, OP_ALL_REDUCE, PASS_FORWARD, s->value[m->sums].data.at);
	loss_op(s, s->evaluating ? OP_EVALUATE_COUNT : OP_CLASSIFIER_GRADIENT);
	step_free_value(s, m->maxima);
	step_free_value(s, m->sums);
}

/* The buffer of the logits holds their gradient from here on. */
static void turn_into_gradient(struct step *s, int logits)
{
	struct value_state *v = &s->value[logits];
	v->gradient = v->data;
	v->data = not_held();
}

void step_forward_loss(struct step *s)
{
	const struct model *m = s->model;
	struct unfused_loss beside = unfused_loss_begin(s);
	if (s->hooks.loss)
		s->hooks.loss(s);
	else if (m->maxima >= 0)
		sliced_classifier(s);
	else
		step_classifier(s, false);
	unfused_loss_end(s, &beside);
	step_value_used(s, m->target);
	if (s->evaluating)
		step_value_used(s, m->logits);
	else
		turn_into_gradient(s, m->logits);
}
