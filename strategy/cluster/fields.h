/* The fields of a cluster file as one table, by which the reader checks and the writer prints. */
#ifndef SHARDLAB_CLUSTER_FIELDS_H
#define SHARDLAB_CLUSTER_FIELDS_H

#include <stdio.h>

#include "strategy/cluster/cluster.h"

enum field_kind {
	FIELD_TEXT,       /* char[], of at most `high` bytes */
	FIELD_CARD,       /* char[]: one of STACK_CARDS */
	FIELD_KIND,       /* enum device_kind */
	FIELD_SECTION,    /* fields of its own, under its key */
	FIELD_COMPUTE,    /* curves */
	FIELD_SLOW,       /* factors of ranks */
	FIELD_WHOLE,      /* int64_t */
	FIELD_BYTES,      /* int64_t */
	FIELD_RATE_BYTES, /* struct rate: bytes, may be measured */
	FIELD_PER_SECOND, /* struct rate: FLOP/s or bytes/s */
	FIELD_SECONDS,    /* struct rate: kept in nanoseconds */
	FIELD_SHARE,      /* struct rate: kept in millionths */
};

/* The devices on which a field may stand, and those on which it must. */
enum { ON_CPU = 1, ON_GPU = 2, CPU_NEEDS = 4, GPU_NEEDS = 8, REQUIRED = CPU_NEEDS | GPU_NEEDS };

struct field {
	const char *section; /* "" for the top */
	const char *key;
	enum field_kind kind;
	unsigned flags;
	double low, high; /* in the unit of the file */
	size_t offset;    /* in struct cluster */
};

/* The fields of a section in the order in which they are read and written: returns how many. */
enum { SECTION_FIELDS = 16 };
int cluster_section_fields(const char *section, const struct field *fields[SECTION_FIELDS]);

/* One of the file's units in the units of struct rate: 1e9 for seconds, 1e6 for shares, else 1. */
double field_scale(enum field_kind kind);
/* Prints the digits of value / scale, which llround(v · scale) turns back into the same integer. */
void print_scaled(int64_t value, double scale, FILE *out);
/* Text as YAML has it in single quotes. */
void print_text(const char *text, FILE *out);

#endif
