/* A folder for the files of one test.
 *
 *     scratch_make();
 *     const char *path = scratch_put("a.csv", bytes, size);
 *     …
 *     scratch_remove();
 */
#ifndef SHARDLAB_TESTS_SCRATCH_H
#define SHARDLAB_TESTS_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_PATHS = 32 };

extern char scratch[64];
/* Of the files that were named, the first first. */
extern char scratch_paths[SCRATCH_PATHS][128];

void scratch_make(void);
/* With its files. There must be no folder in it. */
void scratch_remove(void);

/* The path of a file in it, which lasts until the folder goes. */
const char *scratch_path(const char *name);
/* Writes the file; returns its path. */
const char *scratch_put(const char *name, const void *bytes, size_t size);
const char *scratch_text(const char *name, const char *text);

/* Writes a file anywhere. */
void file_put(const char *path, const void *bytes, size_t size);
void file_put_text(const char *path, const char *text);

/* For any folder: what is in it, -1 if there is none; removes its files. */
int folder_entries(const char *folder);
void folder_empty(const char *folder);

#endif
