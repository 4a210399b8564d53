/* MPI_Init and MPI_Finalize wait for all ranks inside the library, where nothing polls: a timer ends them. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "real/communicator/internal.h"

static char line[160]; /* for the signal handler, which can print nothing else */

static void give_up(int signal)
{
	(void)signal;
	ssize_t written = write(STDERR_FILENO, line, strlen(line));
	(void)written;
	_exit(status_exit_code(STATUS_RUN));
}

enum status communicator_deadline(const char *what)
{
	int64_t ns;
	struct sigaction action = {.sa_handler = give_up};
	enum status s = communicator_read_timeout(&ns);
	if (s)
		return s;
	double seconds = ceil((double)ns * 1e-9);
	snprintf(line, sizeof line, "fatal: %s: waited %g s for the other ranks " LIMIT_SET_BY "\n", what, seconds);
	sigemptyset(&action.sa_mask);
	sigaction(SIGALRM, &action, NULL);
	alarm((unsigned)seconds);
	return STATUS_OK;
}

void communicator_deadline_end(void)
{
	alarm(0);
}
