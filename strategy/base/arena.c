#include "strategy/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/memory.h"
#include "strategy/base/status.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct arena_chunk {
	struct arena_chunk *next, *previous;
	size_t used, size;
	_Alignas(ALIGNMENT) char data[];
};

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* c: fresh memory for a chunk of this size. Small things are taken from the first chunk; one that is full stands behind
 * it. */
static struct arena_chunk *add_chunk(struct arena *a, struct arena_chunk *c, size_t size, bool full)
{
	struct arena_chunk *before = full ? a->chunks : NULL;
	struct arena_chunk **place = before ? &before->next : &a->chunks;
	if (!c)
		memory_exhausted();
	*c = (struct arena_chunk){.next = *place, .previous = before, .used = full ? size : 0, .size = size};
	if (c->next)
		c->next->previous = c;
	return *place = c;
}

void *arena_pack(struct arena *a, size_t bytes, size_t alignment)
{
	struct arena_chunk *c = a->chunks;
	size_t at = c ? (c->used + alignment - 1) & ~(alignment - 1) : 0;
	if (!c || at > c->size || c->size - at < bytes) {
		size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
		c = add_chunk(a, calloc(1, sizeof *c + size), size, false);
		at = 0;
	}
	a->bytes += at + bytes - c->used;
	c->used = at + bytes;
	return c->data + at;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	return arena_pack(a, bytes, ALIGNMENT);
}

/* A chunk by itself, whose bytes are left as they are. */
static void *alloc_alone(struct arena *a, size_t bytes)
{
	bytes = aligned(bytes);
	struct arena_chunk *c = add_chunk(a, malloc(sizeof *c + bytes), bytes, true);
	a->bytes += bytes;
	return c->data;
}

/* The same for what has a chunk by itself already. Of a large one the system moves pages, and copies none. */
static void *grow_alone(struct arena *a, void *data, size_t bytes)
{
	struct arena_chunk *c = (struct arena_chunk *)((char *)data - offsetof(struct arena_chunk, data));
	bytes = aligned(bytes);
	a->bytes += bytes - c->size;
	c = realloc(c, sizeof *c + bytes);
	if (!c)
		memory_exhausted();
	c->used = c->size = bytes;
	*(c->previous ? &c->previous->next : &a->chunks) = c;
	if (c->next)
		c->next->previous = c;
	return c->data;
}

char *arena_print(struct arena *a, const char *format, ...)
{
	int n;
	char usual[128];
	WITH_ARGS(format, n = vsnprintf(usual, sizeof usual, format, args));
	char *text = arena_pack(a, (size_t)n + 1, 1);
	if ((size_t)n < sizeof usual)
		memcpy(text, usual, (size_t)n);
	else
		WITH_ARGS(format, vsnprintf(text, (size_t)n + 1, format, args));
	return text;
}

char *arena_copy(struct arena *a, const char *text)
{
	size_t n = strlen(text);
	return memcpy(arena_pack(a, n + 1, 1), text, n);
}

void arena_release(struct arena *a)
{
	if (!a)
		return;
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;
		free(a->chunks);
		a->chunks = next;
	}
	a->bytes = 0;
}

void arena_join(struct arena *a, struct arena *b)
{
	struct arena_chunk *first = a->chunks, *last = b->chunks;
	a->bytes += b->bytes;
	while (last && last->next)
		last = last->next;
	if (!first) {
		a->chunks = b->chunks;
	} else if (last) { /* behind the first, which still has room */
		last->next = first->next;
		if (last->next)
			last->next->previous = last;
		first->next = b->chunks;
		b->chunks->previous = first;
	}
	*b = (struct arena){0};
}

void *arena_grow(struct arena *a, void *array, int count, int *capacity, size_t element_bytes)
{
	if (count >= *capacity) {
		bool first = !*capacity;
		*capacity = first ? 256 : 2 * *capacity;
		size_t bytes = (size_t)*capacity * element_bytes;
		array = first ? alloc_alone(a, bytes) : grow_alone(a, array, bytes);
	}
	memset((char *)array + (size_t)count * element_bytes, 0, element_bytes);
	return array;
}

void *arena_fit(struct arena *a, void *array, int count, int *capacity, size_t element_bytes)
{
	if (!*capacity)
		return array;
	*capacity = count;
	return grow_alone(a, array, (size_t)count * element_bytes);
}

void *array_make(size_t count, size_t element_bytes)
{
	void *p = calloc(count + 1, element_bytes);
	if (!p)
		memory_exhausted();
	return p;
}

void *array_unset(size_t count, size_t element_bytes)
{
	if (count >= SIZE_MAX / element_bytes)
		memory_exhausted();
	void *p = malloc((count + 1) * element_bytes);
	if (!p)
		memory_exhausted();
	return p;
}

void *array_reserve(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
	if (count < *capacity)
		return array;
	size_t grown = *capacity ? 2 * *capacity : 16;
	while (grown <= count)
		grown *= 2;
	void *p = realloc(array, grown * element_bytes);
	if (!p)
		memory_exhausted();
	*capacity = grown;
	return p;
}
