/* All ranks of a plan in one process: every rank has its arena, with buffers where the layout puts them; operations run
 * one at a time, in an order that the plan allows and a seed chooses. Queues are first in, first out; an operation
 * waits for what it names; a collective happens when it is the next one of every rank. Nothing else orders them, so a
 * plan that lacks a wait gives other results under another seed.
 *
 *     struct virtual_run a = {0};
 *     virtual_ranks_run(&plan, 3, 17, &a);      three steps, evaluation, weights
 *     virtual_run_release(&a);
 *
 * A buffer's memory is filled with NaNs before the first operation that touches it and after the last one, in whatever
 * order they run: what is read unwritten, or taken by a buffer that shares its bytes too early, shows in the results.
 * Collectives go round by round as their schedules say, so spoiled parts are spoiled. Samples are made up from their
 * number.
 */
#ifndef SHARDLAB_TESTS_VIRTUAL_RANKS_H
#define SHARDLAB_TESTS_VIRTUAL_RANKS_H

#include "strategy/plan/plan.h"

struct virtual_run {
	int steps;
	double losses[8];
	double evaluate_loss;
	int64_t evaluate_correct, evaluate_total;
	int64_t parameters; /* and elements of the model's buffers */
	float *weights;     /* in model order, and then its buffers */
	int *shown;         /* how often each was shown: 1 */
};

/* seed 0: issue order. Aborts when the plan stands still (the verifier lets no such plan through). */
void virtual_ranks_run(const struct plan *p, int steps, uint64_t seed, struct virtual_run *out);
void virtual_run_release(struct virtual_run *r);

/* The same bits; or, with tolerance above 0, within that relative to the largest. */
bool virtual_runs_equal(const struct virtual_run *a, const struct virtual_run *b, double tolerance);

#endif
