/* A file that stdout is. */
#ifndef SHARDLAB_DESCRIPTOR_H
#define SHARDLAB_DESCRIPTOR_H

#include "strategy/base/path.h"
#include "strategy/base/status.h"

/* If the path names stdout, what is printed goes to stderr from now on, so that a file of bytes has stdout alone, and
 * `out` is a path to it, for other processes too. Else `out` is empty. */
enum status descriptor_free_stdout(const char *path, const char *setting, char out[PATH_OF_DESCRIPTOR]);

#endif
