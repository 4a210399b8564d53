/* The events of a step: what ranks issue and begin, when queues run dry, and the messages of collectives. */
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/memory.h"
#include "strategy/base/merge.h"
#include "viz/timeline/timeline.h"

static struct event *add_event(struct timeline *s)
{
	s->events = array_reserve(s->events, s->event_count, &s->event_capacity, sizeof *s->events);
	struct event *e = &s->events[s->event_count++];
	*e = (struct event){.collective = -1, .to = -1};
	return e;
}

/* ---- messages ---- */

struct recorded {
	int64_t rank, to, end;
	int op;
	size_t order;
};

static int by_pair(const void *a, const void *b)
{
	const struct recorded *x = a, *y = b;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static struct recorded *recorded_messages(const struct timeline *s)
{
	size_t n = s->trace->message_count;
	struct recorded *v = array_make(n, sizeof *v);
	for (size_t i = 0; i < n; i++) {
		const struct message *m = &s->trace->messages[i];
		v[i] = (struct recorded){m->from, m->to, m->end, m->op, i};
	}
	if (n)
		qsort(v, n, sizeof *v, by_pair);
	return v;
}

/* The messages from one rank to another in one operation: the first of them, and how many. */
static size_t find_pair(const struct recorded *v, size_t count, const struct recorded *key, size_t *found)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct recorded *m = &v[middle];
		bool before = m->op != key->op       ? m->op < key->op
		              : m->rank != key->rank ? m->rank < key->rank
		                                     : m->to < key->to;
		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	*found = 0;
	while (low + *found < count && v[low + *found].op == key->op && v[low + *found].rank == key->rank &&
	       v[low + *found].to == key->to)
		++*found;
	return low;
}

/* Replaces the times of the collective's events by those of the trace, if the trace has all its messages. */
static void use_recorded(struct timeline *s, int c, size_t first, const struct recorded *v)
{
	size_t n = s->event_count - first;
	int64_t *times = calloc(n + 1, sizeof *times);
	size_t met[TIMELINE_MESSAGE_RANKS][TIMELINE_MESSAGE_RANKS] = {{0}}; /* the rounds in which a pair has met */
	bool all = n > 0;
	if (!times)
		memory_exhausted();
	for (size_t i = 0; i < n && all; i++) {
		const struct event *e = &s->events[first + i];
		struct recorded key = {.rank = e->rank, .to = e->to, .op = e->op};
		size_t found, at = find_pair(v, s->trace->message_count, &key, &found), before = met[e->rank][e->to]++;
		all = before < found;
		if (all)
			times[i] = v[at + before].end;
	}
	for (size_t i = 0; i < n && all; i++)
		s->events[first + i].time = times[i];
	s->collectives[c].recorded = all;
	free(times);
}

static void add_messages(struct timeline *s, int number, const struct recorded *recorded)
{
	struct collective *c = &s->collectives[number];
	size_t first = s->event_count;
	if (!c->shown)
		return;
	for (int round = 0; round < c->rounds; round++) {
		struct round of[TIMELINE_ROUND_RANKS];
		for (int64_t member = 0; member < c->schedule.ranks; member++)
			of[member] = schedule_round(&c->schedule, member, round);
		for (int64_t member = 0; member < c->schedule.ranks; member++) {
			struct round r = of[member];
			if (r.send_to < 0)
				continue;
			struct event *e = add_event(s);
			int64_t time = c->end - c->came, rounds = c->rounds; /* its share, without overflow */
			e->time = c->came + time / rounds * (round + 1) + time % rounds * (round + 1) / rounds;
			e->kind = EVENT_MESSAGE;
			e->rank = c->rank[member];
			e->index = timeline_index_of(s, e->rank);
			e->member = (short)member;
			e->to_member = (short)r.send_to;
			e->op = c->ops[member];
			e->collective = number;
			e->round = round;
			e->to = c->rank[r.send_to];
			e->offset = r.send_offset;
			e->count = r.send_count;
			e->bytes = r.send_count * c->element_bytes;
			e->add = of[r.send_to].add;
			e->queue = QUEUE_COMMUNICATION;
		}
	}
	if (s->trace->message_count && s->plan->ranks <= TIMELINE_MESSAGE_RANKS)
		use_recorded(s, number, first, recorded);
}

/* ---- what ranks do ---- */

/* Shorter than this part of the step, nobody speaks of a stall: measured queues pause between any two operations. */
enum { STALLS = 200 };

/* Does the queue stand still between the end of operation k and the next on it? Returns that next one, or -1. */
static int idle_after(const struct timeline_rank *r, const struct role *role, int k, int64_t shortest)
{
	enum queue queue = role->ops[role->step.begin + k].queue;
	int ops = role->step.end - role->step.begin;
	for (int next = k + 1; next < ops; next++) {
		const struct op *op = &role->ops[role->step.begin + next];
		if (op->queue == queue && op_class(op->kind) != OP_CLASS_M && r->begin[next] >= 0)
			return r->begin[next] - r->end[k] > shortest ? next : -1;
	}
	return -1;
}

