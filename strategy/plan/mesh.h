/* Ranks in a mesh of axes: each one's coordinates, and the members of a communication. */
#ifndef SHARDLAB_PLAN_MESH_H
#define SHARDLAB_PLAN_MESH_H

#include "strategy/plan/types.h"

/* One axis of all ranks, "rank", along which they have samples of their own. */
void plan_one_axis(struct plan *p);
/* Adds an axis, faster than those before. */
void plan_add_axis(struct plan *p, const char *name, int64_t size, bool data);
/* Two axes of data ranks: groups of `size` neighbours, and as many of these as there are. An axis of one rank is left
 * out. STATUS_INPUT, where `key` ("hybrid: shard") names the size, if the ranks cannot be divided so. */
enum status plan_group_axes(struct plan *p, const char *key, const char *groups, const char *within, int64_t size);

unsigned plan_all_axes(const struct plan *p);
unsigned plan_data_axes(const struct plan *p);
/* The axis of this name as a mask; 0 if there is none. */
unsigned plan_axis(const struct plan *p, const char *name);
/* Ranks along a set of axes (1 for none), and the place of `rank` among them. */
int64_t plan_along(const struct plan *p, unsigned axes);
int64_t plan_place(const struct plan *p, unsigned axes, int64_t rank);
/* Ranks with samples of their own: batch = data ranks × micro-batch × accumulate. */
static inline int64_t plan_data_ranks(const struct plan *p)
{
	return plan_along(p, plan_data_axes(p));
}

/* The axes that communication runs over. */
static inline unsigned op_axes(const struct plan *p, const struct op *op)
{
	return op->axes ? op->axes : plan_all_axes(p);
}
static inline bool op_is_message(enum op_kind k)
{
	return k == OP_SEND || k == OP_RECEIVE;
}
/* The number of ranks in a group, and the place of `rank` in its own group: -1 if it takes no part. A message is a
 * group of two: 0 sends, 1 receives. */
int64_t op_members(const struct plan *p, const struct op *op);
int64_t op_member(const struct plan *p, const struct op *op, int64_t rank);
/* The rank at a place of the group that `rank` is in. */
int64_t op_member_rank(const struct plan *p, const struct op *op, int64_t rank, int64_t member);
/* The other end of a message of `rank`; -1 if there is none. */
int64_t op_peer(const struct plan *p, const struct op *op, int64_t rank);
/* initialize, weights, stochastic updates: along which axes operand 0's region is this rank's shard of the group,
 * before it is sliced. */
unsigned op_shard_axes(const struct plan *p, const struct op *op);
/* The place in its group of the first element of a rank's operand: its slice of its shard of the group. */
int64_t op_place_in_group(const struct plan *p, const struct op *op, int64_t rank);
/* The first of the model's buffer elements in the operand of initialize_buffers and show_buffers: element 0, or the
 * first of a stage's own norms. */
int64_t role_first_buffer(const struct plan *p, const struct role *r);

/* The elements of a region on `rank`: [*offset, *offset + *count) of its buffer. */
void region_resolve(const struct plan *p, const struct region *r, int64_t rank, int64_t *offset, int64_t *count);
/* Could the two regions of one buffer share an element on some rank of the role? */
bool regions_overlap(const struct plan *p, const struct role *r, const struct region *a, const struct region *b);
/* The number of elements of a region, which every rank has alike. */
int64_t region_elements(const struct plan *p, const struct region *r);

#endif
