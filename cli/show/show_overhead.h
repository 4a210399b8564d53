/* What a GPU's memory holds beside the arena, as the run measured it. */
#ifndef SHARDLAB_CLI_SHOW_OVERHEAD_H
#define SHARDLAB_CLI_SHOW_OVERHEAD_H

#include <stdio.h>

#include "cli/show/show.h"

/* A column for each report of a run on GPUs, of the role with the most of it; nothing if there is none. Begins with an
 * empty line. */
void show_overhead(const struct column *columns, int count, FILE *out);

#endif
