/* The loop over operations in real time. */
#include "real/rank/bind.h"
#include "real/rank/executor_internal.h"

bool executor_has_work(const struct executor *e, const struct op *op)
{
	return op_class(op->kind) != OP_CLASS_M || e->memory->guard;
}

bool executor_uses(const struct executor *e, const struct section *s, int queue)
{
	for (int i = s->begin; i < s->end; i++)
		if ((int)e->role->ops[i].queue == queue && op_class(e->role->ops[i].kind) != OP_CLASS_M)
			return true;
	return false;
}

static enum status carry_out(struct executor *e, int number)
{
	const struct op *op = &e->role->ops[number];
	if (op_class(op->kind) == OP_CLASS_C)
		return e->ops->communicate(e, number);
	return op_is_of_host(op) ? e->ops->call_host(e, number) : e->ops->launch(e, number);
}

enum status executor_issue(struct executor *e, const struct section *s, unsigned queues)
{
	enum status status = STATUS_OK;
	for (int i = s->begin; i < s->end && !status; i++) {
		const struct op *op = &e->role->ops[i];
		if (!(queues >> op->queue & 1) || !executor_has_work(e, op))
			continue;
		status = e->ops->await(e, i);
		if (!status)
			status = e->ops->done(e, i, carry_out(e, i));
	}
	return status;
}

/* ---- communication ---- */

struct point_to_point executor_message(const struct executor *e, const struct op *op, void *at)
{
	const struct plan *p = e->memory->plan;
	return (struct point_to_point){.sends = op->kind == OP_SEND,
	                               .peer = (int)op_peer(p, op, e->memory->rank),
	                               .at = at,
	                               .bytes = region_elements(p, op_region(op, PART_WHOLE)) *
	                                        type_bytes(e->role->buffers[op_buffer(op)].type)};
}

/* Before an operation, and after it. */
static void note_values(struct executor *e, const struct op *op, void *const operand[3], const struct collective *c,
                        bool after)
{
	int number = (int)(op - e->role->ops);
	if (!e->values)
		return;
	if (c)
		values_note(e->values, number, c, after);
	else if (op->kind == OP_SUM)
		values_note_sum(e->values, number, operand[SUM_X], after);
	else
		values_note_message(e->values, number, operand[SEND_X], after);
}

static enum status communicate(struct executor *e, const struct op *op, void *const operand[3],
                               const struct collective *c, struct traffic *traffic)
{
	if (c) {
		struct communicator *members = executor_members(e, op);
		return members->ops->run(members, c, traffic);
	}
	if (op->kind == OP_SUM)
		return executor_sum(e, op, operand[SUM_X], region_elements(e->memory->plan, &op->operand[SUM_X]),
		                    traffic);
	struct point_to_point m = executor_message(e, op, operand[SEND_X]);
	return e->communicator->ops->message(e->communicator, &m, traffic);
}

enum status executor_communicate(struct executor *e, const struct op *op, void *const operand[3],
                                 struct traffic *traffic)
{
	bool whole = op->kind != OP_SUM && !op_is_message(op->kind);
	struct collective c = {0};
	if (whole)
		c = executor_collective(e, op, operand);
	note_values(e, op, operand, whole ? &c : NULL, false);
	TRY(communicate(e, op, operand, whole ? &c : NULL, traffic));
	note_values(e, op, operand, whole ? &c : NULL, true);
	return STATUS_OK;
}
