/* Activations, once for all strategies: a value is allocated when its kernel makes it, and freed when the last kernel
 * that needs it (forward or backward) has read it. The gradient of a residual connection is the same buffer handed on,
 * so it is never copied. Parameters and their gradients are the strategy's business.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "strategy/model/slice.h"
#include "strategy/step/step.h"

/* ---- names and sizes ---- */

const char *step_name(struct step *s, const char *format, ...)
{
	char text[160];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text - 24, format, args);
	va_end(args);
	if (n > (int)sizeof text - 25)
		n = (int)sizeof text - 25;
	if (s->evaluating)
		snprintf(text + n, sizeof text - (size_t)n, ".eval");
	else if (s->settings->accumulate > 1 && s->micro >= 0)
		snprintf(text + n, sizeof text - (size_t)n, ".m%d", s->micro);
	return arena_copy(&s->b->plan->arena, text);
}

enum type step_value_type(const struct step *s, int value)
{
	return plan_value_type(s->plan, value);
}

int64_t step_value_elements(const struct step *s, int value)
{
	int64_t elements = value_elements(&s->model->values[value], s->settings->micro_batch);
	/* Evaluating also counts the classes that are as large as the target's. */
	return s->evaluating && value == s->model->sums ? elements / 2 * 3 : elements;
}

/* ---- values ---- */

static struct region alloc_like(struct step *s, int value, const char *name)
{
	int buffer = build_alloc(s->b, name, CATEGORY_ACTIVATIONS, step_value_type(s, value), sliced_padded(s, value));
	struct region g = region_of(buffer, 0, step_value_elements(s, value));
	sliced_zero_padding(s, g);
	return g;
}

int step_alloc_value(struct step *s, int value)
{
	const char *format = s->recomputing ? "recomputed.%s" : "%s";
	s->value[value] = alloc_like(s, value, step_name(s, format, s->model->values[value].name));
	s->value_owned[value] = true;
	return s->value[value].buffer;
}

/* With contiguous_memory_optimization, checkpoints are parts of one buffer, which is there from the first to the last:
 * those that the kernels at hand make and read. Of a stage's, what goes to the next has a place of its own. */
static bool in_block(const struct step *s, int value)
{
	return s->checkpointing.contiguous && !s->evaluating && s->block_place[value] >= 0;
}

void step_place_checkpoints(struct step *s)
{
	const struct model *m = s->model;
	struct arena *a = &s->b->plan->arena;
	s->block_place = arena_alloc(a, (size_t)m->value_count * sizeof *s->block_place);
	s->block = arena_alloc(a, (size_t)s->settings->accumulate * sizeof *s->block);
	for (int v = 0; v < m->value_count; v++) {
		int producer = m->values[v].producer;
		bool ours = s->checkpoints.checkpoint[v] && producer >= s->kernel_begin && producer < s->kernel_end;
		for (int i = s->kernel_end; i < m->kernel_count && ours; i++)
			ours = m->kernels[i].x != v && m->kernels[i].residual != v && m->kernels[i].second != v;
		s->block_place[v] = -1;
		if (!ours || sliced_padded(s, v) != step_value_elements(s, v))
			continue;
		s->block_place[v] = s->block_elements;
		s->block_elements += step_value_elements(s, v);
		s->block_count++;
	}
}

static void place_in_block(struct step *s, int value)
{
	struct checkpoint_block *b = &s->block[s->micro];
	if (!b->left) {
		b->buffer = build_alloc(s->b, step_name(s, "checkpoints"), CATEGORY_ACTIVATIONS,
		                        step_value_type(s, value), s->block_elements);
		b->left = s->block_count;
	}
	s->value[value] = region_of(b->buffer, s->block_place[value], step_value_elements(s, value));
}

static void leave_block(struct step *s)
{
	struct checkpoint_block *b = &s->block[s->micro];
	if (!--b->left)
		build_free(s->b, b->buffer);
}

void step_free_value(struct step *s, int value)
{
	if (s->value_owned[value])
		build_free(s->b, s->value[value].buffer);
	else if (in_block(s, value))
		leave_block(s);
	s->value[value] = region_none();
	s->value_owned[value] = false;
}

/* The kernel that needed it has read it. */
void step_value_used(struct step *s, int value)
{
	if (value >= 0 && --s->needed[value] == 0)
		step_free_value(s, value);
}

