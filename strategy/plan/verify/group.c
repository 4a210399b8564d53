/* Checks that the axes, ends and neighbours of communication make sense (rule 2), and counts the members of a group in
 * each role.
 *
 * Roles divide the first axis, the slowest, or are the whole mesh. So a group over axes without the first lies within
 * one role, and one over axes with it reaches every role:
 *
 *     axes stage 3, shard 2        role stage.0 │ ranks 0 1 │     over shard: 0 1 | 2 3 | 4 5
 *                                  role stage.1 │ ranks 2 3 │     over stage: 0 2 4 | 1 3 5    its ends: 0 4 | 1 5
 *                                  role stage.2 │ ranks 4 5 │     to stage+1: 0 → 2, 1 → 3, 2 → 4, 3 → 5
 */
#include "strategy/plan/verify/verify.h"

static bool is_first_axis(const struct plan *p, const struct op *op)
{
	return op_axes(p, op) == 1;
}

static int64_t extent(const struct plan *p, const struct role *r, unsigned axes, bool ends_only)
{
	return (axes & 1 && !ends_only ? r->ranks / ranks_behind_first_axis(p) : 1) * plan_along(p, axes & ~1u);
}

int64_t members_in(const struct plan *p, const struct op *op, const struct role *r)
{
	return extent(p, r, op_axes(p, op), op->ends_only);
}

int64_t copies_in(const struct plan *p, const struct op *op, const struct role *r, unsigned distinct)
{
	return extent(p, r, op_axes(p, op) & ~distinct, op->ends_only);
}

bool roles_follow_axes(const struct plan *p, const struct role *r)
{
	return p->axis_count == 1 || p->role_count == 1 ||
	       (r->first_rank % ranks_behind_first_axis(p) == 0 && r->ranks % ranks_behind_first_axis(p) == 0);
}

enum status verify_group(const struct at *a)
{
	bool communicates = op_class(a->op->kind) == OP_CLASS_C, message = op_is_message(a->op->kind);
	bool may_name_axes = communicates || a->op->kind == OP_INITIALIZE || a->op->kind == OP_WEIGHTS ||
	                     op_has_item(a->op->kind) || a->op->stochastic;
	if (a->op->axes & ~plan_all_axes(a->p) || (a->op->axes && !may_name_axes))
		return refuse_op(a, 2, "runs over axes that %s",
		                 may_name_axes ? "the plan does not have" : "mean nothing to it");
	if ((a->op->ends_only && (!communicates || message)) ||
	    (message ? a->op->neighbour != 1 && a->op->neighbour != -1 : a->op->neighbour != 0))
		return refuse_op(a, 2, "ends are of collectives, neighbours (+1, -1) of messages");
	if (a->op->joined && (message || software_is_own(&a->p->software)))
		return refuse_op(a, 2, "is joined to another call: shardlab's own collectives and messages are not");
	if (a->op->ends_only && (!is_first_axis(a->p, a->op) || !role_is_an_end(a->p, a->r)))
		return refuse_op(a, 2, "runs between the ends of the first axis, and this role is at neither");
	if (message && (!is_first_axis(a->p, a->op) || a->r->ranks != ranks_behind_first_axis(a->p) ||
	                !role_across(a->p, a->op, a->r)))
		return refuse_op(
		        a, 2,
		        "has no partner: messages go along the first axis, between roles that are one coordinate "
		        "of it each");
	return STATUS_OK;
}
