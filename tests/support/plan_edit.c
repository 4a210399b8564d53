#include "tests/support/plan_edit.h"

#include <string.h>

/* Waits follow: to[old number] is the new one, or -1. */
static void renumber(struct role *r, const int *to)
{
	for (int i = 0; i < r->op_count; i++) {
		struct op *op = &r->ops[i];
		int kept = 0;
		for (int w = 0; w < op->after_count; w++)
			if (to[op->after[w]] >= 0)
				op->after[kept++] = to[op->after[w]];
		op->after_count = kept;
	}
}

static void shift_sections(struct role *r, int at, int by)
{
	struct section *all[] = {&r->prologue, &r->step, &r->evaluate, &r->save, &r->restore, &r->epilogue, NULL};
	for (struct section **s = all; *s; s++) {
		(*s)->begin += (*s)->begin > at ? by : 0;
		(*s)->end += (*s)->end > at ? by : 0;
	}
}

static int *identity(struct plan *p, int n)
{
	int *to = arena_alloc(&p->arena, ((size_t)n + 2) * sizeof *to);
	for (int i = 0; i < n; i++)
		to[i] = i;
	return to;
}

/* The operation gets operands of its own. */
static void own_operands(struct plan *p, struct op *op)
{
	const struct region *from = op->operand;
	op->operand = plan_operands(p, OP_OPERANDS);
	memcpy(op->operand, from, (size_t)op_operand_count(op->kind) * sizeof *from);
}

void plan_drop_op(struct plan *p, int role, int op)
{
	struct role *r = &p->roles[role];
	int *to = identity(p, r->op_count);
	for (int i = op; i < r->op_count; i++)
		to[i] = i - 1;
	to[op] = -1;
	memmove(&r->ops[op], &r->ops[op + 1], (size_t)(r->op_count - op - 1) * sizeof *r->ops);
	r->op_count--;
	renumber(r, to);
	shift_sections(r, op, -1);
}

void plan_double_op(struct plan *p, int role, int op)
{
	struct role *r = &p->roles[role];
	int *to = identity(p, r->op_count);
	for (int i = op; i < r->op_count; i++)
		to[i] = i + 1;
	memmove(&r->ops[op + 1], &r->ops[op], (size_t)(r->op_count - op) * sizeof *r->ops);
	r->op_count++;
	own_operands(p, &r->ops[op]);
	plan_set_waits(p, role, op, r->ops[op + 1].after, r->ops[op + 1].after_count);
	/* Operations that waited for it wait for the second. */
	renumber(r, to);
	shift_sections(r, op, 1);
}

void plan_insert_op(struct plan *p, int role, int at, const struct op *op)
{
	struct op inserted = *op;
	plan_double_op(p, role, at);
	p->roles[role].ops[at] = inserted;
	own_operands(p, &p->roles[role].ops[at]);
	plan_set_waits(p, role, at, inserted.after, inserted.after_count);
}

void plan_move_op(struct plan *p, int role, int from, int dest)
{
	struct role *r = &p->roles[role];
	struct op moved = r->ops[from];
	int *to = identity(p, r->op_count), step = from < dest ? 1 : -1;
	for (int i = from; i != dest; i += step) {
		r->ops[i] = r->ops[i + step];
		to[i + step] = i;
	}
	r->ops[dest] = moved;
	to[from] = dest;
	renumber(r, to);
}
