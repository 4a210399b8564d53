#define _GNU_SOURCE /* ppoll, pipe2 */
#include "cli/command/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strategy/base/arena.h"

#define LAUNCHED "SHARDLAB_LAUNCHED" /* in the ranks' environment: set by launch_run */

volatile int launch_stop;

static void ask_to_stop(int signal)
{
	(void)signal;
	launch_stop = 1;
}

static void on_signal(int signal, int flags)
{
	struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = flags};
	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

void launch_stop_on_signals(void)
{
	/* SA_RESETHAND: the second one kills. */
	on_signal(SIGINT, (int)SA_RESETHAND | SA_RESTART);
	on_signal(SIGTERM, (int)SA_RESETHAND | SA_RESTART);
}

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
}

/* ---- the child's stderr ---- */

enum { KEPT_LINES = 200, LINE_BYTES = 1024 };

struct talk {
	char fatal[LINE_BYTES]; /* the first line of ours, without "fatal: " */
	char died[LINE_BYTES];  /* mpirun's line about a rank that a signal ended */
	int signal;             /* which */
	char *kept[KEPT_LINES]; /* the first of all lines that are not mpirun's framing: for a crash that says no more
	                         */
	int kept_count;
	struct arena arena;
};

static void hear(void *context, const char *line)
{
	struct talk *t = context;
	const char *ours = strstr(line, "fatal: ");
	if (ours == line && !*t->fatal)
		snprintf(t->fatal, sizeof t->fatal, "%s", line + strlen("fatal: "));
	/* mpirun noticed that process rank 2 with PID 123 on node lab exited on signal 9 (Killed). */
	long rank, pid;
	int signal;
	char node[128];
	if (!*t->died &&
	    sscanf(line, "mpirun noticed that process rank %ld with PID %ld on node %127s exited on signal %d", &rank,
	           &pid, node, &signal) == 4) {
		snprintf(t->died, sizeof t->died, "rank %ld died (%s)", rank, strsignal(signal));
		t->signal = signal;
	}
	bool framing =
	        !*line || !strncmp(line, "----", 4) || !strncmp(line, "mpirun ", 7) || !strncmp(line, "MPI_ABORT", 9);
	if (!framing && t->kept_count < KEPT_LINES)
		t->kept[t->kept_count++] = arena_copy(&t->arena, line);
}

/* A crash is a bug: the library's or sanitizer's report is worth more than one tidy line. */
static void retell(const struct talk *t)
{
	for (int i = 0; i < t->kept_count; i++)
		fprintf(stderr, "%s\n", t->kept[i]);
}

/* ---- lines ---- */

struct line_reader {
	int fd; /* -1: at its end */
	char *text;
	size_t length, capacity;
	void (*on_line)(void *context, const char *line);
	void *context;
};

static void give_lines(struct line_reader *r, bool at_end)
{
	size_t begin = 0;
	for (;;) {
		char *end = memchr(r->text + begin, '\n', r->length - begin);
		if (!end)
			break;
		*end = 0;
		r->on_line(r->context, r->text + begin);
		begin = (size_t)(end + 1 - r->text);
	}
	memmove(r->text, r->text + begin, r->length - begin);
	r->length -= begin;
	if (at_end && r->length) {
		r->text[r->length] = 0; /* array_reserve left room */
		r->on_line(r->context, r->text);
		r->length = 0;
	}
}

static void read_more(struct line_reader *r)
{
	enum { PIECE = 65536 };
	r->text = array_reserve(r->text, r->length + PIECE + 1, &r->capacity, 1);
	ssize_t n = read(r->fd, r->text + r->length, PIECE);
	if (n < 0 && errno == EINTR)
		return;
	if (n > 0)
		r->length += (size_t)n;
	give_lines(r, n <= 0);
	if (n <= 0) {
		close(r->fd);
		r->fd = -1;
	}
}

/* ---- the child ---- */

