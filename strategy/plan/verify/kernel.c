/* Rules 5, 6 and 7 for the model's kernels: each reads the value it is meant to, of its micro-batch, and the weights of
 * the version at hand; and what it writes stands for what it made.
 *
 * The gradient of a value is the sum over the kernels that read it, its consumers. A residual connection hands the
 * gradient of its output on as its own part, in the same memory:
 *
 *     mid ──► ln_2 ──► fc ──► out ──(+ mid)──► y        d.y complete  =  d.mid, as far as `out` contributes
 *      └────────────────────────┘                       ln_2's backward adds the rest
 */
#include "strategy/model/slice.h"
#include "strategy/plan/verify/meaning.h"

static struct meaning value_of(const struct at *a, int operand, int value, bool all_ranks)
{
	return (struct meaning){.kind = MEANING_VALUE,
	                        .index = value,
	                        .micro = a->op->micro,
	                        .all_ranks = all_ranks,
	                        .origin = a->op->operand[operand].offset};
}

static struct meaning gradient_of(const struct at *a, int operand, int value, uint64_t consumers, int scaled)
{
	struct meaning m = value_of(a, operand, value, a->op->all_ranks);
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

static enum status read_weight(const struct at *a, int operand, int tensor)
{
	const struct plan *p = a->p;
	return read_exactly(a, operand, 6,
	                    (struct meaning){.kind = MEANING_WEIGHTS,
	                                     .index = p->tensor_group[tensor],
	                                     .version = a->ip->reads,
	                                     .origin = a->op->operand[operand].offset - p->tensor_offset[tensor]});
}

/* ---- gradients of values ---- */

/* The classifier puts it into gradients, and every backward kernel passes it on. */
int scaled_by(const struct at *a)
{
	if (op_makes_loss(a->op->kind))
		return op_region(a->op, PART_SCALER)->buffer >= 0 ? a->ip->step : 0;
	for (int i = 0; i < op_operand_count(a->op->kind); i++)
		if (op_part(a->op->kind, i) == PART_DY || op_part(a->op->kind, i) == PART_INNER)
			return meaning_at(a, i)->scaled;
	return 0;
}

/* Sees the gradient of a residual kernel's output as what that kernel contributes to the residual. */
static bool see_as(const struct at *a, struct meaning *g, int value)
{
	const struct model *m = a->p->model;
	while (g->kind == MEANING_VALUE_GRADIENT && g->form == FORM_WHOLE && g->index != value) {
		int producer = m->values[g->index].producer;
		if (producer < 0 || m->kernels[producer].residual < 0 || g->consumers != a->ip->consumers[g->index])
			return false;
		g->index = m->kernels[producer].residual;
		g->consumers = UINT64_C(1) << a->ip->uses[producer].residual;
	}
	return g->kind == MEANING_VALUE_GRADIENT && g->index == value;
}

static enum status present_gradient(const struct at *a, int operand, int value, struct meaning *out)
{
	*out = *meaning_at(a, operand);
	if (see_as(a, out, value) && out->micro == a->op->micro && out->all_ranks == a->op->all_ranks &&
	    out->origin == a->op->operand[operand].offset)
		return STATUS_OK;
	return refuse_found(a, 7, operand, " must hold the gradient of %s, micro-batch %d",
	                    a->p->model->values[value].name, a->op->micro);
}

static enum status read_dy(const struct at *a, int operand, int value)
{
	const char *name = a->p->model->values[value].name;
	struct meaning m = {.consumers = 0};
	TRY(present_gradient(a, operand, value, &m));
	bool all_rows = kernel_scatters(a->p->model, kernel_of(a));
	if (m.form == FORM_PARTIAL)
		return refuse_at(a, 5, operand,
		                 " is this rank's part of the gradient of %s; let an all-reduce sum it over the tensor "
		                 "group first",
		                 name);
	if ((m.form == FORM_GATHERED) != all_rows)
		return refuse_at(a, 5, operand, " must be the gradient of %s for %s rows", name,
		                 all_rows ? "all ranks'" : "this rank's own");
	if (m.consumers != a->ip->consumers[value])
		return refuse_at(a, 5, operand, ": the gradient of %s lacks what one of its readers contributes", name);
	return STATUS_OK;
}

/* consumer: this kernel's number among those that read the value. */
static enum status write_dx(const struct at *a, int operand, int value, int consumer, int scaled)
{
	const char *name = a->p->model->values[value].name;
	uint64_t mine = UINT64_C(1) << consumer;
	bool part = kernel_sums_backward(a->p->model, kernel_of(a));
	enum meaning_form form = part ? FORM_PARTIAL : FORM_WHOLE;
	struct meaning m = {.consumers = 0};
	if (a->op->accumulate >> operand & 1) {
		TRY(present_gradient(a, operand, value, &m));
		if (m.form != form)
			return refuse_at(a, 5, operand,
			                 " holds %s of the gradient of %s, and this kernel adds %s; sum over the "
			                 "tensor group in between",
			                 part ? "all" : "this rank's part", name, part ? "a part" : "all");
		if (m.consumers & mine)
			return refuse_at(a, 5, operand,
			                 ": this kernel's contribution to the gradient of %s is in there already",
			                 name);
		if (m.scaled != scaled)
			return refuse_at(a, 5, operand,
			                 " is added to, and the gradient of %s so far carries another loss scale",
			                 name);
	}
	write_meaning(a, operand, form_of(gradient_of(a, operand, value, m.consumers | mine, scaled), form));
	return STATUS_OK;
}

static enum status write_dweight(const struct at *a, int operand, int tensor, int use, int scaled)
{
	const struct tensor *t = &a->p->model->tensors[tensor];
	struct meaning now = {.kind = MEANING_GRADIENT,
	                      .index = a->p->tensor_group[tensor],
	                      .scaled = scaled,
	                      .version = a->ip->step,
	                      .origin = a->op->operand[operand].offset - a->p->tensor_offset[tensor]};
	return write_sum(a, operand, now, "the gradient of ", t->name, a->op->micro, use, t->uses, 0);
}

/* ---- one kernel ---- */

/* The value of the model that an operand is, or is the gradient of; -1. */
static int value_at(const struct at *a, enum part part)
{
	const struct kernel *k = kernel_of(a);
	switch (part) {
	case PART_X:
	case PART_DX:
		return k->x;
	case PART_Y:
	case PART_DY:
		return k->y;
	case PART_SECOND:
	case PART_DSECOND:
		return k->second;
	case PART_RESIDUAL:
		return k->residual;
	case PART_SAVED:
		return k->saved;
	case PART_SUM:
		return kernel_sum(k);
	case PART_TARGET:
		return a->p->model->target;
	case PART_MAXIMA:
		return a->p->model->maxima;
	case PART_CLASS_SUMS:
		return a->p->model->sums;
	default:
		return -1;
	}
}

static enum status read_part(const struct at *a, int operand, enum part part)
{
	const struct kernel *k = kernel_of(a);
	if (op_access(a->op, operand) == 'w')
		return STATUS_OK;
	switch (part) {
	case PART_WEIGHT:
		return read_weight(a, operand, k->weight);
	case PART_BIAS:
		return read_weight(a, operand, k->bias);
	case PART_DY:
		return read_dy(a, operand, k->y);
	case PART_DX:
	case PART_DSECOND: /* with what is added */
		return STATUS_OK;
	case PART_INNER:
		return read_exactly(a, operand, 7, inner_gradient(a, operand, scaled_by(a)));
	case PART_SCALER:
		return read_scaler(a, operand);
	default:
		break;
	}
	int value = value_at(a, part);
	if (value < 0)
		return read_norm_part(a, operand, part);
	bool gathered = part == PART_X && kernel_gathers(a->p->model, k);
	return read_exactly(a, operand, 7,
	                    form_of(value_of(a, operand, value, a->op->all_ranks), gathered           ? FORM_GATHERED
	                                                                           : part == PART_SUM ? FORM_UNFINISHED
	                                                                                              : FORM_WHOLE));
}

/* A value that the kernel makes, or this rank's part of the sum (or of the maxima) that becomes it. */
static void write_value(const struct at *a, int operand, enum part part)
{
	const struct kernel *k = kernel_of(a);
	bool of_sum = part == PART_Y && kernel_sums(a->p->model, k) && a->op->kind != OP_LINEAR_FINISH;
	bool partial = of_sum || part == PART_MAXIMA || part == PART_CLASS_SUMS;
	struct meaning made = value_of(a, operand, of_sum ? kernel_sum(k) : value_at(a, part), false);
	write_meaning(a, operand, form_of(made, partial ? FORM_PARTIAL : FORM_WHOLE));
}

static enum status write_part(const struct at *a, int operand, enum part part, int scaled)
{
	const struct kernel *k = kernel_of(a);
	const struct kernel_uses *uses = &a->ip->uses[a->op->kernel];
	if (op_access(a->op, operand) == 'r')
		return STATUS_OK;
	switch (part) {
	case PART_DX:
		return write_dx(a, operand, k->x, uses->x, scaled);
	case PART_DSECOND:
		return write_dx(a, operand, k->second, uses->second, scaled);
	case PART_DWEIGHT:
		return write_dweight(a, operand, k->weight, uses->weight, scaled);
	case PART_DBIAS:
		return write_dweight(a, operand, k->bias, uses->bias, scaled);
	case PART_LOSS:
		return write_sum(a, operand, (struct meaning){.kind = MEANING_LOSS}, "the loss", "", a->op->micro, 0, 1,
		                 a->op->all_ranks ? plan_data_axes(a->p) : 0);
	case PART_DY: /* with GELU it becomes the gradient of what GELU was applied to */
		write_meaning(a, operand,
		              a->op->kind == OP_BATCH_NORM_SUMS ? inner_gradient(a, operand, scaled)
		                                                : (struct meaning){.kind = MEANING_SPOILED});
		return STATUS_OK;
	case PART_X: /* logits become their gradient */
		write_meaning(a, operand, gradient_of(a, operand, k->x, a->ip->consumers[k->x], scaled));
		return STATUS_OK;
	default:
		break;
	}
	if (value_at(a, part) >= 0)
		write_value(a, operand, part);
	else
		write_norm_part(a, operand, part, scaled);
	return STATUS_OK;
}

enum status mean_kernel(const struct at *a)
{
	int n = op_operand_count(a->op->kind);
	for (int i = 0; i < n; i++)
		if (a->op->operand[i].buffer >= 0)
			TRY(read_part(a, i, op_part(a->op->kind, i)));
	int scaled = scaled_by(a);
	for (int i = 0; i < n; i++)
		if (a->op->operand[i].buffer >= 0)
			TRY(write_part(a, i, op_part(a->op->kind, i), scaled));
	if (a->op->kind == OP_EVALUATE || a->op->kind == OP_EVALUATE_COUNT)
		++*(a->op->all_ranks ? &a->ip->evaluated_all[a->role] : &a->ip->evaluated_own[a->role]);
	return STATUS_OK;
}
