/* A plan with its operations in another order: somebody has put the step together anew.
 *
 *     int order[] = {13, 14, 15, …};                   // operations of the role's step, as the plan numbers them
 *     struct plan mine;
 *     plan_reorder(&mine, &plan, 0, order, count);
 *     status = plan_verify(&mine, NULL);
 *     plan_release(&mine);
 *
 * An operation may be left out, or stand there twice; whether the step still makes sense is for the verifier to say.
 *
 * Waits follow. A wait for what now comes later, or not at all, is dropped. A new one stands
 *
 *     where operations on different queues touch the same elements, one writes, and nothing orders them: the later one
 *     waits for the earlier;
 *
 *     where communication is issued: it begins when the compute queue has done what was issued before, so that it is
 *     under way from its place in the order on, and not sooner;
 *
 *     where a buffer is freed: the next operation of the compute queue waits until communication is done with it, since
 *     only then is its memory there for others.
 *
 *     compute        backward 1 │ backward 0 │ free gradients 1 │ …        begins when the reduce-scatter is done
 *     communication             └ reduce-scatter 1 ┘
 *
 * A compiled plan keeps to that already: in its own order nothing changes.
 */
#ifndef SHARDLAB_REORDER_H
#define SHARDLAB_REORDER_H

#include "strategy/plan/plan.h"

/* A copy that shares the model and what nobody changes: its operations and buffers are its own, with room for two
 * more operations. The original outlives it. */
void plan_copy(struct plan *out, const struct plan *p);
/* The operation's waits; `after` is copied. */
void plan_set_waits(struct plan *p, int role, int op, const int *after, int count);

void plan_reorder(struct plan *out, const struct plan *p, int role, const int *order, int count);

#endif
