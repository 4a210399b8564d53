/* The order of operations on one rank: queue order and waits, closed transitively.
 *
 * For every operation of a section, and every queue: the last operation of that queue that is certainly done when it
 * begins (a vector clock). Two operations that are not ordered may run at the same time.
 */
#ifndef SHARDLAB_ORDER_H
#define SHARDLAB_ORDER_H

#include "strategy/plan/plan.h"

struct order {
	int begin;
	int (*clock)[QUEUE_COUNT]; /* [operation - begin]; -1: none */
	const struct role *role;
};

/* The first and the last operation of the section on each queue that use a buffer; -1: none. `uses` has an entry a
 * buffer. */
struct uses {
	int first[QUEUE_COUNT], last[QUEUE_COUNT];
};
void uses_find(struct uses *uses, const struct role *r, const struct section *s);
/* A use of `a` that is not certainly done when `b` is first used: *used and *first say which; false: there is none. */
bool uses_clash(const struct order *o, const struct uses *a, const struct uses *b, int *used, int *first);

void order_make(struct order *o, const struct role *r, const struct section *s);
void order_release(struct order *o);

/* a is done before b begins. Both of the section; a != b. */
static inline bool order_before(const struct order *o, int a, int b)
{
	return o->clock[b - o->begin][o->role->ops[a].queue] >= a;
}

#endif
