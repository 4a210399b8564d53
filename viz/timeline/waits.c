/* For whom communication waits before it moves anything. */
#include "viz/timeline/timeline.h"

/* When the rank itself had come to an operation: what it waits for was done, and so was the one before on its queue. */
static int64_t rank_came(const struct timeline *s, int index, int op)
{
	const struct timeline_rank *r = &s->ranks[index];
	const struct role *role = timeline_role_of(s, index);
	const struct op *one = &role->ops[op];
	int first = role->step.begin;
	int64_t came = 0;
	for (int i = 0; i < one->after_count; i++)
		if (one->after[i] >= first && r->end[one->after[i] - first] > came)
			came = r->end[one->after[i] - first];
	for (int k = op - first - 1; k >= 0; k--)
		if (role->ops[first + k].queue == one->queue && r->end[k] >= 0)
			return r->end[k] > came ? r->end[k] : came;
	return came;
}

/* The member of the collective that came last, among those shown; -1: one that is not shown. */
static int64_t last_to_come(const struct timeline *s, const struct collective *c)
{
	return c->last_came == c->came ? s->ranks[c->last].rank : -1;
}

struct wait timeline_wait(const struct timeline *s, int index, int op)
{
	const struct timeline_rank *r = &s->ranks[index];
	const struct op *one = &timeline_role_of(s, index)->ops[op];
	int k = op - timeline_role_of(s, index)->step.begin, c = timeline_collective_of(s, index, op);
	struct wait w = {r->begin[k], r->came[k], -1};
	if (c < 0 || w.begin < 0)
		return w;
	/* The span of a message begins only when both ends have come. */
	if (op_is_message(one->kind)) {
		int64_t came = rank_came(s, index, op);
		w.rank = op_peer(s->plan, one, r->rank);
		w.begin = came < w.begin ? came : w.begin;
	} else {
		w.rank = last_to_come(s, &s->collectives[c]);
	}
	return w;
}