void step_free_gradient(struct step *s, int value)
{
	if (s->gradient_owned[value])
		build_free(s->b, s->value_gradient[value].buffer);
	s->value_gradient[value] = region_none();
	s->gradient_owned[value] = false;
}

struct region step_alloc_gradient(struct step *s, int value)
{
	s->value_gradient[value] = alloc_like(s, value, step_name(s, "d.%s", s->model->values[value].name));
	s->gradient_owned[value] = true;
	return s->value_gradient[value];
}

/* The backward pass reads it, now or after it has been made again. */
static void need_later(struct step *s, int value)
{
	if (value >= 0 && !s->checkpoints.again[value])
		s->needed[value]++;
}

/* How often each value is read from here on; of what is made again, until its first copy is freed. */
void step_count_needs(struct step *s)
{
	const struct model *m = s->model;
	memset(s->needed, 0, (size_t)m->value_count * sizeof *s->needed);
	for (int i = s->kernel_begin; i < s->kernel_end; i++) {
		const struct kernel *k = &m->kernels[i];
		s->needed[k->x]++;
		if (k->residual >= 0)
			s->needed[k->residual]++;
		if (k->second >= 0)
			s->needed[k->second]++;
		if (s->evaluating)
			continue;
		need_later(s, kernel_backward_reads_x(k) ? k->x : -1);
		need_later(s, kernel_backward_reads_y(k) ? k->y : -1);
		need_later(s, k->second);
		need_later(s, k->saved);
		if (s->checkpoints.recomputed[i]) {
			need_later(s, k->x);
			need_later(s, k->residual);
			need_later(s, k->second);
		}
	}
	s->needed[m->target] = 1;
}

/* ---- one kernel ---- */

struct op *step_kernel_op(struct step *s, enum op_kind kind, int index, enum pass pass)
{
	struct op *op = build_op(s->b, kind, QUEUE_COMPUTE);
	op->kernel = index;
	op->unit = s->model->kernels[index].unit;
	op->pass = pass;
	op->micro = s->micro;
	return op;
}

struct region step_weight(const struct step *s, int tensor)
{
	return tensor < 0 ? region_none() : s->weight[tensor];
}

void step_classifier_loss(struct step *s, struct op *op)
{
	build_operand(op, PART_LOSS, region_whole(s->b, s->loss), s->micro > 0);
	build_operand(op, PART_SCALER, s->scaler >= 0 ? region_whole(s->b, s->scaler) : region_none(), false);
	op->scale = 1.0 / ((double)s->settings->batch * (double)s->model->tokens);
}

struct op *step_classifier(struct step *s, bool wide)
{
	const struct model *m = s->model;
	int index = m->kernel_count - 1;
	struct op *op = step_kernel_op(s, s->evaluating ? OP_EVALUATE : OP_CLASSIFIER, index, PASS_FORWARD);
	build_operand(op, PART_X, s->value[m->logits], false);
	build_operand(op, PART_TARGET, s->value[m->target], false);
	op->wide = wide;
	if (!s->evaluating)
		step_classifier_loss(s, op);
	return op;
}

static void forward_classifier(struct step *s)
{
	const struct model *m = s->model;
	if (s->strategy->loss)
		s->strategy->loss(s);
	else if (!sliced_classifier(s))
		step_classifier(s, false);
	step_value_used(s, m->target);
	/* What were logits are their gradient now. */
	if (s->evaluating) {
		step_value_used(s, m->logits);
	} else {
		s->value_gradient[m->logits] = s->value[m->logits];
		s->gradient_owned[m->logits] = s->value_owned[m->logits];
		s->value[m->logits] = region_none();
		s->value_owned[m->logits] = false;
	}
}

/* Room for what a kernel makes. What nobody reads, beside what is read, goes at once: see drop_unread. */
static void alloc_made(struct step *s, int value)
{
	if (value < 0)
		return;
	if (s->recomputing)
		s->needed[value] = s->checkpoints.reads[value];
	if (s->value[value].buffer >= 0)
		return;
	if (in_block(s, value) && !s->recomputing)
		place_in_block(s, value);
	else
		step_alloc_value(s, value);
}

static void drop_unread(struct step *s, int value)
{
	if (value >= 0 && !s->needed[value] && s->value[value].buffer >= 0)
		step_free_value(s, value);
}

