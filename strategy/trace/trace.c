#include "strategy/trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/compare.h"
#include "strategy/plan/rendezvous.h"
#include "strategy/trace/interval.h"

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
	free(t->values);
	*t = (struct trace){0};
}

void trace_add_span(struct trace *t, int64_t rank, int op, int64_t begin, int64_t end)
{
	t->spans = array_reserve(t->spans, t->span_count, &t->span_capacity, sizeof *t->spans);
	t->spans[t->span_count++] = (struct span){rank, op, begin, end, begin};
}

void trace_add_message(struct trace *t, const struct message *m)
{
	t->messages = array_reserve(t->messages, t->message_count, &t->message_capacity, sizeof *t->messages);
	t->messages[t->message_count++] = *m;
}

void trace_add_value(struct trace *t, const struct trace_value *v)
{
	t->values = array_reserve(t->values, t->value_count, &t->value_capacity, sizeof *t->values);
	t->values[t->value_count++] = *v;
}

/* ---- times ---- */

/* The times of a rank whose spans are among these. */
static struct times times_of(const struct plan *p, const struct span *spans, size_t count, int64_t rank, int64_t step)
{
	int64_t by_pass[PASS_UPDATE + 1] = {0};
	struct intervals compute = {0}, moves = {0};
	const struct role *role = plan_role_of(p, rank);
	for (const struct span *s = spans; s < spans + count; s++) {
		const struct op *op = &role->ops[s->op];
		if (s->rank != rank || op_class(op->kind) == OP_CLASS_M)
			continue;
		if (op->kernel >= 0)
			by_pass[op->pass] += s->end - s->begin;
		if (op->queue == QUEUE_COMPUTE)
			intervals_add(&compute, s->begin, s->end);
		else if (op->queue == QUEUE_COMMUNICATION)
			intervals_add(&moves, s->came, s->end);
	}
	intervals_unite(&compute);
	intervals_unite(&moves);
	struct times times = {.rank = rank,
	                      .step = step,
	                      .compute = intervals_length(&compute),
	                      .communication = intervals_length(&moves),
	                      .forward = by_pass[PASS_FORWARD],
	                      .recompute = by_pass[PASS_RECOMPUTE],
	                      .backward = by_pass[PASS_BACKWARD]};
	times.exposed = times.communication - intervals_common(&compute, &moves);
	times.bubble = step - times.compute - times.exposed;
	free(compute.list);
	free(moves.list);
	return times;
}

static int64_t end_of(const struct span *spans, size_t count)
{
	int64_t end = 0;
	for (size_t i = 0; i < count; i++)
		end = spans[i].end > end ? spans[i].end : end;
	return end;
}

struct times trace_times(const struct trace *t, int64_t rank, int64_t step)
{
	int64_t end = end_of(t->spans, t->span_count);
	return times_of(t->plan, t->spans, t->span_count, rank, end > step ? end : step);
}

bool times_are_slower(const struct times *a, const struct times *b)
{
	return a->step > b->step || (a->step == b->step && a->compute > b->compute);
}

struct times trace_next_times(const struct trace *t, size_t *at, int64_t step)
{
	const struct span *first = &t->spans[*at];
	size_t count = 1;
	while (*at + count < t->span_count && first[count].rank == first->rank)
		count++;
	*at += count;
	int64_t end = end_of(first, count);
	return times_of(t->plan, first, count, first->rank, end > step ? end : step);
}

struct times trace_slowest(const struct trace *t)
{
	struct times slowest = {0};
	for (size_t at = 0; at < t->span_count;) {
		bool is_first = !at;
		struct times times = trace_next_times(t, &at, 0);
		if (is_first || times_are_slower(&times, &slowest))
			slowest = times;
	}
	return slowest;
}

/* ---- who has come ---- */

struct member {
	int64_t group;
	struct span *span;
};

static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return compare(x->group, y->group);
}

/* The communication of the trace, each with the number of its group among all groups of all instances. */
static struct member *members_of(const struct rendezvous *v, struct trace *t, size_t *count)
{
	struct member *list = array_make(t->span_count, sizeof *list);
	int64_t *first = array_make((size_t)v->instance_count, sizeof *first);
	for (int i = 0; i < v->instance_count; i++)
		first[i + 1] = first[i] + instance_groups(v, &v->instances[i]);
	*count = 0;
	for (struct span *s = t->spans; s < t->spans + t->span_count; s++) {
		int number = rendezvous_number(v, plan_role_of(t->plan, s->rank), s->op);
		if (number >= 0)
			list[(*count)++] =
			        (struct member){first[number] + instance_group(v, &v->instances[number], s->rank), s};
	}
	free(first);
	return list;
}

static void meet(const struct member *list, size_t count)
{
	int64_t came = 0;
	for (size_t i = 0; i < count; i++)
		came = list[i].span->begin > came ? list[i].span->begin : came;
	for (size_t i = 0; i < count; i++)
		list[i].span->came = came < list[i].span->end ? came : list[i].span->end;
}

void trace_meet(struct trace *t)
{
	struct rendezvous v;
	size_t count, next;
	if (t->plan->ranks == 1 || !t->span_count)
		return;
	rendezvous_init(&v, t->plan, SECTION_STEP);
	struct member *list = members_of(&v, t, &count);
	qsort(list, count, sizeof *list, by_group);
	for (size_t i = 0; i < count; i = next) {
		for (next = i; next < count && list[next].group == list[i].group; next++)
			;
		meet(list + i, next - i);
	}
	free(list);
	rendezvous_release(&v);
}
