#include "cli/command/pulse.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "strategy/base/arena.h"
#include "strategy/base/clock.h"

#define BEAT "shardlab-pulse "

/* The limit is a sixth of the communicator's, which waits for ranks that are alive. */
enum { BEAT_MS = 500, LIMIT_SHARE = 6, LIMIT_LEAST_S = 3, COMMUNICATOR_S = 120 };
#define SECOND_NS INT64_C(1000000000)

/* ---- in a rank ---- */

static void print_line(char *line, size_t size, const char *more)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *job = getenv("OMPI_MCA_ess_base_jobid");
	snprintf(line, size, BEAT "%.20s %ld %.20s%s\n", rank ? rank : "0", (long)getpid(), job ? job : "0", more);
}

static void say(const char *line)
{
	ssize_t written = write(STDERR_FILENO, line, strlen(line));
	(void)written; /* whoever listened is gone: then the kernel ends this process */
}

static void *beat(void *unused)
{
	const struct timespec pause = {0, BEAT_MS * 1000000L};
	char line[128];
	(void)unused;
	print_line(line, sizeof line, "");
	for (;;) {
		say(line);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

void pulse_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are for the others */
	if (!pthread_create(&thread, NULL, beat, NULL))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pulse_end(void)
{
	char line[128];
	print_line(line, sizeof line, " end");
	say(line);
}

/* ---- in the launcher ---- */

void pulse_init(struct pulse *p, int64_t ranks)
{
	const char *given = getenv("SHARDLAB_COMM_TIMEOUT_S");
	int64_t seconds = (given && atoll(given) > 0 ? atoll(given) : COMMUNICATOR_S) / LIMIT_SHARE;
	*p = (struct pulse){.ranks = ranks,
	                    .limit_ns = (seconds > LIMIT_LEAST_S ? seconds : LIMIT_LEAST_S) * SECOND_NS,
	                    .heard_ns = array_make((size_t)ranks, sizeof *p->heard_ns),
	                    .pid = array_make((size_t)ranks, sizeof *p->pid),
	                    .looked_ns = clock_ns()};
}

void pulse_release(struct pulse *p)
{
	free(p->heard_ns);
	free(p->pid);
	*p = (struct pulse){0};
}

bool pulse_hear(struct pulse *p, const char *line)
{
	long rank, pid;
	unsigned long job;
	int end = 0;
	if (strncmp(line, BEAT, strlen(BEAT)) != 0)
		return false;
	if (sscanf(line + strlen(BEAT), "%ld %ld %lu%n", &rank, &pid, &job, &end) < 3 || rank < 0 || rank >= p->ranks)
		return true;
	bool ends = strstr(line + strlen(BEAT) + end, "end") != NULL;
	/* A beat that was on its way when the end was said. */
	if (p->pid[rank] == pid && !p->heard_ns[rank])
		return true;
	p->heard_ns[rank] = ends ? 0 : clock_ns();
	p->pid[rank] = pid;
	p->job = job ? job : p->job;
	return true;
}

static bool is_stopped(pid_t pid)
{
	char path[64], state = 0;
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'T' || state == 't';
}

static int64_t most_silent(const struct pulse *p)
{
	int64_t rank = -1;
	for (int64_t i = 0; i < p->ranks; i++)
		if (p->heard_ns[i] && (rank < 0 || p->heard_ns[i] < p->heard_ns[rank]))
			rank = i;
	return rank;
}

bool pulse_is_silent(struct pulse *p, pid_t child, char *out, size_t size)
{
	int64_t now = clock_ns(), rank = most_silent(p), before = p->looked_ns;
	p->looked_ns = now;
	/* This process was stopped itself: what the others said meanwhile is still to be read. */
	if (now - before > SECOND_NS)
		for (int64_t i = 0; i < p->ranks; i++)
			p->heard_ns[i] = p->heard_ns[i] ? now : 0;
	if (rank < 0 || now - p->heard_ns[rank] < p->limit_ns)
		return false;
	long long seconds = (now - p->heard_ns[rank]) / SECOND_NS;
	if (is_stopped(child) && child != p->pid[rank])
		snprintf(out, size, "mpirun was stopped for %lld s; the run was ended", seconds);
	else
		snprintf(out, size,
		         "rank %" PRId64 " %s for %lld s; the run was ended (SHARDLAB_COMM_TIMEOUT_S sets the limit)",
		         rank, is_stopped((pid_t)p->pid[rank]) ? "was stopped" : "has not been heard of", seconds);
	return true;
}
