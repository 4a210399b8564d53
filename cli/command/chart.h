/* `compare --export FILE.svg|pdf|png`: what --chart names, as a picture. */
#ifndef SHARDLAB_CLI_CHART_H
#define SHARDLAB_CLI_CHART_H

#include "cli/command/job.h"
#include "cli/show/show.h"
#include "viz/scene/chart.h"

/* Fills in the chart: capacity, titles, and bars or lines. columns: the reports there are already, for the bars. */
enum status chart_make(struct chart *chart, const struct options *o, const struct members *members,
                       const struct column *columns, int count);
enum status chart_export(const struct options *o, const struct members *members, const struct column *columns,
                         int count, const char *path);

#endif
