/* Shared by the files that read a plan's text: read.c (groups, roles, buffers, sections),
 * read_settings.c and read_op.c (operations). */
#ifndef SHARDLAB_TEXT_READ_H
#define SHARDLAB_TEXT_READ_H

#include "strategy/plan/plan.h"
#include "strategy/plan/text/scan.h"

/* Sums and products of two such sizes stay within 63 bits wherever plans are read. */
#define READ_MOST_ELEMENTS ((int64_t)1 << 56)
#define READ_MOST_RANKS ((int64_t)1 << 30)

struct reader {
	struct scan scan;
	struct plan *p;
	struct model *model;
	unsigned settings_seen; /* bit by key */
	bool model_open;
	struct names tensors, kernels, units, groups; /* of the plan */
	struct role *role;                            /* at hand; NULL before the first */
	int section;                                  /* at hand; -1 before the first */
	struct names buffers, labels;                 /* of the role */
	struct waiting {                              /* labels behind `after`, until the role is complete */
		int op, line, column;
		char *label;
	} * waits;
	size_t wait_count, wait_capacity;
};

/* "set key value": the line at hand. */
enum status read_setting(struct reader *r);
/* "axis shard 4 data": the line at hand. */
enum status read_axis(struct reader *r);
/* The settings and axes are complete: the model is opened, and its names become known. Does nothing the second time. */
enum status read_model(struct reader *r);
/* "12: linear.forward …": the line at hand. */
enum status read_op(struct reader *r);
/* The role is complete: labels become numbers of operations. */
enum status resolve_waits(struct reader *r);

#endif
