#define _GNU_SOURCE
#include "cli/command/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command/leftovers.h"

enum { DONE = 0, MPIRUN_MS = 4000 }; /* mpirun has had its signal: its parent died */

/* ---- in the guard ---- */

/* It holds nothing else of the run's: no pipe would come to its end. */
static void let_go(int pipe, int mpirun, int held)
{
	int nothing = open("/dev/null", O_RDWR);
	long most = sysconf(_SC_OPEN_MAX);
	for (int fd = 0; nothing >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
	for (int fd = STDERR_FILENO + 1; fd < (most > 0 && most < 4096 ? most : 4096); fd++)
		if (fd != pipe && fd != mpirun && fd != held)
			close(fd);
}

/* The job's number, as far as it was told; false: there is nothing to do. */
static bool hear_death(int pipe, unsigned long *job)
{
	unsigned long told;
	for (;;) {
		ssize_t n = read(pipe, &told, sizeof told);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof told)
			return true;
		if (told == DONE)
			return false;
		*job = told;
	}
}

static void stand_guard(int pipe, int mpirun, pid_t pid, int held)
{
	struct pollfd end = {.fd = mpirun, .events = POLLIN};
	unsigned long job = 0;
	prctl(PR_SET_NAME, "shardlab-guard");
	setpgid(0, 0);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	let_go(pipe, mpirun, held);
	if (!hear_death(pipe, &job))
		return;
	if (poll(&end, 1, MPIRUN_MS) <= 0 && !pidfd_send_signal(mpirun, SIGKILL, NULL, 0))
		poll(&end, 1, MPIRUN_MS);
	leftovers_remove(pid, job);
}

/* ---- in the launcher ---- */

void guard_start(struct guard *g, pid_t mpirun, int held)
{
	int ends[2], handle = pidfd_open(mpirun, 0);
	*g = (struct guard){.pipe = -1, .process = -1};
	if (handle < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		if (handle >= 0)
			close(handle);
		return;
	}
	g->process = fork();
	if (!g->process) {
		close(ends[1]);
		stand_guard(ends[0], handle, mpirun, held);
		_exit(0);
	}
	close(handle);
	close(ends[0]);
	g->pipe = ends[1];
	if (g->process < 0) {
		close(g->pipe);
		g->pipe = -1;
	}
}

static void tell(const struct guard *g, unsigned long word)
{
	ssize_t written = send(g->pipe, &word, sizeof word, MSG_NOSIGNAL);
	(void)written; /* if the guard is gone, it guards nothing */
}

void guard_tell(struct guard *g, unsigned long job)
{
	if (g->pipe < 0 || !job || job == g->job)
		return;
	g->job = job;
	tell(g, job);
}

void guard_end(struct guard *g)
{
	if (g->pipe < 0)
		return;
	tell(g, DONE);
	close(g->pipe);
	while (waitpid(g->process, NULL, 0) < 0 && errno == EINTR)
		continue;
	g->pipe = -1;
}
