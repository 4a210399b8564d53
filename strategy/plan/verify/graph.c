/* Rule 1: no deadlock. The joint graph of all ranks is walked to its end, section by section:
 *
 *     role root     compute        ─ a ─ b ───── f ─        an operation is done when it is first on its queue, and
 *                   communication      └► R1 ─┘  ▲          all it waits for is done; communication, when that
 *     role worker   communication      ─ R1 ─ R2 ┘          holds for every participant of its instance
 *                                                           (strategy/plan/rendezvous.h)
 *
 * All ranks of a role run one program and wait for the same things, so a role is walked once. If nothing can go on and
 * something is left, it waits for ever.
 *
 * Beyond that a rank issues its operations in order, so it may only wait for what it has issued.
 */
#include "strategy/plan/verify/verify.h"
#include "strategy/plan/walk.h"

struct joint {
	const struct verify *v;
	const struct rendezvous *rendezvous; /* of the section */
	struct walk walk[ROLES];
};

static bool is_communication(const struct walk *w, int queue)
{
	return w->head[queue] < w->end && op_class(w->role->ops[w->head[queue]].kind) == OP_CLASS_C;
}

static bool run_local(struct joint *j)
{
	bool moved = false;
	for (int i = 0; i < j->v->p->role_count; i++)
		for (int q = 0; q < QUEUE_COUNT; q++)
			while (!is_communication(&j->walk[i], q) && walk_is_ready(&j->walk[i], q)) {
				walk_finish(&j->walk[i], q);
				moved = true;
			}
	return moved;
}

/* The instance that this role has come to, if all its participants have; NULL: not yet. */
static const struct instance *find_rendezvous(const struct joint *j, int role)
{
	const struct walk *w = &j->walk[role];
	if (!is_communication(w, QUEUE_COMMUNICATION))
		return NULL;
	const struct instance *x = rendezvous_instance(j->rendezvous, w->role, w->head[QUEUE_COMMUNICATION]);
	for (int i = 0; i < x->participant_count; i++) {
		const struct participant *one = &x->participants[i];
		w = &j->walk[one->role];
		if (w->head[QUEUE_COMMUNICATION] != one->op || !walk_is_ready(w, QUEUE_COMMUNICATION))
			return NULL;
	}
	return x->missing ? NULL : x;
}

static bool run_rendezvous(struct joint *j)
{
	bool moved = false;
	for (int i = 0; i < j->v->p->role_count; i++) {
		const struct instance *x = find_rendezvous(j, i);
		for (int k = 0; x && k < x->participant_count; k++)
			walk_finish(&j->walk[x->participants[k].role], QUEUE_COMMUNICATION);
		moved |= x != NULL;
	}
	return moved;
}

/* Why the head of a queue cannot go on. last: every role before has been asked, and blamed the next. */
static enum status report_head(const struct verify *v, const struct walk *w, int queue, bool last)
{
	const struct role *r = w->role;
	int op = w->head[queue], on = walk_waits_for(w, op), buffer = op_buffer(&r->ops[op]);
	if (on == op)
		return refuse(v, 1, r, op, buffer, "waits for itself; take the wait out");
	if (on >= 0 && walk_waits_for(w, on) >= 0)
		return refuse(v, 1, r, op, buffer,
		              "waits for %s, which waits for %s: nobody can begin; take one of the waits out",
		              op_title(v, r, on), op_title(v, r, walk_waits_for(w, on)));
	if (on >= 0 && r->ops[on].queue == r->ops[op].queue)
		return refuse(v, 1, r, op, buffer,
		              "waits for %s, which stands behind it on its own queue; take the wait out",
		              op_title(v, r, on));
	if (on >= 0)
		return last ? refuse(v, 1, r, op, buffer, "waits for %s, which never begins", op_title(v, r, on))
		            : STATUS_OK;
	return refuse(v, 1, r, op, buffer, "waits for ever: %s",
	              op_is_message(r->ops[op].kind) ? "its partner does not come to the other end of the message"
	                                             : "not every role takes part in it; each role must issue it");
}

static enum status report_stuck(const struct joint *j)
{
	const struct verify *v = j->v;
	for (int i = 0; i < v->p->role_count; i++)
		for (int q = 0; q < QUEUE_COUNT; q++) {
			const struct walk *w = &j->walk[i];
			enum status s = STATUS_OK;
			if (w->head[q] < w->end && (s = report_head(v, w, q, i + 1 == v->p->role_count)))
				return s;
		}
	return refuse(v, 1, &v->p->roles[0], -1, -1, "the operations of a section wait for each other in a circle");
}

static bool all_done(const struct joint *j)
{
	bool done = true;
	for (int i = 0; i < j->v->p->role_count; i++)
		done &= walk_is_done(&j->walk[i]);
	return done;
}

static enum status walk_section(const struct verify *v, enum section_kind k)
{
	struct joint j = {.v = v, .rendezvous = &v->rendezvous[k]};
	for (int i = 0; i < v->p->role_count; i++)
		walk_begin(&j.walk[i], &v->p->roles[i], k);
	while (run_local(&j) || run_rendezvous(&j))
		;
	enum status s = all_done(&j) ? STATUS_OK : report_stuck(&j);
	for (int i = 0; i < v->p->role_count; i++)
		walk_release(&j.walk[i]);
	return s;
}

/* Waits name operations of the same section that take time. */
static enum status check_waits(const struct at *a)
{
	const struct section *s = section_of(a->r, a->section);
	for (int w = 0; w < a->op->after_count; w++) {
		int on = a->op->after[w];
		if (on < s->begin || on >= s->end)
			return refuse_op(a, 1,
			                 "waits for operation %d, which is not of its section; queues are empty "
			                 "between sections, so no wait is needed",
			                 on);
		if (op_class(a->r->ops[on].kind) == OP_CLASS_M || op_class(a->op->kind) == OP_CLASS_M)
			return refuse_op(
			        a, 1, "waits for %s: memory operations are on no queue; wait for a use of the buffer",
			        op_title(a->v, a->r, on));
	}
	return STATUS_OK;
}

static enum status check_issue_order(const struct at *a)
{
	for (int w = 0; w < a->op->after_count; w++)
		if (a->op->after[w] >= a->number)
			return refuse_op(a, 1, "waits for %s, which is issued after it; issue that one first",
			                 op_title(a->v, a->r, a->op->after[w]));
	return STATUS_OK;
}

enum status verify_waits(const struct verify *v)
{
	return verify_each(v, check_waits);
}

enum status verify_end(const struct verify *v)
{
	for (int k = 0; k < SECTION_KINDS; k++)
		TRY(walk_section(v, (enum section_kind)k));
	return STATUS_OK;
}

enum status verify_issue_order(const struct verify *v, int role)
{
	return verify_each_of(v, role, check_issue_order);
}
