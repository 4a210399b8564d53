/* Finds the questions of a step, and their places. */
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/question/question_parts.h"

static const struct question_row *const rows[QUESTION_KINDS] = {
#define X(constant) &question_##constant,
        QUESTION_LIST(X)
#undef X
};

static bool make_at(const struct timeline *s, size_t k, enum question_kind kind, struct question *q)
{
	struct spot at;
	spot_init(&at, s, k);
	*q = (struct question){.kind = kind,
	                       .position = at.position,
	                       .shown = at.next,
	                       .scene = rows[kind]->scene,
	                       .look = rows[kind]->look};
	if (!rows[kind]->make(&at, q))
		return false;
	language_space(q->text, sizeof q->text);
	language_space(q->reason, sizeof q->reason);
	for (int i = 0; i < q->choice_count; i++)
		language_space(q->choice[i], sizeof q->choice[i]);
	return true;
}

static size_t places(const struct timeline *s)
{
	return s->rank_count ? s->stop_count[STEP_SIZE_ROUND] - 1 : 0;
}

bool question_find(const struct timeline *s, size_t position, enum question_kind kind, struct question *out)
{
	for (size_t k = 0; k < places(s); k++)
		if (timeline_stop(s, STEP_SIZE_ROUND, k) >= position && make_at(s, k, kind, out))
			return true;
	return false;
}

/* ---- the questions of a step ---- */

/* True if the same stretch is asked about already. At the beginning there may be several: they are about the whole
 * step. */
static bool is_taken(const struct question_set *set, const struct question *q)
{
	for (int i = 0; q->position && i < set->count; i++)
		if (set->list[i].position == q->position && set->list[i].shown == q->shown)
			return true;
	return false;
}

/* A second question of a kind has another answer, or it would be no question. */
static bool is_new(const struct question_set *set, const struct question *q)
{
	for (int i = 0; i < set->count; i++) {
		const struct question *other = &set->list[i];
		if (other->kind == q->kind &&
		    (!strcmp(other->text, q->text) || (q->choice_count && other->choice_count &&
		                                       !strcmp(other->choice[other->right], q->choice[q->right]))))
			return false;
	}
	return true;
}

/* The place from which to look for the next question of a kind: the first may be anywhere, another comes well behind
 * it. */
static size_t first_place(const struct question_set *set, const struct timeline *s, enum question_kind kind)
{
	size_t first = 0;
	for (int i = 0; i < set->count; i++)
		if (set->list[i].kind == kind)
			first = timeline_stop_of(s, STEP_SIZE_ROUND, set->list[i].position) + 1 + places(s) / 8;
	return first;
}

/* The most important kinds are asked first, since there are more kinds than a step has questions. Some are worth a
 * second question. */
static const enum question_kind in_order[] = {
        QUESTION_BUBBLE, QUESTION_PASS,  QUESTION_SKIPPED, QUESTION_PEAK,  QUESTION_MEMORY,   QUESTION_FREED,
        QUESTION_CHUNK,  QUESTION_HOLDS, QUESTION_VALUE,   QUESTION_LEFT,  QUESTION_SENT,     QUESTION_EXPOSED,
        QUESTION_WAITS,  QUESTION_SHARD, QUESTION_EXPOSED, QUESTION_NEXT,  QUESTION_GROWS,    QUESTION_NEEDS,
        QUESTION_PASS,   QUESTION_VALUE, QUESTION_FREED,   QUESTION_GROWS, QUESTION_RECEIVER,
};

static void add(struct question_set *set, const struct timeline *s, enum question_kind kind)
{
	size_t n = places(s), first = first_place(set, s, kind);
	struct question *q = &set->list[set->count];
	for (size_t i = first; i < n; i++) {
		size_t k = rows[kind]->late ? n - 1 - i : i;
		if (make_at(s, k, kind, q) && !is_taken(set, q) && is_new(set, q)) {
			set->count++;
			return;
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct question *x = a, *y = b;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

void questions_make(struct question_set *set, const struct timeline *s)
{
	*set = (struct question_set){0};
	for (size_t i = 0; i < sizeof in_order / sizeof in_order[0] && set->count < QUESTIONS; i++)
		add(set, s, in_order[i]);
	qsort(set->list, (size_t)set->count, sizeof set->list[0], by_place);
}
