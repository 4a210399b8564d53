#include "real/rank/restore.h"

#include <stdlib.h>
#include <string.h>

#include "real/rank/operand.h"
#include "real/rank/weights.h"
#include "strategy/base/memory.h"

/* ---- parts of groups ---- */

static enum status save_part(const struct group_walk *w, int tensor, int64_t first, int64_t count, float *at)
{
	const struct state_store *s = &w->memory->state;
	return s->save(s->context, w->item, tensor, first, count, at);
}

static enum status restore_part(const struct group_walk *w, int tensor, int64_t first, int64_t count, float *at)
{
	const struct state_store *s = &w->memory->state;
	return s->load(s->context, w->item, tensor, first, count, at);
}

/* ---- items of no group ---- */

enum { STEP_LOW = 1 << 20 };

/* The number of a step as two floats, and back. */
static void step_to_floats(int64_t step, float out[2])
{
	int64_t high = step / STEP_LOW;
	out[0] = (float)high;
	out[1] = (float)(step % STEP_LOW);
}

static int64_t step_from_floats(const float in[2])
{
	return (int64_t)in[0] * STEP_LOW + (int64_t)in[1];
}

static enum status move(const struct rank_memory *memory, const struct op *op, void *to, const void *from,
                        int64_t bytes)
{
	bool remote = memory->remote && memory->role->buffers[op_buffer(op)].space == SPACE_DEVICE;
	if (remote)
		return memory->remote->copy(memory->remote->context, to, from, bytes);
	memcpy(to, from, (size_t)bytes);
	return STATUS_OK;
}

static enum status save_running(const struct rank_memory *memory, const float *values, int64_t n)
{
	const struct model *m = memory->plan->model;
	const struct state_store *store = &memory->state;
	enum status s = STATUS_OK;
	for (int b = 0; b < m->buffer_count && !s; b++) {
		int64_t place = rank_place_of_buffer(memory, &m->buffers[b], n);
		if (place >= 0)
			s = store->save(store->context, ITEM_RUNNING, m->tensor_count + b, 0, m->buffers[b].elements,
			                values + place);
	}
	return s;
}

static enum status restore_running(const struct rank_memory *memory, float *values, int64_t n)
{
	const struct model *m = memory->plan->model;
	const struct state_store *store = &memory->state;
	enum status s = STATUS_OK;
	memset(values, 0, (size_t)n * sizeof *values);
	for (int b = 0; b < m->buffer_count && !s; b++) {
		int64_t place = rank_place_of_buffer(memory, &m->buffers[b], n);
		if (place >= 0)
			s = store->load(store->context, ITEM_RUNNING, m->tensor_count + b, 0, m->buffers[b].elements,
			                values + place);
	}
	return s;
}

static enum status save_values(const struct rank_memory *memory, const struct op *op, const void *values, int64_t n)
{
	const struct state_store *store = &memory->state;
	float step[2];
	int64_t count;
	if (op->item == ITEM_RUNNING)
		return save_running(memory, values, n);
	if (op->item == ITEM_SCALER)
		return store->save(store->context, op->item, -1, 0, n, values);
	memcpy(&count, values, sizeof count);
	step_to_floats(count, step);
	return store->save(store->context, op->item, -1, 0, 2, step);
}

static enum status restore_values(const struct rank_memory *memory, const struct op *op, void *values, int64_t n)
{
	const struct state_store *store = &memory->state;
	float step[2] = {0};
	if (op->item == ITEM_RUNNING)
		return restore_running(memory, values, n);
	if (op->item == ITEM_SCALER)
		return store->load(store->context, op->item, -1, 0, n, values);
	enum status s = store->load(store->context, op->item, -1, 0, 2, step);
	int64_t count = step_from_floats(step);
	memcpy(values, &count, sizeof count);
	return s;
}

static int64_t bytes_of(const struct rank_memory *memory, const struct op *op, int64_t n)
{
	return n * type_bytes(memory->role->buffers[op_buffer(op)].type);
}

static void *copy_for(int64_t bytes)
{
	void *copy = calloc(1, (size_t)bytes + 1);
	if (!copy)
		memory_exhausted();
	return copy;
}

/* ---- the operations ---- */

static enum status make_snapshot(struct rank_memory *memory, const struct op *op)
{
	int64_t n;
	const void *there = use_all(memory, op, SAVE_X, &n);
	return move(memory, op, use_all(memory, op, SAVE_SNAPSHOT, &n), there, bytes_of(memory, op, n));
}

enum status rank_save_snapshot(struct rank_memory *memory, const struct op *op)
{
	int64_t n;
	if (item_is_of_group(op->item))
		return rank_walk_group(
		        op,
		        &(struct group_walk){.memory = memory, .visit = save_part, .item = op->item, .snapshot = true});
	if (memory->rank != memory->role->first_rank)
		return STATUS_OK;
	const void *values = rank_memory_region(memory, &op->operand[SAVE_SNAPSHOT], &n);
	return save_values(memory, op, values, n);
}

enum status rank_save(struct rank_memory *memory, const struct op *op)
{
	int64_t n;
	if (op->operand[SAVE_SNAPSHOT].buffer >= 0)
		return make_snapshot(memory, op);
	if (!memory->state.save)
		return STATUS_OK;
	if (item_is_of_group(op->item))
		return rank_walk_group(op,
		                       &(struct group_walk){.memory = memory, .visit = save_part, .item = op->item});
	if (memory->rank != memory->role->first_rank)
		return STATUS_OK;
	const void *there = use_all(memory, op, 0, &n);
	int64_t bytes = bytes_of(memory, op, n);
	void *values = copy_for(bytes);
	enum status s = move(memory, op, values, there, bytes);
	if (!s)
		s = save_values(memory, op, values, n);
	free(values);
	return s;
}

enum status rank_restore(struct rank_memory *memory, const struct op *op)
{
	int64_t n;
	if (!memory->state.load)
		return STATUS_OK;
	if (item_is_of_group(op->item))
		return rank_walk_group(
		        op,
		        &(struct group_walk){.memory = memory, .visit = restore_part, .fills = true, .item = op->item});
	void *there = use_all(memory, op, 0, &n);
	int64_t bytes = bytes_of(memory, op, n);
	void *values = copy_for(bytes);
	enum status s = restore_values(memory, op, values, n);
	if (!s)
		s = move(memory, op, there, values, bytes);
	free(values);
	return s;
}
