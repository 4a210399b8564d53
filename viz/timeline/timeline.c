#include "viz/timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

/* Enough for a step of hundreds of ranks; beyond, no person reads it message by message. */
enum { EVENT_LIMIT = 8 << 20 };

static const char *const step_size_names[] = {
#define X(name, constant, what) name,
        STEP_SIZE_LIST(X)
#undef X
};

static const char *const highlight_names[] = {
#define X(constant, what) what,
        HIGHLIGHT_LIST(X)
#undef X
};

const char *step_size_name(enum step_size s)
{
	return step_size_names[s];
}

bool step_size_parse(const char *name, enum step_size *out)
{
	for (int i = 0; i < STEP_SIZE_COUNT; i++)
		if (!strcmp(name, step_size_names[i])) {
			*out = (enum step_size)i;
			return true;
		}
	return false;
}

const char *highlight_name(enum highlight_kind k)
{
	return highlight_names[k];
}

/* ---- ranks and memory ---- */

static int by_number(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int role_index(const struct plan *p, int64_t rank)
{
	return (int)(plan_role_of(p, rank) - p->roles);
}

static void collect_ranks(struct timeline *s)
{
	const struct trace *t = s->trace;
	int64_t *seen = NULL;
	size_t count = 0, capacity = 0;
	for (size_t i = 0; i < t->span_count; i++)
		if (!i || t->spans[i].rank != t->spans[i - 1].rank) {
			seen = array_reserve(seen, count, &capacity, sizeof *seen);
			seen[count++] = t->spans[i].rank;
		}
	if (count)
		qsort(seen, count, sizeof *seen, by_number);
	s->ranks = array_make(count, sizeof *s->ranks);
	for (size_t i = 0; i < count; i++) {
		if (i && seen[i] == seen[i - 1])
			continue;
		struct timeline_rank *r = &s->ranks[s->rank_count++];
		*r = (struct timeline_rank){.rank = seen[i], .role = role_index(s->plan, seen[i])};
	}
	free(seen);
}

/* Operations that stand before one in the order of issue have been issued when that one begins and all that was to
 * compute before is done. So what a collective receives is there while it arrives, and nothing that a kernel uses is
 * gone before. */
static void find_issued(struct timeline *s, int index)
{
	struct timeline_rank *r = &s->ranks[index];
	const struct role *role = timeline_role_of(s, index);
	int ops = role->step.end - role->step.begin;
	int64_t computed = 0, latest = s->step_ns;
	for (int k = 0; k < ops; k++) {
		const struct op *op = &role->ops[role->step.begin + k];
		bool computes = op->queue == QUEUE_COMPUTE;
		r->issued[k] = r->begin[k] < 0                      ? INT64_MAX
		               : computes || r->begin[k] > computed ? r->begin[k]
		                                                    : computed;
		if (computes && r->end[k] > computed)
			computed = r->end[k];
	}
	for (int k = ops - 1; k >= 0; k--) {
		latest = r->issued[k] < latest ? r->issued[k] : latest;
		r->issued[k] = latest;
	}
}

static void collect_spans(struct timeline *s)
{
	for (int i = 0; i < s->rank_count; i++) {
		struct timeline_rank *r = &s->ranks[i];
		const struct section *step = &s->plan->roles[r->role].step;
		size_t ops = (size_t)(step->end - step->begin);
		r->begin = array_make(4 * ops, sizeof *r->begin);
		r->end = r->begin + ops;
		r->issued = r->end + ops;
		r->came = r->issued + ops;
		for (size_t k = 0; k < 2 * ops; k++)
			r->begin[k] = -1;
	}
	int index = -1;
	for (size_t i = 0; i < s->trace->span_count; i++) {
		const struct span *span = &s->trace->spans[i];
		if (index < 0 || s->ranks[index].rank != span->rank)
			index = timeline_index_of(s, span->rank);
		const struct section *step = &s->plan->roles[s->ranks[index].role].step;
		s->ranks[index].begin[span->op - step->begin] = span->begin;
		s->ranks[index].end[span->op - step->begin] = span->end;
		s->ranks[index].came[span->op - step->begin] = span->came;
		s->step_ns = span->end > s->step_ns ? span->end : s->step_ns;
	}
	for (int i = 0; i < s->rank_count; i++)
		find_issued(s, i);
}

/* ---- the whole ---- */

static void collect_times(struct timeline *s)
{
	s->shown = array_make((size_t)s->rank_count, sizeof *s->shown);
	for (size_t at = 0; at < s->trace->span_count;) {
		int index = timeline_index_of(s, s->trace->spans[at].rank);
		s->shown[index] = trace_next_times(s->trace, &at, s->step_ns);
	}
	s->times = trace_slowest(s->trace);
	s->bubble = bubble_of(s->plan);
}

enum status timeline_open(struct timeline *s, const struct trace *trace, const struct limits *limits)
{
	*s = (struct timeline){.plan = trace->plan, .trace = trace};
	if (limits)
		s->limits = *limits;
	collect_ranks(s);
	collect_spans(s);
	for (int r = 0; r < s->plan->role_count; r++)
		timeline_count_memory(&s->roles[r], &s->plan->roles[r]);
	timeline_collect_collectives(s);
	timeline_collect_events(s);
	if (s->event_count > EVENT_LIMIT) {
		timeline_release(s);
		return status_fail(STATUS_INPUT,
		                   "the step has more than %d events; show fewer ranks or a smaller model",
		                   EVENT_LIMIT);
	}
	timeline_make_stops(s);
	timeline_find_highlights(s);
	timeline_make_marks(s);
	collect_times(s);
	return STATUS_OK;
}

void timeline_release(struct timeline *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->rank_count; i++) {
		free(s->ranks[i].begin);
		free(s->ranks[i].collective);
		free(s->ranks[i].event);
	}
	for (int r = 0; r < PLAN_ROLES; r++) {
		free(s->roles[r].held);
		for (int space = 0; space < SPACE_COUNT; space++) {
			free(s->roles[r].live[space]);
			free(s->roles[r].most[space]);
		}
	}
	for (int c = 0; c < s->collective_count; c++) {
		free(s->collectives[c].cuts);
		free(s->collectives[c].rank);
		free(s->collectives[c].ops);
	}
	for (int i = 0; i < STEP_SIZE_COUNT; i++)
		free(s->stops[i]);
	for (size_t m = 0; m < s->mark_count; m++)
		mark_release(&s->marks[m]);
	free(s->phases);
	free(s->marks);
	free(s->shown);
	free(s->ranks);
	free(s->events);
	free(s->instants);
	free(s->collectives);
	free(s->highlights);
	*s = (struct timeline){0};
}

/* ---- reading ---- */
