#include "strategy/plan/reorder.h"

#include <stdlib.h>
#include <string.h>

void plan_set_waits(struct plan *p, int role, int op, const int *after, int count)
{
	struct op *o = &p->roles[role].ops[op];
	int *copy = arena_alloc(&p->arena, ((size_t)count + 1) * sizeof *copy);
	for (int i = 0; i < count; i++)
		copy[i] = after[i];
	o->after = copy;
	o->after_count = count;
}

/* Copies a role, with room for a step of so many operations; its waits are still those of the original. */
static void copy_role(struct plan *out, const struct plan *p, int role, int steps)
{
	const struct role *from = &p->roles[role];
	struct role *to = &out->roles[role];
	int by = steps - (from->step.end - from->step.begin);
	to->laid_out = false;
	to->op_count = from->op_count + by;
	to->ops = arena_alloc(&out->arena, ((size_t)to->op_count + 2) * sizeof *to->ops);
	memcpy(to->ops, from->ops, (size_t)from->step.begin * sizeof *to->ops);
	memcpy(to->ops + from->step.end + by, from->ops + from->step.end,
	       (size_t)(from->op_count - from->step.end) * sizeof *to->ops);
	to->buffers = arena_alloc(&out->arena, ((size_t)from->buffer_count + 1) * sizeof *to->buffers);
	memcpy(to->buffers, from->buffers, (size_t)from->buffer_count * sizeof *to->buffers);
	struct section *behind[] = {&to->step, &to->evaluate, &to->save, &to->restore, &to->epilogue};
	for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
		behind[i]->begin += behind[i]->begin >= from->step.end ? by : 0;
		behind[i]->end += behind[i]->end >= from->step.end ? by : 0;
	}
}

/* Gives the operation operands of its own, as many as any kind has. */
static void own_operands(struct plan *p, int role, int op)
{
	struct op *o = &p->roles[role].ops[op];
	struct region *own = plan_operands(p, OP_OPERANDS);
	memcpy(own, o->operand, (size_t)op_operand_count(o->kind) * sizeof *own);
	o->operand = own;
}

/* The operation with its waits `by` further on. */
static void shift_waits(struct plan *p, int role, int op, int by)
{
	struct op *o = &p->roles[role].ops[op];
	plan_set_waits(p, role, op, o->after, o->after_count);
	for (int i = 0; i < o->after_count; i++)
		o->after[i] += by;
}

void plan_copy(struct plan *out, const struct plan *p)
{
	*out = *p;
	out->arena = (struct arena){0};
	out->spare_count = 0;
	for (int i = 0; i < p->role_count; i++) {
		const struct section *step = &p->roles[i].step;
		copy_role(out, p, i, step->end - step->begin);
		memcpy(out->roles[i].ops, p->roles[i].ops, (size_t)p->roles[i].op_count * sizeof *p->roles[i].ops);
		for (int k = 0; k < p->roles[i].op_count; k++) {
			shift_waits(out, i, k, 0);
			own_operands(out, i, k);
		}
	}
}

/* ---- waits ---- */

struct reorder {
	struct plan *plan;
	struct role *role;
	int number;                /* of the role */
	int *now;                  /* by operation of the original step: where it stands now; -1: not yet */
	int (*clock)[QUEUE_COUNT]; /* by operation of the new step: the last of each queue that is done before it */
	int last[QUEUE_COUNT];     /* issued on each queue; -1 */
	int freed;                 /* communication for which computing has still to wait, where memory was freed; -1 */
	int after[QUEUE_COUNT];    /* the operation at hand waits for these; -1 */
};

static void wait_for(struct reorder *r, int op)
{
	int queue = (int)r->role->ops[op].queue;
	if (op > r->after[queue])
		r->after[queue] = op;
}

static void merge_clock(struct reorder *r, int *clock, int op)
{
	const int *other = r->clock[op - r->role->step.begin];
	for (int q = 0; q < QUEUE_COUNT; q++)
		clock[q] = other[q] > clock[q] ? other[q] : clock[q];
	int queue = (int)r->role->ops[op].queue;
	clock[queue] = op > clock[queue] ? op : clock[queue];
}

/* Do both touch an element, and one writes? */
static bool conflict(const struct reorder *r, const struct op *a, const struct op *b)
{
	for (int i = 0; i < op_operand_count(a->kind); i++)
		for (int k = 0; a->operand[i].buffer >= 0 && k < op_operand_count(b->kind); k++)
			if (b->operand[k].buffer == a->operand[i].buffer &&
			    (op_access(a, i) != 'r' || op_access(b, k) != 'r') &&
			    regions_overlap(r->plan, r->role, &a->operand[i], &b->operand[k]))
				return true;
	return false;
}

