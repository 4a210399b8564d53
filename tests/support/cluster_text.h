/* A cluster as its file has it. */
#ifndef SHARDLAB_TESTS_CLUSTER_TEXT_H
#define SHARDLAB_TESTS_CLUSTER_TEXT_H

#include "strategy/cluster/cluster.h"

char *cluster_text(const struct cluster *c); /* the caller frees it */

#endif
