/* `advise --export FILE.svg|pdf|png`: memory against speed of all candidates (viz/scene/chart_cloud.h). */
#ifndef SHARDLAB_CLI_ADVISE_CHART_H
#define SHARDLAB_CLI_ADVISE_CHART_H

#include "cli/options/options.h"
#include "sim/advise.h"

/* model: as the user wrote it. */
enum status advise_chart_write(const struct advice *a, const char *model, const char *path);

#endif
