/* The pulse of a run. Each rank that launch_run() started writes a line twice a second, from a thread of its own; the
 * launcher takes these lines out of what the ranks say, and finds the rank that has fallen silent: it was stopped,
 * hangs in the kernel, or its machine is gone. So every phase of a run is watched, those in a library's calls too.
 *
 * Over hosts, that of a silent rank is asked (reach.h): one that does not answer is gone, and ends the run sooner than
 * a rank that may only be late.
 *
 * That thread lives on when a rank hangs at its work. So it says, too, when a step takes much longer than the others,
 * and whether this rank waits for another meanwhile: the one that does not is the one that hangs.
 */
#ifndef SHARDLAB_PULSE_H
#define SHARDLAB_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/command/hosts.h"
#include "real/train/train.h"

/* For how long a rank may be silent. */
int64_t pulse_limit_ns(void);

/* In a rank: begins, and says that it ends in order and will be silent. */
void pulse_start(void);
void pulse_end(void);
/* Says so at once, as long as mpirun passes lines on: one that ends itself soon stops to. */
void pulse_stopped(const char *message);
/* This rank's place in its training, which the training updates. */
extern struct train_place pulse_place;

/* A rank that has been in its step for longer than the limit, and than LATE_STEPS of its steps. */
struct late {
	int64_t step, seconds; /* 0: it is not late */
	bool waits;            /* for another rank */
};

struct pulse {
	int64_t ranks, looked_ns;
	int64_t limit_ns, gone_ns; /* for how long a rank may be silent, and its host not answer meanwhile */
	const struct hosts *hosts; /* of the ranks; NULL or none: all are on this machine */
	int64_t begun_ns;          /* when the child was started */
	int64_t running_ns;        /* when the child was last seen not to be stopped */
	bool began;                /* a rank has been heard */
	bool watches_steps;        /* whether one that is late is lost */
	struct late *late;         /* by rank */
	int64_t *heard_ns;         /* by rank; 0: none has been yet, or it has said that it ends */
	long *pid;                 /* by rank; 0: it has not been heard */
	unsigned long job;         /* Open MPI's number of the job, 0: not known */
};

void pulse_init(struct pulse *p, int64_t ranks);
void pulse_release(struct pulse *p);
/* True if the line was one of these. */
bool pulse_hear(struct pulse *p, const char *line);
/* Once the child has ended: waits, for two seconds at most, until the ranks of this machine that were heard are gone.
 * They die of their parent's death, a little later than it. */
void pulse_wait_for_end(const struct pulse *p);
/* Called a few times a second. True if a rank has been silent for too long, or is late
 * where that is watched: `out` says which. child: the process that the ranks' lines come through. */
bool pulse_is_silent(struct pulse *p, pid_t child, char *out, size_t size);

#endif
