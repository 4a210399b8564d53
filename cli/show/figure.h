/* The figures of a report that people compare (strategy/trace/figure.h) in tables. */
#ifndef SHARDLAB_SHOW_FIGURE_H
#define SHARDLAB_SHOW_FIGURE_H

#include "cli/show/table.h"
#include "strategy/trace/figure.h"

extern const char *const group_titles[GROUP_COUNT];

/* One unit for all the figures of a group, in all the reports. */
struct scale group_scale(enum figure_group g, const struct report *const *reports, int count);

#endif
