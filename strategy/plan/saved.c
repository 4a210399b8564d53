#include "strategy/plan/saved.h"

#include "strategy/model/slice.h"

/* Elements of a rank's slice of a tensor that the whole tensor has too: padding is in no file. */
static int64_t real_elements(const struct plan *p, int64_t rank, const struct tensor *t, int64_t first, int64_t count)
{
	int64_t n = 0;
	if (t->partition == PARTITION_NONE)
		return count;
	for (int64_t done = 0; done < count;) {
		struct run_of_tensor run = tensor_run(t, p->model->slices, plan_slice_of(p, rank), first + done);
		int64_t k = run.count < count - done ? run.count : count - done;
		n += run.whole >= 0 ? k : 0;
		done += k;
	}
	return n;
}

static int64_t group_elements(const struct plan *p, const struct op *op, int64_t rank)
{
	const struct group *g = &p->groups[op->group];
	int64_t first = op_place_in_group(p, op, rank), count = region_elements(p, op_region(op, PART_PARAMETERS)),
	        n = 0;
	for (int i = 0; i < g->tensor_count; i++) {
		const struct tensor *t = &p->model->tensors[g->tensors[i]];
		int64_t begin = p->tensor_offset[g->tensors[i]], end = begin + t->elements;
		int64_t from = begin > first ? begin : first, to = end < first + count ? end : first + count;
		if (from < to)
			n += real_elements(p, rank, t, from - begin, to - from);
	}
	return n;
}

/* The number of a step is two. */
static int64_t op_elements(const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	if (item_is_of_group(op->item))
		return group_elements(p, op, rank);
	if (op->kind == OP_SAVE && rank != r->first_rank)
		return 0;
	return op->item == ITEM_STEP ? 2 : op_region(op, PART_PARAMETERS)->count;
}

int64_t plan_saved_bytes(const struct plan *p, enum section_kind k, int64_t rank)
{
	const struct role *r = plan_role_of(p, rank);
	const struct section *s = section_of(r, k);
	int64_t n = 0;
	for (int i = s->begin; i < s->end; i++)
		if (op_has_item(r->ops[i].kind))
			n += op_elements(p, r, &r->ops[i], rank);
	return n * (int64_t)sizeof(float);
}
