/* Helpers for tests of training on all ranks of a job: the images they train on, the run on one rank that theirs are
 * compared with, and the comparison. What differs is counted as failed checks (tests/support/ranks.h); rank 0 has the
 * reports.
 *
 *     runs_begin(&argc, &argv, 200, 20);
 *     runs_single(&single, STEPS, false, losses, NULL);
 *     const struct report *r = runs_train(&settings, &(struct runs_how){.steps = STEPS});
 *     if (r)
 *             runs_compare_losses("zero2", r, losses, 1e-4);
 *     return runs_finish("mpi_train");
 */
#ifndef SHARDLAB_TESTS_RUNS_H
#define SHARDLAB_TESTS_RUNS_H

#include "real/train/train.h"
#include "tests/support/plans.h"

/* MPI, one thread a rank, and so many small images in a folder that all ranks know. */
void runs_begin(int *argc, char ***argv, int training, int validation);
int runs_finish(const char *name); /* as ranks_finish, and the folder is gone */

/* The path of the text, or of the images, that a model trains on. */
const char *runs_data(const char *model);

/* Rank 0 writes the plan's text where all can read it; the path. */
const char *runs_write_plan(const struct settings *q);

/* The same, of a plan whose squares for the global norm stand in the order of a second one, with offload: the norm is a
 * sum in fp32, and the host adds up groups as they arrive. */
const char *runs_write_plan_as(const struct settings *q, const struct settings *offloaded);

/* Names what is trained, for messages, until the next call. */
const char *runs_name(const struct settings *q);

/* How all ranks train. */
struct runs_how {
	int64_t steps;
	const char *communicator; /* NULL: ring; mpi: by the library's collectives */
	const char *plan;         /* a file; NULL: the settings' */
	bool guard, no_evaluation;
};
struct train_options runs_options(const struct settings *q, const struct runs_how *how);
/* Returns the measured report, which stays until the program ends; if training fails, NULL and a failed check. */
const struct report *runs_run(const struct settings *q, const struct train_options *o);
const struct report *runs_train(const struct settings *q, const struct runs_how *how);

/* Two runs gave the same bits. */
void runs_same_weights(const char *what, const struct report *a, const struct report *b);

/* All of the validation data, each sample once. */
struct validation {
	double loss, accuracy;
};

/* The losses on one rank, and after the last step the validation (NULL: none), by rank 0 without MPI; the other ranks
 * get nothing. */
void runs_single(const struct settings *q, int steps, bool guard, double *losses, struct validation *validation);

/* Against those of one rank, within `limit` of each; the largest error, relative. */
double runs_compare_losses(const char *what, const struct report *r, const double *single, double limit);

/* Carried out in five ways: all steps, and the first few of them again, through the library's collectives, with guarded
 * memory, and from the plan's text. All have the losses of one rank within `limit`, and its validation after the few
 * (NULL: not known), the planned bytes, the same bits. Returns as runs_compare_losses. */
double runs_five_ways(const struct settings *q, int steps, int few, const double *single,
                      const struct validation *validation, double limit);

#endif
