/* Operations and their operands, read from the table ops.def: kinds, names, and what each operand is.
 *
 *     op->operand[LINEAR_FORWARD_PRE]
 *
 *     struct op_sizes s = kernel_sizes(model, kernel, samples);
 *     operand_elements(OP_LINEAR_FORWARD, LINEAR_FORWARD_X, &s)       rows × in
 */
#ifndef SHARDLAB_OPS_H
#define SHARDLAB_OPS_H

#include "strategy/model/model.h"

enum op_kind {
#define OP(constant, ...) OP_##constant,
#include "strategy/plan/ops.def"
	OP_KIND_COUNT
};

/* LINEAR_FORWARD_X, …: which operand of its operation. Every operation has one at least. */
/* clang-format off */
enum {
	NO_OPERAND = -1,
	FIRST_OPERAND, /* where it is the same of several operations: the state that they make, save or show */
#define OP(...) }; enum {
#define OPERAND(operation, constant, ...) operation##_##constant,
#include "strategy/plan/ops.def"
};
/* clang-format on */
#define OP_OPERANDS 10 /* at most */

enum op_class { OP_CLASS_M, OP_CLASS_K, OP_CLASS_V, OP_CLASS_C };

/* recompute: forward kernels carried out once more, for values that the backward pass needs and that were not kept. */
enum pass { PASS_NONE, PASS_FORWARD, PASS_RECOMPUTE, PASS_BACKWARD, PASS_UPDATE };
enum { PASS_COUNT = PASS_UPDATE + 1 };

enum section_kind {
	SECTION_PROLOGUE,
	SECTION_STEP,
	SECTION_EVALUATE,
	SECTION_SAVE, /* this and the next: of a plan with checkpoints, else empty */
	SECTION_RESTORE,
	SECTION_EPILOGUE,
	SECTION_KINDS
};
bool section_is_of_checkpoints(enum section_kind k);

/* The part of the model, the update or the collective that an operand is. */
enum part {
	PART_NONE,
	/* the kernel's values and tensors (struct kernel), and their gradients */
	PART_X,
	PART_Y,
	PART_SAVED,
	PART_RESIDUAL,
	PART_SECOND,
	PART_WEIGHT,
	PART_BIAS,
	PART_DX,
	PART_DY,
	PART_DSECOND,
	PART_DWEIGHT,
	PART_DBIAS,
	PART_SUM, /* over the tensor group: of what a sliced kernel computes (kernel_sum of model/slice.h) */
	/* of a classifier */
	PART_TARGET,
	PART_LOSS,
	PART_MAXIMA, /* over sliced logits */
	PART_CLASS_SUMS,
	/* of a batch norm */
	PART_LOCAL,   /* a rank's own mean, variance and count */
	PART_PARTS,   /* one of these a rank, if it is synchronised */
	PART_RUNNING, /* its running mean and variance */
	PART_SUMS,    /* of the gradient, and of the gradient times the difference from the mean */
	PART_INNER,   /* the gradient of what GELU was applied to */
	/* of the update */
	PART_PARAMETERS,
	PART_GRADIENTS,
	PART_FIRST_MOMENT,
	PART_SECOND_MOMENT,
	PART_MASTER,
	PART_COUNTER, /* of steps */
	PART_NORM,
	PART_SCALER,
	PART_OVERFLOW,
	/* of a collective */
	PART_WHOLE,
	PART_SHARE, /* 1/ranks of the whole */
	PART_STAGING,
};

/* The type that an operand's elements must have. */
enum operand_type {
	OPERAND_ANY,
	OPERAND_ALIKE,    /* like the operation's first operand */
	OPERAND_FLOAT,    /* fp32, or the precision */
	OPERAND_PLAN,     /* the plan's precision */
	OPERAND_GRADIENT, /* the same; of software that keeps gradients in fp32, that too */
	OPERAND_INPUT,    /* like the model's samples */
	OPERAND_FP32,
	OPERAND_I32,
	OPERAND_I64,
	OPERAND_U8,
	OPERAND_FP8,
};

/* ---- the table ---- */

/* Properties of an operation that every pass asks for. */
extern const struct op_brief {
	unsigned char class_of, operands;
} op_brief[OP_KIND_COUNT];

const char *pass_name(enum pass p);
const char *op_name(enum op_kind k);
static inline enum op_class op_class(enum op_kind k)
{
	return (enum op_class)op_brief[k].class_of;
}
unsigned op_sections(enum op_kind k); /* where it may stand: bit i for section kind i */
enum pass op_pass(enum op_kind k);    /* of operations that carry out a kernel: forward or backward; else PASS_NONE */
bool op_has_scale(enum op_kind k);
bool op_has_item(enum op_kind k);   /* save, restore */
bool op_makes_loss(enum op_kind k); /* and its gradient */

