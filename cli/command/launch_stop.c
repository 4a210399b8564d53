#define _GNU_SOURCE
#include "cli/command/launch_stop.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/command/launch.h"
#include "cli/command/pulse.h"
#include "strategy/base/output.h"

volatile int launch_stop;

/* The first asks, the second kills; SIGUSR1 is sent again and again and only asks. */
static void ask_to_stop(int number)
{
	if (number != SIGUSR1)
		pulse_asked();
	if (launch_stop && number != SIGUSR1) {
		outputs_abandon();
		signal(number, SIG_DFL);
		raise(number);
	}
	launch_stop = 1;
}

/* Sent by a user, a batch system, or a terminal that goes away. */
static const int asking[ASKING_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* nohup has SIGHUP ignored. A script's background has SIGINT ignored too, and whoever sends it there means it. */
static bool is_ignored(int number)
{
	struct sigaction action;
	return number == SIGHUP && !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

static void on_signal(int signal, int flags)
{
	struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = flags};
	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

void launch_stop_on_signals(void)
{
	for (int i = 0; i < ASKING_SIGNALS; i++)
		if (!is_ignored(asking[i]))
			on_signal(asking[i], SA_RESTART);
	signal(SIGALRM, SIG_IGN); /* a rank's waits for MPI have their own handler (real/communicator/deadline.c) */
}

/* ---- in the launcher ---- */

static void count_signal(int signal)
{
	(void)signal;
	launch_stop = launch_stop + 1;
}

void signals_take(struct taken_signals *t)
{
	sigset_t blocked;
	struct sigaction count = {.sa_handler = count_signal};
	sigemptyset(&blocked);
	sigemptyset(&count.sa_mask);
	for (int i = 0; i < ASKING_SIGNALS; i++) {
		sigaddset(&blocked, asking[i]);
		sigaction(asking[i], NULL, &t->old[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, &t->before);
	for (int i = 0; i < ASKING_SIGNALS; i++)
		if (!is_ignored(asking[i]))
			sigaction(asking[i], &count, NULL);
}

void signals_give_back(const struct taken_signals *t)
{
	for (int i = 0; i < ASKING_SIGNALS; i++)
		sigaction(asking[i], &t->old[i], NULL);
	sigprocmask(SIG_SETMASK, &t->before, NULL);
}

/* ---- in a rank ---- */

bool launch_is_child(void)
{
	return getenv(LAUNCHED) != NULL;
}

void launch_join(void)
{
	if (!launch_is_child())
		return;
	on_signal(SIGUSR1, SA_RESTART);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1) /* it died before we asked */
		_exit(1);
	pulse_start();
}

void launch_leave(void)
{
	if (launch_is_child())
		pulse_end();
}
