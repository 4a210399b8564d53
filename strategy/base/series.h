/* A figure of every step of a run that may be long, in memory that does not grow with it: all of them while there is
 * room, then those of every second step, of every fourth, …
 *
 *     struct series s;
 *     series_begin(&s, sizeof(double), 1024);
 *     for (int64_t step = 0; …; step++)
 *             series_add(&s, step, &loss);
 *     const double *losses = s.items;              // losses[i] is of step i · s.every, for i < s.count
 *     series_release(&s);
 */
#ifndef SHARDLAB_SERIES_H
#define SHARDLAB_SERIES_H

#include <stddef.h>
#include <stdint.h>

struct series {
	void *items;
	size_t item_bytes;
	int64_t capacity, count, every;
};

/* capacity: even. */
void series_begin(struct series *s, size_t item_bytes, int64_t capacity);
/* step: from 0, each one more than the last. */
void series_add(struct series *s, int64_t step, const void *item);
void series_release(struct series *s); /* accepts NULL and a zeroed struct */

#endif
