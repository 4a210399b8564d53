/* Checks an algorithm: carries out its rounds on whose contributions the buffers hold, without numbers.
 *
 *     rule 2   each message has its partner, with the same elements; what the closed forms say is what the rounds send
 *     rule 5   in the end every rank has what the operation promises, each contribution exactly once
 *
 * A test checks the tree's algorithms. A user's own (own_algorithms) are checked with every plan that uses
 * them, on as many ranks as the plan has, CHECK_RANKS at most.
 */
#ifndef SHARDLAB_COLLECTIVE_CHECK_H
#define SHARDLAB_COLLECTIVE_CHECK_H

#include "strategy/collective/schedule.h"

enum { CHECK_RANKS = 63 };

struct schedule_fault {
	int rule; /* of the verifier; 0: none */
	char words[240];
};

/* ranks: 2 to CHECK_RANKS. False: `why` says what is wrong. */
bool schedule_check(const struct schedule *s, struct schedule_fault *why);

/* Checks a user's own algorithm on at most CHECK_RANKS ranks. The tree's algorithms pass without a check. */
bool schedule_check_own(enum schedule_algorithm a, int64_t ranks, int64_t root, struct schedule_fault *why);

#endif
