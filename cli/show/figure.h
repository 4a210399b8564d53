/* The figures of a report that people compare: one table of them, from which side-by-side tables and CSV files come.
 *
 *     for (const struct figure *f = figures; f->name; f++)
 *             if (f->group == GROUP_PEAK) … figure_value(f, &report, role) …
 */
#ifndef SHARDLAB_FIGURE_H
#define SHARDLAB_FIGURE_H

#include "cli/show/table.h"
#include "strategy/trace/report.h"

/* constant, title in tables */
#define GROUP_LIST(X)                                                                                                  \
	X(PEAK, "memory at the peak")                                                                                  \
	X(STEADY, "memory between steps")                                                                              \
	X(AWAY, "beside the device")                                                                                   \
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
	size_t offset;    /* in the report or in the role: see figure.c */
	int count;        /* it is the sum of so many in a row */
	bool total;       /* the sum of those before it */
	bool whole_run;   /* a figure of all ranks together: the same for each role */
};

extern const struct figure figures[]; /* ends with a name of NULL */
extern const char *const group_titles[GROUP_COUNT];

/* Bytes or nanoseconds; -1: cannot be counted. */
int64_t figure_value(const struct figure *f, const struct report *r, int role);
/* One unit for all the figures of a group, in all the reports. */
struct scale group_scale(enum figure_group g, const struct report *const *reports, int count);

#endif
