/* Training on one rank inside the test's own process: the real device and the real executor, without MPI.
 *
 *     struct trainer t;
 *     if (!trainer_open(&t, &made.plan, "tests/golden/text.txt", false))   (the prologue has run)
 *             trainer_step(&t, &loss);
 *     trainer_finish(&t, &checksum);                                       (the epilogue)
 *     trainer_release(&t);
 */
#ifndef SHARDLAB_TESTS_TRAINER_H
#define SHARDLAB_TESTS_TRAINER_H

#include "real/data/data.h"
#include "real/rank/executor.h"
#include "real/rank/memory.h"

struct trainer {
	const struct plan *plan;
	struct dataset data;
	struct rank_memory device;
	struct executor *executor;
};

/* data: as dataset_open's path. The plan is for one rank and outlives the trainer. */
enum status trainer_open(struct trainer *t, const struct plan *p, const char *data, bool guard);
/* Opens rank 0 of a plan for several ranks, whose communicator is the test's own. */
enum status trainer_open_among(struct trainer *t, const struct plan *p, const char *data, bool guard,
                               struct communicator *communicator);
/* With these weights in place of the model's own. */
enum status trainer_open_from(struct trainer *t, const struct plan *p, const char *data,
                              const struct weight_source *weights);
enum status trainer_step(struct trainer *t, double *loss);
/* In place of a step, once: its first forward pass alone, and the logits of the micro-batch, row by row, logits_stride
 * apart. */
enum status trainer_logits(struct trainer *t, const float **logits);
enum status trainer_evaluate(struct trainer *t, double *loss); /* one pass; the mean */
enum status trainer_finish(struct trainer *t, uint64_t *checksum);
void trainer_release(struct trainer *t); /* also after a failed open */

/* A tensor's place in "parameters" or "gradients" of a plan that keeps them whole. */
float *trainer_tensor(struct trainer *t, const char *state, int tensor);

/* The number of a buffer of the role; -1 if it has none of that name. */
int role_buffer(const struct role *r, const char *name);

#endif
