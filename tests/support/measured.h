/* Compares what a run on all ranks of this job measured with its plan: memory by category, calls and bytes by
 * kind, to the byte. */
#ifndef SHARDLAB_TESTS_MEASURED_H
#define SHARDLAB_TESTS_MEASURED_H

#include "strategy/trace/report.h"
#include "tests/support/plans.h"

/* The bytes that are counted as they are sent. A library's collectives are not counted, and neither are control values
 * where the library sends those too. */
enum counted { COUNTED_MESSAGES, COUNTED_CONTROL, COUNTED_ALL };

/* Counts what differs as failed checks (tests/support/ranks.h). Called on every rank; rank 0 has the report. */
void compare_with_plan(const struct settings *q, const struct report *measured, enum counted counted);

/* The same of one role's memory, but for its arenas, and of what was copied. */
void compare_role(const char *what, const struct report_role *measured, const struct report_role *planned);

#endif
