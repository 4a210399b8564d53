/* Plans that are almost right: a copy of a plan, with one thing changed at random.
 *
 *     struct plan mutant;
 *     char what[200];
 *     if (mutant_make(&mutant, &plan, seed, what, sizeof what))      what: "drop 12 all_reduce bucket.0"
 *         …
 *     plan_release(&mutant);                                         (whether or not something was changed)
 */
#ifndef SHARDLAB_TESTS_MUTANTS_H
#define SHARDLAB_TESTS_MUTANTS_H

#include "strategy/plan/plan.h"

/* One in every row of the table in mutants.c. */
const char *mutation_name(int kind); /* NULL past the last */

/* false: the change has no object in this plan, or would change nothing. *kind: which it was. */
bool mutant_make(struct plan *out, const struct plan *p, uint64_t seed, int *kind, char *what, size_t size);

#endif
