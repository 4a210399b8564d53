/* Stretches of time during which something is busy.
 *
 *     struct intervals busy = {0};
 *     intervals_add(&busy, begin, end);            // in any order
 *     intervals_unite(&busy);                      // from here on they are apart and ascending
 *     … intervals_within(&busy, from, to) …        // ns of it that are busy
 *     free(busy.list);
 */
#ifndef SHARDLAB_INTERVAL_H
#define SHARDLAB_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

struct interval {
	int64_t begin, end;
};

struct intervals {
	struct interval *list;
	size_t count, capacity;
};

void intervals_add(struct intervals *v, int64_t begin, int64_t end);
/* Sorts them and joins those that touch. */
void intervals_unite(struct intervals *v);

/* For united intervals: their total length, the part of it within a stretch of time, and the part in both of two. */
int64_t intervals_length(const struct intervals *v);
int64_t intervals_within(const struct intervals *v, int64_t begin, int64_t end);
int64_t intervals_common(const struct intervals *a, const struct intervals *b);

#endif
