/* For binding an operation to a kernel: finds an operand's memory, records how much of it is used, and takes the
 * kernel's shape from the model and the plan. */
#ifndef SHARDLAB_RANK_OPERAND_H
#define SHARDLAB_RANK_OPERAND_H

#include <assert.h>

#include "kernels/kernels.h"
#include "real/rank/memory.h"
#include "strategy/model/slice.h"

/* The type of an operand's elements. The types of the operands' buffers select the kernel (types.c). */
enum element element_of(const struct rank_memory *memory, const struct op *op, int operand);

/* The place in its group of operand 0's first element: the rank's slice of its shard of the group. For initialize,
 * weights, and updates that round stochastically. */
int64_t place_in_group(const struct rank_memory *memory, const struct op *op);

/* An operand's memory, of which so many elements are used; -1: the whole region. */
static inline void *use(struct rank_memory *memory, const struct op *op, int operand, int64_t elements)
{
	int64_t n;
	void *p = rank_memory_region(memory, &op->operand[operand], &n);
	rank_memory_touch(memory, op, operand, elements < 0 ? n : elements);
	return p;
}

/* An operand whose whole region is used. */
static inline void *use_all(struct rank_memory *memory, const struct op *op, int operand, int64_t *count)
{
	void *p = rank_memory_region(memory, &op->operand[operand], count);
	rank_memory_touch(memory, op, operand, *count);
	return p;
}

static inline const struct kernel *kernel_of(const struct rank_memory *memory, const struct op *op)
{
	return &memory->plan->model->kernels[op->kernel];
}

static inline int64_t samples_of(const struct rank_memory *memory, const struct op *op)
{
	return memory->plan->settings.micro_batch * (op->all_ranks ? plan_data_ranks(memory->plan) : 1);
}

static inline int64_t rows_of(const struct rank_memory *memory, const struct op *op)
{
	return samples_of(memory, op) * kernel_of(memory, op)->tokens;
}

/* ---- operands by name ---- */

/* The memory of an operation's operands, by the names that the table of operations gives them:
 *
 *     o->NORM_FORWARD.statistics      a float *
 *     o->NORM_BACKWARD.statistics     a const float *
 *
 * Memory that is only read is const. Where the table fixes the type of the elements, the pointer has it; elements of
 * the plan's types are only for parameters that are `void *`. So the compiler holds each call of a kernel to what the
 * table says.
 */
struct elements; /* of a type that the plan chooses */
#define OPERAND_IS_READ const
#define OPERAND_IS_WRITE
#define OPERAND_IS_CHANGE
#define OPERAND_IS_ADD
#define OPERAND_IS_CHANGE_WITH(other)
#define OPERAND_IS_REMAKE_FROM(other)
#define OPERAND_IS_LOOK_UP(other) const
#define OPERAND_OF_ANY void
#define OPERAND_OF_ALIKE struct elements
#define OPERAND_OF_FLOAT struct elements
#define OPERAND_OF_PLAN struct elements
#define OPERAND_OF_GRADIENT struct elements
#define OPERAND_OF_INPUT struct elements
#define OPERAND_OF_FP32 float
#define OPERAND_OF_FP8 uint8_t
#define OPERAND_OF_I32 int32_t
#define OPERAND_OF_I64 int64_t
#define OPERAND_OF_U8 uint8_t
/* clang-format off */
struct operands_of_none {
	void *none;
#define OP(constant, ...) }; struct operands_##constant {
#define OPERAND(operation, constant, name, access, presence, part, type, elements) \
	OPERAND_IS_##access OPERAND_OF_##type *name;
#include "strategy/plan/ops.def"
};
union operands {
	void *at[OP_OPERANDS];
#define OP(constant, ...) struct operands_##constant constant;
#include "strategy/plan/ops.def"
};
/* clang-format on */

/* All of an operation's operands. The table says how many elements of each are used. */
static inline union operands operands_of(struct rank_memory *memory, const struct op *op)
{
	struct op_sizes sizes = op_sizes_of(memory->plan, op);
	union operands o = {{NULL}};
	for (int i = 0; i < op_operand_count(op->kind); i++)
		o.at[i] = use(memory, op, i, operand_elements(op->kind, i, &sizes));
	return o;
}

/* The one that is this part; NULL if there is none. */
static inline void *operand_part(const union operands *o, const struct op *op, enum part part)
{
	int i = op_find(op->kind, part);
	return i < 0 ? NULL : o->at[i];
}

/* True if the operation adds to the operand, false if it writes it. */
static inline bool adds(const struct op *op, int operand)
{
	assert(op_declared_access(op->kind, operand) == 'a');
	return op->accumulate >> operand & 1;
}

/* Elements of the first operand, since vector operations have no shape of their own. */
static inline int64_t elements_of(const struct rank_memory *memory, const struct op *op)
{
	int64_t n;
	rank_memory_region(memory, op->operand, &n);
	return n;
}

/* ---- shapes ---- */

/* True if the weights are sliced over ranks. */
static inline bool is_sliced(const struct rank_memory *memory, const struct op *op)
{
	int weight = op->kernel < 0 ? -1 : kernel_of(memory, op)->weight;
	return weight >= 0 && memory->plan->model->tensors[weight].partition != PARTITION_NONE;
}

/* The rows of the token table, and of the position table, which may have none. */
static inline int64_t vocabulary_of(const struct rank_memory *memory, const struct op *op)
{
	return memory->plan->model->tensors[kernel_of(memory, op)->weight].rows;
}

