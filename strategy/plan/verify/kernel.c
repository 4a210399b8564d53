/* Rules 5, 6 and 7 for the model's kernels: each reads the value it is meant to, of its micro-batch, and the weights of
 * the version at hand; and what it writes stands for what it made.
 *
 * The gradient of a value is the sum over the kernels that read it, its consumers. A residual connection hands the
 * gradient of its output on as its own part, in the same memory:
 *
 *     mid ──► ln_2 ──► fc ──► out ──(+ mid)──► y        d.y complete  =  d.mid, as far as `out` contributes
 *      └────────────────────────┘                       ln_2's backward adds the rest
 */
#include <stdio.h>

#include "strategy/model/slice.h"
#include "strategy/plan/verify/meaning.h"

static const struct kernel *kernel_of(const struct at *a)
{
	return &a->ip->v->p->model->kernels[a->op->kernel];
}

static struct meaning value_of(const struct at *a, int operand, int value, bool wide)
{
	return (struct meaning){.kind = MEANING_VALUE,
	                        .index = value,
	                        .micro = a->op->micro,
	                        .wide = wide,
	                        .origin = a->op->operand[operand].offset};
}

static struct meaning gradient_of(const struct at *a, int operand, int value, uint64_t consumers, int scaled)
{
	struct meaning m = value_of(a, operand, value, a->op->wide);
	m.kind = MEANING_VALUE_GRADIENT;
	m.consumers = consumers;
	m.scaled = scaled;
	return m;
}

static struct meaning form_of(struct meaning m, enum meaning_form form)
{
	m.form = form;
	return m;
}

static enum status read_value(const struct at *a, int operand, int value)
{
	return read_exactly(a, operand, 7, value_of(a, operand, value, a->op->wide));
}

static enum status read_weight(const struct at *a, int operand, int tensor)
{
	const struct plan *p = a->ip->v->p;
	return read_exactly(a, operand, 6,
	                    (struct meaning){.kind = MEANING_WEIGHTS,
	                                     .index = p->tensor_group[tensor],
	                                     .version = a->ip->reads,
	                                     .origin = a->op->operand[operand].offset - p->tensor_offset[tensor]});
}

/* ---- gradients of values ---- */

static const char other_scale[] = " is added to, and the gradient of %s so far carries another loss scale";

/* The loss scale that the classifier puts into gradients, and every backward kernel passes on. */
static int scaled_by(const struct at *a)
{
	int scaler = op_operand_count(a->op->kind) - 1;
	if (op_makes_loss(a->op->kind))
		return a->op->operand[scaler].buffer >= 0 ? a->ip->step : 0;
	for (int i = 0; i < op_operand_count(a->op->kind); i++)
		if (op_part(a->op->kind, i) == PART_DY || op_part(a->op->kind, i) == PART_INNER) {
			int number = memory_get(&a->ip->memory, a->role, &a->op->operand[i]);
			return number < 0 ? 0 : meaning_of(&a->ip->memory, number)->scaled;
		}
	return 0;
}

/* Sees the gradient of a residual kernel's output as what that kernel contributes to the residual. */
static bool see_as(const struct at *a, struct meaning *g, int value)
{
	const struct model *m = a->ip->v->p->model;
	while (g->kind == MEANING_VALUE_GRADIENT && g->form == FORM_WHOLE && g->index != value) {
		int producer = m->values[g->index].producer;
		if (producer < 0 || m->kernels[producer].residual < 0 || g->consumers != a->ip->consumers[g->index])
			return false;
		g->index = m->kernels[producer].residual;
		g->consumers = UINT64_C(1) << a->ip->residual_consumer[producer];
	}
	return g->kind == MEANING_VALUE_GRADIENT && g->index == value;
}

static enum status present_gradient(const struct at *a, int operand, int value, struct meaning *out)
{
	const struct memory *m = &a->ip->memory;
	const struct region *g = &a->op->operand[operand];
	int number = memory_get(m, a->role, g);
	char text[300];
	if (number >= 0) {
		*out = *meaning_of(m, number);
		if (see_as(a, out, value) && out->micro == a->op->micro && out->wide == a->op->wide &&
		    out->origin == g->offset)
			return STATUS_OK;
	}
	memory_describe(m, a->role, g, -1, text, sizeof text);
	return refuse_at(a, 7, operand, " must hold the gradient of %s, micro-batch %d; %s",
	                 a->ip->v->p->model->values[value].name, a->op->micro, text);
}

static enum status read_dy(const struct at *a, int operand, int value)
{
	struct meaning m = {.consumers = 0};
	enum status s = present_gradient(a, operand, value, &m);
	if (s)
		return s;
	bool all_rows = kernel_scatters(a->ip->v->p->model, kernel_of(a));
	if (m.form == FORM_PARTIAL)
		return refuse_at(a, 5, operand,
		                 " is this rank's part of the gradient of %s; let an all-reduce sum it over the tensor "
		                 "group first",
		                 a->ip->v->p->model->values[value].name);
	if ((m.form == FORM_GATHERED) != all_rows)
		return refuse_at(a, 5, operand, " must be the gradient of %s for %s rows",
		                 a->ip->v->p->model->values[value].name, all_rows ? "all ranks'" : "this rank's own");
	if (m.consumers != a->ip->consumers[value])
		return refuse_at(a, 5, operand, ": the gradient of %s lacks what one of its readers contributes",
		                 a->ip->v->p->model->values[value].name);
	return STATUS_OK;
}

