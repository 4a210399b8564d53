#include "viz/timeline/state.h"

#include <stdlib.h>

#include "strategy/base/arena.h"

/* ---- chunks ---- */

/* A message is a broadcast between two. */
static enum operation collective_operation(const struct collective *c)
{
	return schedule_row(c->schedule.algorithm)->operation;
}

bool collective_adds(const struct collective *c)
{
	return operation_row(collective_operation(c))->adds;
}

uint64_t state_initially(const struct collective *c, int64_t member, int chunk)
{
	enum extent before = operation_row(collective_operation(c))->before;
	return schedule_holds(&c->schedule, before, member, c->cuts[chunk]) ? UINT64_C(1) << c->rank[member] : 0;
}

int state_contributors(uint64_t held)
{
	int n = 0;
	for (; held; held &= held - 1)
		n++;
	return n;
}

static void carry_over(struct state_group *g, const struct collective *c, const struct event *e)
{
	uint64_t *from = g->held + (ptrdiff_t)e->member * c->chunk_count,
	         *to = g->held + (ptrdiff_t)e->to_member * c->chunk_count;
	for (int i = 0; i < c->chunk_count; i++)
		if (collective_carries(c, e, i))
			to[i] = e->add ? to[i] | from[i] : from[i];
}

static void hold_initially(struct state_group *g, const struct collective *c)
{
	g->held = array_make((size_t)(c->schedule.ranks * c->chunk_count), sizeof *g->held);
	for (int64_t member = 0; member < c->schedule.ranks; member++)
		for (int i = 0; i < c->chunk_count; i++)
			g->held[member * c->chunk_count + i] = state_initially(c, member, i);
}

static void follow_group(struct state *st, struct state_group *g)
{
	const struct timeline *s = st->timeline;
	const struct collective *c = &s->collectives[g->collective];
	int *left = array_make((size_t)c->rounds, sizeof *left);
	hold_initially(g, c);
	/* In the order of rounds, whatever the clock says: what a rank sends, it has. */
	for (size_t i = c->first_event; i < c->end_event; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MESSAGE || e->collective != g->collective)
			continue;
		if (i >= st->latest_end) {
			left[e->round]++;
			continue;
		}
		carry_over(g, c, e);
		g->arrived++;
		g->sent += e->bytes;
		st->ranks[e->index].sent_collective += e->bytes;
	}
	while (g->round < c->rounds && !left[g->round])
		g->round++;
	g->done = g->round == c->rounds;
	free(left);
}

static int groups_of(const struct timeline *s, int family)
{
	int n = 0;
	for (int i = family; i < s->collective_count; i++)
		n += s->collectives[i].family == family;
	return n;
}

static void follow_collective(struct state *st)
{
	const struct timeline *s = st->timeline;
	st->groups = array_make((size_t)groups_of(s, st->collective), sizeof *st->groups);
	for (int i = st->collective; i < s->collective_count; i++) {
		if (s->collectives[i].family != st->collective)
			continue;
		struct state_group *g = &st->groups[st->group_count++];
		g->collective = i;
		if (s->collectives[i].shown)
			follow_group(st, g);
	}
	const struct state_group *first = &st->groups[0];
	st->done = first->done;
	st->round = first->round;
	st->arrived = first->arrived;
	st->held = first->held;
	st->sent_collective = first->sent;
}

bool state_ready(const struct state *st, int collective, int64_t member)
{
	const struct timeline *s = st->timeline;
	const struct collective *c = &s->collectives[collective];
	int index = c->rank ? timeline_index_of(s, c->rank[member]) : -1;
	if (index < 0)
		return true;
	const struct role *r = timeline_role_of(s, index);
	const struct op *op = &r->ops[c->ops[member]];
	for (int i = 0; i < op->after_count; i++)
		if (op->after[i] >= r->step.begin && state_of_op(st, index, op->after[i]) != OP_DONE)
			return false;
	return true;
}

/* ---- ranks ---- */

