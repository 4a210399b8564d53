/* Rule 4: two operations on different queues that touch one buffer, one of them writing, are ordered by waits.
 *
 * Every operation is held against the earlier ones on the other queues that its vector clock does not cover: those are
 * few, and the accesses of a buffer are chained by queue, latest first, so the walk stops at the first that is covered.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/plan/verify/verify.h"

struct access {
	int op, operand;
	int before; /* of the same buffer and queue; -1 */
};

struct races {
	const struct verify *v;
	const struct role *role;
	struct order order;
	struct access *list;
	int count;
	int (*latest)[QUEUE_COUNT]; /* by buffer; -1 */
};

static enum status check_operand(const struct races *c, int number, int operand)
{
	const struct op *op = &c->role->ops[number];
	const struct region *g = &op->operand[operand];
	const int *clock = c->order.clock[number - c->order.begin];
	bool writes = op_access(op, operand) != 'r';
	for (int q = 0; q < QUEUE_COUNT; q++) {
		if (q == (int)op->queue)
			continue;
		for (int a = c->latest[g->buffer][q]; a >= 0 && c->list[a].op > clock[q]; a = c->list[a].before) {
			const struct op *other = &c->role->ops[c->list[a].op];
			if (!writes && op_access(other, c->list[a].operand) == 'r')
				continue;
			if (!regions_overlap(c->v->p, c->role, g, &other->operand[c->list[a].operand]))
				continue;
			return refuse(
			        c->v, 4, c->role, number, g->buffer,
			        "operand %s, and operation %s both touch it (there as %s), one writes, and no wait "
			        "orders them; let %d wait: after %d",
			        op_operand_name(op->kind, operand), op_title(c->v, c->role, c->list[a].op),
			        op_operand_name(other->kind, c->list[a].operand), number, c->list[a].op);
		}
	}
	return STATUS_OK;
}

static void record(struct races *c, int number, int operand)
{
	const struct op *op = &c->role->ops[number];
	int *latest = &c->latest[op->operand[operand].buffer][op->queue];
	c->list[c->count] = (struct access){number, operand, *latest};
	*latest = c->count++;
}

static enum status check_operands(struct races *c, const struct section *s)
{
	memset(c->latest, -1, (size_t)c->role->buffer_count * sizeof *c->latest);
	c->count = 0;
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &c->role->ops[i];
		if (op_class(op->kind) == OP_CLASS_M)
			continue;
		int n = op_operand_count(op->kind);
		for (int k = 0; k < n; k++)
			if (op->operand[k].buffer >= 0)
				TRY(check_operand(c, i, k));
		for (int k = 0; k < n; k++)
			if (op->operand[k].buffer >= 0)
				record(c, i, k);
	}
	return STATUS_OK;
}

static enum status check_section(struct races *c, const struct section *s)
{
	if (s->begin == s->end)
		return STATUS_OK;
	order_make(&c->order, c->role, s);
	enum status status = check_operands(c, s);
	order_release(&c->order);
	return status;
}

enum status verify_races(const struct verify *v, int role)
{
	const struct role *r = &v->p->roles[role];
	struct races c = {.v = v, .role = r};
	enum status s = STATUS_OK;
	c.list = array_unset((size_t)r->op_count * OP_OPERANDS, sizeof *c.list);
	c.latest = array_make((size_t)r->buffer_count, sizeof *c.latest);
	for (int k = 0; k < SECTION_KINDS && !s; k++)
		s = check_section(&c, section_of(r, (enum section_kind)k));
	free(c.list);
	free(c.latest);
	return s;
}