/* consumer: this kernel's number among those that read the value. */
static enum status write_dx(const struct at *a, int operand, int value, int consumer, int scaled)
{
	uint64_t mine = UINT64_C(1) << consumer;
	bool part = kernel_sums_backward(a->ip->v->p->model, kernel_of(a));
	enum meaning_form form = part ? FORM_PARTIAL : FORM_WHOLE;
	struct meaning m = {.consumers = 0};
	if (a->op->accumulate >> operand & 1) {
		enum status s = present_gradient(a, operand, value, &m);
		if (s)
			return s;
		if (m.form != form)
			return refuse_at(
			        a, 5, operand,
			        " holds %s of the gradient of %s, and this kernel adds %s; sum over the tensor "
			        "group in between",
			        part ? "all" : "this rank's part", a->ip->v->p->model->values[value].name,
			        part ? "a part" : "all");
		if (m.consumers & mine)
			return refuse_at(a, 5, operand,
			                 ": this kernel's contribution to the gradient of %s is in there already",
			                 a->ip->v->p->model->values[value].name);
		if (m.scaled != scaled)
			return refuse_at(a, 5, operand, other_scale, a->ip->v->p->model->values[value].name);
	}
	write_meaning(a, operand, form_of(gradient_of(a, operand, value, m.consumers | mine, scaled), form));
	return STATUS_OK;
}

/* ---- gradients of tensors ---- */

static enum status write_dweight(const struct at *a, int operand, int tensor, int use, int scaled)
{
	struct memory *m = &a->ip->memory;
	const struct plan *p = a->ip->v->p;
	const struct region *g = &a->op->operand[operand];
	const struct tensor *t = &p->model->tensors[tensor];
	struct meaning now = {.kind = MEANING_GRADIENT,
	                      .index = p->tensor_group[tensor],
	                      .scaled = scaled,
	                      .version = a->ip->step,
	                      .origin = g->offset - p->tensor_offset[tensor]};
	char text[300];
	if (a->op->accumulate >> operand & 1) {
		int number = memory_get(m, a->role, g);
		struct meaning there = *meaning_of(m, number < 0 ? 0 : number);
		bool same = there.kind == MEANING_GRADIENT && there.index == now.index && there.origin == now.origin &&
		            there.version == now.version && !there.shard;
		if (!same && there.kind != MEANING_ZERO) {
			memory_describe(m, a->role, g, -1, text, sizeof text);
			return refuse_at(a, 5, operand, " is added to, and must hold the gradient of %s so far; %s",
			                 t->name, text);
		}
		if (same && there.scaled != scaled)
			return refuse_at(a, 5, operand, other_scale, t->name);
		now.sum = same ? there.sum : 0;
	}
	now.sum = sum_add(&m->sums, now.sum, a->op->micro, use, t->uses, 0);
	if (now.sum < 0)
		return refuse_at(a, 5, operand, ": micro-batch %d of this use is in the gradient of %s already",
		                 a->op->micro, t->name);
	write_meaning(a, operand, now);
	return STATUS_OK;
}

/* ---- the loss ---- */

static enum status write_loss(const struct at *a, int operand)
{
	struct memory *m = &a->ip->memory;
	struct meaning now = {.kind = MEANING_LOSS};
	char text[300];
	if (a->op->accumulate >> operand & 1) {
		int number = memory_get(m, a->role, &a->op->operand[operand]);
		struct meaning there = *meaning_of(m, number < 0 ? 0 : number);
		if (there.kind != MEANING_LOSS && there.kind != MEANING_ZERO) {
			memory_describe(m, a->role, &a->op->operand[operand], -1, text, sizeof text);
			return refuse_at(a, 5, operand, " is added to, and must hold the loss of this step so far; %s",
			                 text);
		}
		now.sum = there.kind == MEANING_LOSS ? there.sum : 0;
	}
	now.sum = sum_add(&m->sums, now.sum, a->op->micro, 0, 1, a->op->wide ? plan_data_axes(a->ip->v->p) : 0);
	if (now.sum < 0)
		return refuse_at(a, 5, operand, ": micro-batch %d is in the loss already", a->op->micro);
	write_meaning(a, operand, now);
	return STATUS_OK;
}

/* ---- one kernel ---- */

