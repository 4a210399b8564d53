/* Predicted beside measured: the checks that `validate` makes on two reports of the same plan. */
#ifndef SHARDLAB_CLI_CHECK_H
#define SHARDLAB_CLI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "strategy/trace/report.h"

struct check {
	char quantity[64]; /* "device.at_peak.gradients_bytes"; bytes have "bytes" in the name, times end in "_s" */
	char role[32];     /* or "rank 3"; "all" for times */
	int64_t predicted, measured; /* bytes, calls, nanoseconds */
	bool is_time;
	bool limited; /* must hold */
	double limit; /* of the error */
	bool pass;
};

struct checks {
	struct check *list;
	size_t count, capacity;
	bool pass;
};

#define CHECK_TIME_LIMIT 0.10 /* of a step, where there is a core for each thread; of one rank on a GPU */

/* One check for every category at the peak and between steps, the peak, the arena, and calls, payload, sent and
 * received bytes of every kind of communication and of copies between spaces, for every role; for each rank's own of
 * these, where there are any; and for the times. What cannot be counted in a library's collective has none. time_limit:
 * of the step's error; negative: none. */
void checks_make(struct checks *c, const struct report *predicted, const struct report *measured, double time_limit);
void checks_release(struct checks *c);

/* Interference from other programs only ever makes steps longer, so of two runs the faster one counts. */
bool check_run_is_faster(const struct report *run, const struct report *other);

/* STATUS_CHECK if the demo ends below this accuracy in %, which a sound MLP exceeds with room to spare. */
#define CHECK_ACCURACY 88.0
enum status check_accuracy(const char *strategy, const struct report *measured);

/* |predicted − measured| ÷ measured; 0 if both are 0, 1 if only one is. */
double check_error(const struct check *c);
json_t *checks_to_json(const struct checks *c); /* the list. New reference */

#endif
