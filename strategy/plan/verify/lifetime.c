/* Rule 3: a buffer is used only while alive, freed once, and only state outlives its section. Alive goes by issue
 * order, in which memory is counted. */
#include <stdlib.h>

#include "strategy/plan/verify/verify.h"

static enum status allocate_or_free(const struct verify *v, const struct role *r, int number, bool *alive,
                                    enum section_kind k)
{
	int b = op_buffer(&r->ops[number]);
	bool allocates = r->ops[number].kind == OP_ALLOC;
	if (alive[b] == allocates)
		return refuse(v, 3, r, number, b,
		              allocates ? "is allocated while it is alive; free it first"
		                        : "is freed and not alive; a buffer is freed once, after its alloc");
	if (r->buffers[b].state && k != (allocates ? SECTION_PROLOGUE : SECTION_EPILOGUE))
		return refuse(v, 3, r, number, b,
		              allocates ? "is state and must be allocated in the prologue"
		                        : "is state and lives until the epilogue");
	alive[b] = allocates;
	return STATUS_OK;
}

static enum status use(const struct verify *v, const struct role *r, int number, const bool *alive)
{
	const struct op *op = &r->ops[number];
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (op->operand[i].buffer >= 0 && !alive[op->operand[i].buffer])
			return refuse(v, 3, r, number, op->operand[i].buffer,
			              "operand %s is not alive here; allocate it before and free it after its last use",
			              op_operand_name(op->kind, i));
	return STATUS_OK;
}

/* The operation to name: its alloc, or what uses it without one; -1. */
static int first_touch(const struct role *r, int buffer)
{
	for (int i = 0; i < r->op_count; i++)
		if (op_uses(&r->ops[i], buffer))
			return i;
	return -1;
}

static enum status check_section(const struct verify *v, const struct role *r, bool *alive, enum section_kind k)
{
	const struct section *s = section_of(r, k);
	for (int i = s->begin; i < s->end; i++) {
		bool memory = op_class(r->ops[i].kind) == OP_CLASS_M;
		TRY(memory ? allocate_or_free(v, r, i, alive, k) : use(v, r, i, alive));
	}
	for (int b = 0; b < r->buffer_count; b++) {
		bool lives_on = r->buffers[b].state && k != SECTION_EPILOGUE;
		if (alive[b] == lives_on)
			continue;
		return refuse(v, 3, r, first_touch(r, b), b,
		              alive[b] ? "is still alive at the end of its section; free it there"
		                       : "is state and was not allocated in the prologue");
	}
	return STATUS_OK;
}

enum status verify_lifetimes(const struct verify *v, int role)
{
	const struct role *r = &v->p->roles[role];
	bool *alive = array_make((size_t)r->buffer_count, sizeof *alive);
	enum status s = STATUS_OK;
	for (int k = 0; k < SECTION_KINDS && !s; k++)
		s = check_section(v, r, alive, (enum section_kind)k);
	free(alive);
	return s;
}
