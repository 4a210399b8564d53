/* The guard of a run: a process that outlives launch_run()'s. If that one is killed, the guard sees to it that mpirun
 * ends, and removes what Open MPI then leaves (leftovers.h).
 *
 *     struct guard g;
 *     guard_start(&g, mpirun, 0);       // after the fork of mpirun, so that mpirun does not hold the guard's pipe
 *     guard_tell(&g, job);              // as soon as the job's number is known
 *     guard_end(&g);                    // whoever started mpirun has waited for it
 */
#ifndef SHARDLAB_GUARD_H
#define SHARDLAB_GUARD_H

#include <sys/types.h>

struct guard {
	int pipe; /* its other end closes when this process ends; -1: there is no guard */
	pid_t process;
	unsigned long job;
};

/* held: a file, such as that of a lock, that stays open until the ranks have ended; 0: none.
 * Without a guard, as where the kernel has no pidfd_open, a run works as well. */
void guard_start(struct guard *g, pid_t mpirun, int held);
void guard_tell(struct guard *g, unsigned long job);
void guard_end(struct guard *g);

#endif
