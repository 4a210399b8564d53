#define _GNU_SOURCE /* pidfd_open */
#include "cli/command/pulse.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/reach.h"
#include "real/communicator/communicator.h"
#include "strategy/base/arena.h"
#include "strategy/base/clock.h"

#define BEAT "shardlab-pulse "

/* The limit is a twelfth of the communicator's, which waits for ranks that are alive. That of a rank whose host does
 * not answer is a fortieth: a host's kernel answers however busy it is. */
enum {
	BEAT_MS = 500,
	LIMIT_SHARE = 12,
	GONE_SHARE = 40,
	LIMIT_LEAST_S = 3,
	COMMUNICATOR_S = 120,
	LATE_STEPS = 20,
	START_LIMITS = 3,
};
#define SECOND_NS INT64_C(1000000000)
/* A rank that has been silent for so long has missed a pulse, and its host is asked. */
#define ASK_NS SECOND_NS

static int64_t share_ns(int64_t share)
{
	const char *given = getenv("SHARDLAB_COMM_TIMEOUT_S");
	int64_t seconds = (given && atoll(given) > 0 ? atoll(given) : COMMUNICATOR_S) / share;
	return (seconds > LIMIT_LEAST_S ? seconds : LIMIT_LEAST_S) * SECOND_NS;
}

int64_t pulse_limit_ns(void)
{
	return share_ns(LIMIT_SHARE);
}

/* ---- in a rank ---- */

struct train_place pulse_place;

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

/* When the step at hand began, had this process not been away since. */
static int64_t began_ns(int64_t step, int64_t now)
{
	static int64_t looked_ns, away_ns, away_in;
	int64_t since = atomic_load(&pulse_place.since);
	away_ns = (step == away_in ? away_ns : 0) +
	          (looked_ns ? clock_away_ns(looked_ns > since ? looked_ns : since, now) : 0);
	away_in = step;
	looked_ns = now;
	return since + away_ns;
}

/* " late STEP SECONDS WAITS" */
static void print_late(char *out, size_t size, int64_t limit)
{
	int64_t now = clock_ns(), median = atomic_load(&pulse_place.median), step = atomic_load(&pulse_place.step);
	int64_t since = now - began_ns(step, now);
	*out = 0;
	if (step && median && since > limit && since > LATE_STEPS * median)
		snprintf(out, size, " late %" PRId64 " %" PRId64 " %d", step, since / SECOND_NS,
		         now - communicator_waited() <
		                 limit / 2); /* a rank that waits looks all the time, if it is let */
}

