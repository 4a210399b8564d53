/* Memory: how much a role needs at once, and where its buffers stand. */
#ifndef SHARDLAB_PLAN_LAYOUT_H
#define SHARDLAB_PLAN_LAYOUT_H

#include "strategy/plan/types.h"

struct memory_use {
	int64_t peak_bytes;
	int peak_op; /* the operation that reaches it first; -1: what is alive between steps is as much */
	int64_t at_peak[CATEGORY_COUNT];
	int64_t steady[CATEGORY_COUNT]; /* between steps */
	int64_t arena_bytes;            /* what the layout needs */
};

int64_t buffer_bytes(const struct buffer *b);
/* Peak over the step, in issue order; arena_bytes from plan_layout. */
void plan_memory(const struct plan *p, const struct role *r, enum space space, struct memory_use *out);
/* Counts the peak without arena_bytes, which are most of the work. */
void plan_peak(const struct role *r, enum space space, struct memory_use *out);
/* Counts the peak of another section, which begins with all state and nothing else. */
void plan_section_peak(const struct role *r, const struct section *s, enum space space, struct memory_use *out);

/* Offsets of a role's buffers in one arena per space: buffers share bytes only if waits order every use of the first
 * before the first use of the second (strategy/plan/layout.c). offsets has buffer_count entries. `guard` bytes are left
 * free around each buffer (0, or a zone in which test runs look for strays). */
#define LAYOUT_ALIGNMENT 64
struct layout {
	int64_t *offset;
	int64_t arena_bytes[SPACE_COUNT];
};
void layout_make(struct layout *l, const struct plan *p, const struct role *r, int64_t guard);
void layout_release(struct layout *l);
/* The bytes that the layout of one space needs, without its offsets; or what they cannot be below or above, which is
 * found sooner. */
enum layout_bound { LAYOUT_LEAST, LAYOUT_MOST, LAYOUT_EXACT };
int64_t layout_arena_bytes(const struct role *r, enum space space, enum layout_bound bound);
/* Describes the place of a memory peak (memory_use.peak_op): the operation that was allocated for; "between steps" for
 * -1; "the end of the step" where none follows. */
void plan_peak_describe(const struct plan *p, const struct role *r, int peak_op, char *out, int size);

#endif
