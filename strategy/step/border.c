/* Tensors across the border of two slices. DeepSpeed's stages 1 and 2 cut the model into as many runs of elements as
 * there are ranks, in the order of its tensors, and each rank keeps the gradients of its own run. A tensor that lies
 * across a border is not cut: both ranks keep its gradient whole.
 *
 *     tensors   │ table         │ qkv   │ proj │ fc        │ out       │
 *     runs      │ rank 0                │ rank 1                │
 *                                          ▲ kept whole by rank 0, too
 *
 * So ranks keep different amounts, and every rank but the first may have a border on both sides. The first rank is a
 * role of its own where it differs; the others have the room of the one that keeps most.
 */
#include "strategy/step/groups.h"
#include "strategy/step/step.h"

bool border_is_kept(const struct plan *p, const struct strategy *g)
{
	return p->software.does[SOFTWARE_BORDER] == BORDER_KEPT && g->optimizer == PLACE_SLICE &&
	       g->gradients == PLACE_SHARD && p->ranks > 1;
}

/* The tensor that lies across an element: what of it is before that and behind; both 0 if none does. */
struct cut {
	int64_t before, behind;
};

/* next, begin: the tensor at which to begin to look, and its first element; they move on. */
static struct cut cut_at(const struct model *m, int64_t at, int *next, int64_t *begin)
{
	while (*next < m->tensor_count && *begin + m->tensors[*next].elements <= at)
		*begin += m->tensors[(*next)++].elements;
	if (*next == m->tensor_count || *begin >= at)
		return (struct cut){0, 0};
	return (struct cut){at - *begin, *begin + m->tensors[*next].elements - at};
}

/* The most elements that one of the ranks [first, first + ranks) keeps beyond its run. */
int64_t border_elements(const struct plan *p, int64_t first, int64_t ranks)
{
	const struct model *m = p->model;
	int64_t run = (m->parameters + p->ranks - 1) / p->ranks, begin = 0, most = 0;
	int next = 0;
	struct cut low = cut_at(m, first * run, &next, &begin);
	for (int64_t r = first; r < first + ranks; r++) {
		struct cut high = cut_at(m, (r + 1) * run, &next, &begin);
		int64_t keeps = low.before + high.behind;
		most = keeps > most ? keeps : most;
		low = high;
	}
	return most;
}
