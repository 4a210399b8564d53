/* The verifier, file by file. Each file is one idea, and may rely on those above it having passed:
 *
 *     verify.c            the order of the checks
 *     refuse.c            how a refusal reads
 *     each.c              a check of every operation; what parts several cores verify at once
 *     structure.c         every index and region is in range, roles cover the ranks, groups hold the model
 *     graph.c             rule 1: the joint graph of all ranks comes to an end
 *     shape.c             rule 2: operands are what the table of operations demands
 *     group.c             rule 2: whom communication runs over makes sense
 *     match.c             rule 2: collectives fit their members, and the roles issue the same ones
 *     lifetime.c          rule 3
 *     race.c              rule 4
 *     layout.c            rule 8
 *     replicas.c          rule 6: what several ranks keep whole is made equal by a collective
 *     meaning.c           rules 5, 6, 7: the program is carried out in issue order on what buffers *stand for*
 *                         (memory.h), which is one legal order since there is no race
 *       kernel.c              … the model's kernels
 *       norm.c                … batch normalization: whose samples its statistics are of
 *       update.c              … vector operations: state, optimizer, weights
 *       collective.c          … collectives, on all roles at once
 *       restore.c             … rule 9: what is saved, and restored
 *       sliced.c              … sums of values over a tensor group
 *       part.c                … reading and writing what belongs to a group: all of it, or a rank's slice
 *       memory.c              … what every element of every buffer stands for
 *       state.c               … what is carried from step to step
 *       sum.c                 … whose contributions a gradient, a loss or a norm holds
 *
 * Nothing depends on the number of ranks: all ranks of a role run one program, so what matters about a rank is its own
 * slice against the slices of the others. Where communication runs over some axes alone, all its groups do the same.
 */
#ifndef SHARDLAB_VERIFY_H
#define SHARDLAB_VERIFY_H

#include "strategy/base/work.h"
#include "strategy/plan/order.h"
#include "strategy/plan/plan.h"
#include "strategy/plan/rendezvous.h"

enum { ROLES = sizeof(((struct plan *)0)->roles) / sizeof(struct role) };

struct verify {
	const struct plan *p;
	struct rendezvous rendezvous[SECTION_KINDS]; /* from verify_waits on */
	struct refusal *why;                         /* is filled in by a refusal */
};

/* STATUS_REFUSED with "rule 4 (race): operation 12, reduce bucket.0, of role rank (ranks 0 to 3), buffer 'x': …".
 * op or buffer -1: not named. The text says what is wrong and what to do. */
enum status refuse(const struct verify *v, int rule, const struct role *r, int op, int buffer, const char *format, ...)
        __attribute__((format(printf, 6, 7)));

/* A text that is put together in a caller's memory; what has no room is left out. */
struct text {
	char *out;
	size_t size, length;
};
void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The operation at hand: messages name it. */
struct at {
	const struct verify *v;
	const struct plan *p;
	const struct role *r;
	enum section_kind section;
	int number;
	const struct op *op;
	/* while the plan is carried out on what buffers stand for (meaning.h) */
	struct interpreter *ip;
	struct memory *memory;
	int role;
	int participants; /* of a collective: roles that take part */
};

/* Refuses the operation, or one operand of it: "operand dy is a slice; …" for " is a slice; …". */
enum status refuse_op(const struct at *a, int rule, const char *format, ...) __attribute__((format(printf, 3, 4)));
enum status refuse_at(const struct at *a, int rule, int operand, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Verifies parts 0 … count - 1, which do not need each other, on several cores where the plan is large (base/work.h).
 * The refusal is that of the lowest part that is refused. */
enum status verify_parts(const struct verify *v,
                         enum status (*part)(const struct verify *v, const void *context, int i), const void *context,
                         int count);

/* Asks `check` about every operation of every role, up to the first that it refuses. */
enum status verify_each(const struct verify *v, enum status (*check)(const struct at *a));
/* About those of one role. */
enum status verify_each_of(const struct verify *v, int role, enum status (*check)(const struct at *a));

/* "31 (backward layer.0.linear)", for texts of refusals. Good until the fourth call after it. */
const char *op_title(const struct verify *v, const struct role *r, int op);

bool is_norm_collective(const struct op *op); /* of a batch norm, or of the model's buffers */

/* group.c. Roles divide the first axis, or are the whole mesh. */
bool roles_follow_axes(const struct plan *p, const struct role *r);
/* The operation's axes, ends and neighbour make sense (rule 2). */
enum status verify_group(const struct at *a);
/* Members of the role in one group; and of those, how many hold the same if along `distinct` each holds its own. */
int64_t members_in(const struct plan *p, const struct op *op, const struct role *r);
int64_t copies_in(const struct plan *p, const struct op *op, const struct role *r, unsigned distinct);

enum status verify_structure(const struct verify *v);
enum status verify_waits(const struct verify *v);
enum status verify_end(const struct verify *v); /* the walk comes to it */
enum status verify_issue_order(const struct verify *v, int role);
enum status verify_shapes(const struct verify *v, int role);
enum status verify_matching(const struct verify *v);
enum status verify_lifetimes(const struct verify *v, int role);
enum status verify_races(const struct verify *v, int role);
enum status verify_replicas(const struct verify *v);
enum status verify_meaning(const struct verify *v);
/* layout: NULL to have it made. arena_bytes, by space: NULL, or gets what the layout needs. */
enum status verify_layout(const struct verify *v, int role, const struct layout *layout, int64_t *arena_bytes);

#endif
