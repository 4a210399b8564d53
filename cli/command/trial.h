/* Strategies that are simulated and then run, figure by figure: for `validate` and `demo`.
 *
 *     struct trials *t;
 *     enum status s = trials_open(&t, &options, "validate");
 *     if (!s)
 *             s = trials_run(t);
 *     … t->trial[0 … t->members.count) …
 *     trials_close(t);
 */
#ifndef SHARDLAB_TRIAL_H
#define SHARDLAB_TRIAL_H

#include "cli/command/check.h"
#include "cli/command/job.h"
#include "cli/show/progress.h"
#include "real/train/world.h"

struct trial {
	char skipped[1024]; /* why; "": it was not */
	struct report predicted, measured;
	struct checks checks;
};

struct trials {
	const struct options *options; /* of `validate` */
	bool for_demo;                 /* every strategy must run and evaluates; no time is judged */
	struct members members;
	struct trial trial[MEMBERS];
	struct progress progress;
	int current;
	int64_t steps;            /* of the strategy at hand */
	const struct report *any; /* a prediction of one that ran; NULL: none */
	bool pass;                /* all checks of those that ran */
	struct world *world;      /* of a rank; NULL: not begun, or none */
	bool joined;              /* this is a rank that a user's mpirun started */
	int rank, ranks;          /* of those */
};

/* Splits --strategy, and finds what is wrong for all of them. command: for the message under mpirun; NULL: it may be a
 * rank. On failure `*out` is to be closed as well. */
enum status trials_open(struct trials **out, const struct options *o, const char *command);
/* In a rank that a user's mpirun started: all begin; then rank 0 does what `validate` does, and the others measure and
 * train when it does, until it closes. */
enum status trials_join(struct trials *t);
enum status trials_follow(struct trials *t);
/* Quickly, in all ranks, when the last measurement of this machine is older than so many seconds. */
enum status trials_calibrate(struct trials *t, enum device_kind kind, int64_t seconds);
/* Those that make no sense with the other options are skipped; if none is left, that is the error. */
enum status trials_run(struct trials *t);
void trials_close(struct trials *t); /* accepts NULL */

bool trials_on_gpu(const struct trials *t);
int64_t trial_cores(void); /* cores that this process may use */

#endif
