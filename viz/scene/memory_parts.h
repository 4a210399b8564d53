/* Shared by the pictures of memory: a scale of bytes, and a stacked bar on it. */
#ifndef SHARDLAB_VIZ_MEMORY_PARTS_H
#define SHARDLAB_VIZ_MEMORY_PARTS_H

#include "viz/scene/scene.h"

struct memory_scale {
	double bytes;    /* at the top */
	double capacity; /* 0: unknown */
	bool line;       /* the capacity is in sight */
};

struct memory_scale memory_scale_for(int64_t peak, int64_t capacity);
/* The bytes that a rank may use; 0: unknown. */
int64_t memory_capacity(const struct timeline *s);
/* The highest peak of all roles. */
int64_t memory_highest(const struct timeline *s, enum space space);

/* How far the line of ranks, and the line of what they hold, stand below the bars. */
double memory_first_line(const struct canvas *c);
double memory_second_line(const struct canvas *c);

void memory_axis(struct canvas *c, struct box b, const struct memory_scale *s);
/* The dashed box: up to where it has been highest. */
void memory_ghost(struct canvas *c, struct box b);
/* Live bytes by category, hatched above the capacity, with a ghost. */
void memory_bar(struct canvas *c, const struct memory_scale *s, struct box b, const int64_t *live, int64_t peak,
                bool letters);
/* A curve of bytes over a plot, by category. */
struct memory_curve {
	struct box plot;
	void (*path)(struct canvas *c, const void *of, int held); /* the sum of the first categories up to this one */
	bool (*ever)(const void *of, int held);                   /* is any of it there? */
	const void *of;
};
void memory_stack(struct canvas *c, const struct memory_curve *curve);
/* The line of the capacity with its name on a plate. Where it lies far above, that is said behind the plot's title,
 * which takes `title` of the width and stands TITLE above the plot. */
enum { MEMORY_TITLE = 12 };
void memory_capacity_line(struct canvas *c, struct box plot, const struct memory_scale *s, int64_t peak, double title);

#endif
