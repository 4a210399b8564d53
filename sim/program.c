#include <stdlib.h>

#include "sim/engine.h"

static void *make(int count, size_t bytes)
{
	void *p = calloc((size_t)count + 1, bytes);
	if (!p)
		abort();
	return p;
}

/* Calls edge(from, to) for everything that an operation waits for. Passed over twice: to count, and to fill in. */
static void each_wait(struct program *p, void (*edge)(struct program *p, int from, int to))
{
	int last[QUEUE_COUNT];
	for (int q = 0; q < QUEUE_COUNT; q++)
		last[q] = -1;
	for (int i = 0; i < p->count; i++) {
		const struct op *op = &p->role->ops[p->begin + i];
		if (last[op->queue] >= 0)
			edge(p, last[op->queue], i);
		last[op->queue] = i;
		for (int k = 0; k < op->after_count; k++)
			if (op->after[k] >= p->begin && op->after[k] < p->begin + p->count)
				edge(p, op->after[k] - p->begin, i);
	}
}

static void count_edge(struct program *p, int from, int to)
{
	p->waits[to]++;
	p->first_follower[from + 1]++;
}

static void add_edge(struct program *p, int from, int to)
{
	p->followers[p->first_follower[from]++] = to;
}

static void make_graph(struct program *p)
{
	each_wait(p, count_edge);
	for (int i = 0; i < p->count; i++)
		p->first_follower[i + 1] += p->first_follower[i];
	p->followers = make(p->first_follower[p->count], sizeof *p->followers);
	each_wait(p, add_edge);
	for (int i = p->count; i > 0; i--) /* filling moved each begin to the next one's */
		p->first_follower[i] = p->first_follower[i - 1];
	p->first_follower[0] = 0;
}

enum status program_make(struct program *p, const struct plan *plan, const struct role *role, const struct cluster *c)
{
	int count = role->step.end - role->step.begin;
	*p = (struct program){.role = role, .begin = role->step.begin, .count = count};
	p->waits = make(count, sizeof *p->waits);
	p->first_follower = make(count + 1, sizeof *p->first_follower);
	p->cost = make(count, sizeof *p->cost);
	p->event = make(count, sizeof *p->event);
	make_graph(p);
	for (int i = 0; i < count; i++) {
		const struct op *op = &role->ops[p->begin + i];
		enum status s = STATUS_OK;
		p->event[i] = -1;
		switch (op_class(op->kind)) {
		case OP_CLASS_M:
			p->cost[i].measured = true;
			break;
		case OP_CLASS_K:
		case OP_CLASS_V:
			s = cost_kernel(c, plan, role, op, &p->cost[i]);
			break;
		case OP_CLASS_C:
			break;
		}
		if (s)
			return s;
	}
	return STATUS_OK;
}

void program_release(struct program *p)
{
	free(p->waits);
	free(p->first_follower);
	free(p->followers);
	free(p->cost);
	free(p->event);
	*p = (struct program){0};
}
