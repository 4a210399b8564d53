#define _GNU_SOURCE
#include "cli/command/launch_stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/command/launch.h"
#include "cli/command/pulse.h"
#include "strategy/base/output.h"

volatile int launch_stop;

/* ---- a user's own mpirun ---- */

static volatile sig_atomic_t is_hurried; /* rank 0 of one that gives its ranks a second */

/* After a signal to itself mpirun sends SIGTERM, waits for as long as this says, and kills. */
#define PATIENCE "OMPI_MCA_odls_base_sigkill_timeout"

static bool parent_is_mpirun(void)
{
	char path[64], name[32] = "";
	snprintf(path, sizeof path, "/proc/%ld/comm", (long)getppid());
	FILE *f = fopen(path, "r");
	if (f && !fgets(name, sizeof name, f))
		*name = 0;
	if (f)
		fclose(f);
	return !strncmp(name, "mpirun", 6) || !strncmp(name, "mpiexec", 7) || !strncmp(name, "orte", 4);
}

static void learn_patience(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	is_hurried = rank && !strcmp(rank, "0") && !launch_is_child() && !getenv(PATIENCE) && parent_is_mpirun();
}

static void say_how_long(void)
{
	static const char line[] = "warning: mpirun asks its ranks to end, and may kill them after 1 s; SIGUSR1 to "
	                           "mpirun, or a start by 'env --block-signal=TERM mpirun', gives them time to save\n";
	if (!is_hurried)
		return;
	is_hurried = 0;
	ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
	(void)written;
}

/* ---- in any process ---- */

/* The first asks, the second kills; SIGUSR1 is sent again and again and only asks. */
static void ask_to_stop(int number)
{
	if (number == SIGTERM)
		say_how_long();
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
	learn_patience();
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

/* mpirun would give its ranks a second to save. So it stays deaf to what would end it in order, which is found pending;
 * its ranks' end is its own. */
static const int deaf_to[] = {SIGTERM, SIGINT, SIGHUP};

void signals_deafen_child(void)
{
	sigset_t deaf;
	sigemptyset(&deaf);
	for (size_t i = 0; i < sizeof deaf_to / sizeof *deaf_to; i++)
		sigaddset(&deaf, deaf_to[i]);
	sigprocmask(SIG_BLOCK, &deaf, NULL);
}

static uint64_t pending_of(FILE *f)
{
	char line[256];
	uint64_t all = 0, some;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "SigPnd: %" SCNx64, &some) == 1 || sscanf(line, "ShdPnd: %" SCNx64, &some) == 1)
			all |= some;
	return all;
}

bool signals_ask_child(pid_t child)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
	FILE *f = fopen(path, "r");
	uint64_t pending = f ? pending_of(f) : 0;
	bool asked = false;
	for (size_t i = 0; i < sizeof deaf_to / sizeof *deaf_to; i++)
		asked = asked || (pending >> (deaf_to[i] - 1) & 1);
	if (f)
		fclose(f);
	return asked;
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
