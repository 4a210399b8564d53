#include "strategy/plan/build.h"

#include <stdlib.h>
#include <string.h>

static void end_role(struct build *b)
{
	struct role *r = b->role;
	struct arena *a = &b->plan->arena;
	r->ops = arena_fit(a, r->ops, r->op_count, &r->op_capacity, sizeof *r->ops);
	r->buffers = arena_fit(a, r->buffers, r->buffer_count, &r->buffer_capacity, sizeof *r->buffers);
	free(b->whole);
	b->whole = NULL;
}

void build_section(struct build *b, struct section *section)
{
	if (b->section)
		b->section->end = b->role->op_count;
	b->section = section;
	if (!section) {
		end_role(b);
		return;
	}
	section->begin = section->end = b->role->op_count;
	for (int i = 0; i < QUEUE_COUNT; i++) {
		b->last[i] = -1;
		for (int j = 0; j < QUEUE_COUNT; j++)
			b->pending[i][j] = b->waited[i][j] = -1;
	}
}

static struct op *append_with(struct build *b, enum op_kind kind, enum queue queue, struct region *operands)
{
	struct role *r = b->role;
	r->ops = arena_grow(&b->plan->arena, r->ops, r->op_count, &r->op_capacity, sizeof *r->ops);
	struct op *op = &r->ops[r->op_count++];
	*op = (struct op){.kind = kind, .queue = queue, .unit = -1, .kernel = -1, .micro = -1, .group = -1};
	op->operand = operands;
	return op;
}

static struct op *append(struct build *b, enum op_kind kind, enum queue queue)
{
	return append_with(b, kind, queue, plan_operands(b->plan, op_operand_count(kind)));
}

/* Regions that are allocated or freed stand side by side, apart from other operands: passes that read those alone, or a
 * buffer's end long after its beginning, find it in fewer lines of a cache. */
static struct region *new_whole(struct build *b)
{
	enum { BLOCK = 256 };
	if (!b->spare_count) {
		b->spare_count = BLOCK;
		b->spare = arena_alloc(&b->plan->arena, BLOCK * sizeof *b->spare);
	}
	b->spare_count--;
	return b->spare++;
}

static int declare(struct build *b, enum space space, const char *name, enum category c, enum type t, int64_t elements,
                   bool state)
{
	struct role *r = b->role;
	r->buffers = arena_grow(&b->plan->arena, r->buffers, r->buffer_count, &r->buffer_capacity, sizeof *r->buffers);
	r->buffers[r->buffer_count] = (struct buffer){.name = arena_copy(&b->plan->arena, name),
	                                              .category = c,
	                                              .space = space,
	                                              .type = t,
	                                              .elements = elements,
	                                              .state = state};
	struct region *whole = append_with(b, OP_ALLOC, QUEUE_COMPUTE, new_whole(b))->operand;
	*whole = region_of(r->buffer_count, 0, elements);
	b->whole = array_reserve(b->whole, (size_t)r->buffer_count, &b->whole_capacity, sizeof(struct region *));
	b->whole[r->buffer_count] = whole;
	return r->buffer_count++;
}

int build_state(struct build *b, const char *name, enum category c, enum type t, int64_t elements)
{
	return declare(b, SPACE_DEVICE, name, c, t, elements, true);
}

int build_state_in(struct build *b, enum space space, const char *name, enum category c, enum type t, int64_t elements)
{
	return declare(b, space, name, c, t, elements, true);
}

int build_alloc(struct build *b, const char *name, enum category c, enum type t, int64_t elements)
{
	return declare(b, SPACE_DEVICE, name, c, t, elements, false);
}

int build_alloc_in(struct build *b, enum space space, const char *name, enum category c, enum type t, int64_t elements)
{
	return declare(b, space, name, c, t, elements, false);
}

void build_operand(struct op *op, enum part part, struct region region, bool adds)
{
	int operand = op_find(op->kind, part);
	if (operand < 0)
		return;
	op->operand[operand] = region;
	if (adds && op_declared_access(op->kind, operand) == 'a')
		op->accumulate = (uint16_t)(op->accumulate | 1u << operand);
}

int build_copy(struct build *b, struct region from, struct region to)
{
	struct region operands[] = {[COPY_X] = from, [COPY_Y] = to};
	struct op copy = {.kind = OP_COPY, .operand = operands};
	struct op *op = build_op(b, OP_COPY, op_queue_for(b->role, &copy));
	op->operand[COPY_X] = from;
	op->operand[COPY_Y] = to;
	return build_number(b, op);
}

struct region region_whole(const struct build *b, int buffer)
{
	return region_of(buffer, 0, b->role->buffers[buffer].elements);
}

void build_free(struct build *b, int buffer)
{
	append_with(b, OP_FREE, QUEUE_COMPUTE, b->whole[buffer]);
}

void build_free_state(struct build *b)
{
	for (int i = 0; i < b->role->buffer_count; i++)
		if (b->role->buffers[i].state)
			build_free(b, i);
}

struct op *build_op(struct build *b, enum op_kind kind, enum queue queue)
{
	struct op *op = append(b, kind, queue);
	int after[QUEUE_COUNT], n = 0;
	for (int on = 0; on < QUEUE_COUNT; on++) {
		int number = b->pending[queue][on];
		b->pending[queue][on] = -1;
		if (number > b->waited[queue][on]) {
			b->waited[queue][on] = number;
			after[n++] = number;
		}
	}
	if (n) {
		op->after = arena_pack(&b->plan->arena, (size_t)n * sizeof *op->after, _Alignof(int));
		memcpy(op->after, after, (size_t)n * sizeof *op->after);
		op->after_count = n;
	}
	b->last[queue] = b->role->op_count - 1;
	return op;
}

int build_number(const struct build *b, const struct op *op)
{
	return (int)(op - b->role->ops);
}

void build_wait(struct build *b, enum queue queue, int number)
{
	if (number < 0)
		return;
	enum queue on = b->role->ops[number].queue;
	if (on != queue && number > b->pending[queue][on])
		b->pending[queue][on] = number;
}

void build_wait_all(struct build *b, enum queue queue, enum queue on)
{
	build_wait(b, queue, b->last[on]);
}
