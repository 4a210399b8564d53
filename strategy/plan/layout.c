/* The memory layout: where each buffer stands in its arena.
 *
 * State comes first, one after another. Buffers allocated within a section are placed in one of two ways, whichever
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

#include "strategy/base/compare.h"
#include "strategy/base/number.h"
#include "strategy/plan/order.h"
#include "strategy/plan/plan.h"
#include "strategy/plan/walk.h"

/* More transient buffers than this in a section are placed in issue order alone. */
enum { MOST_BY_SIZE = 2000 };

/* The operations that allocate and free a buffer in the section at hand; -1: none. */
struct life {
	int allocated, freed;
	bool compute_only; /* no other queue uses it */
};

struct placed {
	int64_t offset, end;
	int buffer; /* in issue order, of a ghost */
	bool ghost;
	struct life life; /* the buffer's; not for those in issue order */
};

struct placer {
	const struct role *role;
	const struct order *order;
	struct uses *uses; /* by buffer */
	struct life *life;
	struct placed *placed; /* by offset */
	int count, ghosts;
	size_t capacity; /* of placed */
	int64_t *offset;
	int64_t floor, guard, *arena_bytes;
	enum space space;
	bool in_order_alone; /* an upper bound is enough */
	struct uses next;    /* first: what next uses a buffer for the first time on the queue; -1: none */
};

static void find_lives(struct placer *p, const struct section *s)
{
	memset(p->life, -1, (size_t)p->role->buffer_count * sizeof *p->life);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &p->role->ops[i];
		if (op_class(op->kind) == OP_CLASS_M)
			*(op->kind == OP_ALLOC ? &p->life[op_buffer(op)].allocated : &p->life[op_buffer(op)].freed) = i;
	}
	for (int i = 0; i < p->role->buffer_count; i++) {
		p->life[i].compute_only = true;
		for (int q = 0; q < QUEUE_COUNT; q++)
			p->life[i].compute_only &= q == QUEUE_COMPUTE || p->uses[i].last[q] < 0;
	}
}

/* Every use of a is done before the first use of b on each queue begins. */
static bool is_ordered(const struct placer *p, int a, const struct uses *b)
{
	int used, first;
	return !uses_clash(p->order, &p->uses[a], b, &used, &first);
}

/* A ghost is forgotten once its uses are done before the first use of any buffer that is still to be placed: on each
 * queue the next such use stands for those after it. */
static void forget_ghosts(struct placer *p)
{
	int kept = 0;
	if (!p->ghosts)
		return;
	for (int i = 0; i < p->count; i++) {
		if (p->placed[i].ghost && is_ordered(p, p->placed[i].buffer, &p->next))
			continue;
		if (kept++ != i)
			p->placed[kept - 1] = p->placed[i];
	}
	p->ghosts -= p->count - kept;
	p->count = kept;
}

/* Makes room for what one operation may put into the list: a ghost, and what is alive on both sides of it. */
static void make_room(struct placer *p)
{
	enum { MOST_ADDED = 3 };
	p->placed = array_reserve(p->placed, (size_t)p->count + MOST_ADDED, &p->capacity, sizeof *p->placed);
}

/* Puts one more into a list that is sorted by offset, and has room for it; returns its place. */
static int insert(struct placed *list, int *count, struct placed what)
{
	int at = (*count)++;
	for (; at > 0 && list[at - 1].offset > what.offset; at--)
		list[at] = list[at - 1];
	list[at] = what;
	return at;
}

static void take_out(struct placer *p, int at)
{
	memmove(&p->placed[at], &p->placed[at + 1], (size_t)(--p->count - at) * sizeof *p->placed);
}

/* Neighbours that are both alive become one entry, which a search passes over at once. */
static void join(struct placer *p, int at)
{
	struct placed *a = &p->placed[at], *b = a + 1;
	if (at < 0 || at + 1 >= p->count || a->ghost || b->ghost || a->end != b->offset)
		return;
	a->end = b->end;
	take_out(p, at + 1);
}

static void take_room(struct placer *p, int64_t offset, int64_t end)
{
	if (offset == end)
		return;
	int at = insert(p->placed, &p->count, (struct placed){.offset = offset, .end = end});
	join(p, at);
	join(p, at - 1);
}

static int64_t room_for(const struct placer *p, int buffer)
{
	return round_up(buffer_bytes(&p->role->buffers[buffer]), LAYOUT_ALIGNMENT) + 2 * p->guard;
}

/* It is allocated within a section, in this arena. */
static bool is_placed_here(const struct placer *p, int buffer)
{
	return buffer >= 0 && !p->role->buffers[buffer].state && p->role->buffers[buffer].space == p->space;
}

