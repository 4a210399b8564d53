#include "strategy/plan/order.h"

#include <stdlib.h>
#include <string.h>

static void join(int *clock, const int *other)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (other[q] > clock[q])
			clock[q] = other[q];
}

void order_make(struct order *o, const struct role *r, const struct section *s)
{
	int n = s->end - s->begin, last[QUEUE_COUNT];
	o->begin = s->begin;
	o->role = r;
	o->clock = array_unset((size_t)n + 1, sizeof *o->clock);
	memset(o->clock, -1, ((size_t)n + 1) * sizeof *o->clock);
	memset(last, -1, sizeof last);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		int *clock = o->clock[i - s->begin];
		if (op_class(op->kind) == OP_CLASS_M)
			continue;
		int before = last[op->queue];
		if (before >= 0) {
			join(clock, o->clock[before - s->begin]);
			clock[op->queue] = before;
		}
		for (int w = 0; w < op->after_count; w++) {
			int on = op->after[w];
			join(clock, o->clock[on - s->begin]);
			if (on > clock[r->ops[on].queue])
				clock[r->ops[on].queue] = on;
		}
		last[op->queue] = i;
	}
}

void uses_find(struct uses *uses, const struct role *r, const struct section *s)
{
	memset(uses, -1, (size_t)r->buffer_count * sizeof *uses);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		for (int k = 0; op_class(op->kind) != OP_CLASS_M && k < op_operand_count(op->kind); k++) {
			int b = op->operand[k].buffer;
			if (b < 0)
				continue;
			if (uses[b].first[op->queue] < 0)
				uses[b].first[op->queue] = i;
			uses[b].last[op->queue] = i;
		}
	}
}

bool uses_clash(const struct order *o, const struct uses *a, const struct uses *b, int *used, int *first)
{
	for (int qb = 0; qb < QUEUE_COUNT; qb++)
		for (int qa = 0; b->first[qb] >= 0 && qa < QUEUE_COUNT; qa++)
			if (o->clock[b->first[qb] - o->begin][qa] < a->last[qa]) {
				*used = a->last[qa];
				*first = b->first[qb];
				return true;
			}
	return false;
}

void order_release(struct order *o)
{
	if (o)
		free(o->clock);
}
