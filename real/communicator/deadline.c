/* MPI_Init and MPI_Finalize wait for all ranks inside the library, where nothing polls: a timer ends them. It ticks a
 * few times: however long this process was stopped, with all of its run, that is one tick. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "real/communicator/hosts.h"
#include "real/communicator/internal.h"

static char line[160]; /* for the signal handler, which can print nothing else */

enum { TICKS = 4 };
static volatile sig_atomic_t ticks_left;

static void set_timer(double seconds)
{
	struct timeval every = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6)};
	setitimer(ITIMER_REAL, &(struct itimerval){every, every}, NULL);
}

static void tick(int signal)
{
	(void)signal;
	ticks_left = ticks_left - 1;
	if (ticks_left > 0)
		return;
	ssize_t written = write(STDERR_FILENO, line, strlen(line));
	(void)written;
	_exit(status_exit_code(STATUS_RUN));
}

static enum status begin(const char *what, int times)
{
	int64_t ns;
	struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
	TRY(communicator_read_timeout(&ns));
	double seconds = ceil((double)ns * 1e-9 * times);
	snprintf(line, sizeof line, "fatal: %s: waited %g s for the other ranks " LIMIT_SET_BY "\n", what, seconds);
	sigemptyset(&action.sa_mask);
	sigaction(SIGALRM, &action, NULL);
	ticks_left = TICKS;
	set_timer(seconds / TICKS);
	return STATUS_OK;
}

enum status communicator_deadline(const char *what)
{
	return begin(what, 1);
}

enum status communicator_deadline_to_meet(const char *what)
{
	return begin(what, PATIENCE_TO_MEET);
}

void communicator_deadline_end(void)
{
	set_timer(0);
}

enum status communicator_start_mpi(void)
{
	int given = 0;
	TRY(communicator_deadline("MPI_Init"));
	hosts_prepare();
	MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
	communicator_deadline_end();
	return given < MPI_THREAD_SERIALIZED
	               ? status_fail(STATUS_RUN, "this MPI library does not allow a communication thread")
	               : STATUS_OK;
}

void communicator_end_mpi(void)
{
	communicator_deadline("MPI_Finalize");
	MPI_Finalize();
	communicator_deadline_end();
}
