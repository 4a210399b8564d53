/* The pulse of a run, as the launcher hears it: which rank is told to be late, and when none is. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/pulse.h"
#include "cli/command/reach.h"
#include "tests/support/suite.h"

static struct pulse pulse;
static char said[256];

static void hear(const char *line)
{
	ck_assert_msg(pulse_hear(&pulse, line), "'%s' is none of a pulse's", line);
}

static bool finds(void)
{
	*said = 0;
	return pulse_is_silent(&pulse, getpid(), said, sizeof said);
}

static void open_pulse(void)
{
	pulse_init(&pulse, 3);
	pulse.watches_steps = true;
}

static void close_pulse(void)
{
	pulse_release(&pulse);
}

START_TEST(other_lines_are_no_pulse)
{
	ck_assert(!pulse_hear(&pulse, "fatal: rank 1: out of memory"));
	hear("shardlab-pulse 7 100 9"); /* a rank that there is not */
	hear("shardlab-pulse nonsense");
	hear("shardlab-pulse 1 101 9");
	ck_assert(!finds());
}

/* It holds up those that wait for it. */
START_TEST(a_rank_that_is_late_and_waits_for_none_is_lost)
{
	hear("shardlab-pulse 0 100 9 late 12 31 1");
	hear("shardlab-pulse 2 102 9");
	ck_assert(!finds());
	hear("shardlab-pulse 1 101 9 late 12 30 0");
	ck_assert(finds());
	ck_assert_str_eq(said, "rank 1 has been at step 12 for 30 s; the run was ended");
	ck_assert_uint_eq(pulse.job, 9);
}

START_TEST(a_rank_that_came_to_the_end_of_its_step_is_not_late)
{
	hear("shardlab-pulse 1 101 9 late 12 30 0");
	hear("shardlab-pulse 1 101 9");
	ck_assert(!finds());
}

START_TEST(ranks_that_all_wait_are_lost_after_twice_the_time)
{
	for (int seconds = 11; seconds <= 21; seconds += 10) {
		char line[64];
		for (int rank = 0; rank < 3; rank++) {
			snprintf(line, sizeof line, "shardlab-pulse %d 100 9 late 5 %d 1", rank, seconds);
			hear(line);
		}
		ck_assert(finds() == (seconds > 20));
	}
	ck_assert_str_eq(said, "all ranks have waited at step 5 for 21 s; the run was ended");
}

START_TEST(a_run_that_does_not_start_again_is_late_as_it_likes)
{
	pulse.watches_steps = false;
	hear("shardlab-pulse 1 101 9 late 12 30 0");
	ck_assert(!finds());
}

/* After a time in which the launcher did not look, only a second counts: pulses sent meanwhile may be unread. */
START_TEST(a_launcher_that_was_away_does_not_take_its_ranks_for_silent)
{
	const int64_t second = 1000000000;
	hear("shardlab-pulse 1 101 9");
	pulse.heard_ns[1] -= 60 * second;
	pulse.looked_ns -= 60 * second;
	ck_assert(!finds());
	ck_assert(!finds());
	pulse.heard_ns[1] -= pulse.limit_ns;
	ck_assert(finds());
}

/* A host that went while its daemon was started: over hosts alone, where logging in may hang, and until a rank is
 * heard. */
START_TEST(mpirun_that_starts_nobody_is_lost)
{
	static struct host two[] = {{.name = "node1", .slots = 2}, {.name = "node2", .slots = 1}};
	const struct hosts hosts = {.list = two, .count = 2};
	pulse.begun_ns -= 4 * pulse.limit_ns;
	ck_assert(!finds());
	pulse.hosts = &hosts;
	ck_assert(finds());
	ck_assert_str_eq(said, "mpirun has started no rank on the hosts for 40 s; the run was ended "
	                       "(SHARDLAB_COMM_TIMEOUT_S sets the limit)");
	hear("shardlab-pulse 0 100 9");
	ck_assert(!finds());
}

/* A launcher that got no core asks the host late: its rank is not blamed while the answer may still come. No network
 * has this address. */
START_TEST(a_host_that_was_asked_just_now_is_waited_for)
{
	static struct host two[] = {{.name = "127.0.0.1", .slots = 2}, {.name = "198.51.100.7", .slots = 1}};
	const struct hosts hosts = {.list = two, .count = 2};
	pulse.hosts = &hosts;
	reach_watch(&hosts);
	reach_expect(&hosts);
	hear("shardlab-pulse 0 100 9");
	hear("shardlab-pulse 1 101 9");
	hear("shardlab-pulse 2 102 9");
	pulse.heard_ns[2] -= pulse.limit_ns;
	ck_assert(!finds());
	pulse.gone_ns = 2 * INT64_C(1000000000);
	ck_assert(finds());
	ck_assert_str_eq(said, "198.51.100.7 has not answered for 10 s; the run was ended "
	                       "(SHARDLAB_COMM_TIMEOUT_S sets the limit)");
}

static void *linger(void *unused)
{
	nanosleep(&(struct timespec){0, 200 * 1000 * 1000}, NULL);
	_exit(0);
	return unused;
}

/* The first thread of a process that dies goes before its files and locks do. */
START_TEST(a_rank_is_waited_for_until_its_last_thread_has_ended)
{
	char line[64];
	pthread_t thread;
	pid_t rank = fork();
	if (!rank) {
		pthread_create(&thread, NULL, linger, NULL);
		pthread_exit(NULL);
	}
	snprintf(line, sizeof line, "shardlab-pulse 0 %ld 9", (long)rank);
	hear(line);
	pulse_wait_for_end(&pulse);
	ck_assert_int_eq(waitpid(rank, NULL, WNOHANG), rank);
}

SUITE_WITH("pulse", 0, open_pulse, close_pulse)
