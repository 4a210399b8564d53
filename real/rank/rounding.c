#include "real/rank/rounding.h"

#include "real/rank/operand.h"
#include "strategy/model/slice.h"

/* Numbers go through the whole model's tensors in its order. */
static int64_t first_of(const struct model *m, int tensor)
{
	int64_t first = 0;
	for (int t = 0; t < tensor; t++)
		first += tensor_whole_elements(&m->tensors[t]);
	return first;
}

struct element_numbers rounding_numbers(const struct model *m, int64_t slice, int tensor)
{
	const struct tensor *t = &m->tensors[tensor];
	int64_t first = first_of(m, tensor), columns = t->columns ? t->columns : 1, piece;
	if (t->partition == PARTITION_COLUMNS) {
		piece = columns / t->pieces;
		return (struct element_numbers){0,     first + slice * piece, columns, t->whole,
		                                piece, t->whole / t->pieces};
	}
	if (t->partition == PARTITION_ROWS) { /* as one row */
		piece = t->rows / t->pieces * columns;
		return (struct element_numbers){0,     first + slice * piece,         t->elements, t->elements,
		                                piece, t->whole / t->pieces * columns};
	}
	return (struct element_numbers){0, first, t->elements, t->elements, t->elements, 0};
}

bool rounding_next(const struct rank_memory *memory, const struct op *op, int *next, struct rounding_run *out)
{
	const struct plan *p = memory->plan;
	const struct group *g = &p->groups[op->group];
	int64_t first = place_in_group(memory, op), last = first + region_elements(p, op_region(op, PART_PARAMETERS));
	while (*next < g->tensor_count) {
		int tensor = g->tensors[(*next)++];
		int64_t begin = p->tensor_offset[tensor], end = begin + p->model->tensors[tensor].elements;
		int64_t from = begin > first ? begin : first, to = end < last ? end : last;
		if (from >= to)
			continue;
		out->at = from - first;
		out->count = to - from;
		out->rounding.seed = (uint64_t)p->settings.seed;
		out->rounding.numbers = rounding_numbers(p->model, plan_slice_of(p, memory->rank), tensor);
		out->rounding.numbers.begin = from - begin;
		return true;
	}
	return false;
}
