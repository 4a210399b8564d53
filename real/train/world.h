/* The ranks that a user's mpirun, or Slurm, started, for a program that trains or measures several times in them: MPI
 * stays started in between.
 *
 *     struct world *w;
 *     enum status s = world_open(&w);          // all ranks, before the first train_run()
 *     s = world_hear(w, &order, sizeof order); // all have what rank 0 has there
 *     world_close(w);                          // all
 */
#ifndef SHARDLAB_WORLD_H
#define SHARDLAB_WORLD_H

#include <stdint.h>

#include "strategy/base/status.h"

struct world;

enum status world_open(struct world **out);
/* Rank 0 may be at work meanwhile: patience as for a message. */
enum status world_hear(struct world *w, void *at, int64_t bytes);
void world_close(struct world *w); /* accepts NULL */

#endif
