#include "viz/scene/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "viz/timeline/op_words.h"

static bool has(const char *name, const char *part)
{
	size_t n = strlen(part);
	for (; name && *name; name++)
		if (!strncasecmp(name, part, n))
			return true;
	return false;
}

static void add(struct search *s, int64_t rank, int op, int64_t time)
{
	s->hits = array_reserve(s->hits, s->count, &s->capacity, sizeof *s->hits);
	s->hits[s->count++] = (struct search_hit){rank, op, time};
}

static int by_time(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

/* ---- a plan ---- */

static bool fits_op(const struct timeline *t, const struct role *role, const struct op *op, const char *part)
{
	char words[OP_WORDS];
	const struct plan *p = t->plan;
	bool fits = has(op_name(op->kind), part) || has(op_words(words, t, role, op), part) ||
	            (op->kernel >= 0 && has(p->model->kernels[op->kernel].name, part)) ||
	            (op->group >= 0 && has(p->groups[op->group].name, part));
	for (int i = 0; i < OP_OPERANDS && !fits; i++)
		fits = op->operand[i].buffer >= 0 && op_access(op, i) &&
		       has(role->buffers[op->operand[i].buffer].name, part);
	return fits;
}

static void search_role(struct search *s, const struct timeline *t, int index)
{
	const struct timeline_rank *r = &t->ranks[index];
	const struct role *role = timeline_role_of(t, index);
	bool **lit = &s->lit[r->role];
	*lit = array_make((size_t)role->op_count, sizeof **lit);
	for (int op = role->step.begin; op < role->step.end; op++) {
		int k = op - role->step.begin;
		int64_t time = op_class(role->ops[op].kind) == OP_CLASS_M ? r->issued[k] : r->begin[k];
		if (time < 0 || !fits_op(t, role, &role->ops[op], s->text))
			continue;
		(*lit)[op] = true;
		add(s, r->rank, op, time);
	}
}

static void search_plan(struct search *s, const struct timeline *t)
{
	for (int i = 0; i < t->rank_count; i++)
		if (!s->lit[t->ranks[i].role])
			search_role(s, t, i);
}

/* ---- another program ---- */

static void search_file(struct search *s, const struct lanes *l)
{
	s->spans = array_make(l->file->span_count, sizeof *s->spans);
	for (int i = 0; i < l->lane_count; i++)
		for (size_t k = 0; k < l->lanes[i].span_count; k++) {
			const struct lane_span *span = &l->lanes[i].spans[k];
			if (!has(span->name, s->text))
				continue;
			s->spans[span->number] = true;
			add(s, i, (int)k, span->begin);
		}
}

/* ---- both ---- */

void search_make(struct search *s, const struct lanes *l, const char *text)
{
	char wanted[SEARCH_TEXT];
	snprintf(wanted, sizeof wanted, "%s", text);
	search_release(s);
	memcpy(s->text, wanted, sizeof wanted);
	if (!*s->text)
		return;
	if (l->timeline)
		search_plan(s, l->timeline);
	else
		search_file(s, l);
	if (s->count)
		qsort(s->hits, s->count, sizeof *s->hits, by_time);
}

void search_release(struct search *s)
{
	for (int i = 0; i < PLAN_ROLES; i++)
		free(s->lit[i]);
	free(s->spans);
	free(s->hits);
	*s = (struct search){0};
}

bool search_has(const struct search *s, const struct lanes *l, const struct lane *lane, const struct lane_span *span)
{
	if (!l->timeline)
		return s->spans && s->spans[span->number];
	int index = timeline_index_of(l->timeline, lane->rank);
	return index >= 0 && lane->queue != QUEUE_COUNT && search_has_op(s, l->timeline->ranks[index].role, span->op);
}

bool search_has_op(const struct search *s, int role, int op)
{
	return s->lit[role] && s->lit[role][op];
}

size_t search_from(const struct search *s, int64_t time)
{
	size_t i = 0;
	while (i < s->count && s->hits[i].time < time)
		i++;
	return i < s->count ? i : 0;
}
