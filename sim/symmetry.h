/* At the grain of messages not all nodes need be simulated, if each does what its neighbour does at the same time.
 *
 *     ranks   0 1 2 3 │ 4 5 6 7 │ 8 9 10 11        a ring over three nodes, as full and as fast as each other
 *             ──────► │ ──────► │ ───────►
 *     shift 4: the message from 3 to 4 leaves node 0 as that from 11 to 0 enters it
 *
 * As long as a step is the same if every rank takes the place of the one `shift` ranks on, it is simulated with `shift`
 * ranks: rank r stands for r + shift, r + 2 · shift …, and each message for as many. What it is told is what all ranks
 * are told, to the nanosecond. At the first collective that is not so (a tree, which has a root) each rank becomes a
 * process of its own, which goes on from there.
 */
#ifndef SHARDLAB_SIM_SYMMETRY_H
#define SHARDLAB_SIM_SYMMETRY_H

#include "sim/engine.h"

/* Counts the ranks that stand for all: whole nodes, two ranks at least. All ranks do where the step is not symmetric,
 * or where a trace is to have every message. The engine must have its instances. */
int64_t symmetry_shift(const struct engine *e);
/* Every rank does the same in the instance with the next rank and the one before. */
bool symmetry_holds(const struct engine *e, int instance);
/* Makes a process of each rank, if the operation that begins now is of an instance in which ranks differ. */
void symmetry_begin(struct engine *e, int process, int op);

#endif
