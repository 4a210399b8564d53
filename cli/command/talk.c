#define _GNU_SOURCE
#include "cli/command/talk.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/command/reach.h"
#include "real/communicator/communicator.h"
#include "strategy/base/clock.h"

void talk_init(struct talk *t, int64_t ranks)
{
	*t = (struct talk){0};
	pulse_init(&t->pulse, ranks);
}

void talk_release(struct talk *t)
{
	pulse_release(&t->pulse);
	arena_release(&t->arena);
}

void talk_should_end(struct talk *t)
{
	if (!t->ending_ns)
		t->ending_ns = clock_ns();
}

/* mpirun's own words around what happened; and hwloc's, which says of each rank that this machine has no /sys. */
static bool is_framing(const char *line)
{
	static const char *const begins[] = {"----", "mpirun ", "MPI_ABORT", "[hwloc/"};
	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
		if (!strncmp(line, begins[i], strlen(begins[i])))
			return true;
	return false;
}

void talk_hear(void *context, const char *line)
{
	struct talk *t = context;
	const char *ours = strstr(line, "fatal: ");
	if (pulse_hear(&t->pulse, line))
		return;
	if (ours == line && !*t->fatal) {
		snprintf(t->fatal, sizeof t->fatal, "%s", line + strlen("fatal: "));
		talk_should_end(t);
	}
	if (!strncmp(line, "warning: ", strlen("warning: "))) {
		fprintf(stderr, "%s\n", line);
		return;
	}
	if (!strncmp(line, "stopped by the user", strlen("stopped by the user")))
		snprintf(t->stopped, sizeof t->stopped, "%s", line);
	/* mpirun noticed that process rank 2 with PID 123 on node lab exited on signal 9 (Killed). */
	long rank, pid;
	int signal;
	char node[128];
	if (!*t->died &&
	    sscanf(line, "mpirun noticed that process rank %ld with PID %ld on node %127s exited on signal %d", &rank,
	           &pid, node, &signal) == 4) {
		snprintf(t->died, sizeof t->died, "rank %ld died (%s)", rank, strsignal(signal));
		t->signal = signal;
		talk_should_end(t);
	}
	/* Two lines, of which the first says what happened:   Remote daemon: [[29425,0],1] on node node2 */
	if (!*t->died && sscanf(line, " Remote daemon: %*s on node %127s", node) == 1) {
		snprintf(t->died, sizeof t->died, "mpirun lost its daemon on %s", node);
		talk_should_end(t);
	}
	bool framing = !*line || is_framing(line) || strstr(line, "plm:rsh: Warning: ");
	if (!framing && t->kept_count < KEPT_LINES)
		t->kept[t->kept_count++] = arena_copy(&t->arena, line);
}

static bool is_crash(int signal)
{
	return signal && signal != SIGKILL && signal != SIGTERM;
}

/* A crash is a bug: the library's or sanitizer's report is worth more than one tidy line. */
static void retell(const struct talk *t)
{
	for (int i = 0; i < t->kept_count; i++)
		fprintf(stderr, "%s\n", t->kept[i]);
}

/* A request that was made once and failed, such as saving, is reported; a user who asks twice does not wait for it. */
static bool was_stopped(const struct launch *l, const struct talk *t)
{
	return launch_stop && (launch_stop > 1 || l->ends_at_once || (!*t->fatal && !*t->silent));
}

/* A rank that says why it ends does so of its own will, unless the reason is another rank. */
static enum status judge_fatal(const struct talk *t, int code)
{
	bool lost = communicator_lost(t->fatal);
	return status_fail(code == 2 ? STATUS_INPUT : lost ? STATUS_LOST : STATUS_RUN, "%s", t->fatal);
}

/* mpirun did not come so far: its agent, ssh, says why, or mpirun itself. */
static bool never_began(const struct talk *t)
{
	return t->pulse.hosts && t->pulse.hosts->count && !t->pulse.began;
}

static enum status judge_start(const struct talk *t)
{
	const char *missing = reach_missing(t->pulse.hosts, 0);
	if (missing)
		return status_fail(STATUS_LOST, "mpirun started no rank on the hosts, since %.80s does not answer",
		                   missing);
	return status_fail(
	        STATUS_RUN,
	        "mpirun started no rank on the hosts: %.300s; ssh must reach each of them without a password, and "
	        "shardlab be at the same path there",
	        t->kept_count ? t->kept[0] : "it does not say why");
}

/* Nobody has said why. */
static enum status judge_death(const struct talk *t, int status, bool mpirun)
{
	bool killed = WIFSIGNALED(status), crashed = is_crash(t->signal) || (killed && is_crash(WTERMSIG(status)));
	const char *who = mpirun ? "mpirun" : "the run";
	if (!killed && never_began(t))
		return judge_start(t);
	if (crashed || (!killed && !*t->died))
		retell(t);
	if (*t->died)
		return status_fail(STATUS_LOST, "%s; the %sranks were ended", t->died, t->signal ? "other " : "");
	if (killed)
		return status_fail(STATUS_LOST, "%s died (%s)%s", who, strsignal(WTERMSIG(status)),
		                   mpirun ? "; the ranks were ended" : "");
	return status_fail(STATUS_LOST, "%s failed with exit status %d", who, WEXITSTATUS(status));
}

enum status talk_judge(const struct launch *l, const struct talk *t, int status, bool mpirun)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	/* An mpirun that somebody else asks to end kills ranks that are on their way out. */
	bool asked = !t->kills && !*t->silent && !*t->died && !strstr(t->stopped, "without a checkpoint"),
	     in_order = code == status_exit_code(STATUS_STOPPED) || asked;
	/* mpirun that has reached no host yet ends with 0 when it cannot pass a signal on. */
	bool done = !code && (t->pulse.began || !mpirun);
	if (done && !l->ends_at_once)
		return STATUS_OK;
	if (in_order && *t->stopped && !*t->fatal)
		return status_fail(STATUS_STOPPED, "%s", t->stopped);
	if (was_stopped(l, t))
		return status_fail(STATUS_INTERRUPTED, "%s", *t->stopped ? t->stopped : "stopped by the user");
	if (done)
		return STATUS_OK;
	if (*t->fatal)
		return judge_fatal(t, code);
	if (*t->silent)
		return status_fail(STATUS_LOST, "%s", t->silent);
	if (*t->stopped)
		return status_fail(STATUS_INTERRUPTED, "%s", t->stopped);
	return judge_death(t, status, mpirun);
}
