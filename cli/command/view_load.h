/* Loads what the window shows: plans are compiled, simulated or read from a trace here, since the pictures know neither
 * the simulator nor the options.
 */
#ifndef SHARDLAB_VIEW_LOAD_H
#define SHARDLAB_VIEW_LOAD_H

#include "cli/command/job.h"
#include "cli/options/options.h"
#include "sim/fit.h"
#include "viz/export/playback.h"

/* Bytes a second; 0: the cluster has none. */
struct links {
	int64_t link, network;
};

/* One strategy, with all that its picture refers to. Must not be moved. */
struct loaded {
	struct job job;
	struct trace_file file;
	struct trace trace;   /* of the simulation */
	struct report report; /* of the simulation */
	char cluster[512];    /* its name or file, and other links */
	struct links links;
	struct trace_view shown;
	struct fit_search *search; /* for what would fit, where this does not; NULL: it is over */
	bool read;                 /* from a trace file */
};

/* Loads what the options ask for: --trace, --plan, or the settings. */
enum status load_from_options(struct loaded *l, const struct options *o);
/* A recorded run, or another program's trace; the other options are those of --trace. */
enum status load_trace(struct loaded *l, const struct options *o, const char *path);
/* Settings that are resolved. */
enum status load_settings(struct loaded *l, const struct options *o, const struct settings *settings,
                          const char *cluster);
/* A job whose plan is made already; `job` is taken over, also on failure. */
enum status load_job(struct loaded *l, const struct options *o, const char *cluster, struct job *job);
/* The cluster that the options name. */
const char *load_cluster(const struct options *o);
/* Looks on for the cheapest change that makes it fit, for one simulation. False: there is nothing to look for. */
bool load_search(struct loaded *l);
/* Simulates a step as the options say, and finds what one rank may use there. */
enum status load_simulate(const struct plan *plan, const struct options *o, const char *cluster, struct trace *trace,
                          struct limits *limits, struct report *out);
void load_release(struct loaded *l); /* accepts NULL and a zeroed struct */

#endif
