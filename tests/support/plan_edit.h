/* Changes to a plan for tests that break plans on purpose. Operations that waits name are followed when they move.
 *
 *     struct plan p;
 *     plan_copy(&p, &right);
 *     plan_drop_op(&p, 0, 12);
 *     … plan_verify(&p, NULL) …
 *     plan_release(&p);
 */
#ifndef SHARDLAB_TESTS_PLAN_EDIT_H
#define SHARDLAB_TESTS_PLAN_EDIT_H

#include "strategy/plan/plan.h"

/* A copy that shares the model and what nobody changes. */
void plan_copy(struct plan *out, const struct plan *p);
void plan_drop_op(struct plan *p, int role, int op);
void plan_double_op(struct plan *p, int role, int op);
void plan_insert_op(struct plan *p, int role, int at, const struct op *op); /* before `at`; one a copy */
void plan_move_op(struct plan *p, int role, int from, int to);              /* within a section */
void plan_set_waits(struct plan *p, int role, int op, const int *after, int count);

#endif
