/* Fills groups, and the buffer of the model's buffers, at the start, and shows them at the end, element by element of
 * the model. */
#include <stdlib.h>
#include <string.h>

#include "real/rank/checksum.h"
#include "real/rank/operand.h"
#include "real/rank/random.h"
#include "real/rank/weights.h"
#include "strategy/base/arena.h"
#include "strategy/model/slice.h"

/* Elements of this rank's slice of a tensor are visited by their places in the whole one; padding is zeros. */
static enum status walk_slice(const struct group_walk *w, int tensor, int64_t first, int64_t count, float *at)
{
	const struct plan *p = w->memory->plan;
	for (int64_t done = 0; done < count;) {
		struct run_of_tensor run = tensor_run(&p->model->tensors[tensor], p->model->slices,
		                                      plan_slice_of(p, w->memory->rank), first + done);
		int64_t n = run.count < count - done ? run.count : count - done;
		enum status s = STATUS_OK;
		if (run.whole >= 0)
			s = w->visit(w, tensor, run.whole, n, at + done);
		else if (w->fills)
			memset(at + done, 0, (size_t)n * sizeof *at);
		if (s)
			return s;
		done += n;
	}
	return STATUS_OK;
}

int64_t place_in_group(const struct rank_memory *memory, const struct op *op)
{
	return op_place_in_group(memory->plan, op, memory->rank);
}

/* Values on their way between their place and the visitor: fp32, and 16-bit ones beside it. */
struct way {
	const struct remote_memory *remote; /* NULL: their place is in this process's memory */
	float *tile;
	uint16_t *narrow;
	int64_t elements;
};

static enum status move(const struct way *w, void *to, const void *from, int64_t bytes)
{
	if (w->remote)
		return w->remote->copy(w->remote->context, to, from, bytes);
	memcpy(to, from, (size_t)bytes);
	return STATUS_OK;
}

static enum status walk_by_tiles(const struct group_walk *w, const struct way *way, enum element type, int tensor,
                                 int64_t first, int64_t count, char *at)
{
	int64_t size = element_bytes(type);
	void *values = type == ELEMENT_FP32 ? (void *)way->tile : way->narrow;
	enum status s = STATUS_OK;
	for (int64_t i = 0; i < count && !s; i += way->elements) {
		int64_t n = count - i < way->elements ? count - i : way->elements;
		if (!w->fills && !(s = move(way, values, at + i * size, n * size)) && type != ELEMENT_FP32)
			vector_convert(n, type, values, ELEMENT_FP32, way->tile);
		if (!s)
			s = walk_slice(w, tensor, first + i, n, way->tile);
		if (!s && w->fills && type != ELEMENT_FP32)
			vector_convert(n, ELEMENT_FP32, way->tile, type, values);
		if (!s && w->fills)
			s = move(way, at + i * size, values, n * size);
	}
	return s;
}

/* The operand stands in memory of its own, not in this process's. */
static bool is_remote(const struct rank_memory *memory, const struct op *op)
{
	return memory->remote && memory->role->buffers[op_buffer(op)].space == SPACE_DEVICE;
}

/* Visits a part of a tensor as fp32: where it stands, or by way of the stack or the device's tile. */
static enum status walk_part(const struct group_walk *w, const struct op *op, int tensor, int64_t first, int64_t count,
                             void *at)
{
	enum { TILE = 1024 };
	enum element type = element_of(w->memory, op, 0);
	if (!w->snapshot && is_remote(w->memory, op)) {
		const struct remote_memory *r = w->memory->remote;
		int64_t n = r->tile_bytes / (int64_t)(sizeof(float) + sizeof(uint16_t));
		struct way way = {r, r->tile, (uint16_t *)((float *)r->tile + n), n};
		return walk_by_tiles(w, &way, type, tensor, first, count, at);
	}
	if (type == ELEMENT_FP32)
		return walk_slice(w, tensor, first, count, at);
	float tile[TILE];
	uint16_t narrow[TILE];
	return walk_by_tiles(w, &(struct way){NULL, tile, narrow, TILE}, type, tensor, first, count, at);
}

static enum status fill_padding(const struct rank_memory *memory, const struct op *op, enum element type, int64_t count,
                                char *at)
{
	const struct remote_memory *r = memory->remote;
	int64_t bytes = count * element_bytes(type), done = 0;
	enum status s = STATUS_OK;
	if (!is_remote(memory, op)) {
		vector_zero(type, count, at);
		return STATUS_OK;
	}
	memset(r->tile, 0, (size_t)(bytes < r->tile_bytes ? bytes : r->tile_bytes));
	for (int64_t n; done < bytes && !s; done += n) {
		n = bytes - done < r->tile_bytes ? bytes - done : r->tile_bytes;
		s = r->copy(r->context, at + done, r->tile, n);
	}
	return s;
}

/* A snapshot was used when it was made. */
static char *walked(const struct op *op, const struct group_walk *w, int64_t *count)
{
	return w->snapshot ? rank_memory_region(w->memory, &op->operand[SAVE_SNAPSHOT], count)
	                   : use_all(w->memory, op, 0, count);
}

