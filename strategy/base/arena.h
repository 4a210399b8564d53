/* A bump allocator: what is built together is freed together. A plan, with all its names and operations, lives in one.
 *
 *     struct arena a = {0};
 *     char *name = arena_print(&a, "block.%d", 3);
 *     arena_release(&a);
 *
 * Running out of memory ends the program (memory.h): the plans of the largest models take megabytes, and nothing could
 * go on without them.
 */
#ifndef SHARDLAB_ARENA_H
#define SHARDLAB_ARENA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
	size_t bytes; /* handed out so far */
};

void *arena_alloc(struct arena *a, size_t bytes);                  /* zeroed, aligned to 16 bytes */
void *arena_pack(struct arena *a, size_t bytes, size_t alignment); /* zeroed, aligned to less: a power of 2 */
char *arena_print(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_copy(struct arena *a, const char *text);
void arena_release(struct arena *a); /* accepts NULL and a zeroed arena */

/* The contents of b stay where they are and belong to a; b is then empty. */
void arena_join(struct arena *a, struct arena *b);

/* Makes room for one more element, zeroed, at the end of an array in an arena, which doubles, and may move. A new one
 * is NULL and has no capacity. Memory behind the last element is not touched. */
void *arena_grow(struct arena *a, void *array, int count, int *capacity, size_t element_bytes);
/* Gives back the room of such an array behind its last element; it may move. */
void *arena_fit(struct arena *a, void *array, int count, int *capacity, size_t element_bytes);

/* An array in ordinary memory, for free(): zeroed, and never NULL. */
void *array_make(size_t count, size_t element_bytes) __attribute__((returns_nonnull));
/* Makes such an array without zeroing it, for elements that are written before they are read. */
void *array_unset(size_t count, size_t element_bytes) __attribute__((returns_nonnull));
/* Grows an array that lives in ordinary memory so that `count + 1` elements fit; doubles. `capacity` is updated. */
void *array_reserve(void *array, size_t count, size_t *capacity, size_t element_bytes);

/* Makes room for one more element at the end of an array and counts it: *ARRAY_ADD(…) = … */
#define ARRAY_ADD(array, count, capacity)                                                                              \
	((array) = array_reserve(array, (size_t)(count), &(capacity), sizeof *(array)), &(array)[(count)++])

#ifdef __cplusplus
}
#endif
#endif
