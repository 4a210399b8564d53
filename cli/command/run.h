/* A real run, seen from the command: started as a child (cli/command/launch.h), read step by step, and its report at
 * the end.
 */
#ifndef SHARDLAB_RUN_H
#define SHARDLAB_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/options/options.h"
#include "real/train/train.h"

/* A run as the options of `train` or `validate` describe it. */
struct train_options run_options(const struct options *o, const struct settings *settings);

struct run {
	int64_t ranks;
	char *const *arguments;                                        /* of `train`, with --json among them */
	const char *hosts;                                             /* as of struct launch */
	int held;                                                      /* as of struct launch */
	bool watches_steps;                                            /* as of struct launch */
	bool pass_on;                                                  /* print its lines as they come */
	void (*on_step)(void *context, const struct train_step *step); /* NULL: none */
	void *context;
};

/* summary: what the run printed last; empty (role_count 0) if it did not get so far. */
enum status run_start(const struct run *r, struct report *summary);

/* A mistake that all ranks of a user's mpirun have found: rank 0 reports it. The others wait, so that mpirun does not
 * end rank 0 before it has, and end here. */
enum status run_say_once(enum status s, int rank);

/* The two lines of `train --json`. That of a step is also a line of `train --log FILE.jsonl`. */
void run_write_step(const struct train_step *step, FILE *out);
void run_print_step(const struct train_step *step);
void run_print_summary(const struct report *r);

#endif
