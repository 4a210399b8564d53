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

#include "strategy/plan/reorder.h"

void plan_drop_op(struct plan *p, int role, int op);
void plan_double_op(struct plan *p, int role, int op);
void plan_insert_op(struct plan *p, int role, int at, const struct op *op); /* before `at`; one a copy */
void plan_move_op(struct plan *p, int role, int from, int to);              /* within a section */

/* The same in words, several with commas between them:
 *
 *     drop all_reduce#1                             double adamw
 *     move free to classifier                       wait all_reduce for advance        unwait adamw
 *     put linear.forward#1.weight linear.forward#2.weight      (the operand stands for the other), or none
 *     set all_reduce payload +1                     set all_reduce.staging count /2
 *     set load.targets type fp32                    set settings loss_scale 0
 *
 * A field is the operation's, the operand's or its buffer's, and is set, or changed by + - * /.
 * An operation is [SECTION/][ROLE:]KIND[#N] and behind it @QUEUE, +K or -K: of that kind (and on that queue) the one
 * numbered N from 0, or from -1 at the end, in the step of role 0; or K operations from it. `begin` and `end` are the
 * first and the last one of the step. */
void plan_edit_words(struct plan *p, const char *edits);
struct op *plan_op(struct plan *p, const char *word);
struct region *plan_operand(struct plan *p, const char *word);

#endif
