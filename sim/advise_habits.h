/* With --emit advice is of the plans that a program makes of its file. The file says more than what is searched
 * otherwise: some strategies in other ways, each a walk of its own; what is computed again, in few levels; and, whether
 * asked for or not, the program's own switches of --as. And it says less: a strategy that it cannot say is skipped with
 * the reason, and levels that it cannot say are left out, so that each line can be written.
 *
 *     advise_take_habits(&request, EMIT_TORCHTITAN, "train.toml", &arena);     // before advise_begin()
 *
 * Searched are the buckets of ddp, zero1 and zero2 in 100 MiB and 500 MB, a second copy of zero3 in each of several
 * nodes, and FSDP that keeps its parameters. A --bucket that was given, and keys of a strategy, stand.
 */
#ifndef SHARDLAB_SIM_ADVISE_HABITS_H
#define SHARDLAB_SIM_ADVISE_HABITS_H

#include "sim/advise.h"
#include "strategy/base/arena.h"
#include "strategy/emit/emit.h"

/* where: the file's name, or NULL; beside it stands Accelerate's second one. What is added lives in the arena. */
void advise_take_habits(struct advise_request *q, enum emit_target t, const char *where, struct arena *a);
/* Of a file that was read and is not written: what the program cannot be told is left out, and what is computed again
 * has its levels. */
void advise_take_program(struct advise_request *q, enum emit_target t, struct arena *a);

/* Leaves in a grid the levels that can be told. STATUS_INPUT: there are none. */
enum status advise_keep_told(const struct advise_request *q, struct variant_grid *g);

#endif
