/* The model's kernels as operations. A kernel's parameters, and places for their gradients, are the strategy's
 * business.
 */
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

/* The kernel writes a tensor's gradient there, or adds to it. */
void step_tensor_gradient(struct step *s, struct op *op, enum part part, int tensor)
{
	build_operand(op, part, s->tensor[tensor].gradient, s->tensor[tensor].written);
	s->tensor[tensor].written = true;
}

/* Gradients of values. A backward kernel writes them, or adds to what another reader has left. */
struct value_gradients {
	struct region second, sums;
	bool x_adds, second_adds;
};

static struct region part_of(const struct step *s, const struct kernel *k, enum part part,
                             const struct sliced_operands *at, const struct value_gradients *d)
{
	switch (part) {
	case PART_X:
		return at->x;
	case PART_Y:
		return at->y;
	case PART_SAVED:
		return s->value[k->saved].data.at;
	case PART_RESIDUAL:
		return s->value[k->residual].data.at;
	case PART_SECOND:
		return s->value[k->second].data.at;
	case PART_WEIGHT:
		return step_weight(s, k->weight);
	case PART_BIAS:
		return step_weight(s, k->bias);
	case PART_DY:
	case PART_INNER:
		return at->dy;
	case PART_DX:
		return at->dx;
	case PART_DSECOND:
		return d->second;
	case PART_SUMS:
		return d->sums;
	default:
		return region_none();
	}
}

/* Sets the operands that the table of operations has for this kind. */
static void set_operands(struct step *s, struct op *op, const struct sliced_operands *at,
                         const struct value_gradients *d)
{
	const struct kernel *k = &s->model->kernels[op->kernel];
	struct op_sizes sizes = op_sizes_of(s->plan, op);
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		enum part part = op_part(op->kind, i);
		bool adds = part == PART_DX ? d->x_adds : part == PART_DSECOND && d->second_adds;
		if (operand_presence(op->kind, i, &sizes) == PRESENT_NOT)
			continue;
		if (part == PART_DWEIGHT || part == PART_DBIAS)
			step_tensor_gradient(s, op, part, part == PART_DWEIGHT ? k->weight : k->bias);
		else
			build_operand(op, part, part_of(s, k, part, at, d), adds);
	}
}

void step_forward_kernel(struct step *s, int index, enum pass pass)
{
	const struct kernel *k = &s->model->kernels[index];
	if (k->kind == KERNEL_CLASSIFIER) {
		step_forward_loss(s);
		return;
	}
	if (k->y == s->model->logits && s->hooks.alloc_outputs)
		s->hooks.alloc_outputs(s);
	bool statistics = k->kind == KERNEL_BATCH_NORM; /* they are kept when the kernel is recomputed */
	s->recomputing = pass == PASS_RECOMPUTE;
	step_alloc_made(s, k->y);
	if (!statistics || !s->recomputing)
		step_alloc_made(s, k->saved);
	if (statistics && !s->recomputing)
		batch_norm_statistics_of(s, index);
	struct sliced_operands sliced = sliced_begin_forward(s, index, pass);
	struct fp8_copies copies = fp8_begin(s, index, pass, &sliced);
	struct op *op = step_kernel_op(s, op_of_kernel(k->kind, pass), index, pass);
	set_operands(s, op, &sliced, &(struct value_gradients){.x_adds = false});
	if (op_has_scale(op->kind))
		op->scale = s->evaluating ? 1 : 1 / (1 - k->dropout);
	fp8_end(s, &copies);
	sliced_finish_forward(s, index, pass, &sliced);
	unfused_forward(s, index, pass);
	step_values_used(s, k, pass);
	if (!statistics || !s->recomputing)
		step_drop_unread(s, k->saved);
	step_drop_unread(s, k->y);
	s->recomputing = false;
}

/* Allocates the gradient of a value, unless another reader has written to it already. */
static struct region gradient_of(struct step *s, int value, bool *adds)
{
	*adds = s->value[value].gradient.at.buffer >= 0;
	return *adds ? s->value[value].gradient.at : step_alloc_gradient(s, value);
}

void step_backward_kernel(struct step *s, int index)
{
	const struct kernel *k = &s->model->kernels[index];
	int tensors[2] = {k->weight, k->bias};
	if (k->kind == KERNEL_CLASSIFIER)
		return;
	for (int i = 0; i < 2; i++)
		if (tensors[i] >= 0)
			s->hooks.gradient_needed(s, tensors[i]);
	struct value_gradients d = {.second = region_none(), .sums = region_none()};
	struct region dx = k->needs_dx ? gradient_of(s, k->x, &d.x_adds) : region_none();
	if (k->second >= 0)
		d.second = gradient_of(s, k->second, &d.second_adds);
	if (k->kind == KERNEL_BATCH_NORM)
		d.sums = batch_norm_sums_of(s, index);
	struct sliced_operands sliced = sliced_begin_backward(s, index, dx);
	struct fp8_copies copies = fp8_begin(s, index, PASS_BACKWARD, &sliced);
	struct op *op = step_kernel_op(s, op_of_kernel(k->kind, PASS_BACKWARD), index, PASS_BACKWARD);
	set_operands(s, op, &sliced, &d);
	if (op_has_scale(op->kind))
		op->scale = 1 / (1 - k->dropout);
	if (d.sums.buffer >= 0)
		build_free(s->b, d.sums.buffer);
	fp8_end(s, &copies);
	sliced_finish_backward(s, index, &sliced);
	unfused_sweeps(s, index, PASS_BACKWARD, dx);
	unfused_backward(s, index);
	/* The gradient of the output passes on along the residual connection, or is freed. */
	if (k->residual >= 0)
		step_pass_gradient(s, k->y, k->residual);
	else
		step_free_gradient(s, k->y);
	step_values_used(s, k, PASS_BACKWARD);
	for (int i = 0; i < 2; i++)
		if (tensors[i] >= 0 && --s->tensor[tensors[i]].uses_left == 0)
			s->hooks.gradient_ready(s, tensors[i]);
}
