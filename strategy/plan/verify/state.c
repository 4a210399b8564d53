/* State that is carried from step to step. A plan is right for every step if it is right for the first two and the
 * second leaves what the first left, one version later. */
#include <stdlib.h>
#include <string.h>

#include "strategy/plan/verify/memory.h"

static bool is_carried(const struct memory *m, enum meaning_kind k)
{
	return k <= MEANING_ZERO || meaning_is_versioned(k) || (k == MEANING_GRADIENT && verify_lag(m->v) > 0);
}

static int aged(const struct memory *m, int meaning, int stale)
{
	return is_carried(m, m->meanings[meaning].kind) ? meaning : stale;
}

/* But for where they begin. */
static bool same_blocks(const struct block *a, const struct block *b)
{
	return a->own == b->own && a->rest == b->rest && a->frame == b->frame && a->frame_count == b->frame_count &&
	       a->axes == b->axes;
}

void memory_age(struct memory *m)
{
	int stale = meaning_number(m, &(struct meaning){.kind = MEANING_STALE});
	for (int i = 0; i < m->v->p->role_count; i++)
		for (int b = 0; b < m->v->p->roles[i].buffer_count; b++) {
			struct cells *c = m->cells[i][b];
			int kept = 0;
			if (!m->v->p->roles[i].buffers[b].state)
				continue;
			for (int k = 0; k < c->count; k++) {
				struct block now = c->blocks[k];
				block_set(&now, aged(m, now.own, stale), aged(m, now.rest, stale), now.frame,
				          now.frame + now.frame_count, now.axes);
				if (!kept || !same_blocks(&c->blocks[kept - 1], &now))
					c->blocks[kept++] = now;
			}
			c->count = kept;
		}
}

void snapshot_take(struct snapshot *s, struct memory *m)
{
	*s = (struct snapshot){0};
	m->lasting = m->count;
	for (int i = 0; i < m->v->p->role_count; i++) {
		const struct role *r = &m->v->p->roles[i];
		s->cells[i] = array_make((size_t)r->buffer_count, sizeof(struct cells *));
		for (int b = 0; b < r->buffer_count; b++) {
			if (!r->buffers[b].state)
				continue;
			const struct cells *from = m->cells[i][b];
			struct cells *to = s->cells[i][b] = array_make(1, sizeof *to);
			to->count = from->count;
			to->blocks = array_make((size_t)from->count, sizeof *to->blocks);
			memcpy(to->blocks, from->blocks, (size_t)from->count * sizeof *to->blocks);
		}
	}
}

void snapshot_release(struct snapshot *s, const struct memory *m)
{
	for (int i = 0; i < m->v->p->role_count; i++) {
		for (int b = 0; b < m->v->p->roles[i].buffer_count; b++)
			if (s->cells[i][b]) {
				free(s->cells[i][b]->blocks);
				free(s->cells[i][b]);
			}
		free(s->cells[i]);
	}
}

static int later_by(struct memory *m, int meaning, int later)
{
	struct meaning a = m->meanings[meaning];
	if (!later || !is_carried(m, a.kind) || a.kind <= MEANING_ZERO)
		return meaning;
	a.version += later * (a.kind == MEANING_RUNNING ? (int)m->v->p->settings.accumulate : 1);
	return meaning_number(m, &a);
}

static bool same_cells(struct memory *m, const struct cells *now, const struct cells *then, int later)
{
	bool same = now->count == then->count;
	for (int i = 0; i < now->count && same; i++) {
		struct block b = then->blocks[i];
		b.own = later_by(m, b.own, later);
		b.rest = later_by(m, b.rest, later);
		same = now->blocks[i].begin == b.begin && same_blocks(&now->blocks[i], &b);
	}
	return same;
}

bool snapshot_same(const struct snapshot *s, struct memory *m, int later, int *role, int *buffer)
{
	for (*role = 0; *role < m->v->p->role_count; ++*role)
		for (*buffer = 0; *buffer < m->v->p->roles[*role].buffer_count; ++*buffer)
			if (m->v->p->roles[*role].buffers[*buffer].state &&
			    !same_cells(m, m->cells[*role][*buffer], s->cells[*role][*buffer], later))
				return false;
	return true;
}