static bool on_path(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];
	while (path && *path) {
		size_t length = strcspn(path, ":");
		snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
		if (length && !access(file, X_OK))
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

enum status launch_check(int64_t ranks)
{
	/* With more, the machine does not respond for minutes. */
	enum { RANKS_A_CORE = 64 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (ranks > RANKS_A_CORE * (cores > 1 ? cores : 1))
		return status_fail(STATUS_INPUT,
		                   "--ranks %" PRId64
		                   ": more than %d for each of this machine's %ld cores; use fewer, or "
		                   "start mpirun with a host file yourself",
		                   ranks, RANKS_A_CORE, cores);
	if (!on_path("mpirun"))
		return status_fail(STATUS_INPUT,
		                   "several ranks need Open MPI, and there is no mpirun on the PATH; install it "
		                   "(Debian: apt-get install openmpi-bin) or use --ranks 1");
	return STATUS_OK;
}

static void exec_child(const struct launch *l, bool mpirun, const char *program, int out, int err, pid_t parent)
{
	char ranks[32];
	const char *const head[] = {"mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none", program};
	enum { HEAD = sizeof head / sizeof head[0] };
	size_t count = 0, n = 0;
	while (l->arguments[count])
		count++;
	const char **argv = calloc(count + HEAD + 1, sizeof *argv);
	int nothing = open("/dev/null", O_RDONLY);
	if (!argv || nothing < 0)
		_exit(127);
	snprintf(ranks, sizeof ranks, "%" PRId64, l->ranks);
	for (size_t i = mpirun ? 0 : HEAD - 1; i < HEAD; i++)
		argv[n++] = head[i];
	memcpy(argv + n, l->arguments, count * sizeof *argv);
	/* A group of its own: Ctrl+C at the terminal is for the parent, who passes it on as it should be. */
	setpgid(0, 0);
	dup2(nothing, STDIN_FILENO); /* a background process that reads the terminal is stopped */
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	/* Until mpirun has its handler: a signal that came too early must not end it. A single rank is a child whose
	 * handler comes first thing. */
	signal(SIGUSR1, SIG_IGN);
	setenv(LAUNCHED, "1", 1);
	if (!geteuid()) {
		setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
		setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "fatal: cannot start %s: %s\n", argv[0], strerror(errno));
	_exit(2);
}

/* mpirun passes SIGUSR1 on to the ranks, if there are any yet: so it is sent again. SIGTERM ends them all. */
static void pass_on_signals(const struct launch *l, pid_t child, int *passed_on)
{
	int wish = launch_stop && l->ends_at_once ? launch_stop + 1 : launch_stop;
	if (!wish)
		return;
	if (wish == 1)
		kill(child, SIGUSR1);
	else if (wish > *passed_on)
		kill(child, wish == 2 ? SIGTERM : SIGKILL);
	*passed_on = wish;
}

/* Reads the child's output until both pipes are closed. Signals are delivered only while it waits. */
static void attend(const struct launch *l, pid_t child, struct line_reader *readers, const sigset_t *waiting)
{
	const struct timespec again = {0, 300 * 1000 * 1000};
	int passed_on = 0;
	while (readers[0].fd >= 0 || readers[1].fd >= 0) {
		struct pollfd p[2] = {{readers[0].fd, POLLIN, 0}, {readers[1].fd, POLLIN, 0}};
		int ready = ppoll(p, 2, launch_stop ? &again : NULL, waiting);
		if (ready <= 0)
			pass_on_signals(l, child, &passed_on);
		for (int i = 0; ready > 0 && i < 2; i++)
			if (p[i].revents)
				read_more(&readers[i]);
	}
}

static void count_signal(int signal)
{
	(void)signal;
	launch_stop = launch_stop + 1;
}

static enum status judge(const struct talk *t, int status, bool stopped)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	bool crashed = t->signal && t->signal != SIGKILL && t->signal != SIGTERM;
	if (stopped)
		return status_fail(STATUS_INTERRUPTED, "stopped by the user");
	if (!code)
		return STATUS_OK;
	if (*t->fatal)
		return status_fail(code == 2 ? STATUS_INPUT : STATUS_RUN, "%s", t->fatal);
	if (crashed || !*t->died)
		retell(t);
	if (*t->died)
		return status_fail(STATUS_RUN, "%s; the other ranks were ended", t->died);
	if (WIFSIGNALED(status))
		return status_fail(STATUS_RUN, "the run died (%s)", strsignal(WTERMSIG(status)));
	return status_fail(STATUS_RUN, "the run failed with exit status %d", code);
}

enum status launch_run(const struct launch *l)
{
	bool mpirun = l->ranks > 1 || l->under_mpi;
	char program[4096];
	int out[2], err[2], status = 0;
	sigset_t blocked, before;
	struct sigaction count = {.sa_handler = count_signal}, old_int, old_term;
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	enum status s = mpirun ? launch_check(l->ranks) : STATUS_OK;
	if (s)
		return s;
	if (launch_stop)
		return status_fail(STATUS_INTERRUPTED, "stopped by the user");
	if (length < 0 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return status_fail(STATUS_RUN, "cannot start the ranks: %s", strerror(errno));
	program[length] = 0;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	sigemptyset(&count.sa_mask);
	sigaction(SIGINT, &count, &old_int);
	sigaction(SIGTERM, &count, &old_term);
	fflush(NULL);
	pid_t parent = getpid(), child = fork();
	if (!child) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		exec_child(l, mpirun, program, out[1], err[1], parent);
	}
	close(out[1]);
	close(err[1]);
	struct talk talk = {0};
	struct line_reader readers[2] = {{.fd = out[0], .on_line = l->on_line, .context = l->context},
	                                 {.fd = err[0], .on_line = hear, .context = &talk}};
	if (child > 0) {
		attend(l, child, readers, &before);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	s = child < 0 ? status_fail(STATUS_RUN, "cannot start the ranks: %s", strerror(errno))
	              : judge(&talk, status, launch_stop > 0);
	for (int i = 0; i < 2; i++)
		free(readers[i].text);
	arena_release(&talk.arena);
	return s;
}
