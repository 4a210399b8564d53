/* A timed run carries out a plan to measure its times, on made-up samples, so that no data files are needed.
 * Calibration and benchmarks run the same plans, executor and kernels as training does, and read the executor's spans.
 *
 *     struct timed_case what = {"gpt", "single", 4};
 *     struct timed_run r;
 *     enum status s = timed_run_open(&r, &what, NULL);
 *     if (!s)
 *         s = executor_run(r.executor, r.step);           … executor_span, executor_times …
 *     timed_run_release(&r);
 */
#ifndef SHARDLAB_TIMED_RUN_H
#define SHARDLAB_TIMED_RUN_H

#include "real/device/device.h"

struct timed_case {
	const char *model, *strategy;
	int64_t micro_batch;
	enum type precision; /* 0: fp32 */
};

struct timed_run {
	struct model model;
	struct plan plan;
	struct device device;
	struct executor *executor;
	const struct section *step;
};

/* Ready for steps: the prologue is done. communicator: of the ranks that open the plan together; NULL: one rank. */
enum status timed_run_open(struct timed_run *r, const struct timed_case *what, struct communicator *communicator);
/* The same with settings of one's own, resolved, and on a device of one's choice. */
enum status timed_run_open_settings(struct timed_run *r, const struct settings *settings,
                                    const struct device_choice *choice, struct communicator *communicator);
/* The settings of a case, not yet resolved. */
struct settings timed_run_settings(const struct timed_case *what, int64_t ranks);
void timed_run_release(struct timed_run *r); /* accepts NULL and a zeroed struct; also after a failed open */

#endif
