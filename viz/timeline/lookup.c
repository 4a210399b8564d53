/* Looking things up in a timeline. */
#include "strategy/base/search.h"
#include "viz/timeline/timeline.h"

const struct role *timeline_role_of(const struct timeline *s, int index)
{
	return &s->plan->roles[s->ranks[index].role];
}

int timeline_index_of(const struct timeline *s, int64_t rank)
{
	if (rank >= 0 && rank < s->rank_count && s->ranks[rank].rank == rank) /* all are shown */
		return (int)rank;
	int first = (int)FIRST_PAST(s->ranks, rank, 0, s->rank_count, rank - 1);
	return first < s->rank_count && s->ranks[first].rank == rank ? first : -1;
}

int timeline_collective_of(const struct timeline *s, int index, int op)
{
	const struct section *step = &timeline_role_of(s, index)->step;
	return op < step->begin || op >= step->end ? -1 : s->ranks[index].collective[op - step->begin];
}

size_t timeline_position_of(const struct timeline *s, size_t event)
{
	size_t low = 0, high = s->instant_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->instants[middle].end <= event)
			low = middle + 1;
		else
			high = middle;
	}
	return low + 1;
}

int role_needed_by(const struct role *r, int allocation)
{
	for (int i = allocation < r->step.begin ? r->step.begin : allocation; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) != OP_CLASS_M)
			return i;
	return -1;
}

int collective_chunks(const struct collective *c, const struct event *message, int *last)
{
	int first = 0;
	while (first < c->chunk_count - 1 && c->cuts[first] < message->offset)
		first++;
	*last = first;
	while (*last + 1 < c->chunk_count && c->cuts[*last + 2] <= message->offset + message->count)
		++*last;
	return first;
}

bool collective_carries(const struct collective *c, const struct event *message, int chunk)
{
	return c->cuts[chunk] >= message->offset && c->cuts[chunk + 1] <= message->offset + message->count;
}

const int64_t *timeline_live(const struct timeline *s, int index, enum space space, int issued)
{
	const int64_t *live = s->roles[s->ranks[index].role].live[space];
	return live ? live + (ptrdiff_t)issued * HELD_COUNT : NULL;
}