static enum status read_part(const struct at *a, int operand, enum part part)
{
	const struct kernel *k = kernel_of(a);
	const struct model *m = a->ip->v->p->model;
	bool writes = op_access(a->op, operand) == 'w';
	switch (part) {
	case PART_SUM:
		return read_exactly(a, operand, 7,
		                    form_of(value_of(a, operand, kernel_sum(k), false), FORM_UNFINISHED));
	case PART_MAXIMA:
		return writes ? STATUS_OK : read_value(a, operand, m->maxima);
	case PART_CLASS_SUMS:
		return writes ? STATUS_OK : read_value(a, operand, m->sums);
	case PART_X:
		return read_exactly(a, operand, 7,
		                    form_of(value_of(a, operand, k->x, a->op->wide),
		                            kernel_gathers(m, k) ? FORM_GATHERED : FORM_WHOLE));
	case PART_RESIDUAL:
		return read_value(a, operand, k->residual);
	case PART_SECOND:
		return read_value(a, operand, k->second);
	case PART_TARGET:
		return read_value(a, operand, m->target);
	case PART_WEIGHT:
		return read_weight(a, operand, k->weight);
	case PART_BIAS:
		return read_weight(a, operand, k->bias);
	case PART_DY:
		return read_dy(a, operand, k->y);
	case PART_INNER:
		return read_exactly(a, operand, 7, inner_gradient(a, operand, scaled_by(a)));
	case PART_Y:
		return a->op->pass == PASS_BACKWARD ? read_value(a, operand, k->y) : STATUS_OK;
	case PART_SAVED:
		return op_access(a->op, operand) == 'r' ? read_value(a, operand, k->saved) : STATUS_OK;
	case PART_SCALER:
		return read_scaler(a, operand);
	default:
		return STATUS_OK;
	}
}

/* What a kernel makes: its y; or this rank's part of the sum that becomes y. */
static void write_made(const struct at *a, int operand)
{
	const struct kernel *k = kernel_of(a);
	bool part = kernel_sums(a->ip->v->p->model, k) && a->op->kind != OP_LINEAR_FINISH;
	struct meaning made = value_of(a, operand, part ? kernel_sum(k) : k->y, false);
	write_meaning(a, operand, form_of(made, part ? FORM_PARTIAL : FORM_WHOLE));
}

static enum status write_part(const struct at *a, int operand, enum part part, int scaled)
{
	const struct kernel *k = kernel_of(a);
	const struct model *m = a->ip->v->p->model;
	bool writes = op_access(a->op, operand) == 'w';
	switch (part) {
	case PART_SUM:
		write_meaning(a, operand, value_of(a, operand, kernel_sum(k), false));
		return STATUS_OK;
	case PART_MAXIMA:
	case PART_CLASS_SUMS:
		if (writes)
			write_meaning(
			        a, operand,
			        form_of(value_of(a, operand, part == PART_CLASS_SUMS ? m->sums : m->maxima, false),
			                FORM_PARTIAL));
		return STATUS_OK;
	case PART_DX:
		return write_dx(a, operand, k->x, a->ip->x_consumer[a->op->kernel], scaled);
	case PART_DSECOND:
		return write_dx(a, operand, k->second, a->ip->second_consumer[a->op->kernel], scaled);
	case PART_DWEIGHT:
		return write_dweight(a, operand, k->weight, a->ip->weight_use[a->op->kernel], scaled);
	case PART_DBIAS:
		return write_dweight(a, operand, k->bias, a->ip->bias_use[a->op->kernel], scaled);
	case PART_LOSS:
		return write_loss(a, operand);
	case PART_Y:
		if (a->op->pass != PASS_BACKWARD)
			write_made(a, operand);
		return STATUS_OK;
	case PART_SAVED:
		if (op_access(a->op, operand) != 'r')
			write_meaning(a, operand, value_of(a, operand, k->saved, false));
		return STATUS_OK;
	case PART_DY: /* with GELU it becomes the gradient of what GELU was applied to */
		if (op_access(a->op, operand) != 'r')
			write_meaning(a, operand,
			              a->op->kind == OP_BATCH_NORM_SUMS ? inner_gradient(a, operand, scaled)
			                                                : (struct meaning){.kind = MEANING_SPOILED});
		return STATUS_OK;
	case PART_X: /* logits become their gradient */
		if (op_makes_loss(a->op->kind))
			write_meaning(a, operand, gradient_of(a, operand, k->x, a->ip->consumers[k->x], scaled));
		return STATUS_OK;
	default:
		return STATUS_OK;
	}
}

enum status mean_kernel(const struct at *a)
{
	enum status s;
	int n = op_operand_count(a->op->kind);
	for (int i = 0; i < n; i++)
		if (a->op->operand[i].buffer >= 0 && (s = read_part(a, i, op_part(a->op->kind, i))))
			return s;
	int scaled = scaled_by(a);
	if (kernel_of(a)->kind == KERNEL_BATCH_NORM && (s = mean_norm(a, scaled)))
		return s;
	for (int i = 0; i < n; i++)
		if (a->op->operand[i].buffer >= 0 && (s = write_part(a, i, op_part(a->op->kind, i), scaled)))
			return s;
	if (a->op->kind == OP_EVALUATE || a->op->kind == OP_EVALUATE_COUNT)
		++*(a->op->wide ? &a->ip->evaluated_wide[a->role] : &a->ip->evaluated_own[a->role]);
	return STATUS_OK;
}
