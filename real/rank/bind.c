#include "real/rank/bind.h"

#include <assert.h>
#include <string.h>

#include "real/rank/load.h"
#include "real/rank/restore.h"
#include "real/rank/weights.h"

/* ---- copies and samples ---- */

static enum type type_of(const struct rank_memory *memory, const struct op *op, int operand)
{
	return memory->role->buffers[op->operand[operand].buffer].type;
}

BOUND(zero)
{
	return RUN(fill, o->ZERO.x, 0, (size_t)(elements_of(m, op) * type_bytes(type_of(m, op, ZERO_X))));
}

/* Converts between floating-point types; elements of other types are only moved, within a space or between two. */
BOUND(copy)
{
	enum transfer_kind kind = op_transfer(m->role, op);
	enum type from = type_of(m, op, COPY_X), to = type_of(m, op, COPY_Y);
	int64_t n = elements_of(m, op);
	if (kind != TRANSFER_COUNT)
		rank_memory_count(m, kind, n * type_bytes(from));
	else if (from != to)
		return RUN(vector_convert, n, (enum element)from, o->COPY.x, (enum element)to, o->COPY.y);
	return RUN(copy, o->COPY.y, o->COPY.x, (size_t)(n * type_bytes(from)));
}

/* For kernels that read this process's memory. A device with other memory has its own way of loading. */
BOUND(load)
{
	(void)b;
	rank_load_samples(m, op, *o->LOAD.step, o->LOAD.inputs, o->LOAD.targets);
	return 0;
}

static const struct binding_row bind_memory[OP_KIND_COUNT] = {
        BIND(ZERO, zero, fill),
        BIND(COPY, copy, vector_convert),
        BIND(LOAD, load, copy),
};

static const struct binding_row *row_of(const struct rank_memory *m, const struct op *op)
{
	enum { TABLES = 4 };
	const struct binding_row *tables[TABLES] = {bind_kernel, bind_model, bind_update, bind_memory};
	if (bind_sliced[op->kind].function && is_sliced(m, op))
		return &bind_sliced[op->kind];
	for (int i = 0; i < TABLES; i++)
		if (tables[i][op->kind].function)
			return &tables[i][op->kind];
	return NULL;
}

/* ---- any operation ---- */

static enum status (*const of_process[OP_KIND_COUNT])(struct rank_memory *memory, const struct op *op) = {
        [OP_INITIALIZE] = rank_initialize,
        [OP_WEIGHTS] = rank_show_weights,
        [OP_INITIALIZE_BUFFERS] = rank_initialize_buffers,
        [OP_SHOW_BUFFERS] = rank_show_buffers,
        [OP_SAVE] = rank_save,
        [OP_RESTORE] = rank_restore,
};

int bind_issue(const struct binding *b, const struct op *op)
{
	const struct binding_row *row = row_of(b->memory, op);
	assert(row);
	const union operands o = operands_of(b->memory, op);
	return row->function(b, b->memory, op, &o);
}

bool bind_is_of_process(const struct op *op)
{
	return of_process[op->kind] != NULL;
}

static bool is_bound(const struct rank_memory *m, const struct kernel_table *kernels, const struct op *op)
{
	const struct binding_row *row = row_of(m, op);
	void (*function)(void) = NULL;
	if (row)
		memcpy(&function, (const char *)kernels + row->entry, sizeof function);
	return function != NULL;
}

enum status bind_check(const struct rank_memory *memory, const struct kernel_table *kernels, const char *device)
{
	const struct role *r = memory->role;
	char what[128];
	for (int i = 0; i < r->op_count; i++) {
		const struct op *op = &r->ops[i];
		bool class = op_class(op->kind) == OP_CLASS_K || op_class(op->kind) == OP_CLASS_V;
		if (!class || op_is_of_host(op) || bind_is_of_process(op) || is_bound(memory, kernels, op))
			continue;
		op_describe(memory->plan, op, what, sizeof what);
		return status_fail(STATUS_INPUT, "{device} %s: %s: this build has no %s for GPUs; use {device} cpu",
		                   device, what, op_name(op->kind));
	}
	return STATUS_OK;
}

/* ---- on the CPU ---- */

static bool is_on_disk(const struct rank_memory *memory, const struct op *op)
{
	enum transfer_kind kind = op->kind == OP_COPY ? op_transfer(memory->role, op) : TRANSFER_COUNT;
	return kind == TRANSFER_DISK_READ || kind == TRANSFER_DISK_WRITE;
}

/* `scale`: at which gradients overflowed. */
static enum status end_loss_scale(const struct rank_memory *memory, const struct op *op, float scale)
{
	int64_t n;
	const struct loss_scale *scaler = rank_memory_region(memory, &op->operand[SCALER_UPDATE_SCALER], &n);
	return rank_loss_scale_ended(&(struct loss_scale){.scale = scale, .skipped = scaler->skipped});
}

static float scale_before(const struct rank_memory *memory, const struct op *op)
{
	int64_t n;
	const struct loss_scale *scaler = NULL;
	if (op->kind == OP_SCALER_UPDATE)
		scaler = rank_memory_region(memory, &op->operand[SCALER_UPDATE_SCALER], &n);
	return scaler ? scaler->scale : 0;
}

enum status rank_execute(struct rank_memory *memory, int number)
{
	const struct op *op = &memory->role->ops[number];
	struct loss_scale scaler_begin;
	int32_t gave_up = 0;
	float scalar;
	const struct binding b = {.memory = memory,
	                          .kernels = &cpu_kernels,
	                          .loss = &memory->evaluate_loss,
	                          .correct = &memory->evaluate_correct,
	                          .scaler_begin = &scaler_begin,
	                          .gave_up = &gave_up,
	                          .scalar = &scalar};
	assert(op_class(op->kind) != OP_CLASS_C);
	if (op_class(op->kind) == OP_CLASS_M)
		return rank_memory_mark(memory, op);
	if (bind_is_of_process(op))
		return of_process[op->kind](memory, op);
	if (is_on_disk(memory, op))
		return rank_memory_disk(memory, op);
	float scale = scale_before(memory, op);
	int error = bind_issue(&b, op);
	assert(!error);
	(void)error;
	return gave_up ? end_loss_scale(memory, op, scale) : STATUS_OK;
}
