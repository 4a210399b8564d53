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

#include "cli/command/guard.h"
#include "cli/command/hosts.h"
#include "cli/command/launch_stop.h"
#include "cli/command/leftovers.h"
#include "cli/command/line_reader.h"
#include "cli/command/reach.h"
#include "cli/command/talk.h"
#include "real/communicator/hosts.h"
#include "strategy/base/clock.h"
#include "strategy/base/path.h"

extern char **environ;

struct words {
	const char **list; /* ends with NULL */
	size_t count, capacity;
	struct arena arena;
};

static void add_word(struct words *w, const char *word)
{
	*ARRAY_ADD(w->list, w->count, w->capacity) = word;
}

/* ssh takes no environment along. Open MPI passes on what is its own. */
static void pass_environment(struct words *w)
{
	static const char *const begins[] = {"SHARDLAB_", "OMP_", "OPENBLAS_"};
	for (char *const *e = environ; *e; e++)
		for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
			if (!strncmp(*e, begins[i], strlen(begins[i]))) {
				add_word(w, "-x");
				add_word(w, arena_print(&w->arena, "%.*s", (int)strcspn(*e, "="), *e));
			}
}

static void add_mpirun(struct words *w, int64_t ranks, struct hosts *hosts)
{
	const char *const head[] = {"mpirun",          "-n",        arena_print(&w->arena, "%" PRId64, ranks),
	                            "--oversubscribe", "--bind-to", "none"};
	for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
		add_word(w, head[i]);
	if (!hosts->count)
		return;
	add_word(w, "--map-by");
	add_word(w, "slot");
	add_word(w, "--host");
	add_word(w, hosts_list(hosts));
	pass_environment(w);
}

static void exec_child(const struct launch *l, bool mpirun, struct hosts *hosts, const char *program, int out, int err,
                       pid_t parent)
{
	struct words w = {.list = NULL};
	int nothing = open("/dev/null", O_RDONLY);
	if (nothing < 0)
		_exit(127);
	setenv(LAUNCHED, "1", 1);
	if (mpirun)
		add_mpirun(&w, l->ranks, hosts);
	add_word(&w, program);
	for (size_t i = 0; l->arguments[i]; i++)
		add_word(&w, l->arguments[i]);
	add_word(&w, NULL);
	/* A group of its own: Ctrl+C at the terminal is for the parent, who passes it on as it should be. */
	setpgid(0, 0);
	dup2(nothing, STDIN_FILENO); /* a background process that reads the terminal is stopped */
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	/* Until mpirun has its handler: a signal that came too early must not end it. A single rank is a child whose
	 * handler comes first thing. */
	signal(SIGUSR1, SIG_IGN);
	signal(SIGPIPE, SIG_DFL); /* our reader is the parent, without which there is no reason to go on */
	if (!geteuid()) {
		setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
		setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
	}
	prctl(PR_SET_PDEATHSIG, mpirun ? SIGNAL_ENDS_RANKS : SIGTERM);
	if (mpirun)
		signals_deafen_child();
	if (getppid() != parent)
		_exit(1);
	execvp(w.list[0], (char *const *)w.list);
	fprintf(stderr, "fatal: cannot start %s: %s\n", w.list[0], strerror(errno));
	_exit(2);
}

/* mpirun passes SIGUSR1 on to the ranks, if there are any yet: so it is sent again. */
static void pass_on_signals(const struct launch *l, struct talk *t, pid_t child, int *passed_on)
{
	int wish = launch_stop && l->ends_at_once ? launch_stop + 1 : launch_stop;
	if (!wish)
		return;
	if (wish == 1)
		kill(child, SIGUSR1);
	else if (wish > *passed_on) {
		kill(child, wish == 2 ? t->ending_signal : SIGKILL);
		talk_should_end(t); /* there may be no rank yet that hears it */
	}
	*passed_on = wish;
}

enum { ENDING_STEPS = 2, LOOK_EVERY_NS = 300 * 1000 * 1000 };

/* A run that has said its last line, or that is silent, and does not end: mpirun may wait for a machine that is gone,
 * or be stopped itself. Its ranks die with it, or are ended by its daemons. Of silence there is nothing to wait for. */
static void end_by_force(struct talk *t, pid_t child)
{
	static const int64_t due_ms[ENDING_STEPS] = {2000, 4000};
	if (*t->silent && t->kills < ENDING_STEPS - 1)
		t->kills = ENDING_STEPS - 1;
	else if (!t->ending_ns || t->kills == ENDING_STEPS || clock_ns() - t->ending_ns < due_ms[t->kills] * 1000000)
		return;
	kill(child, t->kills++ ? SIGKILL : t->ending_signal);
	t->killed_ns = clock_ns();
}

/* A process that mpirun started to reach a lost machine, such as ssh, outlives mpirun and holds the pipes. */
static bool is_killed(const struct talk *t)
{
	return t->kills == ENDING_STEPS && clock_ns() - t->killed_ns > INT64_C(500000000);
}

