/* The time of an epilogue that gathers the weights on one rank (save=full, save=16bit): a unit is gathered, copied to
 * the host, and then comes the next, so their times add up. */
#ifndef SHARDLAB_SIM_GATHERING_H
#define SHARDLAB_SIM_GATHERING_H

#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"

/* The time on the rank that saves, without writing the file; 0: nothing is gathered. */
enum status gathering_time(const struct plan *p, const struct cluster *c, int64_t *ns);

#endif
