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

/* Divided rows are numbered piece by piece, each in one run; divided columns of equal pieces are numbered together. */
int rounding_parts(const struct tensor *t)
{
	return t->partition == PARTITION_ROWS && t->piece_count ? t->piece_count : 1;
}

/* The first row of a part in the slice. */
static int64_t part_row(const struct model *m, const struct tensor *t, int part)
{
	int64_t row = 0;
	for (int i = 0; i < part; i++)
		row += t->pieces[i].size / m->slices;
	return row;
}

struct rounding_part rounding_part(const struct model *m, int64_t slice, int tensor, int part)
{
	const struct tensor *t = &m->tensors[tensor];
	int64_t first = first_of(m, tensor), columns = t->columns ? t->columns : 1;
	if (t->partition == PARTITION_COLUMNS) {
		int pieces = t->piece_count ? t->piece_count : 1;
		int64_t piece = columns / pieces;
		struct element_numbers n = {0, first + slice * piece, columns, t->whole, piece, t->whole / pieces};
		return (struct rounding_part){0, t->elements, n};
	}
	bool last = part + 1 == rounding_parts(t);
	int64_t begin = part_row(m, t, part) * columns;
	int64_t count = (last ? t->elements : part_row(m, t, part + 1) * columns) - begin;
	if (t->partition == PARTITION_ROWS)
		first += tensor_run(t, m->slices, slice, begin).whole;
	return (struct rounding_part){begin, count, {0, first, count, count, count, 0}};
}

bool rounding_next(const struct rank_memory *memory, const struct op *op, int *next, struct rounding_run *out)
{
	const struct plan *p = memory->plan;
	const struct group *g = &p->groups[op->group];
	int64_t first = place_in_group(memory, op), last = first + region_elements(p, op_region(op, PART_PARAMETERS));
	for (; *next < g->tensor_count * TENSOR_PIECES; ++*next) {
		int tensor = g->tensors[*next / TENSOR_PIECES], part = *next % TENSOR_PIECES;
		if (part >= rounding_parts(&p->model->tensors[tensor]))
			continue;
		struct rounding_part r = rounding_part(p->model, plan_slice_of(p, memory->rank), tensor, part);
		int64_t begin = p->tensor_offset[tensor] + r.begin, end = begin + r.count;
		int64_t from = begin > first ? begin : first, to = end < last ? end : last;
		if (from >= to)
			continue;
		out->at = from - first;
		out->count = to - from;
		out->rounding.seed = (uint64_t)p->settings.seed;
		out->rounding.numbers = r.numbers;
		out->rounding.numbers.begin = from - begin;
		++*next;
		return true;
	}
	return false;
}
