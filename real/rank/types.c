/* The types of operands: kernels take those that the table of operations (strategy/plan/ops.def) demands. */
#include "real/rank/operand.h"

_Static_assert((int)TYPE_FP32 == (int)ELEMENT_FP32 && (int)TYPE_BF16 == (int)ELEMENT_BF16 &&
                       (int)TYPE_FP16 == (int)ELEMENT_FP16,
               "the floating-point types of plans are those of kernels");

static enum type operand_type(const struct rank_memory *memory, const struct op *op, int operand)
{
	return memory->role->buffers[op->operand[operand].buffer].type;
}

enum element element_of(const struct rank_memory *memory, const struct op *op, int operand)
{
	return (enum element)operand_type(memory, op, operand);
}

static enum status check_op(const struct rank_memory *memory, const struct op *op)
{
	char what[128];
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		if (op->operand[i].buffer < 0)
			continue;
		enum type type = operand_type(memory, op, i), must = op_operand_type(memory->plan, memory->role, op, i);
		if (type == must)
			continue;
		op_describe(memory->plan, op, what, sizeof what);
		return status_fail(STATUS_INPUT, "%s: there is no kernel for %s in %s; it would have to be %s", what,
		                   op_operand_name(op->kind, i), type_name(type), type_name(must));
	}
	return STATUS_OK;
}

enum status rank_types_check(const struct rank_memory *memory)
{
	for (int i = 0; i < memory->role->op_count; i++)
		TRY(check_op(memory, &memory->role->ops[i]));
	return STATUS_OK;
}