/* Ranks that live are heard all the time, so it is looked for by the clock: silence, and a signal to the child. */
static void look_around(struct talk *t, pid_t child)
{
	int64_t now = clock_ns();
	if (now - t->looked_ns < LOOK_EVERY_NS)
		return;
	t->looked_ns = now;
	if (!launch_stop && t->ending_signal == SIGNAL_ENDS_RANKS && signals_ask_child(child))
		launch_stop = 1;
	if (*t->silent)
		reach_look(); /* the next start has to know which hosts answer */
	else if (pulse_is_silent(&t->pulse, child, t->silent, sizeof t->silent))
		talk_should_end(t);
}

/* Reads the child's output until both pipes are closed, or it was killed. Signals are delivered only while it waits. */
static void attend(const struct launch *l, pid_t child, struct line_reader *readers, struct guard *guard,
                   const sigset_t *waiting)
{
	const struct timespec again = {0, LOOK_EVERY_NS};
	struct talk *t = readers[1].context;
	int passed_on = 0;
	while ((readers[0].fd >= 0 || readers[1].fd >= 0) && !is_killed(t)) {
		struct pollfd p[2] = {{readers[0].fd, POLLIN, 0}, {readers[1].fd, POLLIN, 0}};
		int ready = ppoll(p, 2, &again, waiting);
		if (ready <= 0 || !passed_on)
			pass_on_signals(l, t, child, &passed_on);
		for (int i = 0; ready > 0 && i < 2; i++)
			if (p[i].revents)
				line_reader_read(&readers[i]);
		guard_tell(guard, t->pulse.job);
		look_around(t, child);
		end_by_force(t, child);
	}
}

static enum status read_hosts(const struct launch *l, struct hosts *h)
{
	static bool said;
	int64_t hosts, each;
	*h = (struct hosts){.list = NULL};
	enum status s = l->hosts ? hosts_read(h, l->hosts) : STATUS_OK;
	if (!s && h->count && !(s = hosts_place(h, l->ranks, &hosts, &each)) && !said) {
		if (hosts > 1)
			hosts_say(hosts, each, stderr);
		said = true;
	}
	if (!s)
		reach_watch(h);
	return s;
}

static enum status run_on(const struct launch *l, struct hosts *hosts)
{
	bool mpirun = l->ranks > 1 || l->under_mpi || (hosts->count && !hosts_is_here(hosts->list[0].name));
	char program[PATH_OF_PROGRAM];
	int out[2], err[2], status = 0;
	struct taken_signals signals;
	enum status s = mpirun ? launch_check(l->ranks, l->hosts) : STATUS_OK;
	if (s)
		return s;
	if (launch_stop)
		return status_fail(STATUS_INTERRUPTED, "stopped by the user");
	if (!path_of_program(program))
		return status_fail(STATUS_RUN, "cannot start the ranks: /proc/self/exe: %s; mount /proc",
		                   strerror(errno));
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return status_fail(STATUS_RUN, "cannot start the ranks: %s", strerror(errno));

	if (mpirun)
		leftovers_sweep();
	signals_take(&signals);
	fflush(NULL);
	pid_t parent = getpid(), child = fork();
	if (!child) {
		sigprocmask(SIG_SETMASK, &signals.before, NULL);
		exec_child(l, mpirun, hosts, program, out[1], err[1], parent);
	}
	close(out[1]);
	close(err[1]);
	struct talk talk;
	talk_init(&talk, l->ranks);
	talk.ending_signal = mpirun ? SIGNAL_ENDS_RANKS : SIGTERM;
	talk.pulse.hosts = hosts;
	talk.pulse.watches_steps = l->watches_steps;
	struct line_reader readers[2] = {{.fd = out[0], .on_line = l->on_line, .context = l->context},
	                                 {.fd = err[0], .on_line = talk_hear, .context = &talk}};
	if (child > 0) {
		struct guard guard = {.pipe = -1};
		if (mpirun)
			guard_start(&guard, child, l->held);
		attend(l, child, readers, &guard, &signals.before);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			continue;
		if (mpirun && status) {
			pulse_wait_for_end(&talk.pulse);
			leftovers_remove(child, talk.pulse.job);
		}
		guard_end(&guard);
	}
	signals_give_back(&signals);
	s = child < 0 ? status_fail(STATUS_RUN, "cannot start the ranks: %s", strerror(errno))
	              : talk_judge(l, &talk, status, mpirun);
	for (int i = 0; i < 2; i++)
		line_reader_release(&readers[i]);
	talk_release(&talk);
	return s;
}

enum status launch_run(const struct launch *l)
{
	struct hosts hosts;
	enum status s = read_hosts(l, &hosts);
	if (!s)
		s = run_on(l, &hosts);
	hosts_release(&hosts);
	return s;
}
