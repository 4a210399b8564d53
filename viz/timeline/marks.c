/* How far all ranks are after so many events. */
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/memory.h"
#include "viz/timeline/timeline.h"

/* Events between two marks: a state follows at most so many, which takes less time than drawing a line of text. */
enum { MARK_EVERY = 4096 };

/* The first collective that moves data of the model; -1: none does. */
static int first_counted(const struct timeline *s)
{
	for (int c = 0; c < s->collective_count; c++)
		if (!s->collectives[c].control)
			return c;
	return -1;
}

static void mark_init(struct mark *m, const struct timeline *s)
{
	int counted = first_counted(s);
	*m = (struct mark){.alone = counted < 0, .collective = counted};
	if (m->alone && s->collective_count)
		m->collective = 0;
	m->ranks = array_make((size_t)s->rank_count, sizeof *m->ranks);
}

static void follow_message(struct mark *m, const struct timeline *s, const struct event *e)
{
	const struct collective *c = &s->collectives[e->collective];
	if (m->alone || !c->control) {
		m->collective = c->family;
		m->begun = true;
	}
	if (c->control)
		return;
	m->sent += e->bytes;
	m->ranks[e->index].sent += e->bytes;
	m->ranks[timeline_index_of(s, e->to)].received += e->bytes;
}

static void follow_issue(struct mark *m, const struct timeline *s, const struct event *e)
{
	int issued = e->op - timeline_role_of(s, e->index)->step.begin + 1;
	if (event_issues(e) && issued > m->ranks[e->index].issued)
		m->ranks[e->index].issued = issued;
	if (e->kind != EVENT_BEGIN || e->queue != QUEUE_COMMUNICATION)
		return;
	int c = timeline_collective_of(s, e->index, e->op);
	if (c >= 0 && (m->alone || !s->collectives[c].control) &&
	    (!m->begun || s->collectives[c].begin > s->collectives[m->collective].begin)) {
		m->collective = s->collectives[c].family;
		m->begun = true;
	}
}

static void mark_follow(struct mark *m, const struct timeline *s, size_t event)
{
	for (; m->event < event; m->event++) {
		const struct event *e = &s->events[m->event];
		if (e->kind == EVENT_MESSAGE)
			follow_message(m, s, e);
		else if (e->kind == EVENT_BEGIN || e->kind == EVENT_MEMORY)
			follow_issue(m, s, e);
	}
}

static void mark_copy(struct mark *to, const struct mark *from, int rank_count)
{
	*to = *from;
	to->ranks = malloc(((size_t)rank_count + 1) * sizeof *to->ranks);
	if (!to->ranks)
		memory_exhausted();
	memcpy(to->ranks, from->ranks, (size_t)rank_count * sizeof *to->ranks);
}

void mark_release(struct mark *m)
{
	free(m->ranks);
	*m = (struct mark){0};
}

void timeline_make_marks(struct timeline *s)
{
	size_t every = MARK_EVERY + 16 * (size_t)s->rank_count; /* they take less room than the events */
	s->marks = array_make(s->event_count / every + 1, sizeof *s->marks);
	s->mark_every = every;
	mark_init(&s->marks[s->mark_count++], s);
	for (size_t event = every; event <= s->event_count; event += every) {
		mark_copy(&s->marks[s->mark_count], &s->marks[s->mark_count - 1], s->rank_count);
		mark_follow(&s->marks[s->mark_count++], s, event);
	}
}

void timeline_mark(const struct timeline *s, size_t event, struct mark *out)
{
	mark_copy(out, &s->marks[event / s->mark_every], s->rank_count);
	mark_follow(out, s, event);
}
