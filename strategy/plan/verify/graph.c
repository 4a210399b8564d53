/* Rule 1: no deadlock. The joint graph of all ranks is walked to its end, section by section:
 *
 *     role root     compute        ─ a ─ b ───── f ─        an operation is done when it is first on its queue, and
 *                   communication      └► R1 ─┘  ▲          all it waits for is done;
 *     role worker   communication      ─ R1 ─ R2 ┘          communication, when that holds for every role that takes
 *                                                           part: a collective of a group is one event for all of
 *                                                           them, and a send and its receive are one
 *
 * All ranks of a role run one program and wait for the same events, so a role is walked once. If nothing can go on and
 * something is left, it waits for ever.
 *
 * Beyond that a rank issues its operations in order, so it may only wait for what it has issued.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/plan/verify/verify.h"

struct walk {
	const struct verify *v;
	enum section_kind section;
	bool *done[ROLES];            /* by operation - begin */
	int head[ROLES][QUEUE_COUNT]; /* the first on the queue that is not done; section end: none */
};

static bool is_done(const struct walk *w, int role, int op)
{
	return w->done[role][op - section_of(&w->v->p->roles[role], w->section)->begin];
}

static int next_on(const struct walk *w, int role, int queue, int from)
{
	const struct role *r = &w->v->p->roles[role];
	int end = section_of(r, w->section)->end;
	while (from < end && ((int)r->ops[from].queue != queue || op_class(r->ops[from].kind) == OP_CLASS_M))
		from++;
	return from;
}

/* What the operation at the head of a queue still waits for on its own rank; -1: nothing. */
static int waits_for(const struct walk *w, int role, int op)
{
	const struct op *o = &w->v->p->roles[role].ops[op];
	for (int i = 0; i < o->after_count; i++)
		if (!is_done(w, role, o->after[i]))
			return o->after[i];
	return -1;
}

static void finish(struct walk *w, int role, int queue)
{
	int op = w->head[role][queue];
	w->done[role][op - section_of(&w->v->p->roles[role], w->section)->begin] = true;
	w->head[role][queue] = next_on(w, role, queue, op + 1);
}

/* The communication that a role has come to, and all whose waits are over; NULL: none. */
static const struct op *at_rendezvous(const struct walk *w, int role)
{
	int op = w->head[role][QUEUE_COMMUNICATION];
	const struct role *r = &w->v->p->roles[role];
	if (op >= section_of(r, w->section)->end || op_class(r->ops[op].kind) != OP_CLASS_C)
		return NULL;
	return waits_for(w, role, op) < 0 ? &r->ops[op] : NULL;
}

static bool run_local(struct walk *w)
{
	bool moved = false;
	for (int i = 0; i < w->v->p->role_count; i++) {
		const struct role *r = &w->v->p->roles[i];
		int end = section_of(r, w->section)->end;
		for (int q = 0; q < QUEUE_COUNT; q++)
			while (w->head[i][q] < end && op_class(r->ops[w->head[i][q]].kind) != OP_CLASS_C &&
			       waits_for(w, i, w->head[i][q]) < 0) {
				finish(w, i, q);
				moved = true;
			}
	}
	return moved;
}

/* Has everyone who takes part in what this role has come to, come to it? */
static bool all_meet(const struct walk *w, int role)
{
	const struct plan *p = w->v->p;
	const struct op *mine = at_rendezvous(w, role);
	for (int i = 0; mine && i < p->role_count; i++) {
		if (i == role || !takes_part(p, mine, &p->roles[role], &p->roles[i]))
			continue;
		const struct op *other = at_rendezvous(w, i);
		if (!other || !would_meet(p, &p->roles[role], mine, &p->roles[i], other))
			return false;
	}
	return mine != NULL;
}

static bool run_rendezvous(struct walk *w)
{
	const struct plan *p = w->v->p;
	bool moved = false;
	for (int i = 0; i < p->role_count; i++) {
		if (!all_meet(w, i))
			continue;
		const struct op *op = at_rendezvous(w, i);
		for (int k = 0; k < p->role_count; k++)
			if (k == i || takes_part(p, op, &p->roles[i], &p->roles[k]))
				finish(w, k, QUEUE_COMMUNICATION);
		moved = true;
	}
	return moved;
}

static int buffer_of(const struct op *op)
{
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (op->operand[i].buffer >= 0)
			return op->operand[i].buffer;
	return -1;
}

