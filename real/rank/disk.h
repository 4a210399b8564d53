/* The disk space of a rank: one file in a folder, laid out by the plan.
 *
 *     struct disk *disk;
 *     status = disk_open(&disk, "/scratch", bytes);
 *     status = disk_write(disk, offset, from, count);
 *     status = disk_read(disk, offset, to, count);
 *     disk_close(disk);
 *
 * The file loses its name as soon as it is made, so nothing is left whatever ends the run, Ctrl+C and SIGKILL included.
 * Its bytes are reserved at once, so a disk that is too full fails before the first step.
 */
#ifndef SHARDLAB_DISK_H
#define SHARDLAB_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/status.h"

struct disk;

/* STATUS_INPUT: the folder is not there, cannot be written to, or has no room for `bytes`. */
enum status disk_open(struct disk **out, const char *folder, int64_t bytes);
void disk_close(struct disk *d); /* accepts NULL */
/* From now on no more than so many bytes are asked for at a time. */
void disk_ask(struct disk *d, int64_t most);

/* Repeats posix_fallocate until no signal interrupts it: 0 or an errno. */
int disk_reserve(int file, int64_t bytes);

/* Moves all bytes between a place in a file and memory, which writing does not change: 0, an errno, or FILE_ENDED. A
 * stream has no place but FILE_STANDS, where it is. */
enum { FILE_ENDED = -1, FILE_STANDS = -1 };
int file_move(int file, bool writes, int64_t place, void *memory, int64_t bytes);

/* Whole or STATUS_RUN. */
enum status disk_read(struct disk *d, int64_t offset, void *to, int64_t count);
enum status disk_write(struct disk *d, int64_t offset, const void *from, int64_t count);

#endif
