/* The sums over a tensor group that a step makes beside its kernels when the model is sliced (strategy/model/slice.h),
 * for every strategy that slices it.
 *
 *     forward     linear ─► partial sums ─ all-reduce ─► linear.finish (bias, residual, GELU)      "g" of the paper
 *     backward    linear ─► partial gradient of x ─ all-reduce ─► the kernel that made x            "f"
 *
 * so two all-reduces forward and two backward for each block (Shoeybi et al. 2019, arXiv 1909.08053, figures 3 and 4),
 * one of the embedding forward, one of the head's input backward, and two small ones of the loss. Every other gradient
 * is complete where it is written: a slice's belongs to one rank, and what is whole on every rank (norms, position
 * table, biases behind a sum) is computed by each from the same summed values, to the same bits.
 */
#include "strategy/base/number.h"
#include "strategy/model/slice.h"
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

void sliced_all_reduce(struct step *s, enum op_kind kind, enum pass pass, struct region value)
{
	struct op *op = step_collective(s, kind, TRAFFIC_ALL_REDUCE, -1);
	op->pass = pass;
	op->payload = value.count;
	build_operand(op, PART_WHOLE, region_of(value.buffer, value.offset, round_up(value.count, s->model->slices)),
	              false);
	build_wait(s->b, QUEUE_COMPUTE, build_number(s->b, op));
}

/* ---- by rows of the sequence ---- */

static struct region all_rows_of(struct step *s, int value, const char *what, enum pass pass)
{
	int64_t n = step_value_elements(s, value) * s->model->slices;
	const char *name = step_name(s, "%s.%s%s", pass_name(pass), what, s->model->values[value].name);
	return region_of(build_alloc(s->b, name, CATEGORY_ACTIVATIONS, step_value_type(s, value), n), 0, n);
}

void sliced_exchange(struct step *s, bool back, enum pass pass, struct region from, struct region to)
{
	struct op *op = step_collective(s, back ? OP_REDUCE_SCATTER : OP_ALL_GATHER,
	                                back ? TRAFFIC_REDUCE_SCATTER : TRAFFIC_ALL_GATHER, -1);
	op->pass = pass;
	op->payload = back ? from.count : to.count;
	build_operand(op, PART_WHOLE, back ? from : to, false);
	build_operand(op, PART_SHARE, back ? to : from, false);
	build_wait(s->b, QUEUE_COMPUTE, build_number(s->b, op));
}

static struct region gathered(struct step *s, int value, const char *what, enum pass pass, struct region rows)
{
	struct region all = all_rows_of(s, value, what, pass);
	sliced_exchange(s, false, pass, rows, all);
	return all;
}

struct sliced_operands sliced_begin_forward(struct step *s, int index, enum pass pass)
{
	const struct model *m = s->model;
	const struct kernel *k = &m->kernels[index];
	struct sliced_operands o = {s->value[k->x].data.at, s->value[kernel_sums(m, k) ? kernel_sum(k) : k->y].data.at,
	                            region_none(), region_none()};
	if (kernel_gathers(m, k))
		o.x = gathered(s, k->x, "", pass, o.x);
	if (kernel_scatters(m, k))
		o.y = all_rows_of(s, k->y, "part.", pass);
	return o;
}

struct sliced_operands sliced_begin_backward(struct step *s, int index, struct region dx)
{
	const struct model *m = s->model;
	const struct kernel *k = &m->kernels[index];
	struct sliced_operands o = {s->value[k->x].data.at, s->value[k->y].data.at, s->value[k->y].gradient.at, dx};
	if (kernel_gathers(m, k))
		o.x = gathered(s, k->x, "", PASS_BACKWARD, o.x);
	if (kernel_scatters(m, k))
		o.dy = gathered(s, k->y, "d.", PASS_BACKWARD, o.dy);
	if (kernel_gathers(m, k) && k->needs_dx)
		o.dx = all_rows_of(s, k->x, "part.d.", PASS_BACKWARD);
	return o;
}

void sliced_finish_forward(struct step *s, int index, enum pass pass, const struct sliced_operands *o)
{
	const struct model *m = s->model;
	const struct kernel *k = &m->kernels[index];
	if (kernel_gathers(m, k))
		build_free(s->b, o->x.buffer);
	if (!kernel_sums(m, k))
		return;
	struct region sum = s->value[kernel_sum(k)].data.at;
	if (kernel_scatters(m, k)) {
		sliced_exchange(s, true, pass, o->y, sum);
		build_free(s->b, o->y.buffer);
	} else {
		sliced_all_reduce(s, OP_ALL_REDUCE, pass, sum);
	}
	bool embedding = k->kind == KERNEL_EMBEDDING;
	if (!kernel_finishes(k))
		return;
	struct op *op = step_kernel_op(s, embedding ? OP_EMBEDDING_FINISH : OP_LINEAR_FINISH, index, pass);
	build_operand(op, PART_BIAS, step_weight(s, k->bias), false);
	build_operand(op, PART_RESIDUAL, step_value(s, k->residual), false);
	build_operand(op, PART_SUM, sum, false);
	build_operand(op, PART_Y, k->nonlinear ? s->value[k->y].data.at : region_none(), false);
}

void sliced_finish_backward(struct step *s, int index, const struct sliced_operands *o)
{
	const struct model *m = s->model;
	const struct kernel *k = &m->kernels[index];
	if (kernel_gathers(m, k))
		build_free(s->b, o->x.buffer);
	if (kernel_scatters(m, k))
		build_free(s->b, o->dy.buffer);
	if (!k->needs_dx || !kernel_sums_backward(m, k))
		return;
	if (kernel_gathers(m, k)) {
		sliced_exchange(s, true, PASS_BACKWARD, o->dx, s->value[k->x].gradient.at);
		build_free(s->b, o->dx.buffer);
	} else {
		sliced_all_reduce(s, OP_ALL_REDUCE, PASS_BACKWARD, s->value[k->x].gradient.at);
	}
}