/* Where the kernel writes a tensor's gradient, adding to what is there. */
void step_tensor_gradient(struct step *s, struct op *op, enum part part, int tensor)
{
	build_operand(op, part, s->gradient[tensor], s->written[tensor]);
	s->written[tensor] = true;
}

/* Gradients of values that a backward kernel writes, or adds to what another reader has left. */
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
		return s->value[k->saved];
	case PART_RESIDUAL:
		return s->value[k->residual];
	case PART_SECOND:
		return s->value[k->second];
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

/* The operands that the table of operations gives to such a kernel. */
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
		forward_classifier(s);
		return;
	}
	if (k->y == s->model->logits && s->strategy->alloc_outputs)
		s->strategy->alloc_outputs(s);
	bool statistics = k->kind == KERNEL_BATCH_NORM; /* kept when the kernel is carried out once more */
	s->recomputing = pass == PASS_RECOMPUTE;
	alloc_made(s, k->y);
	if (!statistics || !s->recomputing)
		alloc_made(s, k->saved);
	if (statistics && !s->recomputing)
		batch_norm_statistics_of(s, index);
	struct sliced_operands sliced = sliced_begin_forward(s, index, pass);
	struct op *op = step_kernel_op(s, op_of_kernel(k->kind, pass), index, pass);
	set_operands(s, op, &sliced, &(struct value_gradients){.x_adds = false});
	if (op_has_scale(op->kind))
		op->scale = s->evaluating ? 1 : 1 / (1 - k->dropout);
	sliced_finish_forward(s, index, pass, &sliced);
	step_value_used(s, k->x);
	step_value_used(s, k->residual);
	step_value_used(s, k->second);
	if (!statistics || !s->recomputing)
		drop_unread(s, k->saved);
	drop_unread(s, k->y);
	s->recomputing = false;
}

/* Room for the gradient of a value, or what its other readers have left there. */
static struct region gradient_of(struct step *s, int value, bool *adds)
{
	*adds = s->value_gradient[value].buffer >= 0;
	return *adds ? s->value_gradient[value] : step_alloc_gradient(s, value);
}

void step_backward_kernel(struct step *s, int index)
{
	const struct kernel *k = &s->model->kernels[index];
	int tensors[2] = {k->weight, k->bias};
	if (k->kind == KERNEL_CLASSIFIER)
		return;
	for (int i = 0; i < 2; i++)
		if (tensors[i] >= 0 && s->gradient_needed)
			s->gradient_needed(s, tensors[i]);
	struct value_gradients d = {.second = region_none(), .sums = region_none()};
	struct region dx = k->needs_dx ? gradient_of(s, k->x, &d.x_adds) : region_none();
	if (k->second >= 0)
		d.second = gradient_of(s, k->second, &d.second_adds);
	if (k->kind == KERNEL_BATCH_NORM)
		d.sums = batch_norm_sums_of(s, index);
	struct sliced_operands sliced = sliced_begin_backward(s, index, dx);
	struct op *op = step_kernel_op(s, op_of_kernel(k->kind, PASS_BACKWARD), index, PASS_BACKWARD);
	set_operands(s, op, &sliced, &d);
	if (op_has_scale(op->kind))
		op->scale = 1 / (1 - k->dropout);
	if (d.sums.buffer >= 0)
		build_free(s->b, d.sums.buffer);
	sliced_finish_backward(s, index, &sliced);
	/* The gradient of the output: handed on along the residual connection, or done with. */
	if (k->residual >= 0) {
		s->value_gradient[k->residual] = s->value_gradient[k->y];
		s->gradient_owned[k->residual] = s->gradient_owned[k->y];
		s->value_gradient[k->y] = region_none();
		s->gradient_owned[k->y] = false;
	} else {
		step_free_gradient(s, k->y);
	}
	if (kernel_backward_reads_x(k))
		step_value_used(s, k->x);
	if (kernel_backward_reads_y(k))
		step_value_used(s, k->y);
	step_value_used(s, k->saved);
	step_value_used(s, k->second);
	for (int i = 0; i < 2; i++)
		if (tensors[i] >= 0 && --s->uses_left[tensors[i]] == 0 && s->gradient_ready)
			s->gradient_ready(s, tensors[i]);
}
