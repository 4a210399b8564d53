/* The memory of a role over its step: the bytes of every kind after each operation, in issue order. */
#include <string.h>

#include "strategy/base/arena.h"
#include "viz/timeline/timeline.h"

static const struct {
	const char *name;
	enum category category;
} kinds[HELD_COUNT] = {
#define X(constant, name, category) {name, CATEGORY_##category},
        HELD_LIST(X)
#undef X
};

const char *held_name(enum held h)
{
	return kinds[h].name;
}

enum category held_category(enum held h)
{
	return kinds[h].category;
}

/* ---- what buffers hold ---- */

static enum held held_as(enum category c)
{
	static const enum held of[CATEGORY_COUNT] = {
	        [CATEGORY_PARAMETERS] = HELD_PARAMETERS,     [CATEGORY_GRADIENTS] = HELD_GRADIENTS,
	        [CATEGORY_OPTIMIZER] = HELD_OPTIMIZER,       [CATEGORY_ACTIVATIONS] = HELD_ACTIVATIONS,
	        [CATEGORY_GATHERED] = HELD_WHOLE_PARAMETERS, [CATEGORY_BUFFERS] = HELD_BUFFERS,
	};
	return of[c];
}

static bool is_gradient(enum part p)
{
	return p == PART_DWEIGHT || p == PART_DBIAS || p == PART_GRADIENTS;
}

/* A gathered buffer holds gradients if a kernel writes gradients of weights to it. */
static enum held *held_by_buffers(const struct role *role)
{
	enum held *held = array_make((size_t)role->buffer_count, sizeof *held);
	for (int i = 0; i < role->buffer_count; i++)
		held[i] = held_as(role->buffers[i].category);
	for (int i = role->step.begin; i < role->step.end; i++)
		for (int k = 0; k < op_operand_count(role->ops[i].kind); k++) {
			int buffer = role->ops[i].operand[k].buffer;
			if (buffer >= 0 && held[buffer] == HELD_WHOLE_PARAMETERS &&
			    is_gradient(op_part(role->ops[i].kind, k)))
				held[buffer] = HELD_WHOLE_GRADIENTS;
		}
	return held;
}

/* ---- bytes ---- */

/* Fills the bytes that are there before the step; false: this space is never used. */
static bool begin_with(const struct timeline_role *out, enum space space, int64_t *live, int64_t *total)
{
	bool any = false;
	for (int i = 0; i < out->role->buffer_count; i++) {
		const struct buffer *b = &out->role->buffers[i];
		any |= b->space == space;
		if (!b->state || b->space != space)
			continue;
		live[out->held[i]] += buffer_bytes(b);
		*total += buffer_bytes(b);
	}
	return any;
}

static void count_space(struct timeline_role *out, enum space space)
{
	const struct role *role = out->role;
	int ops = role->step.end - role->step.begin;
	int64_t live[HELD_COUNT] = {0}, total = 0;
	if (!begin_with(out, space, live, &total))
		return;
	out->live[space] = array_make(((size_t)ops + 1) * HELD_COUNT, sizeof *out->live[space]);
	out->most[space] = array_make((size_t)ops + 1, sizeof *out->most[space]);
	memcpy(out->live[space], live, sizeof live);
	out->peak[space] = out->most[space][0] = total;
	for (int k = 0; k < ops; k++) {
		const struct op *op = &role->ops[role->step.begin + k];
		int buffer = op_class(op->kind) == OP_CLASS_M ? op_buffer(op) : -1;
		if (buffer >= 0 && role->buffers[buffer].space == space) {
			int64_t bytes = buffer_bytes(&role->buffers[buffer]);
			bytes = op->kind == OP_ALLOC ? bytes : -bytes;
			live[out->held[buffer]] += bytes;
			total += bytes;
		}
		if (total > out->peak[space]) {
			out->peak[space] = total;
			out->peak_at[space] = k + 1;
		}
		out->most[space][k + 1] = out->peak[space];
		memcpy(out->live[space] + (k + 1) * HELD_COUNT, live, sizeof live);
	}
}

void timeline_count_memory(struct timeline_role *out, const struct role *role)
{
	out->role = role;
	out->held = held_by_buffers(role);
	for (int space = 0; space < SPACE_COUNT; space++)
		count_space(out, (enum space)space);
}
