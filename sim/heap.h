/* The event queue: a binary heap of (time, insertion number, what). Among equal times the one that was inserted first
 * comes out first, so the order never depends on memory addresses.
 *
 *     heap_set(&h, 7, 1000);              // event 7 happens at 1000 ns; if it is in already, it moves
 *     int what = heap_pop(&h, &now);      // 7, and now = 1000
 */
#ifndef SHARDLAB_SIM_HEAP_H
#define SHARDLAB_SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_entry {
	int64_t time;
	uint64_t number;
	int what;
};

struct heap {
	struct heap_entry *entry;
	size_t count, capacity;
	size_t *place; /* by what: 1 + its place in the heap; 0: not in it */
	size_t place_count;
	uint64_t inserted;
};

void heap_release(struct heap *h);
void heap_set(struct heap *h, int what, int64_t time); /* an event that stays at its time keeps its number */
void heap_remove(struct heap *h, int what);            /* nothing if it is not in */
int heap_pop(struct heap *h, int64_t *time);           /* -1 if empty */

static inline bool heap_empty(const struct heap *h)
{
	return !h->count;
}

#endif
