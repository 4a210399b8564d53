/* What is carried from step to step: a plan is right for every step if it is right for the first two, and the second
 * leaves what the first left, one version later. */
#include <stdlib.h>
#include <string.h>

#include "strategy/plan/verify/memory.h"

static bool is_carried(const struct memory *m, enum meaning_kind k)
{
	switch (k) {
	case MEANING_GRADIENT:
		return verify_lag(m->v) > 0;
	case MEANING_UNDEFINED:
	case MEANING_ZERO:
	case MEANING_WEIGHTS:
	case MEANING_FIRST_MOMENT:
	case MEANING_SECOND_MOMENT:
	case MEANING_COUNTER:
	case MEANING_SCALER:
	case MEANING_RUNNING:
		return true;
	default:
		return false;
	}
}

static int aged(const struct memory *m, int meaning, int stale)
{
	return is_carried(m, m->meanings[meaning].kind) ? meaning : stale;
}

void memory_age(struct memory *m)
{
	int stale = meaning_number(m, &(struct meaning){.kind = MEANING_STALE});
	for (int i = 0; i < m->v->p->role_count; i++)
		for (int b = 0; b < m->v->p->roles[i].buffer_count; b++) {
			struct cells *c = &m->cells[i][b];
			int kept = 0;
			if (!m->v->p->roles[i].buffers[b].state)
				continue;
			for (int k = 0; k < c->count; k++) {
				struct block now = c->blocks[k];
				now.own = aged(m, now.own, stale);
				now.rest = aged(m, now.rest, stale);
				if (now.own == now.rest) {
					now.frame = now.frame_count = 0;
					now.axes = 0;
				}
				struct block *last = &c->blocks[kept - (kept > 0)];
				if (kept && last->own == now.own && last->rest == now.rest &&
				    last->frame == now.frame && last->frame_count == now.frame_count &&
				    last->axes == now.axes)
					continue;
				c->blocks[kept++] = now;
			}
			c->count = kept;
		}
}

void snapshot_take(struct snapshot *s, const struct memory *m)
{
	*s = (struct snapshot){0};
	for (int i = 0; i < m->v->p->role_count; i++) {
		const struct role *r = &m->v->p->roles[i];
		s->cells[i] = calloc((size_t)r->buffer_count + 1, sizeof *s->cells[i]);
		if (!s->cells[i])
			abort();
		for (int b = 0; b < r->buffer_count; b++) {
			if (!r->buffers[b].state)
				continue;
			const struct cells *from = &m->cells[i][b];
			struct cells *to = &s->cells[i][b];
			to->count = from->count;
			to->blocks = malloc((size_t)from->count * sizeof *to->blocks);
			if (!to->blocks)
				abort();
			memcpy(to->blocks, from->blocks, (size_t)from->count * sizeof *to->blocks);
		}
	}
}

void snapshot_release(struct snapshot *s, const struct memory *m)
{
	for (int i = 0; i < m->v->p->role_count; i++) {
		for (int b = 0; b < m->v->p->roles[i].buffer_count; b++)
			free(s->cells[i][b].blocks);
		free(s->cells[i]);
	}
}

static int later_by(struct memory *m, int meaning, int later)
{
	struct meaning a = m->meanings[meaning];
	if (later && a.kind == MEANING_RUNNING) {
		a.version += later * (int)m->v->p->settings.accumulate;
		return meaning_number(m, &a);
	}
	if (!later || !is_carried(m, a.kind) || a.kind == MEANING_UNDEFINED || a.kind == MEANING_ZERO)
		return meaning;
	a.version += later;
	return meaning_number(m, &a);
}

static bool same_cells(struct memory *m, const struct cells *now, const struct cells *then, int later)
{
	if (now->count != then->count)
		return false;
	for (int i = 0; i < now->count; i++) {
		const struct block *a = &now->blocks[i], *b = &then->blocks[i];
		if (a->begin != b->begin || a->frame != b->frame || a->frame_count != b->frame_count ||
		    a->axes != b->axes || a->own != later_by(m, b->own, later) ||
		    a->rest != later_by(m, b->rest, later))
			return false;
	}
	return true;
}

bool snapshot_same(const struct snapshot *s, struct memory *m, int later, int *role, int *buffer)
{
	for (*role = 0; *role < m->v->p->role_count; ++*role)
		for (*buffer = 0; *buffer < m->v->p->roles[*role].buffer_count; ++*buffer)
			if (m->v->p->roles[*role].buffers[*buffer].state &&
			    !same_cells(m, &m->cells[*role][*buffer], &s->cells[*role][*buffer], later))
				return false;
	return true;
}
