#include "strategy/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/memory.h"
#include "strategy/base/status.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	_Alignas(ALIGNMENT) char data[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	struct arena_chunk *c = a->chunks;
	if (!c || c->size - c->used < bytes) {
		size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
		c = calloc(1, sizeof *c + size);
		if (!c)
			memory_exhausted();
		c->size = size;
		c->next = a->chunks;
		a->chunks = c;
	}
	void *p = c->data + c->used;
	c->used += bytes;
	a->bytes += bytes;
	return p;
}

char *arena_print(struct arena *a, const char *format, ...)
{
	int n;
	WITH_ARGS(format, n = vsnprintf(NULL, 0, format, args));
	char *text = arena_alloc(a, (size_t)n + 1);
	WITH_ARGS(format, vsnprintf(text, (size_t)n + 1, format, args));
	return text;
}

char *arena_copy(struct arena *a, const char *text)
{
	return arena_print(a, "%s", text);
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

void *arena_grow(struct arena *a, void *array, int count, int *capacity, size_t element_bytes)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? 2 * *capacity : 256;
	void *grown = arena_alloc(a, (size_t)*capacity * element_bytes);
	if (count)
		memcpy(grown, array, (size_t)count * element_bytes);
	return grown;
}

void *array_make(size_t count, size_t element_bytes)
{
	void *p = calloc(count + 1, element_bytes);
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
