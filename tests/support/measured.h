/* What a run on all ranks of this job measured, against what its plan says: memory by category, calls and bytes by
 * kind, to the byte. */
#ifndef SHARDLAB_TESTS_MEASURED_H
#define SHARDLAB_TESTS_MEASURED_H

#include "strategy/trace/report.h"
#include "tests/support/plans.h"

/* What was counted as it was sent: not what a library's collectives send; nor, where control values are the library's
 * too, those. */
enum counted { COUNTED_MESSAGES, COUNTED_CONTROL, COUNTED_ALL };

/* Counts what differs as failed checks (tests/support/ranks.h). Called on every rank; rank 0 has the report. */
void compare_with_plan(const char *what, const struct request *q, const struct report *measured, enum counted counted);

#endif
