/* The types of operands: which of them a kernel takes together. */
#include "real/rank/operand.h"

_Static_assert((int)TYPE_FP32 == (int)ELEMENT_FP32 && (int)TYPE_BF16 == (int)ELEMENT_BF16 &&
                       (int)TYPE_FP16 == (int)ELEMENT_FP16,
               "the floating-point types of plans are those of kernels");

/* Operands by number: `alike` are elements of one floating-point type, any, or of any type at all where they are only
 * moved; `fp32` are fp32 whatever that is. The others are integers, whose sizes and types the verifier has looked at,
 * or operands of collectives, which move elements of every type and of which it has seen that they add numbers. */
static const struct {
	unsigned alike, fp32;
} operands[OP_KIND_COUNT] = {
#define AT(i) (1u << (i))
        [OP_INITIALIZE] = {AT(0), 0},
        [OP_WEIGHTS] = {AT(0), 0},
        [OP_COPY] = {AT(0) | AT(1), 0},
        [OP_ADD] = {AT(0) | AT(1), 0},
        [OP_LOAD] = {AT(0), 0},
        [OP_EMBEDDING_FORWARD] = {AT(1) | AT(2) | AT(3), 0},
        [OP_EMBEDDING_BACKWARD] = {AT(0) | AT(2) | AT(3), 0},
        [OP_NORM_FORWARD] = {AT(0) | AT(1) | AT(2) | AT(3), AT(4)},
        [OP_NORM_BACKWARD] = {AT(0) | AT(1) | AT(3) | AT(4) | AT(5) | AT(6), AT(2)},
        [OP_BATCH_NORM_STATISTICS] = {AT(0), AT(1)},
        [OP_BATCH_NORM_MERGE] = {0, AT(0) | AT(1) | AT(2)},
        [OP_BATCH_NORM_RUNNING] = {0, AT(0) | AT(1)},
        [OP_BATCH_NORM_FORWARD] = {AT(0) | AT(2) | AT(3) | AT(4), AT(1)},
        [OP_BATCH_NORM_SUMS] = {AT(0) | AT(1) | AT(3) | AT(4) | AT(6) | AT(7), AT(2) | AT(5)},
        [OP_BATCH_NORM_BACKWARD] = {AT(0) | AT(1) | AT(4) | AT(5), AT(2) | AT(3)},
        [OP_LINEAR_FORWARD] = {AT(0) | AT(1) | AT(2) | AT(3) | AT(4) | AT(5), 0},
        [OP_LINEAR_BACKWARD] = {AT(0) | AT(1) | AT(2) | AT(3) | AT(4) | AT(5) | AT(6), 0},
        [OP_ATTENTION_FORWARD] = {AT(0) | AT(1), AT(2)},
        [OP_ATTENTION_BACKWARD] = {AT(0) | AT(1) | AT(2) | AT(4), AT(3)},
        [OP_CLASSIFIER] = {AT(0), AT(2) | AT(3)},
        [OP_EVALUATE] = {AT(0), 0},
        [OP_EMBEDDING_FINISH] = {AT(0) | AT(1), 0},
        [OP_LINEAR_FINISH] = {AT(0) | AT(1) | AT(2) | AT(3), 0},
        [OP_CLASSIFIER_MAXIMA] = {AT(0), AT(1)},
        [OP_CLASSIFIER_SUMS] = {AT(0), AT(2) | AT(3)},
        [OP_CLASSIFIER_GRADIENT] = {AT(0), AT(2) | AT(3) | AT(4) | AT(5)},
        [OP_EVALUATE_SUMS] = {AT(0), AT(2) | AT(3)},
        [OP_EVALUATE_COUNT] = {0, AT(0) | AT(1)},
        [OP_ALL_REDUCE_MAXIMUM] = {0, AT(0)},
        [OP_SUM] = {0, AT(0)},
        [OP_ADAMW] = {AT(0) | AT(1), AT(2) | AT(3) | AT(4) | AT(6) | AT(7) | AT(8)},
        [OP_SGD] = {AT(0) | AT(1), AT(2) | AT(4) | AT(5) | AT(6)},
        [OP_SQUARES] = {AT(0), AT(1)},
        [OP_OVERFLOW] = {AT(0), AT(1)},
#undef AT
};

static enum type operand_type(const struct rank_memory *memory, const struct op *op, int operand)
{
	return memory->role->buffers[op->operand[operand].buffer].type;
}

enum element element_of(const struct rank_memory *memory, const struct op *op, int operand)
{
	return (enum element)operand_type(memory, op, operand);
}

static bool is_moved(enum op_kind k)
{
	return k == OP_COPY || k == OP_LOAD;
}

/* What samples are loaded as. */
static enum type input_type(const struct plan *p)
{
	return p->model->values[p->model->input].type == VALUE_INDEX ? TYPE_I32 : p->settings.precision;
}

static enum status check_op(const struct rank_memory *memory, const struct op *op)
{
	int first = -1; /* of those that must be alike */
	char what[128];
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		bool alike = operands[op->kind].alike >> i & 1, fp32 = operands[op->kind].fp32 >> i & 1;
		if (op->operand[i].buffer < 0 || (!alike && !fp32))
			continue;
		enum type type = operand_type(memory, op, i);
		if (alike && first < 0)
			first = i;
		enum type want = fp32                  ? TYPE_FP32
		                 : op->kind == OP_LOAD ? input_type(memory->plan)
		                                       : operand_type(memory, op, first);
		bool has_kernel = (int)want < (int)ELEMENT_TYPES || is_moved(op->kind);
		if (type == want && has_kernel)
			continue;
		op_describe(memory->plan, op, what, sizeof what);
		return status_fail(STATUS_INPUT, "%s: there is no kernel for %s in %s; it would have to be %s", what,
		                   op_operand_name(op->kind, i), type_name(type),
		                   has_kernel ? type_name(want) : "fp32, bf16 or fp16");
	}
	return STATUS_OK;
}

enum status rank_types_check(const struct rank_memory *memory)
{
	for (int i = 0; i < memory->role->op_count; i++) {
		enum status s = check_op(memory, &memory->role->ops[i]);
		if (s)
			return s;
	}
	return STATUS_OK;
}
