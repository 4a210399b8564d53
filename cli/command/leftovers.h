/* Leftovers of Open MPI when mpirun is killed: its session folder, and the ranks' segments of shared memory. Both are
 * named after the process and the job. Of the mpirun that launch_run() started they are known to be its own.
 *
 * Of any other, such as one that the user started and that was killed, they go where it is proven that nobody needs
 * them: the session is this user's and of this host; the process that it names is gone, and its door, a port that the
 * session names too, is shut; and no process has a segment of its jobs.
 */
#ifndef SHARDLAB_LEFTOVERS_H
#define SHARDLAB_LEFTOVERS_H

#include <sys/types.h>

/* Called when mpirun has been waited for. job: Open MPI's number of it, 0: not known. */
void leftovers_remove(pid_t mpirun, unsigned long job);
/* Removes what every dead mpirun has left, before the next starts. */
void leftovers_sweep(void);

#endif
