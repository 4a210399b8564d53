/* Files that a setting names: read whole, and written so that they are there whole or not at all. `setting` is for
 * messages, as in "{plan}". */
#ifndef SHARDLAB_FILE_H
#define SHARDLAB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "strategy/base/status.h"

/* Opens a file to read from. Never waits: a FIFO is STATUS_INPUT, since nobody may ever write into it. The shell's
 * <(command) and a pipe as /dev/stdin are none: their other end is there. */
enum status file_open(int *file, const char *path, const char *setting);

/* The caller frees *text. A file that cannot be read or is larger than `most` bytes is STATUS_INPUT. */
enum status file_read(const char *path, const char *setting, size_t most, char **text, size_t *size);

/* `write` prints into an output (output.h): the file is there whole, or as it was. A place that cannot be written to is
 * STATUS_INPUT. */
enum status file_write(const char *path, const char *setting, enum status (*write)(void *context, FILE *out),
                       void *context);

/* Makes the folders that a file of this path lies in, those that are not there. STATUS_RUN if one cannot be made. */
enum status file_make_folders(const char *path);

/* The program that PATH leads to; false if there is none. */
bool file_on_path(const char *program, char *out, size_t size);

#endif
