/* The model's kernels as operations. A kernel's parameters, and places for their gradients, are the strategy's
 * business.
 */
#include "strategy/model/slice.h"
#include "strategy/step/step.h"

void step_forward_kernel(struct step *s, int index, enum pass pass)
{
	static const enum op_kind kinds[] = {
	        [KERNEL_EMBEDDING] = OP_EMBEDDING_FORWARD,   [KERNEL_NORM] = OP_NORM_FORWARD,
	        [KERNEL_LINEAR] = OP_LINEAR_FORWARD,         [KERNEL_ATTENTION] = OP_ATTENTION_FORWARD,
	        [KERNEL_SCORES] = OP_SCORES_FORWARD,         [KERNEL_SOFTMAX] = OP_SOFTMAX_FORWARD,
	        [KERNEL_CONTEXT] = OP_CONTEXT_FORWARD,       [KERNEL_DROPOUT] = OP_DROPOUT_FORWARD,
	        [KERNEL_BATCH_NORM] = OP_BATCH_NORM_FORWARD, [KERNEL_ABSTRACT] = OP_ABSTRACT_FORWARD};
	const struct kernel *k = &s->model->kernels[index];
	if (k->kind == KERNEL_CLASSIFIER) {
		step_forward_loss(s);
		return;
	}
	if (k->y == s->model->logits && s->hooks.alloc_outputs)
		s->hooks.alloc_outputs(s);
	bool statistics = k->kind == KERNEL_BATCH_NORM; /* kept when the kernel is carried out once more */
	s->recomputing = pass == PASS_RECOMPUTE;
	step_alloc_made(s, k->y);
	if (!statistics || !s->recomputing)
		step_alloc_made(s, k->saved);
	if (statistics && !s->recomputing)
		batch_norm_statistics_of(s, index);
	struct sliced_operands sliced = sliced_begin_forward(s, index, pass);
	struct op *op = step_kernel_op(s, kinds[k->kind], index, pass);
	struct region *o = op->operand;
	bool sums = kernel_sums(s->model, k);
	o[0] = sliced.x;
	switch (k->kind) {
	case KERNEL_EMBEDDING:
		o[1] = step_weight(s, k->weight);
		o[2] = sums ? region_none() : step_weight(s, k->bias);
		o[3] = sliced.y;
		break;
	case KERNEL_NORM:
		o[1] = step_weight(s, k->weight);
		o[2] = step_weight(s, k->bias);
		o[3] = s->value[k->y].at;
		o[4] = step_value(s, k->saved);
		break;
	case KERNEL_LINEAR:
		o[1] = step_weight(s, k->weight);
		if (sums) {
			o[4] = sliced.y;
			break;
		}
		o[2] = step_weight(s, k->bias);
		o[3] = step_value(s, k->residual);
		o[4] = s->value[k->y].at;
		o[5] = step_value(s, k->saved);
		break;
	case KERNEL_ATTENTION:
		o[1] = s->value[k->y].at;
		o[2] = s->value[k->saved].at;
		break;
	case KERNEL_SCORES:
	case KERNEL_SOFTMAX:
		o[1] = s->value[k->y].at;
		break;
	case KERNEL_CONTEXT:
		o[1] = s->value[k->second].at;
		o[2] = s->value[k->y].at;
		break;
	case KERNEL_DROPOUT:
		o[1] = step_value(s, k->residual);
		o[2] = s->value[k->y].at;
		o[3] = s->value[k->saved].at;
		op->scale = s->evaluating ? 1 : 1 / (1 - k->dropout);
		break;
	case KERNEL_BATCH_NORM:
		o[1] = s->value[k->saved].at;
		o[2] = step_weight(s, k->weight);
		o[3] = step_weight(s, k->bias);
		o[4] = s->value[k->y].at;
		break;
	case KERNEL_ABSTRACT:
		o[1] = step_weight(s, k->weight);
		o[2] = s->value[k->y].at;
		break;
	case KERNEL_CLASSIFIER:
		break;
	}
	sliced_finish_forward(s, index, pass, &sliced);
	step_value_used(s, k->x);
	step_value_used(s, k->residual);
	step_value_used(s, k->second);
	if (!statistics || !s->recomputing)
		step_drop_unread(s, k->saved);
	step_drop_unread(s, k->y);
	s->recomputing = false;
}

/* Where the kernel writes a tensor's gradient, and whether it adds to what is there. */
static struct region gradient_place(struct step *s, struct op *op, int operand, int tensor)
{
	if (tensor < 0)
		return region_none();
	if (s->tensor[tensor].written)
		op->accumulate |= 1u << operand;
	s->tensor[tensor].written = true;
	return s->tensor[tensor].gradient;
}

/* A batch norm's sums, which its backward operation reads. */
static struct region norm_sums(struct step *s, int index)
{
	const struct kernel *k = &s->model->kernels[index];
	if (k->kind != KERNEL_BATCH_NORM)
		return region_none();
	struct op op = {.accumulate = 0};
	struct region dweight = gradient_place(s, &op, 6, k->weight), dbias = gradient_place(s, &op, 7, k->bias);
	return region_of(batch_norm_sums_of(s, index, dweight, dbias, op.accumulate), 0, 2 * k->out);
}