static void *beat(void *unused)
{
	const struct timespec pause = {0, BEAT_MS * 1000000L};
	int64_t limit = pulse_limit_ns();
	char line[128], late[64];
	(void)unused;
	for (;;) {
		print_late(late, sizeof late, limit);
		print_line(line, sizeof line, late);
		say(line);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static volatile sig_atomic_t told; /* somebody hears this process */

void pulse_stopped(const char *message)
{
	char line[256];
	snprintf(line, sizeof line, "%s\n", message);
	if (told)
		say(line);
}

void pulse_start(void)
{
	told = 1;
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
	*p = (struct pulse){.ranks = ranks,
	                    .limit_ns = pulse_limit_ns(),
	                    .gone_ns = share_ns(GONE_SHARE),
	                    .late = array_make((size_t)ranks, sizeof *p->late),
	                    .heard_ns = array_make((size_t)ranks, sizeof *p->heard_ns),
	                    .pid = array_make((size_t)ranks, sizeof *p->pid),
	                    .looked_ns = clock_ns(),
	                    .begun_ns = clock_ns(),
	                    .running_ns = clock_ns()};
}

void pulse_release(struct pulse *p)
{
	free(p->late);
	free(p->heard_ns);
	free(p->pid);
	*p = (struct pulse){0};
}

static struct late read_late(const char *text)
{
	struct late late = {.step = 0};
	int waits = 0;
	if (sscanf(text, " late %" SCNd64 " %" SCNd64 " %d", &late.step, &late.seconds, &waits) != 3)
		return (struct late){.step = 0};
	late.waits = waits;
	return late;
}

/* Once one rank is there, the others come within a while, or were stopped before they could say anything. */
static void expect_others(struct pulse *p)
{
	for (int64_t i = 0; !p->began && i < p->ranks; i++)
		p->heard_ns[i] = clock_ns() + (START_LIMITS - 1) * p->limit_ns;
	p->began = true;
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
	expect_others(p);
	const char *more = line + strlen(BEAT) + end;
	bool ends = strstr(more, "end") != NULL;
	/* A beat that was on its way when the end was said. */
	if (p->pid[rank] == pid && !p->heard_ns[rank])
		return true;
	p->heard_ns[rank] = ends ? 0 : clock_ns();
	p->pid[rank] = pid;
	p->late[rank] = read_late(more);
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

/* This process was stopped itself, or got no core: what the others said meanwhile is still to be read. Of the time
 * between two looks no more than a second counts; none would, if the clocks began anew, on a machine that is always
 * late. */
static bool was_away(struct pulse *p, int64_t now)
{
	int64_t away = clock_away_ns(p->looked_ns, now);
	p->looked_ns = now;
	if (!away)
		return false;
	for (int64_t i = 0; i < p->ranks; i++)
		p->heard_ns[i] += p->heard_ns[i] ? away : 0;
	p->running_ns += away;
	p->begun_ns += away;
	return true;
}

static bool is_here(const struct pulse *p, int64_t rank)
{
	return !p->hosts || !p->hosts->count || hosts_is_here(hosts_name(p->hosts, rank));
}

/* A rank is blamed when its host has answered: find_gone tells one that does not. A busy launcher may have asked only
 * now. */
static bool may_be_gone(const struct pulse *p, int64_t rank)
{
	return p->hosts && p->hosts->count && reach_is_awaited(hosts_name(p->hosts, rank));
}

static bool tell_silent(const struct pulse *p, int64_t now, char *out, size_t size)
{
	int64_t rank = most_silent(p);
	if (rank < 0 || now - p->heard_ns[rank] < p->limit_ns || may_be_gone(p, rank))
		return false;
	long long seconds = (now - p->heard_ns[rank] + (p->pid[rank] ? 0 : START_LIMITS - 1) * p->limit_ns) / SECOND_NS;
	const char *host = p->hosts ? hosts_name(p->hosts, rank) : "";
	snprintf(out, size,
	         "rank %" PRId64 "%s%.80s %s for %lld s; the run was ended (SHARDLAB_COMM_TIMEOUT_S sets the limit)",
	         rank, *host ? " on " : "", host,
	         is_here(p, rank) && is_stopped((pid_t)p->pid[rank]) ? "was stopped" : "has not been heard of",
	         seconds);
	return true;
}

/* A host that went while its daemon was started: mpirun waits for that, and starts no rank anywhere. */
static bool tell_unstarted(const struct pulse *p, int64_t now, char *out, size_t size)
{
	if (p->began || !p->hosts || !p->hosts->count || now - p->begun_ns < START_LIMITS * p->limit_ns)
		return false;
	snprintf(out, size,
	         "mpirun has started no rank on the hosts for %lld s; the run was ended (SHARDLAB_COMM_TIMEOUT_S sets "
	         "the limit)",
	         (long long)(now - p->begun_ns) / SECOND_NS);
	return true;
}

/* Ranks that have been heard say themselves whether their host is there. */
static bool all_were_heard(const struct pulse *p)
{
	for (int64_t i = 0; i < p->ranks; i++)
		if (!p->pid[i])
			return false;
	return true;
}

static int64_t silent_ns(const struct pulse *p, int64_t rank, int64_t now)
{
	return rank >= 0 && p->heard_ns[rank] ? now - p->heard_ns[rank] : 0;
}

/* While ranks start, all hosts are asked. */
static const char *find_unstarted(const struct pulse *p, int64_t now, int64_t *ns)
{
	if (!p->began && now - p->begun_ns >= p->limit_ns)
		reach_expect(p->hosts);
	reach_look();
	const char *name = reach_missing(p->hosts, p->gone_ns);
	*ns = name ? reach_missed_ns(name) : 0;
	return name;
}

/* Later those whose rank is silent. */
static const char *find_gone(const struct pulse *p, int64_t now, int64_t *ns)
{
	if (silent_ns(p, most_silent(p), now) < ASK_NS) {
		reach_rest();
		return NULL;
	}
	reach_look();
	for (int64_t i = 0; i < p->ranks; i++) {
		*ns = silent_ns(p, i, now);
		if (*ns >= p->gone_ns && reach_missed_ns(hosts_name(p->hosts, i)) >= p->gone_ns - 2 * ASK_NS)
			return hosts_name(p->hosts, i);
	}
	return NULL;
}

static bool tell_unreachable(const struct pulse *p, int64_t now, char *out, size_t size)
{
	int64_t ns;
	if (!p->hosts || !p->hosts->count)
		return false;
	const char *name = all_were_heard(p) ? find_gone(p, now, &ns) : find_unstarted(p, now, &ns);
	if (name)
		snprintf(
		        out, size,
		        "%.80s has not answered for %lld s; the run was ended (SHARDLAB_COMM_TIMEOUT_S sets the limit)",
		        name, (long long)(ns / SECOND_NS));
	return name != NULL;
}

/* The process through which the ranks' lines come: while it is stopped nothing is heard of them. */
static bool is_mpirun_stopped(const struct pulse *p, pid_t child)
{
	bool is_rank = p->ranks == 1 && p->pid[0] == child;
	return !is_rank && is_stopped(child);
}

static bool tell_stopped(const struct pulse *p, int64_t now, char *out, size_t size)
{
	if (now - p->running_ns < p->limit_ns)
		return false;
	snprintf(out, size, "mpirun was stopped for %lld s; the run was ended",
	         (long long)(now - p->running_ns) / SECOND_NS);
	return true;
}

/* The rank that is late and waits for none; -1: there is no such. waiting: how many wait. */
static int64_t find_late(const struct pulse *p, int64_t *waiting)
{
	*waiting = 0;
	for (int64_t i = 0; i < p->ranks; i++) {
		if (p->late[i].step && !p->late[i].waits)
			return i;
		*waiting += p->late[i].step != 0;
	}
	return -1;
}

static bool tell_late(const struct pulse *p, char *out, size_t size)
{
	int64_t waiting, rank = find_late(p, &waiting);
	bool all_wait = waiting == p->ranks && p->late[0].seconds * SECOND_NS > 2 * p->limit_ns;
	if (rank >= 0)
		snprintf(out, size,
		         "rank %" PRId64 " has been at step %" PRId64 " for %" PRId64 " s; the run was ended", rank,
		         p->late[rank].step, p->late[rank].seconds);
	else if (all_wait)
		snprintf(out, size, "all ranks have waited at step %" PRId64 " for %" PRId64 " s; the run was ended",
		         p->late[0].step, p->late[0].seconds);
	return rank >= 0 || all_wait;
}

bool pulse_is_silent(struct pulse *p, pid_t child, char *out, size_t size)
{
	int64_t now = clock_ns();
	if (was_away(p, now))
		return false;
	if (is_mpirun_stopped(p, child))
		return tell_stopped(p, now, out, size);
	p->running_ns = now;
	return tell_unreachable(p, now, out, size) || tell_unstarted(p, now, out, size) ||
	       tell_silent(p, now, out, size) || (p->watches_steps && tell_late(p, out, size));
}

/* ---- the end ---- */

/* The same program: another process may have the number by now, or the rank was on another machine. One that dies has
 * none any more. */
static bool is_ours(long pid)
{
	char path[64];
	struct stat rank, own;
	snprintf(path, sizeof path, "/proc/%ld/exe", pid);
	if (stat(path, &rank))
		return errno == ENOENT;
	return !stat("/proc/self/exe", &own) && rank.st_ino == own.st_ino && rank.st_dev == own.st_dev;
}

/* With any of its threads: the last to go takes files and locks with it. */
static bool is_there(long pid)
{
	int handle = pid && is_ours(pid) ? pidfd_open((pid_t)pid, 0) : -1;
	struct pollfd end = {.fd = handle, .events = POLLIN};
	bool there = handle >= 0 && poll(&end, 1, 0) == 0;
	if (handle >= 0)
		close(handle);
	return there;
}

void pulse_wait_for_end(const struct pulse *p)
{
	enum { TRIES = 100 };
	const struct timespec pause = {0, 20 * 1000 * 1000};
	int tries = 0;
	for (int64_t i = 0; i < p->ranks; i++)
		for (; is_here(p, i) && is_there(p->pid[i]) && tries < TRIES; tries++)
			nanosleep(&pause, NULL);
}
