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
 * What is no part of a sum is refused: it would be counted once for every rank. */
#include <stdio.h>

#include "strategy/plan/verify/meaning.h"

/* What a rank brings: of an in-place collective, the elements before its padding. */
static struct region without_padding(const struct at *a)
{
	struct region g = *op_region(a->op, a->op->kind == OP_ALL_GATHER ? PART_SHARE : PART_WHOLE);
	if (a->op->payload < g.count)
		g.count = a->op->payload;
	return g;
}

static const struct meaning *meaning_at(const struct at *a, const struct region *g)
{
	int number = memory_get(&a->ip->memory, a->role, g);
	return number < 0 ? NULL : meaning_of(&a->ip->memory, number);
}

bool sums_a_value(const struct at *a)
{
	struct region g = without_padding(a);
	const struct meaning *x = meaning_at(a, &g);
	return a->op->group < 0 && x && (x->kind == MEANING_VALUE || x->kind == MEANING_VALUE_GRADIENT);
}

/* This rank's part of something that the operation adds up, or of what it takes the maxima of. */
static enum status read_part_of_sum(const struct at *a, struct meaning *out)
{
	const struct plan *p = a->ip->v->p;
	int whole = op_find(a->op->kind, PART_WHOLE);
	struct region g = without_padding(a);
	const struct meaning *x = meaning_at(a, &g);
	bool wants_maxima = a->op->kind == OP_ALL_REDUCE_MAXIMUM;
	bool maxima = x && x->kind == MEANING_VALUE && x->index == p->model->maxima;
	char text[300];
	if (!x || x->form != FORM_PARTIAL || x->origin != g.offset || maxima != wants_maxima) {
		memory_describe(&a->ip->memory, a->role, &g, -1, text, sizeof text);
		return refuse_at(a, 5, whole, " must be this rank's part of %s over the tensor group; %s",
		                 wants_maxima ? "the maxima" : "a sum", text);
	}
	if (op_axes(p, a->op) != plan_axis(p, "tensor"))
		return refuse_at(a, 5, whole,
		                 " is a part of a sum over the tensor group, and this runs over other ranks");
	if (p->model->values[x->index].spread != (a->op->kind == OP_REDUCE_SCATTER))
		return refuse_at(a, 5, whole, ": the sum that is %s goes to every rank %s",
		                 p->model->values[x->index].name,
		                 p->model->values[x->index].spread ? "by its own rows" : "whole");
	*out = *x;
	return read_padding(a, whole, 3, g.count);
}

static bool same_thing(const struct meaning *a, const struct meaning *b)
{
	return a->kind == b->kind && a->index == b->index && a->micro == b->micro && a->consumers == b->consumers &&
	       a->scaled == b->scaled;
}

/* Every rank's own rows: all ranks have all then. */
enum status gather_rows(const struct at *all)
{
	const struct plan *p = all->ip->v->p;
	struct meaning first = {0};
	char text[300];
	for (int i = 0; i < all->participants; i++) {
		const struct region *g = &all[i].op->operand[ALL_GATHER_X];
		const struct meaning *x = meaning_at(&all[i], g);
		bool rows = x && x->form == FORM_WHOLE && x->origin == g->offset && p->model->values[x->index].spread &&
		            g->count == value_elements(&p->model->values[x->index], p->settings.micro_batch) &&
		            op_axes(p, all[i].op) == plan_axis(p, "tensor");
		if (!rows) {
			memory_describe(&all->ip->memory, all[i].role, g, -1, text, sizeof text);
			return refuse_at(&all[i], 7, ALL_GATHER_X, " must be this rank's own rows of a value; %s",
			                 text);
		}
		if (!i)
			first = *x;
		else if (!same_thing(x, &first))
			return refuse_at(&all[i], 7, ALL_GATHER_X, " is not what the other role gives");
	}
	first.form = FORM_GATHERED;
	for (int i = 0; i < all->participants; i++) {
		first.origin = all[i].op->operand[ALL_GATHER_Y].offset;
		write_meaning(&all[i], ALL_GATHER_Y, first);
	}
	return STATUS_OK;
}

enum status sum_value(const struct at *all)
{
	const struct model *m = all->ip->v->p->model;
	struct meaning first = {0}, x = {0};
	for (int i = 0; i < all->participants; i++) {
		enum status s = read_part_of_sum(&all[i], &x);
		if (s)
			return s;
		if (!i)
			first = x;
		else if (!same_thing(&x, &first))
			return refuse_at(&all[i], 5, op_find(all->op->kind, PART_WHOLE),
			                 " is not what the other role gives");
	}
	bool done = first.kind == MEANING_VALUE_GRADIENT || first.index == m->maxima || first.index == m->sums;
	for (int i = 0; i < all->participants; i++) {
		bool rows = all[i].op->kind == OP_REDUCE_SCATTER;
		struct region g = rows ? all[i].op->operand[REDUCE_SCATTER_Y] : without_padding(&all[i]);
		if (rows)
			memory_spoil(&all->ip->memory, all[i].role, &all[i].op->operand[REDUCE_SCATTER_X]);
		first.form = done ? FORM_WHOLE : FORM_UNFINISHED;
		first.origin = g.offset;
		(void)memory_set(&all->ip->memory, all[i].role, &g, meaning_number(&all->ip->memory, &first));
	}
	return STATUS_OK;
}
