/* The plan builder: what a strategy calls in its hooks. Allocate, free, operate, wait for.
 *
 *     int grads = build_alloc(b, "gathered.gradients.block.3", CATEGORY_GATHERED, TYPE_FP32, n);
 *     build_wait_all(b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);   // begins when compute has done all issued so far
 *     struct op *op = build_op(b, OP_ALL_REDUCE, QUEUE_COMMUNICATION);
 *     op->operand[ALL_REDUCE_X] = region_of(grads, 0, n);
 *     int reduced = build_number(b, op);
 *     …
 *     build_wait(b, QUEUE_COMPUTE, reduced);              // the next compute operation waits for it
 *     build_free(b, grads);
 */
#ifndef SHARDLAB_BUILD_H
#define SHARDLAB_BUILD_H

#include "strategy/plan/plan.h"

struct build {
	struct plan *plan;
	struct role *role;
	struct section *section;               /* under construction; operations of other sections are out of reach */
	int last[QUEUE_COUNT];                 /* last operation issued on each queue in this section; -1 */
	int pending[QUEUE_COUNT][QUEUE_COUNT]; /* [of][on]: the next operation of `of` must wait for this one; -1 */
	int waited[QUEUE_COUNT][QUEUE_COUNT];  /* [of][on]: the latest that `of` has waited for already; -1 */
	struct region **whole;                 /* by buffer: the operand of its alloc, which its free has too */
	size_t whole_capacity;
	struct region *spare; /* such operands that are to be handed out */
	int spare_count;
};

/* Begins a section of the role; ends the one before. Pass NULL to end the last. */
void build_section(struct build *b, struct section *section);

/* Declares a buffer; state is allocated now and lives until the epilogue. */
int build_state(struct build *b, const char *name, enum category c, enum type t, int64_t elements);
/* Declares a buffer and allocates it here. */
int build_alloc(struct build *b, const char *name, enum category c, enum type t, int64_t elements);
/* Do the same in a space other than the device's. */
int build_state_in(struct build *b, enum space space, const char *name, enum category c, enum type t, int64_t elements);
int build_alloc_in(struct build *b, enum space space, const char *name, enum category c, enum type t, int64_t elements);
void build_free(struct build *b, int buffer);
/* Frees all state, in the epilogue. */
void build_free_state(struct build *b);

/* A new operation at the end of the queue, operands absent, no kernel, unit or group. The pointer holds until the next
 * build_op. Its waits are what build_wait asked of its queue. */
struct op *build_op(struct build *b, enum op_kind kind, enum queue queue);
/* The operand that stands for this part, if this kind of operation has one; adds: to what is there, if it can. */
void build_operand(struct op *op, enum part part, struct region region, bool adds);
/* A copy, on the queue that reaches from one space to the other. Returns its number. */
int build_copy(struct build *b, struct region from, struct region to);
/* The operation's number, for build_wait. */
int build_number(const struct build *b, const struct op *op);

/* The next operation of `queue` begins only when operation `number` is done. Nothing is recorded when the queue has
 * waited for it, or for a later one of the same queue, already. number -1: nothing. */
void build_wait(struct build *b, enum queue queue, int number);
/* Waits for everything issued so far on `on`. */
void build_wait_all(struct build *b, enum queue queue, enum queue on);

static inline struct region region_none(void)
{
	return (struct region){.buffer = -1};
}

static inline struct region region_of(int buffer, int64_t offset, int64_t count)
{
	return (struct region){buffer, 0, offset, count};
}

/* This rank's slice of [offset, offset+count) along a set of axes. */
static inline struct region region_slice(int buffer, unsigned axes, int64_t offset, int64_t count)
{
	return (struct region){buffer, axes, offset, count};
}

struct region region_whole(const struct build *b, int buffer);

#endif
