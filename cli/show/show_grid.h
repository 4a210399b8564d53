/* Many combinations as one table: a line each, of what decides between them. */
#ifndef SHARDLAB_SHOW_GRID_H
#define SHARDLAB_SHOW_GRID_H

#include "cli/show/show.h"

/* Who fits, how much memory the fullest rank takes and what most of it is, what it sends, and how long a step is and
 * waits. Settings that are the same for all are left to the heading, which is made of `heading`. */
void show_grid(const struct report *heading, const struct column *columns, int count, FILE *out);

#endif
