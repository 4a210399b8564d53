/* A rehearsal carries out a plan to measure its times, on made-up samples, so that no data files are needed.
 * Calibration and benchmarks run the same plans, executor and kernels as training does, and read the executor's spans.
 *
 *     struct rehearsal_case what = {"gpt", "single", 4};
 *     struct rehearsal r;
 *     enum status s = rehearsal_open(&r, &what, NULL);
 *     if (!s)
 *         s = executor_run(r.executor, r.step);           … executor_span, executor_times …
 *     rehearsal_release(&r);
 */
#ifndef SHARDLAB_REHEARSAL_H
#define SHARDLAB_REHEARSAL_H

#include "real/device/device.h"

struct rehearsal_case {
	const char *model, *strategy;
	int64_t micro_batch;
	enum type precision; /* 0: fp32 */
};

struct rehearsal {
	struct model model;
	struct plan plan;
	struct device device;
	struct executor *executor;
	const struct section *step;
};

/* Ready for steps: the prologue is done. communicator: of the ranks that open the plan together; NULL: one rank. */
enum status rehearsal_open(struct rehearsal *r, const struct rehearsal_case *what, struct communicator *communicator);
/* The same with settings of one's own, resolved, and on a device of one's choice. */
enum status rehearsal_open_settings(struct rehearsal *r, const struct settings *settings,
                                    const struct device_choice *choice, struct communicator *communicator);
/* The settings of a case, not yet resolved. */
struct settings rehearsal_settings(const struct rehearsal_case *what, int64_t ranks);
void rehearsal_release(struct rehearsal *r); /* accepts NULL and a zeroed struct; also after a failed open */

#endif