static inline int op_operand_count(enum op_kind k)
{
	return op_brief[k].operands;
}
const char *op_operand_name(enum op_kind k, int operand);
enum part op_part(enum op_kind k, int operand);
int op_find(enum op_kind k, enum part part); /* the first operand that is this part; -1: there is none */
enum operand_type op_type_rule(enum op_kind k, int operand);
bool op_operand_optional(enum op_kind k, int operand);
char op_declared_access(enum op_kind k, int operand); /* 'r' read, 'w' written, 'x' both, 'a' written or added to */
/* The operand by which another one is used differently: if it is absent, `x` is only read (CHANGE_WITH); if it is
 * there, the host only writes it (REMAKE_FROM); as many elements as it has are read (LOOK_UP). */
enum access_rule { ACCESS_AS_DECLARED, ACCESS_CHANGE_WITH, ACCESS_REMAKE_FROM, ACCESS_LOOK_UP };
enum access_rule op_access_rule(enum op_kind k, int operand, int *other);

/* The operation that carries out a pass of such a kernel; OP_KIND_COUNT: there is none. */
enum op_kind op_of_kernel(enum kernel_kind kernel, enum pass pass);
/* True if the backward pass of a kernel reads its input, or its output. It always reads `second` and `saved`. */
bool kernel_backward_reads_x(const struct kernel *k);
bool kernel_backward_reads_y(const struct kernel *k);

/* ---- sizes ---- */

/* The sizes of which the table's expressions are made.
 *
 *     rows                  samples × tokens; own_rows: those of a sliced kernel's sum that this rank gets
 *     in … positions        as of the kernel; stride: from a row of what it makes to the next; table and positions: the
 *                           elements of its tensors
 *     contributors          ranks whose samples a batch norm's statistics are of
 *     bias … saved          there is one (1 or 0)
 *     sums, sliced_logits   it makes a part of a sum over the tensor group; no rank has all logits
 *     mixed … fp16          of the settings
 *     inputs, targets       elements of the samples
 *     n                     elements of the first operand
 */
#define OP_SIZES(X)                                                                                                    \
	X(samples)                                                                                                     \
	X(tokens)                                                                                                      \
	X(rows)                                                                                                        \
	X(own_rows)                                                                                                    \
	X(in)                                                                                                          \
	X(out)                                                                                                         \
	X(stride)                                                                                                      \
	X(heads)                                                                                                       \
	X(kv_heads)                                                                                                    \
	X(head_size)                                                                                                   \
	X(pairs)                                                                                                       \
	X(table)                                                                                                       \
	X(positions)                                                                                                   \
	X(contributors)                                                                                                \
	X(bias)                                                                                                        \
	X(residual)                                                                                                    \
	X(nonlinear)                                                                                                   \
	X(saved)                                                                                                       \
	X(needs_dx)                                                                                                    \
	X(sums)                                                                                                        \
	X(sliced_logits)                                                                                               \
	X(mixed)                                                                                                       \
	X(clips)                                                                                                       \
	X(scalar)                                                                                                      \
	X(fp16)                                                                                                        \
	X(inputs)                                                                                                      \
	X(targets)                                                                                                     \
	X(n)

struct op_sizes {
#define X(name) int64_t name;
	OP_SIZES(X)
#undef X
};

/* The sizes of a kernel over so many samples, as far as the model knows them. */
struct op_sizes kernel_sizes(const struct model *m, const struct kernel *k, int64_t samples);
/* True if the operation belongs to such a kernel. */
bool op_carries_out(enum op_kind k, const struct kernel *kernel, const struct op_sizes *s);
enum presence { PRESENT_NOT, PRESENT_ALWAYS, PRESENT_MAYBE };
enum presence operand_presence(enum op_kind k, int operand, const struct op_sizes *s);
int64_t operand_elements(enum op_kind k, int operand, const struct op_sizes *s); /* -1: any number */
/* Floating-point operations. They fit where plan_check_sizes passes. */
int64_t op_flops_of(enum op_kind k, const struct op_sizes *s);

/* FLOPs of training: a pass of a kernel over `samples`, and all kernels of the model, forward and backward, over one.
 */
int64_t kernel_flops(const struct model *m, const struct kernel *k, enum pass pass, int64_t samples);
double model_flops(const struct model *m);

#endif