static enum status report_stuck(const struct walk *w)
{
	const struct verify *v = w->v;
	for (int i = 0; i < v->p->role_count; i++) {
		const struct role *r = &v->p->roles[i];
		for (int q = 0; q < QUEUE_COUNT; q++) {
			int op = w->head[i][q];
			if (op >= section_of(r, w->section)->end)
				continue;
			int on = waits_for(w, i, op);
			if (on == op)
				return refuse(v, 1, r, op, buffer_of(&r->ops[op]),
				              "waits for itself; take the wait out");
			if (on >= 0 && waits_for(w, i, on) >= 0)
				return refuse(
				        v, 1, r, op, buffer_of(&r->ops[op]),
				        "waits for %s, which waits for %s: nobody can begin; take one of the waits out",
				        op_title(v, r, on), op_title(v, r, waits_for(w, i, on)));
			if (on >= 0 && r->ops[on].queue == r->ops[op].queue)
				return refuse(
				        v, 1, r, op, buffer_of(&r->ops[op]),
				        "waits for %s, which stands behind it on its own queue; take the wait out",
				        op_title(v, r, on));
			if (on >= 0 && i + 1 == v->p->role_count)
				return refuse(v, 1, r, op, buffer_of(&r->ops[op]), "waits for %s, which never begins",
				              op_title(v, r, on));
			if (on < 0)
				return refuse(v, 1, r, op, buffer_of(&r->ops[op]), "waits for ever: %s",
				              op_is_message(r->ops[op].kind)
				                      ? "its partner does not come to the other end of the message"
				                      : "not every role takes part in it; each role must issue it");
		}
	}
	return refuse(v, 1, &v->p->roles[0], -1, -1, "the operations of a section wait for each other in a circle");
}

static bool all_done(const struct walk *w)
{
	for (int i = 0; i < w->v->p->role_count; i++)
		for (int q = 0; q < QUEUE_COUNT; q++)
			if (w->head[i][q] < section_of(&w->v->p->roles[i], w->section)->end)
				return false;
	return true;
}

static enum status walk_section(const struct verify *v, enum section_kind k)
{
	struct walk w = {.v = v, .section = k};
	for (int i = 0; i < v->p->role_count; i++) {
		const struct section *s = section_of(&v->p->roles[i], k);
		w.done[i] = calloc((size_t)(s->end - s->begin) + 1, sizeof *w.done[i]);
		if (!w.done[i])
			abort();
		for (int q = 0; q < QUEUE_COUNT; q++)
			w.head[i][q] = next_on(&w, i, q, s->begin);
	}
	while (run_local(&w) || run_rendezvous(&w))
		;
	enum status s = all_done(&w) ? STATUS_OK : report_stuck(&w);
	for (int i = 0; i < v->p->role_count; i++)
		free(w.done[i]);
	return s;
}

/* Waits name operations of the same section that take time. */
static enum status check_waits(const struct verify *v, const struct role *r, enum section_kind k)
{
	const struct section *s = section_of(r, k);
	for (int i = s->begin; i < s->end; i++)
		for (int w = 0; w < r->ops[i].after_count; w++) {
			int on = r->ops[i].after[w];
			if (on < s->begin || on >= s->end)
				return refuse(v, 1, r, i, buffer_of(&r->ops[i]),
				              "waits for operation %d, which is not of its section; queues are empty "
				              "between sections, so no wait is needed",
				              on);
			if (op_class(r->ops[on].kind) == OP_CLASS_M || op_class(r->ops[i].kind) == OP_CLASS_M)
				return refuse(
				        v, 1, r, i, buffer_of(&r->ops[i]),
				        "waits for %s: memory operations are on no queue; wait for a use of the buffer",
				        op_title(v, r, on));
		}
	return STATUS_OK;
}

static enum status check_issue_order(const struct verify *v, const struct role *r)
{
	for (int i = 0; i < r->op_count; i++)
		for (int w = 0; w < r->ops[i].after_count; w++)
			if (r->ops[i].after[w] >= i)
				return refuse(v, 1, r, i, buffer_of(&r->ops[i]),
				              "waits for %s, which is issued after it; issue that one first",
				              op_title(v, r, r->ops[i].after[w]));
	return STATUS_OK;
}

enum status verify_graph(const struct verify *v)
{
	enum status s;
	for (int i = 0; i < v->p->role_count; i++)
		for (int k = 0; k < SECTION_KINDS; k++)
			if ((s = check_waits(v, &v->p->roles[i], (enum section_kind)k)))
				return s;
	for (int k = 0; k < SECTION_KINDS; k++)
		if ((s = walk_section(v, (enum section_kind)k)))
			return s;
	for (int i = 0; i < v->p->role_count; i++)
		if ((s = check_issue_order(v, &v->p->roles[i])))
			return s;
	return STATUS_OK;
}
