/* Every file that the program writes: under its name it is whole, or what it was before.
 *
 *     struct output *o;
 *     enum status s = output_open(&o, path, "{trace}");
 *     if (s)
 *         return s;
 *     … write to output_descriptor(o) …
 *     if (!s)
 *         s = output_finish(o);         synced, then named; without it nothing has happened
 *     output_close(o);                  in every case
 *
 * file_write() (file.h) does this around one function that prints. A folder of several files, such as sharded weights,
 * is several outputs, the one that lists them finished last.
 *
 *     target                      what happens
 *     nothing, a regular file     a temporary beside it, NAME.PID.N.partial, is made exclusively and takes the name at
 *                                 the end, with the permissions (and, where allowed, the owner) of the file that it
 *                                 replaces, else those that the umask leaves
 *     a link to such a file       the same, beside the file that the link leads to; the link stays
 *     a link to nothing           refused
 *     a file that is read-only    refused, as the shell's `>` does
 *     stdout or stderr            written into, as /dev/stdout
 *     a device, FIFO or socket    written into and never replaced; output_temporary() is NULL; a FIFO's reader is
 *                                 waited for, 5 seconds
 *     a folder                    refused
 *
 * The writer holds a lock on its temporary. Code that ends a run removes what it left: output_close() after a failure,
 * outputs_abandon() before an exit that skips it, and, where a process was killed, the next writer to the same target
 * or output_sweep(): a temporary that nobody holds the lock of.
 */
#ifndef SHARDLAB_OUTPUT_H
#define SHARDLAB_OUTPUT_H

#include <stdbool.h>

#include "strategy/base/status.h"

struct output;

/* `setting` is for messages, as in "{trace}". A place that cannot be written to is STATUS_INPUT. */
enum status output_open(struct output **out, const char *path, const char *setting);
int output_descriptor(const struct output *o);
/* The temporary's path, for others who write into it. NULL: the target itself is written into, from here alone. */
const char *output_temporary(const struct output *o);
/* STATUS_RUN: what was written did not reach the disk, or the name could not be given; the old file stays. */
enum status output_finish(struct output *o);
void output_close(struct output *o); /* accepts NULL */

/* Whether output_open could; leaves nothing behind. For files that are written at the end of a long run. A FIFO's
 * reader is waited for, and does not come to the FIFO's end before this process has ended. */
enum status output_check(const char *path, const char *setting);
/* A device, FIFO or socket, which is written into under whatever name. */
bool output_is_special(const char *path);
/* Removes the temporaries that dead writers left of this target. */
void output_sweep(const char *path);
/* Removes the temporaries that this process has open, for an exit at once: safe in a signal handler. */
void outputs_abandon(void);

#endif
