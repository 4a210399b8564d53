/* Predicted beside measured: the checks that `validate` makes on two reports of the same plan. */
#ifndef SHARDLAB_CLI_CHECK_H
#define SHARDLAB_CLI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "strategy/trace/report.h"

struct check {
	char quantity[64]; /* "device.at_peak.gradients_bytes"; bytes have "bytes" in the name, times end in "_s" */
	char role[16];     /* "all" for times */
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

/* One check for every category at the peak and between steps, the peak, and calls, payload and sent bytes of every kind
 * of communication and of copies between spaces, for every role; and for the times. What cannot be counted in a
 * library's collective has none. time_limit: of the step's error; negative: none. */
void checks_make(struct checks *c, const struct report *predicted, const struct report *measured, double time_limit);
void checks_release(struct checks *c);

/* |predicted − measured| ÷ measured; 0 if both are 0, 1 if only one is. */
double check_error(const struct check *c);
json_t *checks_to_json(const struct checks *c); /* the list. New reference */

#endif