/* Adds the events of one queue, with the allocations and frees in its order if it computes: they are in order of time.
 */
static void add_queue_events(struct timeline *s, int index, enum queue queue)
{
	const struct timeline_rank *r = &s->ranks[index];
	const struct role *role = &s->plan->roles[r->role];
	for (int k = 0; k < role->step.end - role->step.begin; k++) {
		const struct op *op = &role->ops[role->step.begin + k];
		bool memory = op_class(op->kind) == OP_CLASS_M;
		if ((memory ? QUEUE_COMPUTE : op->queue) != queue || (!memory && r->begin[k] < 0))
			continue;
		struct event *e = add_event(s);
		e->time = memory ? r->issued[k] : r->begin[k];
		e->kind = memory ? EVENT_MEMORY : EVENT_BEGIN;
		e->op = role->step.begin + k;
		e->rank = r->rank;
		e->index = index;
		e->queue = op->queue;
		int next = memory || op->queue != QUEUE_COMPUTE ? -1 : idle_after(r, role, k, s->step_ns / STALLS);
		if (next < 0)
			continue;
		e = add_event(s);
		e->time = r->end[k];
		e->kind = EVENT_IDLE;
		e->op = role->step.begin + next;
		e->rank = r->rank;
		e->index = index;
		e->queue = op->queue;
	}
}

/* At one time, messages arrive first, then queues run dry, then ranks go on, in the order of issue. */
static bool before(const void *timeline, size_t a, size_t b)
{
	const struct event *x = &((const struct timeline *)timeline)->events[a],
	                   *y = &((const struct timeline *)timeline)->events[b];
	enum event_kind class_x = x->kind == EVENT_BEGIN ? EVENT_MEMORY : x->kind;
	enum event_kind class_y = y->kind == EVENT_BEGIN ? EVENT_MEMORY : y->kind;
	if (x->time != y->time)
		return x->time < y->time;
	if (class_x != class_y)
		return class_x < class_y;
	if (x->collective != y->collective)
		return x->collective < y->collective;
	if (x->round != y->round)
		return x->round < y->round;
	return x->op != y->op ? x->op < y->op : x->rank < y->rank;
}

/* order[i] is the event that comes i-th. Where they stand, along the cycles of that permutation: a second list of all
 * events would take as long to get as all the rest. */
static void sort_events(struct timeline *s)
{
	size_t *order = merge_order(s->event_count, before, s);
	for (size_t i = 0; i < s->event_count; i++) {
		struct event first = s->events[i];
		size_t to = i, from = order[i];
		if (from == i)
			continue;
		for (; from != i; from = order[to]) {
			s->events[to] = s->events[from];
			order[to] = to;
			to = from;
		}
		s->events[to] = first;
		order[to] = to;
	}
	free(order);
}

/* Notes which events belong to which operations and collectives. */
static void index_events(struct timeline *s)
{
	for (int i = 0; i < s->rank_count; i++) {
		const struct section *step = &timeline_role_of(s, i)->step;
		s->ranks[i].event = malloc(((size_t)(step->end - step->begin) + 1) * sizeof *s->ranks[i].event);
		if (!s->ranks[i].event)
			memory_exhausted();
		for (int k = 0; k < step->end - step->begin; k++)
			s->ranks[i].event[k] = SIZE_MAX;
	}
	for (size_t i = 0; i < s->event_count; i++) {
		const struct event *e = &s->events[i];
		if (e->kind == EVENT_MEMORY || e->kind == EVENT_BEGIN)
			s->ranks[e->index].event[e->op - timeline_role_of(s, e->index)->step.begin] = i;
		if (e->kind != EVENT_MESSAGE)
			continue;
		struct collective *c = &s->collectives[e->collective];
		c->first_event = c->end_event ? c->first_event : i;
		c->end_event = i + 1;
	}
}

void timeline_collect_events(struct timeline *s)
{
	struct recorded *recorded = recorded_messages(s);
	for (int i = 0; i < s->rank_count; i++)
		for (int q = 0; q < QUEUE_COUNT; q++)
			add_queue_events(s, i, (enum queue)q);
	for (int c = 0; c < s->collective_count; c++)
		add_messages(s, c, recorded);
	free(recorded);
	if (s->rank_count)
		*add_event(s) = (struct event){.time = s->step_ns,
		                               .kind = EVENT_END,
		                               .rank = s->ranks[0].rank,
		                               .op = timeline_role_of(s, 0)->step.end,
		                               .collective = -1,
		                               .to = -1};
	sort_events(s);
	index_events(s);
}
