#include "strategy/collective/chunks.h"

#include <stddef.h>
#include <string.h>

#include "strategy/base/arena.h"

struct cuts {
	int64_t *list;
	size_t count, capacity;
	size_t last; /* the last one added: the next is often the same, or the one behind */
};

/* The same few come again and again: they are kept in order, each once. */
static void add_cut(struct cuts *c, int64_t cut)
{
	size_t low = 0, high = c->count;
	for (size_t i = c->last; i < high && i < c->last + 2; i++)
		if (c->list[i] == cut) {
			c->last = i;
			return;
		}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c->list[middle] < cut)
			low = middle + 1;
		else
			high = middle;
	}
	c->last = low;
	if (low < c->count && c->list[low] == cut)
		return;
	c->list = array_reserve(c->list, c->count, &c->capacity, sizeof *c->list);
	memmove(c->list + low + 1, c->list + low, (c->count - low) * sizeof *c->list);
	c->list[low] = cut;
	c->count++;
}

int64_t *schedule_cuts(const struct schedule *s, int *chunks)
{
	struct cuts c = {0};
	int64_t rounds = schedule_rounds(s);
	add_cut(&c, 0);
	add_cut(&c, s->elements);
	for (int64_t round = 0; round < rounds; round++)
		for (int64_t rank = 0; rank < s->ranks; rank++) {
			struct round r = schedule_round(s, rank, round);
			if (r.send_to < 0)
				continue;
			add_cut(&c, r.send_offset);
			add_cut(&c, r.send_offset + r.send_count);
		}
	*chunks = (int)c.count - 1;
	return c.list;
}
