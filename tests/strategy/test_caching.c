/* PyTorch's caching allocator on a few requests, by hand. */
#include <stdio.h>
#include <string.h>

#include "strategy/plan/caching.h"
#include "strategy/plan/plan.h"
#include "tests/support/suite.h"

enum { MOST = 16 };
static const int64_t MEBI = 1 << 20;

/* A role whose step is "a b -a c": buffers that come and go, of so many bytes. */
struct requests {
	struct role role;
	struct buffer buffers[MOST];
	struct op ops[2 * MOST];
	struct region operands[2 * MOST][OP_OPERANDS];
};

static void add(struct requests *r, enum op_kind kind, enum queue queue, int buffer)
{
	struct op *op = &r->ops[r->role.op_count++];
	*op = (struct op){.kind = kind, .queue = queue, .operand = r->operands[op - r->ops]};
	for (int i = 0; i < OP_OPERANDS; i++)
		op->operand[i].buffer = -1;
	op->operand[0].buffer = buffer;
	r->role.step.end = r->role.op_count;
}

static void begin(struct requests *r)
{
	memset(r, 0, sizeof *r);
	r->role.buffers = r->buffers;
	r->role.ops = r->ops;
}

static int get(struct requests *r, int64_t bytes)
{
	r->buffers[r->role.buffer_count] = (struct buffer){.type = TYPE_U8, .elements = bytes, .space = SPACE_DEVICE};
	add(r, OP_ALLOC, QUEUE_COMPUTE, r->role.buffer_count);
	return r->role.buffer_count++;
}

static void give(struct requests *r, int buffer)
{
	add(r, OP_FREE, QUEUE_COMPUTE, buffer);
}

static void give_all(struct requests *r, const int *buffers, int count)
{
	for (int i = 0; i < count; i++)
		give(r, buffers[i]);
}

START_TEST(segments_have_their_sizes)
{
	static const struct {
		int64_t bytes, reserved;
	} cases[] = {{1, 2 << 20},
	             {1 << 20, 2 << 20},
	             {(1 << 20) + 1, 20 << 20},
	             {(10 << 20) - 512, 20 << 20},
	             {10 << 20, 10 << 20},
	             {(12 << 20) + 1, 14 << 20}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct requests r;
		begin(&r);
		give(&r, get(&r, cases[i].bytes));
		ck_assert_int_eq(caching_reserved(&r.role, 0), cases[i].reserved);
	}
}

START_TEST(a_segment_is_split_and_joined_again)
{
	struct requests r;
	begin(&r);
	int both[] = {get(&r, 6 * MEBI), get(&r, 9 * MEBI)}; /* 6 + 9 + 5 free of one segment */
	give_all(&r, both, 2);
	give(&r, get(&r, 19 * MEBI)); /* which is free as a whole */
	ck_assert_int_eq(caching_reserved(&r.role, 0), 20 * MEBI);
}

/* A rest is free only if it is more than 1 MiB: 19 MiB leave 1, which nobody else can have. */
START_TEST(a_small_rest_is_not_split_off)
{
	struct requests r;
	begin(&r);
	give(&r, get(&r, 20 * MEBI));
	int both[] = {get(&r, 19 * MEBI), get(&r, 1 * MEBI + 1)};
	give_all(&r, both, 2);
	ck_assert_int_eq(caching_reserved(&r.role, 0), 40 * MEBI);
}

/* The hole of 12 MiB between two buffers is too small for 14. */
START_TEST(holes_are_reserved_too)
{
	struct requests r;
	begin(&r);
	int whole = get(&r, 40 * MEBI);
	give(&r, whole);
	int parts[] = {get(&r, 14 * MEBI), get(&r, 12 * MEBI), get(&r, 14 * MEBI)};
	give(&r, parts[1]);
	int more = get(&r, 14 * MEBI);
	give(&r, more);
	give(&r, parts[0]);
	give(&r, parts[2]);
	ck_assert_int_eq(caching_reserved(&r.role, 0), 54 * MEBI);
}

START_TEST(communication_has_blocks_of_its_own)
{
	struct requests r;
	begin(&r);
	int sent = get(&r, 16 * MEBI);
	add(&r, OP_ALL_REDUCE, QUEUE_COMMUNICATION, sent);
	give(&r, sent);
	give(&r, get(&r, 16 * MEBI));
	ck_assert_int_eq(caching_reserved(&r.role, 0), 32 * MEBI);
}

START_TEST(free_segments_go_back_before_there_is_no_room)
{
	struct requests r;
	begin(&r);
	give(&r, get(&r, 12 * MEBI));
	give(&r, get(&r, 30 * MEBI));
	ck_assert_int_eq(caching_reserved(&r.role, 0), 42 * MEBI);
	ck_assert_int_eq(caching_reserved(&r.role, 40 * MEBI), 30 * MEBI);
}

SUITE("caching", 10)
