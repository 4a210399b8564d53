/* A whole file that a setting names, in memory. */
#ifndef SHARDLAB_FILE_H
#define SHARDLAB_FILE_H

#include <stddef.h>

#include "strategy/base/status.h"

/* The caller frees *text. A file that cannot be read or is larger than `most` bytes is STATUS_INPUT: "SETTING: cannot
 * open '/x': …". setting: "{plan}". */
enum status file_read(const char *path, const char *setting, size_t most, char **text, size_t *size);

#endif