static void place(struct placer *p, int buffer)
{
	int64_t size = room_for(p, buffer);
	int64_t at = p->floor, best = -1, best_gap = INT64_MAX;
	forget_ghosts(p);
	for (int i = 0; i < p->count; i++) {
		const struct placed *q = &p->placed[i];
		if (q->ghost && is_ordered(p, q->buffer, &p->uses[buffer]))
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
	take_room(p, best, best + size);
	if (best + size > *p->arena_bytes)
		*p->arena_bytes = best + size;
}

static void release(struct placer *p, int buffer)
{
	struct placed ghost = {.offset = p->offset[buffer] - p->guard, .buffer = buffer, .ghost = true};
	int at = 0;
	while (at < p->count && (p->placed[at].ghost || p->placed[at].end <= ghost.offset))
		at++;
	if (at == p->count)
		return;
	struct placed all = p->placed[at];
	ghost.end = ghost.offset + room_for(p, buffer);
	take_out(p, at);
	take_room(p, all.offset, ghost.offset);
	take_room(p, ghost.end, all.end);
	insert(p->placed, &p->count, ghost);
	p->ghosts++;
}

/* True if the operation uses a buffer of this arena for the first time on its queue. */
static bool is_first_use(const struct placer *p, int number)
{
	const struct op *op = &p->role->ops[number];
	for (int k = 0; k < op_operand_count(op->kind); k++)
		if (is_placed_here(p, op->operand[k].buffer) &&
		    p->uses[op->operand[k].buffer].first[op->queue] == number)
			return true;
	return false;
}

/* The queue's first such operation from `i` on; -1: there is none. */
static int next_first_use(const struct placer *p, const struct section *s, enum queue queue, int i)
{
	while ((i = section_next(p->role, s->end, queue, i)) < s->end && !is_first_use(p, i))
		i++;
	return i < s->end ? i : -1;
}

static void place_in_order(struct placer *p, const struct section *s)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		p->next.first[q] = next_first_use(p, s, (enum queue)q, s->begin);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &p->role->ops[i];
		int b = op_buffer(op);
		if (i == p->next.first[op->queue])
			p->next.first[op->queue] = next_first_use(p, s, op->queue, i + 1);
		if (op_class(op->kind) != OP_CLASS_M || !is_placed_here(p, b))
			continue;
		make_room(p);
		if (op->kind == OP_ALLOC)
			place(p, b);
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
	return x->size != y->size ? compare(y->size, x->size) : compare(x->buffer, y->buffer);
}

/* One is freed before the other is allocated, and the waits keep that order where other queues use them. */
static bool may_share(const struct placer *p, const struct placed *a, const struct placed *b)
{
	if (a->life.allocated > b->life.allocated)
		return may_share(p, b, a);
	if (a->life.freed < 0 || a->life.freed > b->life.allocated)
		return false;
	return (a->life.compute_only && b->life.compute_only) || is_ordered(p, a->buffer, &p->uses[b->buffer]);
}

/* Returns what the arena then needs, or as soon as that is `most`, as much. `placed` is kept by offset, so the search
 * ends at the first room that is free. */
static int64_t place_by_size(struct placer *p, const struct sized *list, int n, int64_t most, int64_t *offset)
{
	struct placed *placed = array_make((size_t)n, sizeof *placed);
	int64_t arena = p->floor;
	for (int i = 0, count = 0; i < n && arena < most; i++) {
		int64_t at = p->floor, size = list[i].size;
		struct placed what = {.buffer = list[i].buffer, .life = p->life[list[i].buffer]};
		for (int j = 0; j < i && placed[j].offset < at + size; j++)
			if (placed[j].end > at && !may_share(p, &what, &placed[j]))
				at = placed[j].end;
		what.offset = at;
		what.end = at + size;
		insert(placed, &count, what);
		offset[what.buffer] = at;
		if (at + size > arena)
			arena = at + size;
	}
	free(placed);
	return arena;
}

static void try_by_size(struct placer *p, const struct section *s, int64_t *in_order)
{
	struct sized *list = array_make((size_t)(s->end - s->begin), sizeof *list);
	int64_t *offset = array_make((size_t)p->role->buffer_count, sizeof *offset);
	int n = 0;
	for (int i = s->begin; i < s->end; i++) {
		int buffer = op_buffer(&p->role->ops[i]);
		if (p->role->ops[i].kind == OP_ALLOC && is_placed_here(p, buffer))
			list[n++] = (struct sized){room_for(p, buffer), buffer};
	}
	if (n && n <= MOST_BY_SIZE) {
		find_lives(p, s);
		qsort(list, (size_t)n, sizeof *list, larger_first);
		int64_t arena = place_by_size(p, list, n, *in_order, offset);
		for (int i = 0; i < n && arena < *in_order; i++)
			p->offset[list[i].buffer] = offset[list[i].buffer] + p->guard;
		if (arena < *in_order)
			*in_order = arena;
	}
	free(list);
	free(offset);
}

