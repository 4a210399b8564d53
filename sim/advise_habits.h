/* With --emit advice is of the plans that a program makes of its file. The file says more than what is searched
 * otherwise: some strategies in other ways, each a walk of its own; what is computed again, in few levels; and, whether
 * asked for or not, the program's own switches of --as.
 *
 *     advise_take_habits(&request, EMIT_TORCHTITAN, true, &arena);     // before advise_begin()
 *
 * Searched are the buckets of ddp, zero1 and zero2 in 100 MiB and 500 MB, a second copy of zero3 in each of several
 * nodes, and FSDP that keeps its parameters. A --bucket that was given, and keys of a strategy, stand.
 */
#ifndef SHARDLAB_SIM_ADVISE_HABITS_H
#define SHARDLAB_SIM_ADVISE_HABITS_H

#include "sim/advise.h"
#include "strategy/base/arena.h"
#include "strategy/emit/emit.h"

/* to_file: the file has a name, so that Accelerate's second one stands beside it. What is added lives in the arena. */
void advise_take_habits(struct advise_request *q, enum emit_target t, bool to_file, struct arena *a);

#endif
