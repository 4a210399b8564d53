/* For tests of the window: a strategy simulated and opened as a piece, in one call. */
#ifndef SHARDLAB_TESTS_VIEWED_H
#define SHARDLAB_TESTS_VIEWED_H

#include "tests/support/plans.h"
#include "viz/player.h"

struct viewed {
	struct made made;
	struct trace trace;
	struct piece piece;
	struct limits limits;
	int64_t sent_bytes; /* of the busiest rank, as the simulator reports it */
};

/* Simulated on the cluster `laptop`, message by message. Aborts the test when something fails. */
void viewed_open(struct viewed *v, const struct request *r);
void viewed_release(struct viewed *v);

#endif
