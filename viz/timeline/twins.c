/* Ranks whose lanes are equal: most of them do the same at the same time. */
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "viz/timeline/lanes.h"

static bool spans_are_equal(const struct lane *a, const struct lane *b)
{
	if (a->queue != b->queue || a->span_count != b->span_count)
		return false;
	for (size_t i = 0; i < a->span_count; i++) {
		const struct lane_span *x = &a->spans[i], *y = &b->spans[i];
		if (x->op != y->op || x->begin != y->begin || x->end != y->end || x->came != y->came ||
		    (x->came > x->begin && x->awaits != y->awaits))
			return false;
	}
	return true;
}

static int lanes_of_rank(const struct lanes *l, int first)
{
	int n = 0;
	while (first + n < l->lane_count && l->lanes[first + n].rank == l->lanes[first].rank)
		n++;
	return n;
}

static bool ranks_are_equal(const struct lanes *l, int a, int b)
{
	const struct timeline *s = l->timeline;
	int n = lanes_of_rank(l, a);
	bool equal = n == lanes_of_rank(l, b) && s->ranks[timeline_index_of(s, l->lanes[a].rank)].role ==
	                                                 s->ranks[timeline_index_of(s, l->lanes[b].rank)].role;
	for (int i = 0; equal && i < n; i++)
		equal = spans_are_equal(&l->lanes[a + i], &l->lanes[b + i]);
	return equal;
}

static int first_twin(const struct lanes *l, int lane)
{
	for (int i = 0; i < lane; i += lanes_of_rank(l, i))
		if (l->lanes[i].twin == i && ranks_are_equal(l, i, lane))
			return i;
	return lane;
}

static void make_folded(struct lanes *l)
{
	struct lanes *f = array_make(1, sizeof *f);
	*f = *l;
	f->is_folded = true;
	f->lanes = NULL;
	f->lane_count = 0;
	f->lane_capacity = 0;
	for (int i = 0; i < l->lane_count; i++) {
		if (l->lanes[i].twin != i)
			continue;
		f->lanes = array_reserve(f->lanes, (size_t)f->lane_count, &f->lane_capacity, sizeof *f->lanes);
		f->lanes[f->lane_count++] = l->lanes[i];
	}
	l->folded = f;
}

void lanes_find_twins(struct lanes *l)
{
	bool any = false;
	for (int i = 0, n; i < l->lane_count; i += n) {
		int index = timeline_index_of(l->timeline, l->lanes[i].rank);
		int twin = index < 64 ? first_twin(l, i) : i; /* a set of them has 64 bits */
		n = lanes_of_rank(l, i);
		any |= twin != i;
		for (int k = 0; k < n; k++) {
			l->lanes[i + k].twin = twin + k;
			if (index < 64)
				l->lanes[twin + k].ranks |= UINT64_C(1) << index;
		}
	}
	if (any)
		make_folded(l);
}

bool lane_has_rank(const struct lanes *l, const struct lane *lane, int64_t rank)
{
	int index = l->timeline ? timeline_index_of(l->timeline, rank) : -1;
	return lane->rank == rank || (index >= 0 && index < 64 && (lane->ranks >> index & 1));
}
