/* The memory layout: where each buffer stands in its arena.
 *
 * State comes first, one after another. What is allocated within a section is placed in one of two ways, whichever
 * needs less:
 *
 * - In issue order: a buffer takes the smallest gap that fits among those that it may not share bytes with: what is
 *   alive, and what has been freed but whose last use no wait orders before the buffer's first use (a gathered unit
 *   whose bytes the communication queue would overwrite while the compute queue still reads them). Such a *ghost* is
 *   forgotten when its last use is ordered before the next first use of any buffer. Fast: what plans of thousands of
 *   buffers get.
 * - By size, the largest first: each takes the lowest place that is free of all those that it may not share with.
 *   Small buffers then cannot break up the room of large ones.
 *
 *     offset  │ state │ a │   gap   │ c │ ghost │
 *                         ▲ b goes here if it fits
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/plan/order.h"
#include "strategy/plan/walk.h"

/* More transient buffers than this in a section are placed in issue order alone. */
enum { MOST_BY_SIZE = 2000 };

/* The first and last operation on each queue that touch a buffer; where it is allocated and freed. */
struct uses {
	int first[QUEUE_COUNT], last[QUEUE_COUNT];
	int allocated, freed;
	bool compute_only;
};

struct placed {
	int64_t offset, end;
	int buffer;
	bool ghost;
};

struct placer {
	const struct role *role;
	const struct order *order;
	struct uses *uses;     /* by buffer */
	struct placed *placed; /* by offset */
	int count, ghosts;
	size_t capacity;
	int64_t *offset;
	int64_t floor, guard, *arena_bytes;
	enum space space;
	int next[QUEUE_COUNT]; /* what first uses a buffer on the queue next; the section's end: none */
};

static void find_uses(struct uses *uses, const struct role *r, const struct section *s)
{
	for (int i = 0; i < r->buffer_count; i++)
		memset(&uses[i], -1, sizeof uses[i]);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind == OP_ALLOC)
			uses[op_buffer(op)].allocated = i;
		else if (op->kind == OP_FREE)
			uses[op_buffer(op)].freed = i;
		if (op_class(op->kind) == OP_CLASS_M)
			continue;
		for (int k = 0; k < op_operand_count(op->kind); k++) {
			int b = op->operand[k].buffer;
			if (b < 0)
				continue;
			if (uses[b].first[op->queue] < 0)
				uses[b].first[op->queue] = i;
			uses[b].last[op->queue] = i;
		}
	}
	for (int i = 0; i < r->buffer_count; i++) {
		uses[i].compute_only = true;
		for (int q = 0; q < QUEUE_COUNT; q++)
			if (q != QUEUE_COMPUTE && uses[i].last[q] >= 0)
				uses[i].compute_only = false;
	}
}

/* Every use of a is done before the first use of b on each queue begins. */
static bool uses_ordered(const struct order *o, const struct uses *a, const struct uses *b)
{
	for (int qb = 0; qb < QUEUE_COUNT; qb++)
		for (int qa = 0; b->first[qb] >= 0 && qa < QUEUE_COUNT; qa++)
			if (a->last[qa] >= 0 && o->clock[b->first[qb] - o->begin][qa] < a->last[qa])
				return false;
	return true;
}

/* Every use of a is done before the first use of any buffer that is still to be placed: on each queue the next such use
 * stands for those after it. */
static bool is_past(const struct placer *p, const struct section *s, const struct uses *a)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		for (int qa = 0; p->next[q] < s->end && qa < QUEUE_COUNT; qa++)
			if (a->last[qa] >= 0 && p->order->clock[p->next[q] - p->order->begin][qa] < a->last[qa])
				return false;
	return true;
}

static void forget_ghosts(struct placer *p, const struct section *s)
{
	int kept = 0;
	if (!p->ghosts)
		return;
	for (int i = 0; i < p->count; i++) {
		if (p->placed[i].ghost && is_past(p, s, &p->uses[p->placed[i].buffer])) {
			p->ghosts--;
			continue;
		}
		p->placed[kept++] = p->placed[i];
	}
	p->count = kept;
}

