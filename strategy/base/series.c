#include "strategy/base/series.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

void series_begin(struct series *s, size_t item_bytes, int64_t capacity)
{
	*s = (struct series){.items = array_make((size_t)capacity, item_bytes),
	                     .item_bytes = item_bytes,
	                     .capacity = capacity,
	                     .every = 1};
}

static char *item_of(const struct series *s, int64_t i)
{
	return (char *)s->items + (size_t)i * s->item_bytes;
}

static void thin_out(struct series *s)
{
	s->count /= 2;
	s->every *= 2;
	for (int64_t i = 1; i < s->count; i++)
		memcpy(item_of(s, i), item_of(s, 2 * i), s->item_bytes);
}

void series_add(struct series *s, int64_t step, const void *item)
{
	if (step % s->every)
		return;
	if (s->count == s->capacity)
		thin_out(s);
	if (step % s->every == 0)
		memcpy(item_of(s, s->count++), item, s->item_bytes);
}

void series_release(struct series *s)
{
	if (!s)
		return;
	free(s->items);
	*s = (struct series){0};
}
