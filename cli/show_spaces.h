/* What a report says of memory beside the device's: the host's and the disk's, and the copies between them. */
#ifndef SHARDLAB_SHOW_SPACES_H
#define SHARDLAB_SHOW_SPACES_H

#include <stdio.h>

#include "strategy/trace/report.h"

/* Nothing is printed where nothing is offloaded. */
void show_spaces(const struct report *r, FILE *out);
void show_transfers(const struct report *r, FILE *out);

#endif