enum status rank_walk_group(const struct op *op, const struct group_walk *w)
{
	struct rank_memory *memory = w->memory;
	const struct group *g = &memory->plan->groups[op->group];
	enum element type = element_of(memory, op, 0);
	int64_t count;
	char *values = walked(op, w, &count);
	int64_t first = place_in_group(memory, op);
	for (int i = 0; i < g->tensor_count; i++) {
		int t = g->tensors[i];
		int64_t begin = memory->plan->tensor_offset[t], end = begin + memory->plan->model->tensors[t].elements;
		int64_t from = begin > first ? begin : first, to = end < first + count ? end : first + count;
		if (from >= to)
			continue;
		enum status s =
		        walk_part(w, op, t, from - begin, to - from, values + (from - first) * element_bytes(type));
		if (s)
			return s;
	}
	if (w->fills && first + count > g->elements) {
		int64_t pad = g->elements > first ? g->elements - first : 0;
		return fill_padding(memory, op, type, count - pad, values + pad * element_bytes(type));
	}
	return STATUS_OK;
}

static enum status fill_tensor(const struct group_walk *w, int tensor, int64_t first, int64_t count, float *at)
{
	struct rank_memory *memory = w->memory;
	static const enum weights_init kinds[] = {[INIT_ZERO] = WEIGHTS_ZEROS,
	                                          [INIT_ONE] = WEIGHTS_ONES,
	                                          [INIT_NORMAL] = WEIGHTS_NORMAL,
	                                          [INIT_UNIFORM] = WEIGHTS_UNIFORM};
	const struct tensor *t = &memory->plan->model->tensors[tensor];
	if (memory->weights.read)
		return memory->weights.read(memory->weights.context, tensor, first, count, at);
	weights_fill((uint64_t)memory->plan->settings.seed, (uint64_t)tensor, first, count, kinds[t->init],
	             t->init_scale, at);
	return STATUS_OK;
}

static enum status show_tensor(const struct group_walk *w, int tensor, int64_t first, int64_t count, float *at)
{
	struct rank_memory *memory = w->memory;
	int64_t place = 0;
	bool fp32 = memory->plan->settings.precision == TYPE_FP32;
	/* The last step's loss is from before its update. */
	if (!vector_is_finite(ELEMENT_FP32, count, at))
		return status_fail(STATUS_RUN,
		                   "the weights of %s are not finite in the end: the run diverged and saved nothing; "
		                   "lower {learning_rate}, give {clip} or {warmup}%s",
		                   memory->plan->model->tensors[tensor].name,
		                   fp32 ? "" : status_words(", or use {precision} fp32"));
	for (int t = 0; t < tensor; t++)
		place += tensor_whole_elements(&memory->plan->model->tensors[t]);
	memory->checksum += weights_checksum(place + first, count, at);
	return memory->weights.show ? memory->weights.show(memory->weights.context, tensor, first, count, at)
	                            : STATUS_OK;
}

enum status rank_initialize(struct rank_memory *memory, const struct op *op)
{
	return rank_walk_group(op, &(struct group_walk){.memory = memory, .visit = fill_tensor, .fills = true});
}

enum status rank_show_weights(struct rank_memory *memory, const struct op *op)
{
	return rank_walk_group(op, &(struct group_walk){.memory = memory, .visit = show_tensor});
}

/* ---- the model's buffers ---- */

int64_t rank_place_of_buffer(const struct rank_memory *memory, const struct model_buffer *b, int64_t n)
{
	int64_t at = b->offset - role_first_buffer(memory->plan, memory->role);
	return at + b->elements <= n ? at : -1;
}

/* Buffers are numbered after the tensors for whoever reads or shows them. */
static enum status fill_buffers(struct rank_memory *memory, float *values, int64_t n)
{
	const struct model *m = memory->plan->model;
	memset(values, 0, (size_t)n * sizeof *values); /* the padding too */
	for (int b = 0; b < m->buffer_count; b++) {
		const struct model_buffer *buffer = &m->buffers[b];
		int64_t place = rank_place_of_buffer(memory, buffer, n);
		if (place < 0)
			continue;
		float *at = values + place;
		for (int64_t i = 0; i < buffer->elements; i++)
			at[i] = (float)buffer->initial;
		TRY(memory->weights.read ? memory->weights.read(memory->weights.context, m->tensor_count + b, 0,
		                                                buffer->elements, at)
		                         : STATUS_OK);
	}
	return STATUS_OK;
}

/* Memory to make the operand's values in: the operand's own, or a buffer that the caller frees. */
static float *values_here(const struct rank_memory *memory, const struct op *op, void *values, int64_t n)
{
	if (!is_remote(memory, op))
		return values;
	float *copy = array_make((size_t)n, sizeof *copy);
	return copy;
}

enum status rank_initialize_buffers(struct rank_memory *memory, const struct op *op)
{
	int64_t n;
	float *there = use_all(memory, op, 0, &n), *values = values_here(memory, op, there, n);
	enum status s = fill_buffers(memory, values, n);
	if (values == there)
		return s;
	if (!s)
		s = memory->remote->copy(memory->remote->context, there, values, n * (int64_t)sizeof *values);
	free(values);
	return s;
}

/* The first rank's of a role are the model's. */
enum status rank_show_buffers(struct rank_memory *memory, const struct op *op)
{
	const struct model *m = memory->plan->model;
	int64_t n;
	enum status s = STATUS_OK;
	float *there = use_all(memory, op, 0, &n), *values = values_here(memory, op, there, n);
	if (values != there)
		s = memory->remote->copy(memory->remote->context, values, there, n * (int64_t)sizeof *values);
	for (int b = 0; b < m->buffer_count && !s && memory->rank == memory->role->first_rank && memory->weights.show;
	     b++) {
		int64_t place = rank_place_of_buffer(memory, &m->buffers[b], n);
		if (place >= 0)
			s = memory->weights.show(memory->weights.context, m->tensor_count + b, 0,
			                         m->buffers[b].elements, values + place);
	}
	if (values != there)
		free(values);
	return s;
}