static void insert(struct placer *p, struct placed what)
{
	int at = p->count;
	if ((size_t)p->count + 1 >= p->capacity) {
		p->capacity = p->capacity ? 2 * p->capacity : 256;
		p->placed = realloc(p->placed, p->capacity * sizeof *p->placed);
		if (!p->placed)
			abort();
	}
	while (at > 0 && p->placed[at - 1].offset > what.offset)
		at--;
	memmove(&p->placed[at + 1], &p->placed[at], (size_t)(p->count - at) * sizeof what);
	p->placed[at] = what;
	p->count++;
}

static void place(struct placer *p, const struct section *s, int buffer)
{
	const struct buffer *b = &p->role->buffers[buffer];
	int64_t size = round_up(buffer_bytes(b), LAYOUT_ALIGNMENT) + 2 * p->guard;
	int64_t at = p->floor, best = -1, best_gap = INT64_MAX;
	forget_ghosts(p, s);
	for (int i = 0; i < p->count; i++) {
		const struct placed *q = &p->placed[i];
		if (q->ghost && uses_ordered(p->order, &p->uses[q->buffer], &p->uses[buffer]))
			continue;
		int64_t gap = q->offset - at;
		if (gap >= size && gap < best_gap) {
			best = at;
			best_gap = gap;
		}
		if (q->end > at)
			at = q->end;
	}
	if (best < 0)
		best = at;
	p->offset[buffer] = best + p->guard;
	insert(p, (struct placed){best, best + size, buffer, false});
	if (best + size > *p->arena_bytes)
		*p->arena_bytes = best + size;
}

static void release(struct placer *p, int buffer)
{
	for (int i = 0; i < p->count; i++)
		if (p->placed[i].buffer == buffer && !p->placed[i].ghost) {
			p->placed[i].ghost = true;
			p->ghosts++;
			return;
		}
}

/* Does it use a buffer of this arena for the first time on its queue? */
static bool is_first_use(const struct placer *p, int number)
{
	const struct op *op = &p->role->ops[number];
	for (int k = 0; k < op_operand_count(op->kind); k++) {
		int b = op->operand[k].buffer;
		if (b >= 0 && !p->role->buffers[b].state && p->role->buffers[b].space == p->space &&
		    p->uses[b].first[op->queue] == number)
			return true;
	}
	return false;
}

/* The queue's first such operation from `i` on. */
static int next_first_use(const struct placer *p, const struct section *s, enum queue queue, int i)
{
	while ((i = section_next(p->role, s->end, queue, i)) < s->end && !is_first_use(p, i))
		i++;
	return i;
}

static void place_in_order(struct placer *p, const struct section *s)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		p->next[q] = next_first_use(p, s, (enum queue)q, s->begin);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &p->role->ops[i];
		int b = op_buffer(op);
		if (i == p->next[op->queue])
			p->next[op->queue] = next_first_use(p, s, op->queue, i + 1);
		if (op_class(op->kind) != OP_CLASS_M || p->role->buffers[b].state ||
		    p->role->buffers[b].space != p->space)
			continue;
		if (op->kind == OP_ALLOC)
			place(p, s, b);
		else
			release(p, b);
	}
}

/* ---- by size ---- */

struct sized {
	int64_t size;
	int buffer;
};

