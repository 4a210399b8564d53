/* Operations that are one call of a kernel, as kernels/table.def says: the function of each comes from the kernel's
 * parameters and the operation's operands.
 *
 *     OPERATION(SWIGLU_BACKWARD, swiglu_backward)
 *
 *     return b->kernels->swiglu_backward(b->context, b->stream, type_of(m, op), rows_of_call(m, op),
 *                                        kernel_of(m, op)->out, o->dy, o->x, o->dx);
 *
 * A parameter that is neither an operand nor a number of the list below does not compile, nor does an operand that no
 * parameter takes, nor one of another type, nor one that the kernel writes and the operation only reads.
 */
#include "real/rank/bind.h"

/* ---- numbers and structures, by the names of parameters ---- */

/* The source of a parameter's value; 0: it takes no operand. */
#define NUMBER(expression) _, expression, 0
#define ADDS_TO(operand) NUMBER(adds(op, (int)(offsetof(these, operand) / sizeof(void *))))
#define NUMBER_type NUMBER(type_of(m, op))
#define NUMBER_n NUMBER(elements_of(m, op))
#define NUMBER_samples NUMBER(samples_of(m, op))
#define NUMBER_tokens NUMBER(kernel_of(m, op)->tokens)
#define NUMBER_rows NUMBER(rows_of_call(m, op))
#define NUMBER_width NUMBER(kernel_of(m, op)->out)
#define NUMBER_vocabulary NUMBER(vocabulary_of(m, op))
#define NUMBER_context NUMBER(context_of(m, op))
#define NUMBER_first NUMBER(kernel_of(m, op)->first_position)
#define NUMBER_contributors NUMBER(op_sizes_of(m->plan, op).contributors)
#define NUMBER_epsilon NUMBER(kernel_of(m, op)->epsilon)
#define NUMBER_activation NUMBER(activation_of(kernel_of(m, op)))
#define NUMBER_scale NUMBER(op->scale)
#define NUMBER_gave_up NUMBER(b->gave_up)
#define NUMBER_accumulate NUMBER(op->accumulate != 0)
#define NUMBER_accumulate_x ADDS_TO(dx)
#define NUMBER_accumulate_weight ADDS_TO(dweight)
#define NUMBER_accumulate_bias ADDS_TO(dbias)
#define NUMBER_accumulate_q ADDS_TO(dq_norm)
#define NUMBER_accumulate_k ADDS_TO(dk_norm)
#define NUMBER_accumulate_token ADDS_TO(dtoken_table)
#define NUMBER_accumulate_position ADDS_TO(dposition_table)
/* The operand, from the first token's row on. */
#define NUMBER_position_table _, first_position_of(m, op, o->position_table), 1

/* The plan's operands are alike (rank_types_check), and the first that is there tells. */
static enum element type_of(const struct rank_memory *m, const struct op *op)
{
	int i = 0;
	while (op_type_rule(op->kind, i) >= OPERAND_FP32 || op->operand[i].buffer < 0)
		i++;
	return element_of(m, op, i);
}

/* A rank may get only some rows of a sum over the tensor group. */
static int64_t rows_of_call(const struct rank_memory *m, const struct op *op)
{
	return op_find(op->kind, PART_SUM) < 0 ? rows_of(m, op) : made_rows(m, op);
}

static const void *first_position_of(const struct rank_memory *m, const struct op *op, const struct elements *table)
{
	const struct kernel *k = kernel_of(m, op);
	int64_t bytes = k->first_position * k->out * element_bytes(type_of(m, op));
	return table ? (const unsigned char *)table + bytes : NULL;
}

static struct scale_rule scale_rule_of(const struct rank_memory *m, const struct op *op)
{
	const struct settings *settings = &m->plan->settings;
	const struct loss_scale_rule *rule = loss_scale_rule(settings->loss_scaler);
	(void)op;
	return (struct scale_rule){.pytorch = settings->loss_scaler == LOSS_SCALER_PYTORCH,
	                           .minimum = rule->minimum,
	                           .window = settings->loss_scale_window,
	                           .hysteresis = rule->hysteresis};
}

/* ---- calls ---- */

/* A parameter gets what NUMBER_name says, and where there is no such line the operand of its name: the second of what
 * is left when NUMBER_name has become `_, …, 0`, or stayed as it is. */
#define SECOND(...) SECOND_OF(__VA_ARGS__)
#define SECOND_OF(first, second, ...) second
#define THIRD(...) THIRD_OF(__VA_ARGS__)
#define THIRD_OF(first, second, third, ...) third
#define VALUE(type, name) , SECOND(NUMBER_##name, o->name, 1, _)
#define SHAPE(type, name)                                                                                              \
	, (const struct type[])                                                                                        \
	{                                                                                                              \
		type##_of(m, op)                                                                                       \
	}
#define TAKES_VALUE(type, name) +THIRD(NUMBER_##name, _, 1, _)
#define TAKES_SHAPE(type, name)

#define OPERATION(constant, kernel)                                                                                    \
	static int bind_##kernel(const struct binding *b, struct rank_memory *m, const struct op *op,                  \
	                         const union operands *all)                                                            \
	{                                                                                                              \
		typedef struct operands_##constant these;                                                              \
		const these *o = &all->constant;                                                                       \
		_Static_assert((PARAMETERS_##kernel(TAKES_VALUE, TAKES_SHAPE)) * sizeof(void *) == sizeof *o,          \
		               "each operand is taken by a parameter");                                                \
		(void)m, (void)op;                                                                                     \
		return b->kernels->kernel(b->context, b->stream PARAMETERS_##kernel(VALUE, SHAPE));                    \
	}
#include "kernels/table.def"

const struct binding_row bind_kernel[OP_KIND_COUNT] = {
#define OPERATION(constant, kernel) BIND(constant, kernel, kernel),
#include "kernels/table.def"
};
