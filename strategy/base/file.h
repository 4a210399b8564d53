/* Files that a setting names: read whole, and written so that they are there whole or not at all. `setting` is for
 * messages, as in "{plan}". */
#ifndef SHARDLAB_FILE_H
#define SHARDLAB_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "strategy/base/status.h"

/* The caller frees *text. A file that cannot be read or is larger than `most` bytes is STATUS_INPUT. */
enum status file_read(const char *path, const char *setting, size_t most, char **text, size_t *size);

/* `write` prints into PATH.PID.tmp, which is renamed at the end. A file that cannot be opened is STATUS_INPUT. */
enum status file_write(const char *path, const char *setting, enum status (*write)(void *context, FILE *out),
                       void *context);
/* Checks that file_write could, for files that are written at the end of a long run. */
enum status file_check_writable(const char *path, const char *setting);

#endif
