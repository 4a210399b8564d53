/* The user's view of a training, and its files that grow with it: the lines of steps, the log, the curves, the summary.
 *
 *     struct train_view v;
 *     train_view_begin(&v, &options, &train);
 *     train_view_log(&v);                          // this process writes the log
 *     … train_view_step(&v, &step) …               // after each step
 *     s = train_view_close(&v, &measured, s);
 *     train_view_end(&v, &predicted, &measured);   // for a terminal
 *     train_view_release(&v);
 */
#ifndef SHARDLAB_TRAIN_VIEW_H
#define SHARDLAB_TRAIN_VIEW_H

#include "cli/command/run_log.h"
#include "cli/options/options.h"
#include "cli/show/curve.h"
#include "cli/show/progress.h"

struct train_view {
	bool json;
	bool passes_on;         /* the ranks' lines, instead of making them */
	bool draws;             /* the losses as text at the end */
	bool validates;         /* while it trains */
	bool resumes;           /* an earlier run */
	int64_t steps, first;   /* first: 0 until it is done */
	int64_t noted;          /* the last step that the curves have: after a restart steps come again */
	int64_t made;           /* since it was started */
	double said;            /* when the last line of a step was printed, by clock_seconds() */
	double silence;         /* seconds without one after which a step has one */
	const char *log, *plot; /* files; NULL: none */
	struct run_log lines;
	struct curves curves;
	struct progress progress;
};

void train_view_begin(struct train_view *v, const struct options *o, const struct train_options *t);
void train_view_log(struct train_view *v);
/* context: the viewer. */
void train_view_step(void *context, const struct train_step *step);
/* Closes the log and writes the picture, of a run that was done or stopped: s. A file that could not be written makes
 * no good run of a failed one. */
enum status train_view_close(struct train_view *v, const struct report *measured, enum status s);
void train_view_end(const struct train_view *v, const struct report *predicted, const struct report *measured);
void train_view_release(struct train_view *v);

#endif
