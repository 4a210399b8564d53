/* The pulse of a run. Each rank that launch_run() started writes a line twice a second, from a thread of its own; the
 * launcher takes these lines out of what the ranks say, and finds the rank that has fallen silent: it was stopped,
 * hangs in the kernel, or its machine is gone. So every phase of a run is watched, those in a library's calls too.
 */
#ifndef SHARDLAB_PULSE_H
#define SHARDLAB_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In a rank: begins, and says that it ends in order and will be silent. */
void pulse_start(void);
void pulse_end(void);

struct pulse {
	int64_t ranks, limit_ns, looked_ns;
	int64_t *heard_ns; /* by rank; 0: not yet, or it has said that it ends */
	long *pid;         /* by rank */
	unsigned long job; /* Open MPI's number of the job, 0: not known */
};

void pulse_init(struct pulse *p, int64_t ranks);
void pulse_release(struct pulse *p);
/* True if the line was one of these. */
bool pulse_hear(struct pulse *p, const char *line);
/* Called when nothing is left to be read, a few times a second. True if a rank has been silent for too long: `out` says
 * which. child: the process that the ranks' lines come through. */
bool pulse_is_silent(struct pulse *p, pid_t child, char *out, size_t size);

#endif
