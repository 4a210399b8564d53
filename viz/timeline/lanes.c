#include "viz/timeline/lanes.h"

#include "strategy/base/arena.h"
#include "strategy/base/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "strategy/base/language.h"

struct lane *lanes_add(struct lanes *l)
{
	l->lanes = array_reserve(l->lanes, (size_t)l->lane_count, &l->lane_capacity, sizeof *l->lanes);
	struct lane *lane = &l->lanes[l->lane_count++];
	*lane = (struct lane){.rank = -1, .depth = 1};
	return lane;
}

struct lane_span *lanes_add_span(struct lanes *l, struct lane *lane, int64_t begin, int64_t end)
{
	lane->spans = array_reserve(lane->spans, lane->span_count, &lane->capacity, sizeof *lane->spans);
	struct lane_span *s = &lane->spans[lane->span_count++];
	*s = (struct lane_span){.begin = begin, .end = end, .came = begin, .awaits = -1, .op = -1};
	l->end = end > l->end ? end : l->end;
	return s;
}

static int by_row(const void *a, const void *b)
{
	const struct lane_span *x = a, *y = b;
	if (x->depth != y->depth)
		return x->depth - y->depth;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

void lane_make_rows(struct lane *lane)
{
	size_t at = 0;
	if (lane->span_count)
		qsort(lane->spans, lane->span_count, sizeof *lane->spans, by_row);
	lane->row = array_make((size_t)lane->depth + 1, sizeof *lane->row);
	for (int d = 0; d <= lane->depth; d++) {
		while (at < lane->span_count && lane->spans[at].depth < d)
			at++;
		lane->row[d] = at;
	}
}

/* ---- of a plan's trace ---- */

/* The operation of the communication queue at a time, and its end. */
static struct lane_gap gap_at(const struct lane *communication, int64_t begin, int64_t end)
{
	size_t i = communication ? lane_find(communication, 0, begin) : 0;
	struct lane_gap gap = {.begin = begin, .end = end, .awaits = -1};
	const struct lane_span *s = communication && i < communication->span_count ? &communication->spans[i] : NULL;
	if (!s)
		return gap;
	gap.waits = s->begin <= begin && begin < s->came;
	gap.exposed = s->begin <= begin && !gap.waits;
	gap.awaits = gap.waits ? s->awaits : -1;
	int64_t until = s->begin > begin ? s->begin : gap.waits ? s->came : s->end;
	gap.end = until < end ? until : end;
	return gap;
}

static void add_gaps(struct lane *lane, const struct lane *communication, int64_t begin, int64_t end)
{
	while (begin < end) {
		lane->gaps = array_reserve(lane->gaps, lane->gap_count, &lane->gap_capacity, sizeof *lane->gaps);
		lane->gaps[lane->gap_count] = gap_at(communication, begin, end);
		begin = lane->gaps[lane->gap_count++].end;
	}
}

/* When the first operation of any rank begins. A simulated step has nothing before it but what its stack takes beside
 * operations; in a measured one ranks only start. */
static int64_t start_of(const struct timeline *s)
{
	int64_t start = INT64_MAX;
	for (int i = 0; i < s->rank_count; i++) {
		const struct role *role = &s->plan->roles[s->ranks[i].role];
		for (int k = 0; k < role->step.end - role->step.begin; k++)
			if (s->ranks[i].begin[k] >= 0 && s->ranks[i].begin[k] < start)
				start = s->ranks[i].begin[k];
	}
	return s->trace->measured || start == INT64_MAX ? 0 : start;
}

static void add_start(struct lane *lane, int64_t start)
{
	lane->gaps = array_reserve(lane->gaps, lane->gap_count, &lane->gap_capacity, sizeof *lane->gaps);
	lane->gaps[lane->gap_count++] = (struct lane_gap){.end = start, .beside = true, .awaits = -1};
}

static void find_gaps(struct lane *compute, const struct lane *communication, int64_t start, int64_t step)
{
	int64_t at = start;
	if (start > 0)
		add_start(compute, start);
	for (size_t i = 0; i < compute->span_count; i++) {
		if (compute->spans[i].begin > at)
			add_gaps(compute, communication, at, compute->spans[i].begin);
		at = compute->spans[i].end > at ? compute->spans[i].end : at;
	}
	if (step > at)
		add_gaps(compute, communication, at, step);
	for (size_t i = 1; i < compute->gap_count; i++) {
		struct lane_gap *g = &compute->gaps[i], *last = g - 1;
		g->before = last->before + (last->end - last->begin);
		g->exposed_before = last->exposed_before + (last->exposed ? last->end - last->begin : 0);
	}
}

static void add_queue(struct lanes *l, const struct timeline *s, int index, enum queue queue)
{
	const struct timeline_rank *r = &s->ranks[index];
	const struct role *role = &s->plan->roles[r->role];
	struct lane *lane = NULL;
	for (int k = 0; k < role->step.end - role->step.begin; k++) {
		const struct op *op = &role->ops[role->step.begin + k];
		if (op->queue != queue || op_class(op->kind) == OP_CLASS_M || r->begin[k] < 0)
			continue;
		if (!lane) {
			lane = lanes_add(l);
			lane->rank = r->rank;
			lane->queue = queue;
			snprintf(lane->name, sizeof lane->name, "%s", queue_name(queue));
			snprintf(lane->process, sizeof lane->process, tr("rank %" PRId64), r->rank);
		}
		struct wait wait = timeline_wait(s, index, role->step.begin + k);
		struct lane_span *span = lanes_add_span(l, lane, wait.begin, r->end[k]);
		span->op = role->step.begin + k;
		span->came = wait.end;
		span->awaits = wait.rank;
	}
	if (lane)
		lane_make_rows(lane);
}

void lanes_of_timeline(struct lanes *l, const struct timeline *s)
{
	*l = (struct lanes){.timeline = s, .end = s->step_ns};
	const int64_t start = start_of(s);
	for (int i = 0; i < s->rank_count; i++) {
		int first = l->lane_count, compute = -1, communication = -1;
		for (int q = 0; q < QUEUE_COUNT; q++)
			add_queue(l, s, i, (enum queue)q);
		for (int k = first; k < l->lane_count; k++) {
			compute = l->lanes[k].queue == QUEUE_COMPUTE ? k : compute;
			communication = l->lanes[k].queue == QUEUE_COMMUNICATION ? k : communication;
		}
		if (compute < 0)
			continue;
		find_gaps(&l->lanes[compute], communication < 0 ? NULL : &l->lanes[communication], start, s->step_ns);
		lane_find_folds(s, &l->lanes[compute]);
	}
	lanes_find_twins(l);
}

void lanes_release(struct lanes *l)
{
	if (!l)
		return;
	for (int i = 0; i < l->lane_count; i++) {
		free(l->lanes[i].spans);
		free(l->lanes[i].gaps);
		free(l->lanes[i].row);
		free(l->lanes[i].passes);
		free(l->lanes[i].units);
	}
	if (l->folded)
		free(l->folded->lanes);
	free(l->folded);
	free(l->lanes);
	free(l->places);
	gpu_use_release(&l->gpus);
	*l = (struct lanes){0};
}

/* ---- searching ---- */

size_t lane_find(const struct lane *l, int depth, int64_t time)
{
	return FIRST_PAST(l->spans, end, l->row[depth], l->row[depth + 1], time);
}

size_t lane_find_gap(const struct lane *l, int64_t time)
{
	return FIRST_PAST(l->gaps, end, 0, l->gap_count, time);
}

int64_t lane_span_at(const struct lane *l, int64_t time, int depth)
{
	size_t i = lane_find(l, depth, time);
	return i < l->row[depth + 1] && l->spans[i].begin <= time ? (int64_t)i : -1;
}

/* Rows are in order of their beginnings. Returns the first that begins at a time or later; after: later. */
static size_t first_from(const struct lane *l, int depth, int64_t begin, bool after)
{
	return FIRST_PAST(l->spans, begin, l->row[depth], l->row[depth + 1], after ? begin : begin - 1);
}

int64_t lane_next_span(const struct lane *l, int64_t begin, int depth)
{
	int64_t best = -1;
	for (int d = 0; d < l->depth; d++) {
		size_t i = first_from(l, d, begin, d <= depth);
		if (i < l->row[d + 1] && (best < 0 || l->spans[i].begin < l->spans[best].begin))
			best = (int64_t)i;
	}
	return best;
}

int64_t lane_previous_span(const struct lane *l, int64_t begin, int depth)
{
	int64_t best = -1;
	for (int d = 0; d < l->depth; d++) {
		size_t i = first_from(l, d, begin, d < depth);
		if (i > l->row[d] && (best < 0 || l->spans[i - 1].begin >= l->spans[best].begin))
			best = (int64_t)i - 1;
	}
	return best;
}
