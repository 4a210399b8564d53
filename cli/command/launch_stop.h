/* The signals that ask for the end, while launch_run() starts and attends its child: they are counted in launch_stop
 * and delivered only where it waits. Only launch*.c include it.
 */
#ifndef SHARDLAB_LAUNCH_STOP_H
#define SHARDLAB_LAUNCH_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define LAUNCHED "SHARDLAB_LAUNCHED" /* in the ranks' environment: set by launch_run */

enum { ASKING_SIGNALS = 5 };

struct taken_signals {
	sigset_t before; /* the mask, for the child and for waiting */
	struct sigaction old[ASKING_SIGNALS];
};

void signals_take(struct taken_signals *t);
void signals_give_back(const struct taken_signals *t);

/* mpirun passes it on to its ranks on all hosts: it ends those that were asked before, or do not train, and asks the
 * others. */
enum { SIGNAL_ENDS_RANKS = SIGUSR2 };
/* In the child that becomes mpirun: SIGTERM, SIGINT and SIGHUP, sent to it by others, wait there. */
void signals_deafen_child(void);
/* Whether one waits there: it is to be heard as one to the launcher. */
bool signals_ask_child(pid_t child);

#endif
