/* Rules 5 and 7 for sums of values over a tensor group (strategy/model/slice.h): every rank brings its part, which no
 * kernel may read, and all have the sum.
 *
 *     part of y ── all-reduce ──► y before bias, residual and GELU ── linear.finish ──► y
 *     part of the gradient of x ── all-reduce ──► the gradient of x
 *     the maxima of own classes ── all-reduce of maxima ──► the maxima;  their sums ── all-reduce ──► the sums
 *
 * With sequence parallelism, reduce-scatter leaves each rank its own rows of the sum, and all-gather brings all rows
 * together for a kernel that reads all.
 *
 * A value that is no part of a sum is refused: it would be counted once for every rank. */
#include "strategy/model/slice.h"
#include "strategy/plan/verify/meaning.h"

bool sums_a_value(const struct at *a)
{
	struct region g = without_padding(a);
	return a->op->group < 0 && is_value(meaning_in(a, &g));
}

/* This rank's part of something that the operation adds up, or of what it takes the maxima of. */
static enum status read_part_of_sum(const struct at *a, struct meaning *out)
{
	const struct plan *p = a->p;
	int whole = op_find(a->op->kind, PART_WHOLE);
	struct region g = without_padding(a);
	const struct meaning *x = meaning_in(a, &g);
	bool wants_maxima = a->op->kind == OP_ALL_REDUCE_MAXIMUM;
	bool maxima = x->kind == MEANING_VALUE && x->index == p->model->maxima;
	if (!is_value(x) || x->form != FORM_PARTIAL || x->origin != g.offset || maxima != wants_maxima)
		return refuse_found(a, 5, whole, " must be this rank's part of %s over the tensor group",
		                    wants_maxima ? "the maxima" : "a sum");
	if (op_axes(p, a->op) != plan_axis(p, "tensor"))
		return refuse_at(a, 5, whole,
		                 " is a part of a sum over the tensor group, and this runs over other ranks");
	if (p->model->values[x->index].sequence_parallel != (a->op->kind == OP_REDUCE_SCATTER))
		return refuse_at(a, 5, whole, ": the sum that is %s goes to every rank %s",
		                 p->model->values[x->index].name,
		                 p->model->values[x->index].sequence_parallel ? "by its own rows" : "whole");
	*out = *x;
	return read_padding(a, whole, 3, g.count);
}

/* Every rank's own rows: all ranks have all then. */
static enum status read_own_rows(const struct at *a, struct meaning *out)
{
	const struct region *g = &a->op->operand[ALL_GATHER_X];
	*out = *meaning_at(a, ALL_GATHER_X);
	const struct value *v = &a->p->model->values[is_value(out) ? out->index : 0];
	if (is_value(out) && out->form == FORM_WHOLE && out->origin == g->offset && v->sequence_parallel &&
	    g->count == value_elements(v, a->p->settings.micro_batch) &&
	    op_axes(a->p, a->op) == plan_axis(a->p, "tensor"))
		return STATUS_OK;
	return refuse_found(a, 7, ALL_GATHER_X, " must be this rank's own rows of a value");
}

enum status gather_rows(const struct at *all)
{
	struct meaning what;
	enum status s = read_all(all, 7, ALL_GATHER_X, read_own_rows, &what);
	what.form = FORM_GATHERED;
	if (!s)
		write_all(all, what);
	return s;
}

enum status sum_value(const struct at *all)
{
	const struct model *m = all->p->model;
	struct meaning what;
	TRY(read_all(all, 5, op_find(all->op->kind, PART_WHOLE), read_part_of_sum, &what));
	bool done = what.kind == MEANING_VALUE_GRADIENT || what.index == m->maxima || what.index == m->sums ||
	            !kernel_finishes(&m->kernels[m->values[what.index].producer]);
	what.form = done ? FORM_WHOLE : FORM_UNFINISHED;
	for (int i = 0; i < all->participants; i++)
		if (all[i].op->kind == OP_REDUCE_SCATTER)
			memory_spoil(all->memory, all[i].role, &all[i].op->operand[REDUCE_SCATTER_X]);
	write_all(all, what);
	return STATUS_OK;
}