static void follow_rank(struct state *st, int index)
{
	const struct timeline_rank *r = &st->timeline->ranks[index];
	const struct role *role = &st->timeline->plan->roles[r->role];
	struct state_rank *out = &st->ranks[index];
	for (int q = 0; q < QUEUE_COUNT; q++)
		out->running[q] = out->next[q] = -1;
	for (int k = 0; k < role->step.end - role->step.begin; k++) {
		if (r->begin[k] < 0) /* memory, or not recorded */
			continue;
		enum queue queue = role->ops[role->step.begin + k].queue;
		enum op_state state = state_of_op(st, index, role->step.begin + k);
		if (state == OP_RUNS)
			out->running[queue] = role->step.begin + k;
		if (state == OP_WAITS && out->next[queue] < 0)
			out->next[queue] = role->step.begin + k;
	}
	for (int space = 0; space < SPACE_COUNT; space++) {
		const int64_t *live = timeline_live(st->timeline, index, (enum space)space, out->issued);
		for (int c = 0; live && c < HELD_COUNT; c++)
			out->live[space] += live[c];
		out->peak[space] = live ? st->timeline->roles[r->role].most[space][out->issued] : 0;
	}
}

/* How far each rank is, and what it has sent. */
static void follow_events(struct state *st)
{
	struct mark m;
	timeline_mark(st->timeline, st->latest_end, &m);
	for (int i = 0; i < st->timeline->rank_count; i++) {
		st->ranks[i].issued = m.ranks[i].issued;
		st->ranks[i].sent = m.ranks[i].sent;
		st->ranks[i].received = m.ranks[i].received;
	}
	st->collective = m.collective;
	st->begun = m.begun;
	st->sent = m.sent;
	mark_release(&m);
}

/* Bytes moved by collectives whose messages are no events. */
static void count_hidden(struct state *st)
{
	const struct timeline *s = st->timeline;
	for (int i = 0; i < s->rank_count; i++) {
		const struct role *r = timeline_role_of(s, i);
		for (int k = r->step.begin; k < r->step.end; k++) {
			int c = s->ranks[i].collective[k - r->step.begin];
			if (c < 0)
				continue;
			const struct collective *one = &s->collectives[c];
			st->ranks[i].member |= one->family == st->collective;
			if (one->shown || state_of_op(st, i, k) != OP_DONE)
				continue;
			int64_t sent = op_sent_bytes(s->plan, r, &r->ops[k], s->ranks[i].rank);
			if (one->family == st->collective)
				st->ranks[i].sent_collective = sent;
			if (c == st->collective) {
				st->done = true;
				st->round = one->rounds;
				st->sent_collective = one->sent_bytes;
			}
			if (one->control)
				continue;
			st->ranks[i].sent += sent;
			st->ranks[i].received += op_received_bytes(s->plan, r, &r->ops[k], s->ranks[i].rank);
			st->sent += one->lead == s->ranks[i].rank ? one->sent_bytes : 0;
		}
	}
}

void state_make(struct state *st, const struct timeline *s, enum step_size step_size, size_t position)
{
	state_release(st);
	if (position > s->instant_count)
		position = s->instant_count;
	*st = (struct state){.timeline = s,
	                     .position = position,
	                     .time = timeline_time(s, position),
	                     .step_size = step_size,
	                     .collective = -1};
	st->ranks = array_make((size_t)s->rank_count, sizeof *st->ranks);
	if (position) {
		st->latest = s->instants[timeline_previous(s, step_size, position)].begin;
		st->latest_end = s->instants[position - 1].end;
	}
	follow_events(st);
	for (int i = 0; i < s->rank_count; i++)
		follow_rank(st, i);
	if (st->collective >= 0)
		follow_collective(st);
	count_hidden(st);
}

void state_release(struct state *st)
{
	if (!st)
		return;
	free(st->ranks);
	for (int i = 0; i < st->group_count; i++)
		free(st->groups[i].held);
	free(st->groups);
	*st = (struct state){0};
}

enum op_state state_of_op(const struct state *st, int index, int op)
{
	const struct timeline_rank *r = &st->timeline->ranks[index];
	const struct section *step = &timeline_role_of(st->timeline, index)->step;
	int k = op - step->begin;
	bool over = st->position == st->timeline->instant_count;
	if (r->event[k] == SIZE_MAX) /* not recorded */
		return st->ranks[index].issued > k ? OP_DONE : OP_WAITS;
	if (r->event[k] >= st->latest_end)
		return OP_WAITS;
	return over || r->begin[k] < 0 || r->end[k] <= st->time ? OP_DONE : OP_RUNS;
}

void state_alive(const struct state *st, int index, bool *alive)
{
	const struct role *role = timeline_role_of(st->timeline, index);
	for (int i = 0; i < role->buffer_count; i++)
		alive[i] = role->buffers[i].state;
	for (int k = 0; k < st->ranks[index].issued; k++) {
		const struct op *op = &role->ops[role->step.begin + k];
		if (op_class(op->kind) == OP_CLASS_M)
			alive[op_buffer(op)] = op->kind == OP_ALLOC;
	}
}
