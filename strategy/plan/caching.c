/* Requests are rounded up to 512 bytes. Those of up to 1 MiB come from segments of 2 MiB, those below 10 MiB from
 * segments of 20 MiB, and larger ones from segments of their own size, rounded up to 2 MiB. The smallest free block
 * that is large enough is taken, and split where more than 1 MiB (of a small segment: 512 bytes) would be left. A block
 * that is freed becomes one with free neighbours of its segment.
 *
 *     segment of 20 MiB  │ 6 MiB in use │ 3 MiB free │ 4 MiB in use │ 7 MiB free │
 *     request of 5 MiB                                               │ 5 │ 2      │
 */
#include "strategy/plan/caching.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/plan/plan.h"

/* Blocks belong to the stream that asked for them, so that what communication has freed is no room for kernels: state
 * and activations are of one, and what collectives read and write besides is of the other. */
enum { STREAMS = 2, POOLS = 2 * STREAMS };

enum { MEBI = 1 << 20 };
enum { UNIT = 512, SMALL = MEBI, SMALL_SEGMENT = 2 * MEBI, LARGE_SEGMENT = 20 * MEBI, LARGE_FROM = 10 * MEBI };
enum { ROUND_LARGE = 2 * MEBI };
enum { FEW = 64 };

struct block {
	int64_t size;
	int before, behind; /* neighbours in its segment; -1 */
	int pool;
	bool used;
};

/* Free blocks of a pool, the smallest first, and of equal ones the oldest. */
struct pool {
	int *list;
	size_t count, capacity;
};

struct cache {
	struct block *blocks;
	size_t count, capacity;
	struct pool pools[POOLS]; /* of a stream: that of large blocks, and that of small ones */
	int *block_of;            /* by buffer */
	bool *communicated;       /* by buffer */
	int64_t reserved, most, limit;
};

