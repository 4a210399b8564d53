#include "strategy/plan/walk.h"

#include <stdlib.h>

int section_next(const struct role *r, int end, enum queue queue, int from)
{
	while (from < end && (r->ops[from].queue != queue || op_class(r->ops[from].kind) == OP_CLASS_M))
		from++;
	return from;
}

void walk_begin(struct walk *w, const struct role *r, enum section_kind k)
{
	const struct section *s = section_of(r, k);
	*w = (struct walk){.role = r, .begin = s->begin, .end = s->end};
	w->done = array_make((size_t)(s->end - s->begin), sizeof *w->done);
	for (int q = 0; q < QUEUE_COUNT; q++)
		w->head[q] = section_next(r, s->end, (enum queue)q, s->begin);
	for (int i = s->begin; i < s->end; i++)
		w->left += op_class(r->ops[i].kind) != OP_CLASS_M;
}

void walk_release(struct walk *w)
{
	if (w)
		free(w->done);
}

int walk_waits_for(const struct walk *w, int op)
{
	const struct op *o = &w->role->ops[op];
	for (int i = 0; i < o->after_count; i++)
		if (o->after[i] >= w->begin && o->after[i] < w->end && !w->done[o->after[i] - w->begin])
			return o->after[i];
	return -1;
}

bool walk_is_ready(const struct walk *w, int queue)
{
	return w->head[queue] < w->end && walk_waits_for(w, w->head[queue]) < 0;
}

void walk_finish(struct walk *w, int queue)
{
	int op = w->head[queue];
	w->done[op - w->begin] = true;
	w->left--;
	w->head[queue] = section_next(w->role, w->end, (enum queue)queue, op + 1);
}
