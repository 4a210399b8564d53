/* Files that a path names by a descriptor of this process: /dev/stdout, or /dev/fd/63, as the shell's >(command) has
 * it.
 */
#ifndef SHARDLAB_DESCRIPTOR_H
#define SHARDLAB_DESCRIPTOR_H

#include "strategy/base/status.h"

enum { DESCRIPTOR_PATH = 64 };

/* The descriptor; -1: it is no such path. */
int descriptor_of(const char *path);

/* If it is stdout, what is printed goes to stderr from now on, so that a file of bytes has stdout alone, and `out` is
 * a path to it, for other processes too. Else `out` is empty. */
enum status descriptor_free_stdout(const char *path, const char *setting, char out[DESCRIPTOR_PATH]);

#endif
