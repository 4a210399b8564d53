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
};

/* Splits --strategy, and finds what is wrong for all of them. command: for the message under mpirun. On failure `*out`
 * is to be closed as well. */
enum status trials_open(struct trials **out, const struct options *o, const char *command);
/* Those that make no sense with the other options are skipped; if none is left, that is the error. */
enum status trials_run(struct trials *t);
void trials_close(struct trials *t); /* accepts NULL */

bool trials_on_gpu(const struct trials *t);
int64_t trial_cores(void); /* that this process may use */

#endif
