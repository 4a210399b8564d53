#include "strategy/trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

void trace_open(struct trace *t, const struct plan *p, const char *cluster, bool measured)
{
	*t = (struct trace){.plan = p, .measured = measured};
	snprintf(t->cluster, sizeof t->cluster, "%s", cluster);
}

void trace_release(struct trace *t)
{
	if (!t)
		return;
	free(t->spans);
	free(t->messages);
	*t = (struct trace){0};
}

void trace_add_span(struct trace *t, int64_t rank, int op, int64_t begin, int64_t end)
{
	t->spans = array_reserve(t->spans, t->span_count, &t->span_capacity, sizeof *t->spans);
	t->spans[t->span_count++] = (struct span){rank, op, begin, end};
}

void trace_add_message(struct trace *t, const struct message *m)
{
	t->messages = array_reserve(t->messages, t->message_count, &t->message_capacity, sizeof *t->messages);
	t->messages[t->message_count++] = *m;
}

/* ---- times ---- */

struct interval {
	int64_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* Sorts intervals and joins those that touch, so that they are apart and ascending. Returns how many are left. */
static size_t unite(struct interval *v, size_t count)
{
	size_t kept = 0;
	if (count)
		qsort(v, count, sizeof *v, by_begin);
	for (size_t i = 0; i < count; i++) {
		if (kept && v[i].begin <= v[kept - 1].end) {
			if (v[i].end > v[kept - 1].end)
				v[kept - 1].end = v[i].end;
		} else {
			v[kept++] = v[i];
		}
	}
	return kept;
}

static int64_t length(const struct interval *v, size_t count)
{
	int64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += v[i].end - v[i].begin;
	return sum;
}

/* The time in which both are busy. */
static int64_t common(const struct interval *a, size_t na, const struct interval *b, size_t nb)
{
	int64_t sum = 0;
	for (size_t i = 0, j = 0; i < na && j < nb;) {
		int64_t begin = a[i].begin > b[j].begin ? a[i].begin : b[j].begin;
		int64_t end = a[i].end < b[j].end ? a[i].end : b[j].end;
		if (end > begin)
			sum += end - begin;
		if (a[i].end < b[j].end)
			i++;
		else
			j++;
	}
	return sum;
}

struct times trace_times(const struct trace *t, int64_t rank, int64_t step)
{
	int64_t by_pass[PASS_UPDATE + 1] = {0};
	struct interval *busy[QUEUE_COUNT] = {NULL};
	size_t count[QUEUE_COUNT] = {0}, capacity[QUEUE_COUNT] = {0};
	const struct role *role = plan_role_of(t->plan, rank);
	for (size_t i = 0; i < t->span_count; i++) {
		const struct span *s = &t->spans[i];
		if (s->end > step)
			step = s->end;
		if (s->rank != rank || op_class(role->ops[s->op].kind) == OP_CLASS_M)
			continue;
		enum queue q = role->ops[s->op].queue;
		if (role->ops[s->op].kernel >= 0)
			by_pass[role->ops[s->op].pass] += s->end - s->begin;
		busy[q] = array_reserve(busy[q], count[q], &capacity[q], sizeof *busy[q]);
		busy[q][count[q]++] = (struct interval){s->begin, s->end};
	}
	for (int q = 0; q < QUEUE_COUNT; q++)
		count[q] = unite(busy[q], count[q]);
	const enum queue k = QUEUE_COMPUTE, c = QUEUE_COMMUNICATION;
	struct times times = {.step = step,
	                      .compute = length(busy[k], count[k]),
	                      .communication = length(busy[c], count[c]),
	                      .forward = by_pass[PASS_FORWARD],
	                      .recompute = by_pass[PASS_RECOMPUTE],
	                      .backward = by_pass[PASS_BACKWARD]};
	times.exposed = times.communication - common(busy[k], count[k], busy[c], count[c]);
	times.bubble = step - times.compute - times.exposed;
	for (int q = 0; q < QUEUE_COUNT; q++)
		free(busy[q]);
	return times;
}
