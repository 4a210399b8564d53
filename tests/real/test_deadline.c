/* The deadline of calls in which MPI waits by itself: it comes in time, and a process that was stopped for longer, as
 * with all of its run, has not used it up. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "real/communicator/communicator.h"
#include "strategy/base/clock.h"
#include "tests/support/suite.h"

enum { LIMIT_MS = 2000, TICK_MS = LIMIT_MS / 4 };

static void pause_ms(int64_t ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static pid_t start_waiting(void)
{
	pid_t child = fork();
	if (child)
		return child;
	if (communicator_deadline("a test"))
		_exit(2);
	for (;;)
		pause();
}

/* Milliseconds that it was not stopped for, until it ended of its own will. */
static int64_t lives_ms(int64_t stopped_ms)
{
	int status;
	int64_t began = clock_ns();
	pid_t child = start_waiting();
	pause_ms(TICK_MS / 2);
	kill(child, SIGSTOP);
	pause_ms(stopped_ms);
	kill(child, SIGCONT);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	return (clock_ns() - began) / 1000000 - stopped_ms;
}

START_TEST(ends_in_time)
{
	int64_t ms = lives_ms(0);
	ck_assert_msg(ms >= LIMIT_MS, "it ended after %lld ms", (long long)ms);
}

/* Of the time in which it is stopped one tick passes. */
START_TEST(time_that_it_was_stopped_does_not_count)
{
	int64_t ms = lives_ms(2 * LIMIT_MS);
	ck_assert_msg(ms >= LIMIT_MS - TICK_MS, "it ended after %lld ms", (long long)ms);
}

static void set_limit(void)
{
	setenv("SHARDLAB_COMM_TIMEOUT_S", "2", 1);
}

SUITE_WITH("deadline", 60, set_limit, NULL)
