/* Running out of memory, said once. Tables of kilobytes are allocated in hundreds of places, and nothing could go on
 * without them: these end the program with one line and exit status 1, and leave no temporary behind. An allocation
 * that a user can make large (a buffer of the model, a file) fails with STATUS_MEMORY and says what there was no room
 * for.
 *
 *     int *order = calloc(n + 1, sizeof *order);
 *     if (!order)
 *         memory_exhausted();
 */
#ifndef SHARDLAB_MEMORY_H
#define SHARDLAB_MEMORY_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

void memory_exhausted(void) __attribute__((noreturn));

/* malloc, never NULL: also what a library that swallows a failed allocation is given. */
void *memory_take(size_t bytes) __attribute__((returns_nonnull));
char *memory_text(const char *text) __attribute__((returns_nonnull)); /* strdup, likewise */

/* open_memstream, never NULL, and its end: *text is whole, and the caller frees it. */
FILE *memory_stream(char **text, size_t *size) __attribute__((returns_nonnull));
void memory_stream_close(FILE *f);

/* Called first in main: JSON that lacks what there was no memory for is not printed. */
void memory_guard_json(void);

#ifdef __cplusplus
}
#endif
#endif
