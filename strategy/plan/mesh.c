/* The mesh: ranks by coordinates.
 *
 *     axes replica 2, shard 4     rank 6 = (1, 2)     place along {shard}: 2 of 4; along {replica, shard}: 6 of 8
 *
 * The place along a set of axes reads the coordinates of those axes as digits, so along all axes it is the rank.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/plan/plan.h"

void plan_add_axis(struct plan *p, const char *name, int64_t size, bool data)
{
	if (p->axis_count == PLAN_AXES)
		abort();
	p->axes[p->axis_count++] = (struct axis){.name = name, .size = size, .data = data};
}

void plan_one_axis(struct plan *p)
{
	p->axis_count = 0;
	plan_add_axis(p, "rank", p->ranks, true);
}

enum status plan_group_axes(struct plan *p, const char *key, const char *groups, const char *within, int64_t size)
{
	if (size < 1 || p->ranks % size)
		return status_fail(STATUS_INPUT,
		                   "{strategy} %s=%lld does not divide %lld ranks; give a number of ranks that does",
		                   key, (long long)size, (long long)p->ranks);
	if (p->ranks == 1)
		return STATUS_OK;
	p->axis_count = 0;
	if (size < p->ranks)
		plan_add_axis(p, groups, p->ranks / size, true);
	if (size > 1)
		plan_add_axis(p, within, size, true);
	return STATUS_OK;
}

unsigned plan_all_axes(const struct plan *p)
{
	return (1u << p->axis_count) - 1;
}

unsigned plan_data_axes(const struct plan *p)
{
	unsigned axes = 0;
	for (int i = 0; i < p->axis_count; i++)
		axes |= p->axes[i].data ? 1u << i : 0;
	return axes;
}

unsigned plan_axis(const struct plan *p, const char *name)
{
	for (int i = 0; i < p->axis_count; i++)
		if (!strcmp(p->axes[i].name, name))
			return 1u << i;
	return 0;
}

int64_t plan_along(const struct plan *p, unsigned axes)
{
	int64_t n = 1;
	for (int i = 0; i < p->axis_count; i++)
		n *= axes >> i & 1 ? p->axes[i].size : 1;
	return n;
}

int64_t plan_place(const struct plan *p, unsigned axes, int64_t rank)
{
	int64_t place = 0, digit = 1;
	for (int i = p->axis_count - 1; i >= 0; i--) {
		if (axes >> i & 1) {
			place += rank % p->axes[i].size * digit;
			digit *= p->axes[i].size;
		}
		rank /= p->axes[i].size;
	}
	return place;
}

/* The rank at place `place` along the axes that has the other coordinates of `rank`. */
static int64_t rank_at(const struct plan *p, unsigned axes, int64_t rank, int64_t place)
{
	int64_t at = 0, digit = 1;
	for (int i = p->axis_count - 1; i >= 0; i--) {
		int64_t size = p->axes[i].size, coordinate = rank % size;
		if (axes >> i & 1) {
			coordinate = place % size;
			place /= size;
		}
		at += coordinate * digit;
		digit *= size;
		rank /= size;
	}
	return at;
}

int64_t region_elements(const struct plan *p, const struct region *r)
{
	return r->slice ? r->count / plan_along(p, r->slice) : r->count;
}

void region_resolve(const struct plan *p, const struct region *r, int64_t rank, int64_t *offset, int64_t *count)
{
	*count = region_elements(p, r);
	*offset = r->slice ? r->offset + plan_place(p, r->slice, rank) * *count : r->offset;
}

/* ---- who takes part ---- */

int64_t op_members(const struct plan *p, const struct op *op)
{
	int64_t n = plan_along(p, op_axes(p, op));
	return op_is_message(op->kind) || (op->ends_only && n > 2) ? 2 : n;
}

int64_t op_member(const struct plan *p, const struct op *op, int64_t rank)
{
	int64_t n = plan_along(p, op_axes(p, op)), place = plan_place(p, op_axes(p, op), rank);
	if (op_is_message(op->kind))
		return op->kind == OP_RECEIVE;
	if (!op->ends_only)
		return place;
	return !place ? 0 : place == n - 1 ? 1 : -1;
}

int64_t op_member_rank(const struct plan *p, const struct op *op, int64_t rank, int64_t member)
{
	unsigned axes = op_axes(p, op);
	if (op_is_message(op->kind))
		return member == op_member(p, op, rank) ? rank : op_peer(p, op, rank);
	return rank_at(p, axes, rank, op->ends_only && member ? plan_along(p, axes) - 1 : member);
}

int64_t op_peer(const struct plan *p, const struct op *op, int64_t rank)
{
	unsigned axes = op_axes(p, op);
	int64_t place = plan_place(p, axes, rank) + op->neighbour;
	return place < 0 || place >= plan_along(p, axes) ? -1 : rank_at(p, axes, rank, place);
}

unsigned op_shard_axes(const struct plan *p, const struct op *op)
{
	if (op->axes)
		return op->axes;
	return op_region(op, PART_PARAMETERS)->count == p->groups[op->group].padded ? 0 : plan_all_axes(p);
}

int64_t op_place_in_group(const struct plan *p, const struct op *op, int64_t rank)
{
	const struct region *g = op_region(op, PART_PARAMETERS);
	unsigned shards = op_shard_axes(p, op);
	int64_t shard = p->groups[op->group].padded / plan_along(p, shards);
	return plan_place(p, shards, rank) * shard + plan_place(p, g->slice, rank) * region_elements(p, g);
}

bool regions_overlap(const struct plan *p, const struct role *r, const struct region *a, const struct region *b)
{
	int64_t begin_a = a->offset, count_a = a->count, begin_b = b->offset, count_b = b->count;
	if (r->ranks == 1) {
		region_resolve(p, a, r->first_rank, &begin_a, &count_a);
		region_resolve(p, b, r->first_rank, &begin_b, &count_b);
	}
	return begin_a < begin_b + count_b && begin_b < begin_a + count_a;
}
