/* Matches the collectives and messages of a section once, among the operations of all roles. The verifier, the
 * simulator, the window and the tests' virtual ranks all read them here.
 *
 *     role stage.0   send ─ all_reduce ─ sum      instance 0   the send of stage.0 and the receive of stage.1
 *     role stage.1   receive ─ sum                instance 1   the all_reduce of stage.0 and stage.2, the axis's ends
 *     role stage.2   all_reduce ─ sum             instance 2   the sum of all three
 *
 * An *instance* is one collective, or one message, as every group carries it out. Its *participants* are roles, each
 * with the operation by which it takes part. Operations are matched by their order alone: the n-th that a role issues
 * to the same participants over the same axes is of the n-th instance. That they are of one kind and size is left to
 * the verifier (rule 2), and so is that all ranks come to them in one order (rule 1).
 *
 * Roles divide the first axis, the slowest, or are the whole mesh (verify/structure.c). So a collective over axes
 * without the first stays within a role, and one over axes with it reaches every role. Groups, members and ranks follow
 * from coordinates: nothing here grows with the number of ranks.
 *
 *     struct rendezvous v;
 *     rendezvous_init(&v, &plan, SECTION_STEP);
 *     const struct instance *x = rendezvous_instance(&v, role, op);
 *     for (int64_t i = 0; i < instance_members(&v, x); i++)
 *         … instance_rank(&v, x, rank, i) takes part in the group of `rank` …
 *     rendezvous_release(&v);
 *
 * A message is a group of two members: 0 sends, 1 receives.
 */
#ifndef SHARDLAB_RENDEZVOUS_H
#define SHARDLAB_RENDEZVOUS_H

#include "strategy/base/subset.h"
#include "strategy/plan/plan.h"

struct participant {
	int role, op;
};

struct instance {
	struct participant *participants; /* by role, ascending */
	int participant_count;
	int missing; /* roles that ought to take part and issue no operation for it: such a plan locks up */
};

struct rendezvous {
	const struct plan *plan;
	enum section_kind section;
	struct instance *instances;
	int instance_count;
	struct participant *participants; /* of all instances */
	/* by role: its communication, [op - section.begin], and by the place among that, the instance */
	struct subset communication[PLAN_ROLES];
	int *number[PLAN_ROLES];
};

/* The plan's structure has been verified (verify/structure.c), or it was compiled. */
void rendezvous_init(struct rendezvous *v, const struct plan *p, enum section_kind section);
void rendezvous_release(struct rendezvous *v); /* accepts NULL and a zeroed struct */

/* The number of the instance that an operation of a role belongs to; -1: the operation is no communication. */
int rendezvous_number(const struct rendezvous *v, const struct role *r, int op);
static inline const struct instance *rendezvous_instance(const struct rendezvous *v, const struct role *r, int op)
{
	return &v->instances[rendezvous_number(v, r, op)];
}

/* ---- by role ---- */

/* True if a group of the operation `op` of role `issues` has members of `other`. */
bool role_takes_part(const struct plan *p, const struct op *op, const struct role *issues, const struct role *other);
/* The role at the other end of a message of this one; NULL if there is none. */
const struct role *role_across(const struct plan *p, const struct op *op, const struct role *r);
/* Ranks that have the same coordinate along the first axis. */
int64_t ranks_behind_first_axis(const struct plan *p);
/* The role is a single coordinate of the first axis, and the first or the last. */
bool role_is_an_end(const struct plan *p, const struct role *r);

static inline const struct role *participant_role(const struct rendezvous *v, const struct participant *x)
{
	return &v->plan->roles[x->role];
}
static inline const struct op *participant_op(const struct rendezvous *v, const struct participant *x)
{
	return &v->plan->roles[x->role].ops[x->op];
}
/* The operation of the first participant: for what all have in common. */
static inline const struct op *instance_op(const struct rendezvous *v, const struct instance *x)
{
	return participant_op(v, x->participants);
}
/* The participant that a rank belongs to; NULL: its role does not take part. */
const struct participant *instance_participant(const struct rendezvous *v, const struct instance *x, int64_t rank);

/* ---- by rank: of an instance of which nobody is missing ---- */

/* Members of one group. */
int64_t instance_members(const struct rendezvous *v, const struct instance *x);
/* The place of a rank in its group; -1: it is no member. */
int64_t instance_member(const struct rendezvous *v, const struct instance *x, int64_t rank);
/* The rank at a place of the group that `rank` is in. */
int64_t instance_rank(const struct rendezvous *v, const struct instance *x, int64_t rank, int64_t member);
/* The number of groups, and the group that `rank` is in. */
int64_t instance_groups(const struct rendezvous *v, const struct instance *x);
int64_t instance_group(const struct rendezvous *v, const struct instance *x, int64_t rank);

#endif
