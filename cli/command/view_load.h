/* What the window shows: plans are compiled, simulated or read from a trace here, since the pictures know neither the
 * simulator nor the options.
 */
#ifndef SHARDLAB_VIEW_LOAD_H
#define SHARDLAB_VIEW_LOAD_H

#include "cli/command/job.h"
#include "cli/options/options.h"
#include "viz/export/playback.h"

/* One strategy, with all that its picture refers to. Must not be moved. */
struct loaded {
	struct job job;
	struct trace_file file;
	struct trace trace; /* of the simulation */
	struct trace_view shown;
	bool read; /* from a trace file */
};

/* As the options say: --trace, --plan, or the settings. */
enum status load_from_options(struct loaded *l, const struct options *o);
/* The cluster that pictures are of, unless a trace says another. */
const char *load_cluster(const struct options *o);
/* Another strategy beside a loaded job, on the same global batch. `single` takes one rank. */
enum status load_strategy(struct loaded *l, const struct options *o, const struct job *beside, const char *strategy);
/* A job whose plan is made already; `job` is taken over, also on failure. */
enum status load_job(struct loaded *l, const struct options *o, struct job *job);
/* Simulates a step where and how the options say, and what one rank may use there. */
enum status load_simulate(const struct plan *plan, const struct options *o, struct trace *trace, struct limits *limits,
                          struct report *out);
void load_release(struct loaded *l); /* accepts NULL and a zeroed struct */

#endif
