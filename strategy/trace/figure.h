/* The figures of a report that people compare. The report's own list says of each where it stands in tables
 * (report_json.c), so that one row makes its JSON, its reading, and its line in tables and CSV files.
 *
 *     for (const struct figure *f = report_figures(); f->name; f++)
 *             if (f->group == GROUP_PEAK) … figure_value(f, &report, role) …
 */
#ifndef SHARDLAB_FIGURE_H
#define SHARDLAB_FIGURE_H

#include "strategy/trace/json_form.h"
#include "strategy/trace/report.h"

/* constant, title in tables */
#define GROUP_LIST(X)                                                                                                  \
	X(PEAK, "memory at the peak")                                                                                  \
	X(STEADY, "memory between steps")                                                                              \
	X(BESIDE, "beside the device")                                                                                 \
	X(TRAFFIC, "a rank, each step")                                                                                \
	X(TIME, "time of a step")                                                                                      \
	X(TIGHTEST, "the fullest memory, with libraries")

enum figure_group {
#define X(constant, title) GROUP_##constant,
	GROUP_LIST(X)
#undef X
	        GROUP_COUNT
};

struct figure {
	enum figure_group group;
	const char *name; /* in tables */
	const char *key;  /* in CSV files, with the unit: bytes or nanoseconds */
	int count;        /* it is the sum of so many in a row; 0: of one */
	bool total;       /* it stands below the others of its group */
	/* The figure's place, which the list below fills in: in the report, the same for each role, or in a role. */
	bool whole_run;
	size_t offset;
};

/* Group by group, and ends with a name of NULL. */
const struct figure *report_figures(void);
/* Bytes or nanoseconds; -1: cannot be counted. */
int64_t figure_value(const struct figure *f, const struct report *r, int role);

/* ---- for those that write a report's list ---- */

struct figure_list {
	const struct report *report; /* the report whose members the figures are */
	struct figure figure[32];
	int count;
};
/* Returns `v`, a member of the report, and notes its place in tables, if that is asked. A figure without a name has
 * none. */
int64_t *figure_shown(const struct form *f, int64_t *v, struct figure where);

#endif
