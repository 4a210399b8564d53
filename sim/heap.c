#include "sim/heap.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void put(struct heap *h, size_t at, struct heap_entry e)
{
	h->entry[at] = e;
	h->place[e.what] = at + 1;
}

static void rise(struct heap *h, size_t at, struct heap_entry e)
{
	while (at && before(&e, &h->entry[(at - 1) / 2])) {
		put(h, at, h->entry[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(h, at, e);
}

static void sink(struct heap *h, size_t at, struct heap_entry e)
{
	for (size_t child = 2 * at + 1; child < h->count; child = 2 * at + 1) {
		if (child + 1 < h->count && before(&h->entry[child + 1], &h->entry[child]))
			child++;
		if (!before(&h->entry[child], &e))
			break;
		put(h, at, h->entry[child]);
		at = child;
	}
	put(h, at, e);
}

/* The hole at `at` takes e, which may belong above or below. */
static void settle(struct heap *h, size_t at, struct heap_entry e)
{
	if (at && before(&e, &h->entry[(at - 1) / 2]))
		rise(h, at, e);
	else
		sink(h, at, e);
}

void heap_set(struct heap *h, int what, int64_t time)
{
	size_t old = h->place_count;
	h->place = array_reserve(h->place, (size_t)what, &h->place_count, sizeof *h->place);
	if (h->place_count > old)
		memset(h->place + old, 0, (h->place_count - old) * sizeof *h->place);
	size_t place = h->place[what];
	if (place && h->entry[place - 1].time == time)
		return;
	struct heap_entry e = {time, h->inserted++, what};
	if (place) {
		settle(h, place - 1, e);
		return;
	}
	h->entry = array_reserve(h->entry, h->count, &h->capacity, sizeof *h->entry);
	rise(h, h->count++, e);
}

void heap_remove(struct heap *h, int what)
{
	if ((size_t)what >= h->place_count || !h->place[what])
		return;
	size_t at = h->place[what] - 1;
	h->place[what] = 0;
	struct heap_entry last = h->entry[--h->count];
	if (at < h->count)
		settle(h, at, last);
}

int heap_pop(struct heap *h, int64_t *time)
{
	if (!h->count)
		return -1;
	int what = h->entry[0].what;
	*time = h->entry[0].time;
	heap_remove(h, what);
	return what;
}

void heap_release(struct heap *h)
{
	free(h->entry);
	free(h->place);
	*h = (struct heap){0};
}
