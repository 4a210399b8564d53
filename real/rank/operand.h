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

/* An operand's memory. The table of operations says how many of its elements are used. */
static inline void *use(struct rank_memory *memory, const struct op *op, int operand)
{
	struct op_sizes sizes = op_sizes_of(memory->plan, op);
	int64_t n;
	rank_memory_touch(memory, op, operand, operand_elements(op->kind, operand, &sizes));
	return rank_memory_region(memory, &op->operand[operand], &n);
}

/* An operand whose whole region is used, since vector operations have no shape of their own. */
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

static inline bool adds(const struct op *op, int operand)
{
	assert(op_declared_access(op->kind, operand) == 'a');
	return op->accumulate >> operand & 1;
}

/* ---- shapes ---- */

/* The token ids that this rank has, of a sliced table with so many rows. */
static inline struct class_slice token_slice_of(const struct rank_memory *memory, int64_t rows)
{
	struct class_range r = model_classes_of(memory->plan->model, rows, plan_slice_of(memory->plan, memory->rank));
	return (struct class_slice){r.first, r.count, rows};
}

/* The classes that this rank has, of sliced logits. */
static inline struct class_slice class_slice_of(const struct rank_memory *memory, const struct op *op)
{
	struct class_slice slice = token_slice_of(memory, kernel_of(memory, op)->out);
	slice.stride = memory->plan->model->logits_stride;
	return slice;
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
	return (struct linear_shape){.rows = rows_of(memory, op),
	                             .in = k->in,
	                             .out = k->out,
	                             .weight_in_out = k->weight_in_out,
	                             .activation = activation_of(k),
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

static inline struct embedding_rows embedding_rows_of(struct rank_memory *memory, const struct op *op)
{
	const struct kernel *k = kernel_of(memory, op);
	int64_t rows = made_rows(memory, op);
	struct embedding_rows e = {
	        .context = k->tokens,
	        .row_bytes = k->out * type_bytes(memory->role->buffers[op->operand[EMBEDDING_FINISH_Y].buffer].type),
	        .next = rows < rows_of(memory, op) ? rows * plan_slice_of(memory->plan, memory->rank) : 0,
	        .left = rows};
	e.table = use(memory, op, EMBEDDING_FINISH_POSITION_TABLE);
	e.table += k->first_position * e.row_bytes;
	e.y = use(memory, op, EMBEDDING_FINISH_Y);
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