static int larger_first(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static bool may_share(const struct placer *p, int a, int b)
{
	const struct uses *x = &p->uses[a], *y = &p->uses[b];
	if (x->allocated > y->allocated) {
		const struct uses *swap = x;
		x = y;
		y = swap;
	}
	if (x->freed < 0 || x->freed > y->allocated)
		return false;
	return (x->compute_only && y->compute_only) || uses_ordered(p->order, x, y);
}

/* Returns what the arena then needs. `placed` is kept by offset, so the search ends at the first room that is free. */
static int64_t place_by_size(struct placer *p, const struct sized *list, int n, int64_t *offset)
{
	struct placed *placed = malloc(((size_t)n + 1) * sizeof *placed);
	int64_t arena = p->floor;
	if (!placed)
		abort();
	for (int i = 0; i < n; i++) {
		int64_t at = p->floor, size = list[i].size;
		int j = 0;
		for (; j < i && placed[j].offset < at + size; j++)
			if (placed[j].end > at && !may_share(p, list[i].buffer, placed[j].buffer))
				at = placed[j].end;
		for (j = i; j > 0 && placed[j - 1].offset > at; j--)
			placed[j] = placed[j - 1];
		placed[j] = (struct placed){.offset = at, .end = at + size, .buffer = list[i].buffer};
		offset[list[i].buffer] = at;
		if (at + size > arena)
			arena = at + size;
	}
	free(placed);
	return arena;
}

static void try_by_size(struct placer *p, const struct section *s, int64_t *in_order)
{
	struct sized *list = malloc(((size_t)p->role->buffer_count + 1) * sizeof *list);
	int64_t *offset = malloc(((size_t)p->role->buffer_count + 1) * sizeof *offset);
	int n = 0;
	if (!list || !offset)
		abort();
	for (int i = s->begin; i < s->end; i++) {
		int buffer = op_buffer(&p->role->ops[i]);
		const struct buffer *b = &p->role->buffers[buffer < 0 ? 0 : buffer];
		if (p->role->ops[i].kind == OP_ALLOC && !b->state && b->space == p->space)
			list[n++] = (struct sized){round_up(buffer_bytes(b), LAYOUT_ALIGNMENT) + 2 * p->guard, buffer};
	}
	if (n && n <= MOST_BY_SIZE) {
		qsort(list, (size_t)n, sizeof *list, larger_first);
		int64_t arena = place_by_size(p, list, n, offset);
		for (int i = 0; i < n && arena < *in_order; i++)
			p->offset[list[i].buffer] = offset[list[i].buffer] + p->guard;
		if (arena < *in_order)
			*in_order = arena;
	}
	free(list);
	free(offset);
}

static void place_section(struct placer *p, const struct section *s)
{
	struct order order;
	int64_t before = *p->arena_bytes;
	order_make(&order, p->role, s);
	p->order = &order;
	p->count = p->ghosts = 0;
	find_uses(p->uses, p->role, s);
	*p->arena_bytes = p->floor;
	place_in_order(p, s);
	try_by_size(p, s, p->arena_bytes);
	if (before > *p->arena_bytes)
		*p->arena_bytes = before;
	p->order = NULL;
	order_release(&order);
}

void layout_make(struct layout *l, const struct plan *p, const struct role *r, int64_t guard)
{
	(void)p;
	*l = (struct layout){.offset = calloc((size_t)r->buffer_count + 1, sizeof *l->offset)};
	struct uses *uses = calloc((size_t)r->buffer_count + 1, sizeof *uses);
	if (!l->offset || !uses)
		abort();
	for (int space = 0; space < SPACE_COUNT; space++) {
		int64_t floor = 0;
		for (int i = 0; i < r->buffer_count; i++) {
			const struct buffer *b = &r->buffers[i];
			if (!b->state || (int)b->space != space)
				continue;
			l->offset[i] = floor + guard;
			floor += round_up(buffer_bytes(b), LAYOUT_ALIGNMENT) + 2 * guard;
		}
		l->arena_bytes[space] = floor;
		struct placer placer = {.role = r,
		                        .uses = uses,
		                        .offset = l->offset,
		                        .floor = floor,
		                        .guard = guard,
		                        .space = (enum space)space,
		                        .arena_bytes = &l->arena_bytes[space]};
		for (int k = 0; k < SECTION_KINDS; k++)
			place_section(&placer, section_of(r, (enum section_kind)k));
		free(placer.placed);
	}
	free(uses);
}

void layout_release(struct layout *l)
{
	if (!l)
		return;
	free(l->offset);
	l->offset = NULL;
}
