/* The racers of a race (viz/race/race.h): each is a plan of its collective alone, simulated. */
#ifndef SHARDLAB_VIEW_RACE_H
#define SHARDLAB_VIEW_RACE_H

#include "strategy/strategies/alone.h"
#include "viz/race/race.h"

/* Above so many ranks collectives are by formula. */
enum { RACE_BY_MESSAGE = 64 };

/* Fills in all that follows from operation, ranks and bytes; what it held is released. A race that cannot run is no
 * failure: r->refused says why. cluster: name or file. */
void race_run(struct race *r, const char *cluster);
/* The collective alone that the window has while a race of the operation is on: "ring-all-reduce". */
void race_first(enum operation o, struct alone *out);
/* "all-reduce", as an option's choice has it. */
enum operation race_operation(const char *name);

#endif
