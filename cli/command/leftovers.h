/* Leftovers of Open MPI when mpirun is killed: its session folder, and the ranks' segments of shared memory. Both are
 * named after the process and the job that launch_run() started, so they are its own.
 */
#ifndef SHARDLAB_LEFTOVERS_H
#define SHARDLAB_LEFTOVERS_H

#include <sys/types.h>

/* Called when mpirun has been waited for. job: Open MPI's number of it, 0: not known. */
void leftovers_remove(pid_t mpirun, unsigned long job);

#endif
