#include "real/rank/fusion.h"

#include "strategy/plan/walk.h"

static bool same(const struct region *a, const struct region *b)
{
	return a->buffer == b->buffer && a->slice == b->slice && a->offset == b->offset && a->count == b->count;
}

static bool writes(const struct op *op, int buffer)
{
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		char access = op_access(op, i);
		if (op->operand[i].buffer == buffer && access && access != 'r')
			return true;
	}
	return false;
}

/* The compute queue made `pre` last, so it is there before all that follows on that queue. */
static bool made_before(const struct role *r, int number, int buffer)
{
	for (int i = number - 1; i >= r->step.begin; i--)
		if (writes(&r->ops[i], buffer))
			return r->ops[i].queue == QUEUE_COMPUTE && op_class(r->ops[i].kind) != OP_CLASS_M;
	return false;
}

static bool fuses(const struct model *m, const struct role *r, int first, int second)
{
	const struct op *a = &r->ops[first], *b = &r->ops[second];
	if (b->kind != OP_LINEAR_BACKWARD || m->kernels[b->kernel].nonlinear != NONLINEAR_GELU_TANH ||
	    b->operand[LINEAR_BACKWARD_PRE].buffer < 0 ||
	    !same(&a->operand[LINEAR_BACKWARD_DX], &b->operand[LINEAR_BACKWARD_DY]))
		return false;
	for (int i = first + 1; i < second; i++) /* on other queues, or allocating */
		if (op_uses(&r->ops[i], a->operand[LINEAR_BACKWARD_DX].buffer) ||
		    op_uses(&r->ops[i], b->operand[LINEAR_BACKWARD_PRE].buffer))
			return false;
	return made_before(r, first, b->operand[LINEAR_BACKWARD_PRE].buffer);
}

void fusion_find(const struct model *m, const struct role *r, struct fusion *out)
{
	for (int i = 0; i < r->op_count; i++)
		out[i] = (struct fusion){.next = -1};
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind != OP_LINEAR_BACKWARD || op->operand[LINEAR_BACKWARD_DX].buffer < 0)
			continue;
		int next = section_next(r, r->step.end, QUEUE_COMPUTE, i + 1);
		if (next == r->step.end || !fuses(m, r, i, next))
			continue;
		out[i].next = next;
		out[next].done = true;
	}
}