/* The latest operation of each other queue that may still run and touches what this one does. */
static void wait_for_data(struct reorder *r, int op, const int *clock)
{
	const struct op *ops = r->role->ops;
	for (int q = 0; q < QUEUE_COUNT; q++)
		for (int i = r->last[q]; q != (int)ops[op].queue && i > clock[q] && i >= r->role->step.begin; i--)
			if ((int)ops[i].queue == q && op_class(ops[i].kind) != OP_CLASS_M &&
			    conflict(r, &ops[op], &ops[i])) {
				wait_for(r, i);
				break;
			}
}

static void note_free(struct reorder *r, int op)
{
	const struct op *ops = r->role->ops;
	int i = r->last[QUEUE_COMMUNICATION];
	while (i >= r->role->step.begin &&
	       (ops[i].queue != QUEUE_COMMUNICATION || op_class(ops[i].kind) == OP_CLASS_M ||
	        !op_uses(&ops[i], op_buffer(&ops[op]))))
		i--;
	if (i >= r->role->step.begin && i > r->freed)
		r->freed = i;
}

enum { WAITS = 64 }; /* kept of an operation, at most; others are found anew */

struct waits {
	int list[WAITS + QUEUE_COUNT], count, clock[QUEUE_COUNT];
};

/* Keeps the original's waits even where others cover them: nothing changes that need not. */
static void keep_waits(struct reorder *r, int op, const struct op *from, int first, struct waits *out)
{
	for (int i = 0; i < from->after_count && out->count < WAITS; i++) {
		int on = r->now[from->after[i] - first];
		if (on < 0 || on == op)
			continue;
		out->list[out->count++] = on;
		merge_clock(r, out->clock, on);
	}
}

static void add_waits(struct reorder *r, int op, const struct op *from, struct waits *out)
{
	wait_for_data(r, op, out->clock);
	if (op_class(from->kind) == OP_CLASS_C && r->last[QUEUE_COMPUTE] >= 0)
		wait_for(r, r->last[QUEUE_COMPUTE]);
	if (from->queue == QUEUE_COMPUTE && r->freed >= 0) {
		wait_for(r, r->freed);
		r->freed = -1;
	}
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (r->after[q] > out->clock[q]) {
			out->list[out->count++] = r->after[q];
			merge_clock(r, out->clock, r->after[q]);
		}
}

static void set_waits(struct reorder *r, int op, const struct op *from, int first)
{
	struct waits w = {.count = 0};
	memset(w.clock, -1, sizeof w.clock);
	memset(r->after, -1, sizeof r->after);
	if (r->last[from->queue] >= 0)
		merge_clock(r, w.clock, r->last[from->queue]);
	keep_waits(r, op, from, first, &w);
	add_waits(r, op, from, &w);
	plan_set_waits(r->plan, r->number, op, w.list, w.count);
	memcpy(r->clock[op - r->role->step.begin], w.clock, sizeof w.clock);
	r->last[from->queue] = op;
}

static void place(struct reorder *r, int op, const struct op *from, int first, int number)
{
	r->role->ops[op] = *from;
	own_operands(r->plan, r->number, op);
	if (op_class(from->kind) != OP_CLASS_M)
		set_waits(r, op, from, first);
	else if (from->kind == OP_FREE)
		note_free(r, op);
	r->now[number - first] = op;
}

void plan_reorder(struct plan *out, const struct plan *p, int role, const int *order, int count)
{
	const struct role *from = &p->roles[role];
	int first = from->step.begin, steps = from->step.end - first, by = count - steps;
	*out = *p;
	out->arena = (struct arena){0};
	out->spare_count = 0;
	copy_role(out, p, role, count);
	struct reorder r = {.plan = out, .role = &out->roles[role], .number = role};
	r.now = array_make((size_t)steps, sizeof *r.now);
	r.clock = array_make((size_t)count, sizeof *r.clock);
	memset(r.now, -1, (size_t)steps * sizeof *r.now);
	memset(r.last, -1, sizeof r.last);
	r.freed = -1;
	for (int i = 0; i < count; i++)
		place(&r, first + i, &from->ops[order[i]], first, order[i]);
	for (int i = 0; i < first; i++)
		shift_waits(out, role, i, 0);
	for (int i = first + count; i < out->roles[role].op_count; i++)
		shift_waits(out, role, i, by);
	free(r.now);
	free(r.clock);
}