void step_backward_kernel(struct step *s, int index)
{
	static const enum op_kind kinds[] = {
	        [KERNEL_EMBEDDING] = OP_EMBEDDING_BACKWARD,   [KERNEL_NORM] = OP_NORM_BACKWARD,
	        [KERNEL_LINEAR] = OP_LINEAR_BACKWARD,         [KERNEL_ATTENTION] = OP_ATTENTION_BACKWARD,
	        [KERNEL_SCORES] = OP_SCORES_BACKWARD,         [KERNEL_SOFTMAX] = OP_SOFTMAX_BACKWARD,
	        [KERNEL_CONTEXT] = OP_CONTEXT_BACKWARD,       [KERNEL_DROPOUT] = OP_DROPOUT_BACKWARD,
	        [KERNEL_BATCH_NORM] = OP_BATCH_NORM_BACKWARD, [KERNEL_ABSTRACT] = OP_ABSTRACT_BACKWARD};
	const struct kernel *k = &s->model->kernels[index];
	int tensors[2] = {k->weight, k->bias};
	if (k->kind == KERNEL_CLASSIFIER)
		return;
	for (int i = 0; i < 2; i++)
		if (tensors[i] >= 0)
			s->hooks.gradient_needed(s, tensors[i]);
	bool dx_adds = k->needs_dx && s->value[k->x].gradient.buffer >= 0;
	struct region dx = !k->needs_dx ? region_none()
	                   : dx_adds    ? s->value[k->x].gradient
	                                : step_alloc_gradient(s, k->x);
	bool second_adds = k->second >= 0 && s->value[k->second].gradient.buffer >= 0;
	struct region d_second = k->second < 0 ? region_none()
	                         : second_adds ? s->value[k->second].gradient
	                                       : step_alloc_gradient(s, k->second);
	struct region sums = norm_sums(s, index);
	struct sliced_operands sliced = sliced_begin_backward(s, index, dx);
	struct op *op = step_kernel_op(s, kinds[k->kind], index, PASS_BACKWARD);
	struct region *o = op->operand;
	o[0] = sliced.dy;
	o[1] = sliced.x;
	switch (k->kind) {
	case KERNEL_EMBEDDING:
		o[2] = gradient_place(s, op, 2, k->weight);
		o[3] = gradient_place(s, op, 3, k->bias);
		break;
	case KERNEL_NORM:
		o[2] = step_value(s, k->saved);
		o[3] = step_weight(s, k->weight);
		o[4] = dx;
		op->accumulate |= dx_adds ? 1u << 4 : 0;
		o[5] = gradient_place(s, op, 5, k->weight);
		o[6] = gradient_place(s, op, 6, k->bias);
		break;
	case KERNEL_LINEAR:
		o[2] = step_weight(s, k->weight);
		o[3] = step_value(s, k->saved);
		o[4] = sliced.dx;
		o[5] = gradient_place(s, op, 5, k->weight);
		o[6] = gradient_place(s, op, 6, k->bias);
		break;
	case KERNEL_ATTENTION:
		o[2] = s->value[k->y].at;
		o[3] = s->value[k->saved].at;
		o[4] = dx;
		break;
	case KERNEL_SCORES:
		o[2] = dx;
		op->accumulate |= dx_adds ? 1u << 2 : 0;
		break;
	case KERNEL_SOFTMAX:
		o[1] = s->value[k->y].at;
		o[2] = dx;
		break;
	case KERNEL_CONTEXT:
		o[2] = s->value[k->second].at;
		o[3] = dx;
		op->accumulate |= second_adds ? 1u << 4 : 0;
		o[4] = d_second;
		break;
	case KERNEL_DROPOUT:
		o[1] = s->value[k->saved].at;
		o[2] = dx;
		op->scale = 1 / (1 - k->dropout);
		break;
	case KERNEL_BATCH_NORM:
		o[2] = s->value[k->saved].at;
		o[3] = sums;
		o[4] = step_weight(s, k->weight);
		o[5] = dx;
		break;
	case KERNEL_ABSTRACT:
		o[2] = step_weight(s, k->weight);
		o[3] = dx;
		o[4] = gradient_place(s, op, 4, k->weight);
		break;
	case KERNEL_CLASSIFIER:
		break;
	}
	if (sums.buffer >= 0)
		build_free(s->b, sums.buffer);
	sliced_finish_backward(s, index, &sliced);
	/* The gradient of the output: handed on along the residual connection, or done with. */
	if (k->residual >= 0)
		step_pass_gradient(s, k->y, k->residual);
	else
		step_free_gradient(s, k->y);
	if (kernel_backward_reads_x(k))
		step_value_used(s, k->x);
	if (kernel_backward_reads_y(k))
		step_value_used(s, k->y);
	step_value_used(s, k->saved);
	step_value_used(s, k->second);
	for (int i = 0; i < 2; i++)
		if (tensors[i] >= 0 && --s->tensor[tensors[i]].uses_left == 0)
			s->hooks.gradient_ready(s, tensors[i]);
}
