/* Starts ranks: this same program under Open MPI's mpirun, or by itself for one rank, as a child whose output is read.
 *
 *     char *arguments[] = {"train", "--json", "--ranks=4", NULL};
 *     struct launch l = {.ranks = 4, .arguments = arguments, .on_line = print, .context = &x};
 *     enum status s = launch_run(&l);
 *
 * The child's output arrives line by line. Its stderr is reduced to one message, so that the user does not see mpirun's
 * own output. Nothing outlives this process, however it ends: mpirun and each rank ask the kernel for a signal when
 * their parent dies.
 *
 * Ctrl+C: the ranks end after the step at hand, or at once where there is nothing to finish; a second one kills them.
 */
#ifndef SHARDLAB_LAUNCH_H
#define SHARDLAB_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/status.h"

struct launch {
	int64_t ranks;
	char *const *arguments;                           /* of this program, after its name; ends with NULL */
	const char *hosts;                                /* the file of --hosts; NULL: mpirun chooses */
	bool under_mpi;                                   /* mpirun also for one rank */
	bool ends_at_once;                                /* a signal ends the ranks wherever they are */
	int held;                                         /* a file to hold while a rank may live; 0: none */
	bool watches_steps;                               /* a rank that comes to the end of no step is lost, too */
	void (*on_line)(void *context, const char *line); /* of stdout, without the newline */
	void *context;
};

/* STATUS_INPUT, with what to install, if the ranks cannot be started. */
enum status launch_check(int64_t ranks, const char *hosts);

/* STATUS_INPUT if another launcher started this process as one of several and MPI does not connect them: each would
 * train alone, and all would write the same files. */
enum status launch_check_alone(void);

/* The ranks' own failure: the message of the first that said one, with the status that goes with its exit.
 * STATUS_LOST: a rank died, fell silent, or cannot be reached by the others. STATUS_STOPPED: a signal to this process
 * or to a rank has stopped it, in order; STATUS_INTERRUPTED: wherever it was. */
enum status launch_run(const struct launch *l);

/* Called first in main: if launch_run() started this process, it ends when its parent does, and SIGUSR1 asks it to
 * stop.
 */
void launch_join(void);
/* Called last in main: a process that launch_run() started ends in order. */
void launch_leave(void);
/* Did launch_run() start this process? */
bool launch_is_child(void);

/* Set to 1 by the signal that asks this process to stop; see launch_join and launch_stop_on_signals. */
extern volatile int launch_stop;
/* SIGINT, SIGTERM, SIGHUP and SIGUSR1 set launch_stop (SIGHUP unless it is ignored); a second one kills, but SIGUSR1.
 * For a run or rank in this process, and for the time before launch_run, which then does not start. */
void launch_stop_on_signals(void);

#endif
