/* compare --trace: a recorded step beside the predicted ones. */
#ifndef SHARDLAB_COMPARE_TRACE_H
#define SHARDLAB_COMPARE_TRACE_H

#include "cli/command/job.h"
#include "cli/show/show.h"
#include "strategy/trace/profile.h"

/* The files of --trace a,b. Without --ranks, the run's ranks are those to predict for: `o` is changed. */
enum status recorded_open(struct profile *p, struct options *o);

/* Like job_simulate; also gives the slowest rank's step by kind and phase. */
enum status recorded_predict(const struct settings *settings, const char *cluster, enum grain grain, struct report *out,
                             struct profile_step *step);

/* The table, with a column for each of the predicted; one has a ratio beside it. */
void recorded_show(const struct profile *p, const struct column *columns, const struct profile_step *const *predicted,
                   int count, FILE *out);

#endif