static int64_t round_to(int64_t bytes, int64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* ---- free blocks ---- */

static bool is_small(int pool)
{
	return pool % 2;
}

/* The first place whose block is at least so large, and if as large, not older than `block`. */
static size_t place_of(const struct cache *c, const struct pool *p, int64_t size, int block)
{
	size_t low = 0, high = p->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct block *b = &c->blocks[p->list[middle]];
		if (b->size < size || (b->size == size && p->list[middle] < block))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put(struct cache *c, int block)
{
	struct block *b = &c->blocks[block];
	struct pool *p = &c->pools[b->pool];
	size_t at = place_of(c, p, b->size, block);
	b->used = false;
	p->list = array_reserve(p->list, p->count, &p->capacity, sizeof *p->list);
	memmove(&p->list[at + 1], &p->list[at], (p->count - at) * sizeof *p->list);
	p->list[at] = block;
	p->count++;
}

static void take(struct cache *c, int block)
{
	struct block *b = &c->blocks[block];
	struct pool *p = &c->pools[b->pool];
	size_t at = place_of(c, p, b->size, block);
	p->count--;
	for (; at < p->count; at++)
		p->list[at] = p->list[at + 1];
	b->used = true;
}

static int add_block(struct cache *c, struct block b)
{
	c->blocks = array_reserve(c->blocks, c->count, &c->capacity, sizeof *c->blocks);
	c->blocks[c->count] = b;
	return (int)c->count++;
}

/* ---- segments ---- */

/* Gives back the segments of which nothing is in use. */
static void give_back(struct cache *c)
{
	for (int pool = 0; pool < POOLS; pool++) {
		struct pool *p = &c->pools[pool];
		size_t kept = 0;
		for (size_t i = 0; i < p->count; i++) {
			const struct block *b = &c->blocks[p->list[i]];
			if (b->before < 0 && b->behind < 0)
				c->reserved -= b->size;
			else
				p->list[kept++] = p->list[i];
		}
		p->count = kept;
	}
}

static int new_segment(struct cache *c, int64_t size, int pool)
{
	int64_t bytes = is_small(pool)      ? SMALL_SEGMENT
	                : size < LARGE_FROM ? LARGE_SEGMENT
	                                    : round_to(size, ROUND_LARGE);
	if (c->limit && c->reserved + bytes > c->limit)
		give_back(c);
	c->reserved += bytes;
	c->most = c->reserved > c->most ? c->reserved : c->most;
	return add_block(c, (struct block){.size = bytes, .before = -1, .behind = -1, .pool = pool, .used = true});
}

/* ---- requests ---- */

static void split(struct cache *c, int block, int64_t size)
{
	int64_t left = c->blocks[block].size - size;
	int pool = c->blocks[block].pool;
	if (is_small(pool) ? left < UNIT : left <= SMALL)
		return;
	int behind = c->blocks[block].behind;
	int rest = add_block(c, (struct block){.size = left, .before = block, .behind = behind, .pool = pool});
	if (behind >= 0)
		c->blocks[behind].before = rest;
	c->blocks[block].behind = rest;
	c->blocks[block].size = size;
	put(c, rest);
}

static int request(struct cache *c, int64_t bytes, bool communicated)
{
	int64_t size = round_to(bytes > 0 ? bytes : 1, UNIT);
	int pool = 2 * communicated + (size <= SMALL);
	struct pool *p = &c->pools[pool];
	size_t at = place_of(c, p, size, 0);
	int block = at < p->count ? p->list[at] : -1;
	if (block >= 0)
		take(c, block);
	else
		block = new_segment(c, size, pool);
	split(c, block, size);
	return block;
}

/* Makes a block and the one behind it one. */
static void join(struct cache *c, int block)
{
	int behind = c->blocks[block].behind, next = c->blocks[behind].behind;
	c->blocks[block].size += c->blocks[behind].size;
	c->blocks[block].behind = next;
	if (next >= 0)
		c->blocks[next].before = block;
}

static void release(struct cache *c, int block)
{
	int before = c->blocks[block].before, behind = c->blocks[block].behind;
	if (behind >= 0 && !c->blocks[behind].used) {
		take(c, behind);
		join(c, block);
	}
	if (before >= 0 && !c->blocks[before].used) {
		take(c, before);
		join(c, before);
		block = before;
	}
	put(c, block);
}

/* ---- a role ---- */

static void follow(struct cache *c, const struct role *r, const struct section *section)
{
	for (int i = section->begin; i < section->end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_M)
			continue;
		int buffer = op_buffer(op);
		if (r->buffers[buffer].space != SPACE_DEVICE)
			continue;
		if (op->kind == OP_ALLOC)
			c->block_of[buffer] = request(c, buffer_bytes(&r->buffers[buffer]), c->communicated[buffer]);
		else
			release(c, c->block_of[buffer]);
	}
}

static void find_communicated(struct cache *c, const struct role *r)
{
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		for (int k = 0; op->queue == QUEUE_COMMUNICATION && k < op_operand_count(op->kind); k++) {
			int buffer = op->operand[k].buffer;
			if (buffer >= 0 && !r->buffers[buffer].state)
				c->communicated[buffer] = true;
		}
	}
}

int64_t caching_reserved(const struct role *r, int64_t capacity)
{
	struct cache c = {.limit = capacity, .capacity = FEW};
	c.blocks = array_make(FEW, sizeof *c.blocks);
	c.block_of = array_make((size_t)r->buffer_count, sizeof *c.block_of);
	c.communicated = array_make((size_t)r->buffer_count, sizeof *c.communicated);
	find_communicated(&c, r);
	follow(&c, r, &r->prologue);
	follow(&c, r, &r->step);
	follow(&c, r, &r->step);
	free(c.blocks);
	free(c.block_of);
	free(c.communicated);
	for (int pool = 0; pool < POOLS; pool++)
		free(c.pools[pool].list);
	return c.most;
}
