/* A list of strings in the order in which they came, each once. One is put together at the end of the list; finishing
 * it gives its number, which may be that of an equal one before.
 *
 *     strings_put(&s, '[');
 *     strings_put_whole(&s, 12);
 *     number = strings_finish(&s);
 */
#ifndef SHARDLAB_VIZ_STRINGS_H
#define SHARDLAB_VIZ_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strings {
	struct string {
		size_t at, length;
		uint32_t hash;
	} * list;
	size_t count, capacity;
	int *slots; /* by hash: a string's number + 1, 0 where there is none */
	size_t slot_count;
	char *bytes; /* one behind the other; behind them, up to `written`, the one that is being written */
	size_t length, byte_capacity, written;
	bool failed; /* there was no memory */
};

void strings_release(struct strings *s);
void strings_put(struct strings *s, char byte);
void strings_put_all(struct strings *s, const char *text);
void strings_put_whole(struct strings *s, int64_t v);
/* In quotes, as JSON that neither ends a string nor a script. */
void strings_put_quoted(struct strings *s, const char *text, size_t length);
/* The number of the string that was put together; -1: there was no memory. */
int strings_finish(struct strings *s);

/* Makes room for one more in an array; false: there is no memory, and it stays as it was. */
bool array_grow(void **array, size_t *capacity, size_t count, size_t size);

#endif
