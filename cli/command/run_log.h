/* `train --log FILE.jsonl` or FILE.csv: a line a step, written when the step is done, so that a run that is killed
 * leaves the lines of its steps. A file that is there already is replaced by the first line: a run that ends before its
 * first step leaves it. The new file takes the name as any output does (output.h), and then grows under it. Of a run
 * that was resumed the file has the earlier run's lines as well, up to the step from which it goes on.
 *
 *     struct run_log log = run_log_named("run.csv", false);
 *     run_log_step(&log, &step);
 *     enum status s = run_log_close(&log);          // a line that could not be written is an error: the run went on
 */
#ifndef SHARDLAB_RUN_LOG_H
#define SHARDLAB_RUN_LOG_H

#include <stdio.h>

#include "real/train/train.h"

struct run_log {
	const char *path; /* NULL: there is none */
	FILE *file;       /* from the first step on */
	bool csv;
	bool resumed;
	bool begun;
	int64_t failed_at; /* the first step whose line could not be written; 0: none */
	int error;         /* why: errno */
};

/* STATUS_INPUT: the ending is none of the two, or the file cannot be written. Touches nothing. */
enum status run_log_check(const char *path);
struct run_log run_log_named(const char *path, bool resumed);
void run_log_step(struct run_log *log, const struct train_step *step); /* does nothing with a zeroed struct */
enum status run_log_close(struct run_log *log);                        /* accepts a zeroed struct */
void run_log_release(struct run_log *log);                             /* the same, and says nothing */

#endif
