#include "strategy/base/text_table.h"

#include <stdlib.h>

static uint64_t hash(const struct stream_text *a, const struct stream_text *b)
{
	uint64_t h = 1469598103934665603U; /* FNV-1a */
	for (size_t i = 0; i < a->size; i++)
		h = (h ^ (unsigned char)a->text[i]) * 1099511628211U;
	h = (h ^ 0xFF) * 1099511628211U;
	for (size_t i = 0; i < b->size; i++)
		h = (h ^ (unsigned char)b->text[i]) * 1099511628211U;
	return h;
}

/* The place of the pair, or the free one where it would go. */
static struct text_entry *place(const struct text_table *t, const struct stream_text *a, const struct stream_text *b)
{
	size_t at = hash(a, b) & (t->capacity - 1);
	while (t->entries[at].used && !(stream_same(&t->entries[at].a, a) && stream_same(&t->entries[at].b, b)))
		at = (at + 1) & (t->capacity - 1);
	return &t->entries[at];
}

struct text_entry *text_table_find(const struct text_table *t, struct stream_text a, struct stream_text b)
{
	struct text_entry *e = t->capacity ? place(t, &a, &b) : NULL;
	return e && e->used ? e : NULL;
}

static void grow(struct text_table *t)
{
	struct text_table grown = {.count = t->count, .capacity = t->capacity ? 2 * t->capacity : 256};
	grown.entries = array_make(grown.capacity, sizeof *grown.entries);
	for (size_t i = 0; i < t->capacity; i++)
		if (t->entries[i].used)
			*place(&grown, &t->entries[i].a, &t->entries[i].b) = t->entries[i];
	free(t->entries);
	*t = grown;
}

struct text_entry *text_table_add(struct text_table *t, struct stream_text a, struct stream_text b)
{
	if (2 * t->count >= t->capacity)
		grow(t);
	struct text_entry *e = place(t, &a, &b);
	if (!e->used) {
		*e = (struct text_entry){.a = a, .b = b, .used = true, .number = -1};
		t->count++;
	}
	return e;
}

void text_table_release(struct text_table *t)
{
	free(t->entries);
	*t = (struct text_table){0};
}
