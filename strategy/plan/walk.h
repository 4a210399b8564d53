/* A walk through one rank's program, section by section: it knows which operation is next on every queue, and what that
 * one still waits for. The caller owns time: it decides when an operation begins and when it is done.
 *
 *     struct walk w;
 *     walk_begin(&w, role, SECTION_STEP);
 *     while (!walk_is_done(&w))
 *         for (int q = 0; q < QUEUE_COUNT; q++)
 *             if (walk_is_ready(&w, q)) {
 *                 … carry out role->ops[w.head[q]] …
 *                 walk_finish(&w, q);
 *             }
 *     walk_release(&w);
 *
 * An operation is ready when it is the first on its queue and all that it names in `after` is done. Operations of class
 * M take no time and are on no queue: a walk passes over them.
 */
#ifndef SHARDLAB_WALK_H
#define SHARDLAB_WALK_H

#include "strategy/plan/plan.h"

struct walk {
	const struct role *role;
	int begin, end;        /* operations of the section */
	int head[QUEUE_COUNT]; /* the queue's first operation that is not done; end: none is left */
	int left;              /* operations that are not done, on all queues */
	bool *done;            /* [op - begin] */
};

void walk_begin(struct walk *w, const struct role *r, enum section_kind k);
void walk_release(struct walk *w); /* accepts NULL and a zeroed struct */

/* The first operation of a queue in [from, end); end: there is none. */
int section_next(const struct role *r, int end, enum queue queue, int from);

/* An operation that `op` names in `after` and that is not done; -1: there is none. */
int walk_waits_for(const struct walk *w, int op);
/* The head of the queue can begin. */
bool walk_is_ready(const struct walk *w, int queue);
/* The head of the queue is done. */
void walk_finish(struct walk *w, int queue);

static inline bool walk_is_done(const struct walk *w)
{
	return !w->left;
}

#endif
