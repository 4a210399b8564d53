/* A run that starts again when a rank is lost: train --ranks 2..4 --restarts 3 --checkpoint DIR.
 *
 *     struct elastic e;
 *     enum status s = elastic_begin(&e, &options);      // --ranks is a number from here on, and the batch is settled
 *     …
 *     do
 *             s = …start the ranks as the options say…
 *     while (s == STATUS_LOST && elastic_again(&e, &options, steps_made));
 *     elastic_release(&e);
 *
 * The number of ranks is the largest of the range that divides the batch, which stays the same: the micro-batch or the
 * accumulation follows. A start that comes to no step had more ranks than there is room for: then the next smaller
 * number is tried. Hosts that do not answer are left out, for as long as they do not.
 */
#ifndef SHARDLAB_ELASTIC_H
#define SHARDLAB_ELASTIC_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cli/options/options.h"

struct elastic {
	int64_t least, most,
	        top;   /* of ranks that may be tried: at most so many, and so many when all hosts are there */
	int held;      /* as of struct launch; the caller's */
	bool by_hosts; /* the slots of --hosts are the range */
	int64_t restarts, restarted; /* how many may be, and were */
	struct stat latest;          /* of the folder's `latest` as it was before the run: another run's */
	char *resume;                /* a checkpoint of this run; NULL: there was none */
	struct arena arena;          /* of the options that it gives */
};

/* Without --ranks the hosts' slots are the range: a run goes on where hosts are there.
 * STATUS_INPUT: there is nothing to start again from, or the batch divides by no number of the range. */
enum status elastic_begin(struct elastic *e, struct options *o);
/* The same for a rank that mpirun started for the user, as one of so many: they must be among those of --ranks, if that
 * was given. */
enum status elastic_join(struct elastic *e, struct options *o, int64_t ranks);
/* After STATUS_LOST: says in two lines on stderr what happened and what comes. False if it is not to start again; then
 * the status and its message stand. progressed: it has made a step since it was started. */
bool elastic_again(struct elastic *e, struct options *o, bool progressed);
void elastic_release(struct elastic *e);

#endif
