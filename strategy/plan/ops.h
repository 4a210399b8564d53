/* Operations by name, from the table ops.def: `enum op_kind`, and a constant an operand.
 *
 *     op->operand[LINEAR_FORWARD_PRE]
 */
#ifndef SHARDLAB_OPS_H
#define SHARDLAB_OPS_H

enum op_kind {
#define OP(constant, ...) OP_##constant,
#include "strategy/plan/ops.def"
	OP_KIND_COUNT
};

/* LINEAR_FORWARD_X, …: which operand of its operation. LINEAR_FORWARD_OPERANDS: how many there are. */
/* clang-format off */
#define OP(...) enum {
#define OPERAND(operation, constant, ...) operation##_##constant,
#define END(operation) operation##_OPERANDS };
#include "strategy/plan/ops.def"
/* clang-format on */

enum op_class { OP_CLASS_M, OP_CLASS_K, OP_CLASS_V, OP_CLASS_C };

#endif
