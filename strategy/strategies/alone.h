/* A plan of one collective alone: nothing is computed, nothing comes before it. Its step is the collective of a buffer
 * of so many bytes, fp32, padded to a multiple of the ranks. So everything that reads plans shows, costs and draws one.
 *
 * Its name is that of the schedule and of the operation, "ring-all-reduce", "tree-broadcast"; or of an all-reduce that
 * is a reduce and then a broadcast, "star-all-reduce".
 *
 *     struct plan p;
 *     struct model m;
 *     enum status s = alone_open(&p, &m, "ring-all-reduce", 5, 40);
 *     …
 *     plan_release(&p);
 *     model_release(&m);
 */
#ifndef SHARDLAB_STRATEGIES_ALONE_H
#define SHARDLAB_STRATEGIES_ALONE_H

#include "strategy/plan/plan.h"

enum { ALONE_PARTS = 2, ALONE_RANKS = 16384 };
#define ALONE_BYTES INT64_C(1000000000000000)

struct alone {
	char name[40];
	enum operation operation; /* the collective's operation as a whole */
	enum schedule_algorithm part[ALONE_PARTS];
	int parts; /* schedules, one after another */
};

/* The i-th of all, in a fixed order; false past the last. */
bool alone_at(int i, struct alone *out);
/* Unknown: STATUS_INPUT with the names there are. where: the option that names it. */
enum status alone_find(const char *where, const char *name, struct alone *out);

/* The plan, which is no training step: the verifier, which asks where its numbers come from, would refuse it. Nothing
 * runs it for real. The model must outlive it. STATUS_INPUT: one rank, no bytes or no whole elements, or too many. On
 * failure nothing needs to be released. */
enum status alone_open(struct plan *p, struct model *m, const struct alone *what, int64_t ranks, int64_t bytes);
/* Refuses ranks and bytes that alone_open() would not take. */
enum status alone_check(int64_t ranks, int64_t bytes);
/* True for such a plan. The rows of its schedules are then those of its operations. */
bool plan_is_alone(const struct plan *p);

#endif