/* The most that is alive at once in the section: no layout needs less. */
static int64_t most_alive(const struct placer *p, const struct section *s)
{
	int64_t alive = p->floor, most = alive;
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &p->role->ops[i];
		if (op_class(op->kind) != OP_CLASS_M || !is_placed_here(p, op_buffer(op)))
			continue;
		int64_t size = room_for(p, op_buffer(op));
		alive += op->kind == OP_ALLOC ? size : -size;
		most = alive > most ? alive : most;
	}
	return most;
}

static bool places_any(const struct placer *p, const struct section *s)
{
	for (int i = s->begin; i < s->end; i++)
		if (p->role->ops[i].kind == OP_ALLOC && is_placed_here(p, op_buffer(&p->role->ops[i])))
			return true;
	return false;
}

static void place_section(struct placer *p, const struct section *s)
{
	struct order order;
	int64_t before = *p->arena_bytes;
	if (!places_any(p, s))
		return;
	order_make(&order, p->role, s);
	p->order = &order;
	p->count = p->ghosts = 0;
	uses_find(p->uses, p->role, s);
	*p->arena_bytes = p->floor;
	place_in_order(p, s);
	if (!p->in_order_alone && *p->arena_bytes > most_alive(p, s))
		try_by_size(p, s, p->arena_bytes);
	if (before > *p->arena_bytes)
		*p->arena_bytes = before;
	p->order = NULL;
	order_release(&order);
}

static struct placer placer_make(const struct role *r, int64_t guard, int64_t *offset)
{
	const size_t n = (size_t)r->buffer_count;
	return (struct placer){.role = r,
	                       .uses = array_make(n, sizeof(struct uses)),
	                       .life = array_make(n, sizeof(struct life)),
	                       .offset = offset,
	                       .guard = guard};
}

static void placer_release(struct placer *p)
{
	free(p->uses);
	free(p->life);
	free(p->placed);
}

static void place_state(struct placer *p, enum space space)
{
	const struct role *r = p->role;
	p->space = space;
	p->floor = 0;
	for (int i = 0; i < r->buffer_count; i++) {
		if (!r->buffers[i].state || r->buffers[i].space != space)
			continue;
		if (p->offset)
			p->offset[i] = p->floor + p->guard;
		p->floor += room_for(p, i);
	}
}

static void place_space(struct placer *p, enum space space, int64_t *arena_bytes)
{
	const struct role *r = p->role;
	place_state(p, space);
	p->arena_bytes = arena_bytes;
	*arena_bytes = p->floor;
	for (int k = 0; k < SECTION_KINDS && role_has_space(r, space); k++)
		place_section(p, section_of(r, (enum section_kind)k));
}

void layout_make(struct layout *l, const struct plan *p, const struct role *r, int64_t guard)
{
	(void)p;
	*l = (struct layout){.offset = array_make((size_t)r->buffer_count, sizeof *l->offset)};
	struct placer placer = placer_make(r, guard, l->offset);
	for (int space = 0; space < SPACE_COUNT; space++)
		place_space(&placer, (enum space)space, &l->arena_bytes[space]);
	placer_release(&placer);
}

/* No layout needs less than what is alive at once. */
static int64_t least_bytes(const struct role *r, enum space space)
{
	struct placer placer = {.role = r};
	place_state(&placer, space);
	int64_t most = placer.floor;
	for (int k = 0; k < SECTION_KINDS; k++) {
		int64_t alive = most_alive(&placer, section_of(r, (enum section_kind)k));
		most = alive > most ? alive : most;
	}
	return most;
}

int64_t layout_arena_bytes(const struct role *r, enum space space, enum layout_bound bound)
{
	int64_t least = least_bytes(r, space);
	if (bound == LAYOUT_LEAST || !least)
		return least;
	int64_t *offset = array_make((size_t)r->buffer_count, sizeof *offset), bytes;
	struct placer placer = placer_make(r, 0, offset);
	placer.in_order_alone = bound == LAYOUT_MOST;
	place_space(&placer, space, &bytes);
	placer_release(&placer);
	free(offset);
	return bytes;
}

void layout_release(struct layout *l)
{
	if (!l)
		return;
	free(l->offset);
	l->offset = NULL;
}
