/* A folder that comes whole or not at all: its files are written in a temporary one beside it, which takes the name at
 * the end.
 *
 *     struct new_folder f;
 *     s = new_folder_make(&f, "saved");              (makes saved.4711.0.partial)
 *     … files in f.temporary …
 *     if (!s)
 *         s = new_folder_finish(&f);
 *     new_folder_release(&f);                        (in every case; without finish, all is removed)
 *
 * Only an empty folder may be there already, or a link to one, which stays. The maker holds a lock on the temporary
 * folder; one that nobody holds the lock of was left by a process that was killed, and the next that makes a folder of
 * this name removes it, as output.h does with files.
 */
#ifndef SHARDLAB_NEW_FOLDER_H
#define SHARDLAB_NEW_FOLDER_H

#include <stdbool.h>

#include "strategy/base/status.h"

/* A zeroed one is released. */
struct new_folder {
	char *path, *temporary; /* temporary: NULL once it has its name */
	int lock;
};

enum status new_folder_make(struct new_folder *f, const char *path);
enum status new_folder_finish(struct new_folder *f);
/* Removes what dead makers of this folder left. */
void new_folder_sweep(const char *path);
void new_folder_release(struct new_folder *f); /* accepts NULL and a zeroed one */

/* Removes what killed processes left of folders whose names begin so, in `parent`. */
void new_folder_sweep_all(const char *parent, const char *begins);
/* Removes a folder and the files in it; `first` of them before all others. */
void folder_remove(const char *path, const char *first);
/* Calls it for each name in a folder. False: it cannot be read. */
bool folder_each(const char *folder, void (*entry)(void *context, const char *name), void *context);

#endif