static inline int64_t context_of(const struct rank_memory *memory, const struct op *op)
{
	int positions = kernel_of(memory, op)->bias;
	return positions < 0 ? 0 : memory->plan->model->tensors[positions].rows;
}

/* This rank's slice of the token ids (embedding) or classes (loss). */
static inline struct class_slice class_slice_of(const struct rank_memory *memory, const struct op *op)
{
	const struct model *model = memory->plan->model;
	bool tokens = kernel_of(memory, op)->kind == KERNEL_EMBEDDING;
	int64_t rows = tokens ? vocabulary_of(memory, op) : kernel_of(memory, op)->out;
	struct class_range r = model_classes_of(model, rows, plan_slice_of(memory->plan, memory->rank));
	return (struct class_slice){r.first, r.count, tokens ? rows : model->logits_stride};
}

/* The rows that the kernel makes on this rank: its own part with sequence parallelism. */
static inline int64_t made_rows(const struct rank_memory *memory, const struct op *op)
{
	return op_sizes_of(memory->plan, op).own_rows;
}

static inline enum activation activation_of(const struct kernel *k)
{
	static const enum activation of[] = {[NONLINEAR_NONE] = ACTIVATION_NONE,
	                                     [NONLINEAR_GELU_TANH] = ACTIVATION_GELU_TANH,
	                                     [NONLINEAR_GELU] = ACTIVATION_GELU,
	                                     [NONLINEAR_RELU] = ACTIVATION_RELU};
	return of[k->nonlinear];
}

static inline struct linear_shape linear_shape_of(const struct rank_memory *memory, const struct op *op)
{
	const struct kernel *k = kernel_of(memory, op);
	bool in_part = op->kind == OP_LINEAR_FORWARD && op->operand[LINEAR_FORWARD_PRE].buffer < 0;
	return (struct linear_shape){.rows = rows_of(memory, op),
	                             .in = k->in,
	                             .out = k->out,
	                             .weight_in_out = k->weight_in_out,
	                             /* a part of a sum: the activation comes after that */
	                             .activation = in_part ? ACTIVATION_NONE : activation_of(k),
	                             .type = element_of(memory, op, op_find(op->kind, PART_X)),
	                             .stride = kernel_stride(memory->plan->model, k)};
}

static inline struct attention_shape attention_shape_of(const struct rank_memory *memory, const struct op *op)
{
	const struct kernel *k = kernel_of(memory, op);
	return (struct attention_shape){.samples = samples_of(memory, op),
	                                .tokens = k->tokens,
	                                .heads = k->heads,
	                                .kv_heads = k->kv_heads,
	                                .head_size = k->head_size,
	                                .type = element_of(memory, op, op_find(op->kind, PART_X)),
	                                .window = k->window,
	                                .alibi_heads = k->alibi ? k->heads * memory->plan->model->slices : 0,
	                                .first_head = k->heads * plan_slice_of(memory->plan, memory->rank)};
}

static inline struct rotary_shape rotary_shape_of(const struct rank_memory *memory, const struct op *op)
{
	const struct kernel *k = kernel_of(memory, op);
	return (struct rotary_shape){.samples = samples_of(memory, op),
	                             .tokens = k->tokens,
	                             .heads = k->heads,
	                             .kv_heads = k->kv_heads,
	                             .head_size = k->head_size,
	                             .epsilon = k->epsilon,
	                             .amplitude = k->amplitude,
	                             .frequency = k->frequency,
	                             .type = element_of(memory, op, 0)};
}

static inline struct batch_norm_shape batch_norm_shape_of(const struct rank_memory *memory, const struct op *op)
{
	const struct kernel *k = kernel_of(memory, op);
	return (struct batch_norm_shape){rows_of(memory, op), k->out, k->nonlinear != NONLINEAR_NONE,
	                                 element_of(memory, op, op_find(op->kind, PART_X))};
}

/* ---- rows that begin and end within a sample ---- */

/* Splits the rows that embedding_finish makes on this rank into calls that each go through the position table once: the
 * rest of a sample, whole samples, the beginning of another. */
struct embedding_rows {
	int64_t samples, tokens; /* of the call at hand */
	const unsigned char *positions;
	unsigned char *y;
	/* the walk's own */
	const unsigned char *table;
	int64_t context, row_bytes, next, left;
};

static inline struct embedding_rows embedding_rows_of(const struct rank_memory *memory, const struct op *op,
                                                      const union operands *o)
{
	const struct kernel *k = kernel_of(memory, op);
	int64_t rows = made_rows(memory, op);
	struct embedding_rows e = {
	        .y = (unsigned char *)o->EMBEDDING_FINISH.y,
	        .context = k->tokens,
	        .row_bytes = k->out * type_bytes(memory->role->buffers[op->operand[EMBEDDING_FINISH_Y].buffer].type),
	        .next = rows < rows_of(memory, op) ? rows * plan_slice_of(memory->plan, memory->rank) : 0,
	        .left = rows};
	e.table = (const unsigned char *)o->EMBEDDING_FINISH.position_table + k->first_position * e.row_bytes;
	return e;
}

static inline bool embedding_rows_next(struct embedding_rows *e)
{
	int64_t at = e->next % e->context, rest = e->context - at;
	e->y += e->samples * e->tokens * e->row_bytes;
	e->samples = !at && e->left > rest ? e->left / e->context : 1;
	e->tokens = e->left < rest ? e->left : rest;
	e->positions = e->table + at * e->row_bytes;
	e->next += e->samples * e->tokens;
	e->left -= e->samples * e->tokens;
	return e->tokens > 0;
}

#endif
