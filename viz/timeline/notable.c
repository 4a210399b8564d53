#include "viz/timeline/notable.h"

/* A pause shorter than this share of the step is not called a bubble, since measured queues pause between any two
 * operations. Exposed communication is taken from the head of the list that L shows, however short. */
enum { LEAST_PART = 200 };

struct list {
	struct notable *all;
	size_t count, capacity;
};

static void add(struct list *l, struct notable one)
{
	l->all = array_reserve(l->all, l->count, &l->capacity, sizeof *l->all);
	l->all[l->count++] = one;
}

/* ---- memory ---- */

/* The first of the highlights of a kind by position, or for peaks that of the role with the highest. */
static const struct highlight *first_of(const struct timeline *s, enum highlight_kind kind)
{
	const struct highlight *best = NULL;
	for (int i = 0; i < s->highlight_count; i++) {
		const struct highlight *h = &s->highlights[i];
		if (h->kind != kind)
			continue;
		int64_t peak = s->roles[s->ranks[timeline_index_of(s, h->rank)].role].peak[SPACE_DEVICE];
		if (!best || (kind == HIGHLIGHT_PEAK &&
		              peak > s->roles[s->ranks[timeline_index_of(s, best->rank)].role].peak[SPACE_DEVICE]))
			best = h;
	}
	return best;
}

/* The allocation at a position that issues one, of a rank. */
static int allocation_at(const struct timeline *s, const struct highlight *h)
{
	return h->position ? s->events[s->instants[h->position - 1].begin].op : -1;
}

static void add_memory(struct list *l, const struct timeline *s, enum highlight_kind kind, enum notable_kind as)
{
	const struct highlight *h = first_of(s, kind);
	if (!h)
		return;
	int index = timeline_index_of(s, h->rank), op = allocation_at(s, h);
	const struct timeline_role *r = &s->roles[s->ranks[index].role];
	int64_t bytes = r->peak[SPACE_DEVICE];
	const int64_t *live = timeline_live(s, index, SPACE_DEVICE, op < 0 ? 0 : op - r->role->step.begin + 1);
	for (int k = 0; as == NOTABLE_OVERFLOW && live && k < HELD_COUNT; k++)
		bytes = (k ? bytes : 0) + live[k];
	add(l, (struct notable){as, h->position, h->rank, op < 0 ? -1 : role_needed_by(r->role, op), bytes});
}

/* ---- time ---- */

/* The stop at this time, if the cursor can stand there; else the last position before it. */
static size_t stop_at(const struct timeline *s, int64_t time)
{
	for (int i = 0; i < s->highlight_count; i++)
		if (s->highlights[i].kind == HIGHLIGHT_STALL && timeline_time(s, s->highlights[i].position) == time)
			return s->highlights[i].position;
	return timeline_position_at(s, time);
}

static void add_exposed(struct list *l, const struct lanes *lanes)
{
	struct exposed longest[NOTABLE_EXPOSED_MOST];
	size_t count = exposed_longest(lanes, longest, NOTABLE_EXPOSED_MOST);
	for (size_t i = 0; i < count && i < NOTABLE_EXPOSED_MOST; i++)
		add(l, (struct notable){NOTABLE_EXPOSED, stop_at(lanes->timeline, longest[i].begin), longest[i].rank,
		                        longest[i].op, longest[i].time});
}

/* The operation of a compute lane that begins where a gap ends; -1: the step ends. */
static int next_op(const struct lane *lane, int64_t time)
{
	size_t i = lane_find(lane, 0, time);
	return i < lane->span_count ? lane->spans[i].op : -1;
}

/* Keeps the longest, in order; of equals the first. */
static void keep_longest(struct notable *longest, int *count, struct notable one)
{
	int at = *count;
	while (at && longest[at - 1].amount < one.amount)
		at--;
	if (at == NOTABLE_BUBBLES_MOST)
		return;
	*count += *count < NOTABLE_BUBBLES_MOST;
	for (int i = *count - 1; i > at; i--)
		longest[i] = longest[i - 1];
	longest[at] = one;
}

static void add_bubbles(struct list *l, const struct lanes *lanes)
{
	struct notable longest[NOTABLE_BUBBLES_MOST];
	int count = 0;
	for (int i = 0; i < lanes->lane_count; i++) {
		const struct lane *lane = &lanes->lanes[i];
		for (size_t k = 0; lane->twin == i && k < lane->gap_count; k++) {
			const struct lane_gap *g = &lane->gaps[k];
			if (!g->exposed && g->end - g->begin > lanes->end / LEAST_PART)
				keep_longest(longest, &count,
				             (struct notable){NOTABLE_BUBBLE, stop_at(lanes->timeline, g->begin),
				                              lane->rank, next_op(lane, g->end), g->end - g->begin});
		}
	}
	for (int i = 0; i < count; i++)
		add(l, longest[i]);
}

/* ---- the rest ---- */

static void add_overlap(struct list *l, const struct timeline *s)
{
	const struct highlight *h = first_of(s, HIGHLIGHT_OVERLAP);
	if (h)
		add(l, (struct notable){NOTABLE_OVERLAP, h->position, h->rank, -1, 0});
}

/* The collective of each kind that is over first. */
static void add_ends(struct list *l, const struct timeline *s)
{
	bool had[OP_KIND_COUNT] = {false};
	for (int i = 0; i < s->collective_count; i++) {
		const struct collective *c = &s->collectives[i];
		if (had[c->kind] || c->control || !c->end_event)
			continue;
		had[c->kind] = true;
		add(l, (struct notable){NOTABLE_END, timeline_position_of(s, c->end_event - 1), c->lead, c->op, 0});
	}
}

struct notable *notables_make(const struct lanes *lanes, size_t *count)
{
	struct list l = {0};
	add_memory(&l, lanes->timeline, HIGHLIGHT_OVERFLOW, NOTABLE_OVERFLOW);
	add_memory(&l, lanes->timeline, HIGHLIGHT_PEAK, NOTABLE_PEAK);
	add_exposed(&l, lanes);
	add_bubbles(&l, lanes);
	add_overlap(&l, lanes->timeline);
	add_ends(&l, lanes->timeline);
	*count = l.count;
	return l.all;
}
