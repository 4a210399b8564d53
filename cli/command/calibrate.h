/* Rates of this machine, measured by ranks that are started for it. */
#ifndef SHARDLAB_CLI_CALIBRATE_H
#define SHARDLAB_CLI_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/cluster/cluster.h"

/* Measures quickly, and writes the cluster `local` (or `local-cuda`), if this machine has none yet or has measured it
 * more than so many seconds ago. hosts: over those of this file; NULL: alone. Says so on stderr. */
#define CALIBRATE_ONCE INT64_MAX
/* Rates drift with the machine's load: those of ten minutes ago may be off by a third. */
enum { CALIBRATE_AGAIN_S = 60 };
enum status calibrate_if_older(enum device_kind kind, int64_t seconds, const char *hosts);
bool calibrate_is_older(enum device_kind kind, int64_t seconds);
/* The same measurement in ranks that a user's mpirun started, all of which call it; the first writes and says. device:
 * of --device. */
enum status calibrate_in_ranks(const char *device);

#endif
