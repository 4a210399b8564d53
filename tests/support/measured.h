/* What a run on all ranks of this job measured, against what its plan says: memory by category, calls and bytes by
 * kind, to the byte. */
#ifndef SHARDLAB_TESTS_MEASURED_H
#define SHARDLAB_TESTS_MEASURED_H

#include "strategy/trace/report.h"
#include "tests/support/plans.h"

/* Counts what differs as failed checks (tests/support/ranks.h). Called on every rank; rank 0 has the report. counted:
 * bytes were counted as they were sent (not inside a library's collectives). */
void compare_with_plan(const char *what, const struct request *q, const struct report *measured, bool counted);

#endif
