/* What a cluster file may say, as one table: the reader checks against it, the writer prints by it. */
#ifndef SHARDLAB_CLUSTER_FIELDS_H
#define SHARDLAB_CLUSTER_FIELDS_H

#include "strategy/cluster/cluster.h"

enum field_kind {
	FIELD_WHOLE,      /* int64_t */
	FIELD_BYTES,      /* int64_t */
	FIELD_RATE_BYTES, /* struct rate: bytes, may be measured */
	FIELD_PER_SECOND, /* struct rate: FLOP/s or bytes/s */
	FIELD_SECONDS,    /* struct rate: kept in nanoseconds */
	FIELD_SHARE,      /* struct rate: kept in millionths */
};

enum { ON_CPU = 1, ON_GPU = 2, REQUIRED = 4 };

struct field {
	const char *section; /* "" for the top */
	const char *key;
	enum field_kind kind;
	unsigned flags;
	double low, high; /* in the unit of the file */
	size_t offset;    /* in struct cluster */
};

enum { CLUSTER_FIELDS_MOST = 32 };
extern const struct field cluster_fields[];
extern const int cluster_field_count;

/* The sections in the order in which they are written. */
extern const char *const cluster_sections[];
extern const int cluster_section_count;

/* What one of the file's units is, in the units of struct rate: 1e9 for seconds, 1e6 for shares, else 1. */
double field_scale(enum field_kind kind);

#endif
