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

static struct region value_or_none(const struct step *s, int value)
{
	return value >= 0 ? s->value[value] : region_none();
}

struct region step_weight(const struct step *s, int tensor)
{
	return tensor < 0 ? region_none() : s->weight[tensor];
}

void step_classifier_loss(struct step *s, struct op *op, int operand)
{
	op->operand[operand] = region_whole(s->b, s->loss);
	op->accumulate = s->micro ? 1u << operand : 0;
	op->operand[operand + 1] = s->scaler >= 0 ? region_whole(s->b, s->scaler) : region_none();
	op->scale = 1.0 / ((double)s->settings->batch * (double)s->model->tokens);
}

struct op *step_classifier(struct step *s, bool wide)
{
	const struct model *m = s->model;
	int index = m->kernel_count - 1;
	struct op *op = step_kernel_op(s, s->evaluating ? OP_EVALUATE : OP_CLASSIFIER, index, PASS_FORWARD);
	op->operand[0] = s->value[m->logits];
	op->operand[1] = s->value[m->target];
	op->wide = wide;
	if (!s->evaluating)
		step_classifier_loss(s, op, 2);
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
		o[3] = s->value[k->y];
		o[4] = value_or_none(s, k->saved);
		break;
	case KERNEL_LINEAR:
		o[1] = step_weight(s, k->weight);
		if (sums) {
			o[4] = sliced.y;
			break;
		}
		o[2] = step_weight(s, k->bias);
		o[3] = value_or_none(s, k->residual);
		o[4] = s->value[k->y];
		o[5] = value_or_none(s, k->saved);
		break;
	case KERNEL_ATTENTION:
		o[1] = s->value[k->y];
		o[2] = s->value[k->saved];
		break;
	case KERNEL_SCORES:
	case KERNEL_SOFTMAX:
		o[1] = s->value[k->y];
		break;
	case KERNEL_CONTEXT:
		o[1] = s->value[k->second];
		o[2] = s->value[k->y];
		break;
	case KERNEL_DROPOUT:
		o[1] = value_or_none(s, k->residual);
		o[2] = s->value[k->y];
		o[3] = s->value[k->saved];
		op->scale = s->evaluating ? 1 : 1 / (1 - k->dropout);
		break;
	case KERNEL_BATCH_NORM:
		o[1] = s->value[k->saved];
		o[2] = step_weight(s, k->weight);
		o[3] = step_weight(s, k->bias);
		o[4] = s->value[k->y];
		break;
	case KERNEL_ABSTRACT:
		o[1] = step_weight(s, k->weight);
		o[2] = s->value[k->y];
		break;
	case KERNEL_CLASSIFIER:
		break;
	}
	sliced_finish_forward(s, index, pass, &sliced);
	step_value_used(s, k->x);
	step_value_used(s, k->residual);
	step_value_used(s, k->second);
	if (!statistics || !s->recomputing)
		drop_unread(s, k->saved);
	drop_unread(s, k->y);
	s->recomputing = false;
}

/* Where the kernel writes a tensor's gradient, and whether it adds to what is there. */
static struct region gradient_place(struct step *s, struct op *op, int operand, int tensor)
{
	if (tensor < 0)
		return region_none();
	if (s->written[tensor])
		op->accumulate |= 1u << operand;
	s->written[tensor] = true;
	return s->gradient[tensor];
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
		if (tensors[i] >= 0 && s->gradient_needed)
			s->gradient_needed(s, tensors[i]);
	bool dx_adds = k->needs_dx && s->value_gradient[k->x].buffer >= 0;
	struct region dx = !k->needs_dx ? region_none()
	                   : dx_adds    ? s->value_gradient[k->x]
	                                : step_alloc_gradient(s, k->x);
	bool second_adds = k->second >= 0 && s->value_gradient[k->second].buffer >= 0;
	struct region d_second = k->second < 0 ? region_none()
	                         : second_adds ? s->value_gradient[k->second]
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
		o[2] = value_or_none(s, k->saved);
		o[3] = step_weight(s, k->weight);
		o[4] = dx;
		op->accumulate |= dx_adds ? 1u << 4 : 0;
		o[5] = gradient_place(s, op, 5, k->weight);
		o[6] = gradient_place(s, op, 6, k->bias);
		break;
	case KERNEL_LINEAR:
		o[2] = step_weight(s, k->weight);
		o[3] = value_or_none(s, k->saved);
		o[4] = sliced.dx;
		o[5] = gradient_place(s, op, 5, k->weight);
		o[6] = gradient_place(s, op, 6, k->bias);
		break;
	case KERNEL_ATTENTION:
		o[2] = s->value[k->y];
		o[3] = s->value[k->saved];
		o[4] = dx;
		break;
	case KERNEL_SCORES:
		o[2] = dx;
		op->accumulate |= dx_adds ? 1u << 2 : 0;
		break;
	case KERNEL_SOFTMAX:
		o[1] = s->value[k->y];
		o[2] = dx;
		break;
	case KERNEL_CONTEXT:
		o[2] = s->value[k->second];
		o[3] = dx;
		op->accumulate |= second_adds ? 1u << 4 : 0;
		o[4] = d_second;
		break;
	case KERNEL_DROPOUT:
		o[1] = s->value[k->saved];
		o[2] = dx;
		op->scale = 1 / (1 - k->dropout);
		break;
	case KERNEL_BATCH_NORM:
		o[2] = s->value[k->saved];
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
