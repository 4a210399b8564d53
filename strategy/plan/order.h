/* What is done before what, on one rank: queue order and waits, closed transitively.
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

void order_make(struct order *o, const struct role *r, const struct section *s);
void order_release(struct order *o);

/* a is done before b begins. Both of the section; a != b. */
static inline bool order_before(const struct order *o, int a, int b)
{
	return o->clock[b - o->begin][o->role->ops[a].queue] >= a;
}

#endif
