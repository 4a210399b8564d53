/* A cluster as its file has it. */
#ifndef SHARDLAB_TESTS_CLUSTER_TEXT_H
#define SHARDLAB_TESTS_CLUSTER_TEXT_H

#include "strategy/cluster/cluster.h"

char *cluster_text(const struct cluster *c); /* the caller frees it */

/* A printed cluster reads back, into `again`, and prints the same. */
void must_read_back(const struct cluster *c, struct cluster *again);

#endif
