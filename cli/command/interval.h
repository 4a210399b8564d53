/* Checkpoints as options name them: --checkpoint-every in steps or as a time, --mtbf as a time; and what sim says of
 * them.
 */
#ifndef SHARDLAB_INTERVAL_H
#define SHARDLAB_INTERVAL_H

#include <jansson.h>

#include "cli/command/job.h"

/* "500", of steps: *seconds is 0; "90s", "10min", "1h": *steps is. NULL for steps: a time alone will do. */
enum status interval_read(const char *setting, const char *text, int64_t *steps, double *seconds);

/* Whether sim was asked about checkpoints. */
bool interval_is_asked(const struct options *o);

struct interval_figures {
	int64_t rank_bytes, bytes;
	double write_s, read_s, copy_s;
	int64_t every;                 /* steps */
	double every_s;                /* as a time; 0: given in steps */
	double stall_s, async_stall_s; /* a step: ranks wait for the disk, or (--checkpoint-async) for a copy */
	double mtbf_s;                 /* 0: not given */
	int64_t best_every;            /* steps */
	double best_s, goodput;        /* goodput: without the loss of a step's own time to other causes */
	double notice_s, start_s;      /* of a restart, beside reading */
	bool measured, async;          /* the disk's rates were; the plan has snapshots */
};
/* step_s: of a step without checkpoints. */
enum status interval_predict(const struct job *j, const struct options *o, double step_s, struct interval_figures *out);
void interval_show(const struct interval_figures *f, FILE *out);
/* A table of several, under one another. */
void interval_compare(const char *const *names, const struct interval_figures *f, int count, FILE *out);
json_t *interval_to_json(const struct interval_figures *f); /* new reference */

#endif
