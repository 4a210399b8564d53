#include "viz/timeline/exposed.h"

#include <stdlib.h>

/* ---- a plan's ---- */

static int longest_first(const void *a, const void *b)
{
	const struct exposed *x = a, *y = b;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x->op > y->op) - (x->op < y->op);
}

/* How long each operation of a rank's communication queue leaves its compute queue idle. */
static void add_rank(const struct lane *compute, const struct lane *communication, struct exposed *of_span)
{
	for (size_t i = 0; i < compute->gap_count; i++) {
		const struct lane_gap *g = &compute->gaps[i];
		size_t span = g->exposed ? lane_find(communication, 0, g->begin) : communication->span_count;
		if (span == communication->span_count)
			continue;
		struct exposed *e = &of_span[span];
		if (!e->time)
			*e = (struct exposed){communication->rank, communication->spans[span].op, g->begin, 0, 0};
		e->time += g->end - g->begin;
	}
}

/* With nothing computed, all of a collective is exposed, from when its last member has come. */
static void add_alone(const struct lane *communication, struct exposed *of_span)
{
	for (size_t i = 0; i < communication->span_count; i++) {
		const struct lane_span *span = &communication->spans[i];
		int64_t from = span->came > span->begin ? span->came : span->begin;
		of_span[i] = (struct exposed){communication->rank, span->op, from, span->end - from, 0};
	}
}

/* best: by collective, with room for one more that stands for none. */
static void keep_longest(const struct timeline *s, const struct exposed *one, struct exposed *best)
{
	int number = one->time ? timeline_collective_of(s, timeline_index_of(s, one->rank), one->op) : -1;
	if (number >= 0 && one->time > best[number].time)
		best[number] = *one;
}

static void add_all(const struct lanes *l, struct exposed *best)
{
	for (int i = 0, n; i < l->lane_count; i += n) {
		const struct lane *compute = NULL, *communication = NULL;
		for (n = 0; i + n < l->lane_count && l->lanes[i + n].rank == l->lanes[i].rank; n++) {
			compute = l->lanes[i + n].queue == QUEUE_COMPUTE ? &l->lanes[i + n] : compute;
			communication = l->lanes[i + n].queue == QUEUE_COMMUNICATION ? &l->lanes[i + n] : communication;
		}
		if (!communication)
			continue;
		struct exposed *of_span = array_make(communication->span_count, sizeof *of_span);
		if (compute)
			add_rank(compute, communication, of_span);
		else
			add_alone(communication, of_span);
		for (size_t k = 0; k < communication->span_count; k++)
			keep_longest(l->timeline, &of_span[k], best);
		free(of_span);
	}
}

static int64_t payload_of(const struct plan *p, int64_t rank, int op)
{
	const struct role *role = plan_role_of(p, rank);
	return op_payload_bytes(role, &role->ops[op]);
}

static size_t longest_of_plan(const struct lanes *l, struct exposed *out, size_t most)
{
	const struct timeline *s = l->timeline;
	struct exposed *best = array_make((size_t)s->collective_count, sizeof *best);
	size_t count = 0;
	add_all(l, best);
	for (int i = 0; i < s->collective_count; i++)
		if (best[i].time)
			best[count++] = best[i];
	if (count)
		qsort(best, count, sizeof *best, longest_first);
	for (size_t i = 0; i < count && i < most; i++) {
		out[i] = best[i];
		out[i].bytes = payload_of(s->plan, best[i].rank, best[i].op);
	}
	free(best);
	return count;
}

/* ---- another program's ---- */

static size_t longest_of_file(const struct lanes *l, struct exposed *out, size_t most)
{
	for (size_t i = 0; i < l->gpus.exposed_count && i < most; i++) {
		const struct exposed_span *x = &l->gpus.exposed[i];
		const struct span_place *place = &l->places[x->span];
		const struct foreign_span *s = &l->file->spans[x->span];
		out[i] = (struct exposed){place->lane, (int)place->span, s->begin, x->exposed, s->bytes};
	}
	return l->gpus.exposed_count;
}

size_t exposed_longest(const struct lanes *l, struct exposed *out, size_t most)
{
	return l->timeline ? longest_of_plan(l, out, most) : longest_of_file(l, out, most);
}

int64_t exposed_whole(const struct lanes *l)
{
	int64_t whole = l->timeline ? l->timeline->step_ns : l->gpus.end - l->gpus.begin;
	return whole > 0 ? whole : 1;
}

bool exposed_speed(const struct lanes *l, const struct exposed *e, struct speed *out)
{
	if (l->timeline)
		return speed_of_op(l->timeline, timeline_index_of(l->timeline, e->rank), e->op, out);
	return speed_of_span(l->file, l->lanes[e->rank].spans[e->op].number, out);
}
