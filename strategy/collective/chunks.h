/* The chunks of a schedule: runs of elements that it never divides, so that a message carries whole ones. */
#ifndef SHARDLAB_CHUNKS_H
#define SHARDLAB_CHUNKS_H

#include "strategy/collective/schedule.h"

/* Chunk i is elements [cuts[i], cuts[i + 1]) of the whole. The cuts are the caller's to free. */
int64_t *schedule_cuts(const struct schedule *s, int *chunks);

#endif
