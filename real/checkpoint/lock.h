/* One run at a time writes to a folder of checkpoints: whoever started its ranks, or rank 0 where a user's mpirun did,
 * holds a lock there.
 *
 *     struct checkpoint_lock l;
 *     s = checkpoint_lock_take(&l, "run", &stop);
 *     … the run; its last ranks may inherit l.file …
 *     checkpoint_lock_release(&l);
 *
 * The lock is flock's, of the file `.lock` in the folder: the kernel gives it up when its holder is gone, however that
 * ended, and a server of NFS does so for its clients. The file says who it was, and goes at the end; one that a killed
 * run left is taken over. A file system without locks locks nobody out.
 */
#ifndef SHARDLAB_CHECKPOINT_LOCK_H
#define SHARDLAB_CHECKPOINT_LOCK_H

#include "strategy/base/status.h"

#define CHECKPOINT_LOCK ".lock"

/* A zeroed one is released. */
struct checkpoint_lock {
	char *path;
	int file; /* 0: none */
};

/* STATUS_INPUT: another run has it. One that is being ended is waited for, some seconds at most, and no longer than
 * until *stop. */
enum status checkpoint_lock_take(struct checkpoint_lock *l, const char *folder, const volatile int *stop);
void checkpoint_lock_release(struct checkpoint_lock *l); /* accepts NULL and a zeroed one */

#endif
