/* Waiting for messages, on a machine where the compute threads need the cores.
 *
 * MPI moves bytes only inside its calls, so a wait is a loop of polls. Between two that found nothing:
 *
 *     spinning      yield: the compute thread stands still, nothing is taken from it; but now and then sleep a little,
 *                   or two ranks that found themselves on one core would hand it to each other once in a time slice
 *     … to meet     the same at first, then sleep: the other end may compute, and a core that another rank yields on is
 *                   a core on which the scheduler lets none of its threads in
 *     otherwise     yield a few times (a message is often microseconds away), then sleep, longer each time up to a
 *                   limit
 *
 * The sleeps are short against the time of a piece of a large message, and several pieces are under way at once, so a
 * poll that comes late still finds work.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "real/communicator/internal.h"
#include "strategy/base/clock.h"

enum {
	YIELDS = 8,
	SLEEP_FIRST_NS = 20 * 1000,
	SLEEP_LIMIT_NS = 100 * 1000,
	SPIN_YIELDS = 64,
	SPIN_SLEEP_NS = 5 * 1000,
	CLOCK_EVERY = 64, /* spinning, look at the clock once in so many polls */
};

static void sleep_ns(int64_t ns)
{
	/* By default Linux adds up to 50 µs to a thread's sleeps, more than the sleep itself. */
	static _Thread_local bool exact;
	struct timespec t = {0, (long)ns};
	if (!exact) {
		prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
		exact = true;
	}
	nanosleep(&t, NULL);
}

static atomic_llong waited_ns;

int64_t communicator_waited(void)
{
	return atomic_load_explicit(&waited_ns, memory_order_relaxed);
}

static bool time_is_up(struct patience *p)
{
	int64_t now = clock_ns();
	atomic_store_explicit(&waited_ns, now, memory_order_relaxed);
	if (p->since_ns == 0)
		p->since_ns = p->looked_ns = now;
	p->since_ns += clock_away_ns(p->looked_ns, now);
	p->looked_ns = now;
	return now - p->since_ns > p->limit_ns;
}

static void pause_spinning(const struct patience *p)
{
	if (p->computing && p->polls > SPIN_YIELDS)
		sleep_ns(SLEEP_FIRST_NS);
	else if (p->polls % SPIN_YIELDS == 0)
		sleep_ns(SPIN_SLEEP_NS);
	else
		sched_yield();
}

bool patience_pause(struct communicator_base *b, struct patience *p)
{
	p->polls++;
	if (atomic_load_explicit(&b->spin, memory_order_relaxed)) {
		pause_spinning(p);
		return p->polls % CLOCK_EVERY != 0 || !time_is_up(p);
	}
	if (p->polls <= YIELDS) {
		sched_yield();
		return true;
	}
	int64_t ns = (int64_t)SLEEP_FIRST_NS * (p->polls - YIELDS);
	sleep_ns(ns < SLEEP_LIMIT_NS ? ns : SLEEP_LIMIT_NS);
	return !time_is_up(p);
}

static enum status wait_with(struct communicator_base *b, MPI_Request *request, struct patience patience,
                             const char *what, int peer)
{
	for (;;) {
		int done = 0, code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (code != MPI_SUCCESS)
			return communicator_mpi_failed(b, code, what, peer);
		if (done)
			return STATUS_OK;
		if (!patience_pause(b, &patience))
			return communicator_timed_out(b, patience.limit_ns, what, peer);
	}
}

enum status communicator_wait(struct communicator_base *b, MPI_Request *request, const char *what, int peer)
{
	return wait_with(b, request, (struct patience){.limit_ns = b->timeout_ns}, what, peer);
}

enum status communicator_wait_to_meet(struct communicator_base *b, MPI_Request *request, const char *what, int peer)
{
	return wait_with(b, request, (struct patience){.limit_ns = PATIENCE_TO_MEET * b->timeout_ns, .computing = true},
	                 what, peer);
}

enum status communicator_mpi_failed(struct communicator_base *b, int code, const char *what, int peer)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length;
	b->broken = true;
	MPI_Error_string(code, text, &length);
	if (peer < 0)
		return status_fail(STATUS_RUN, "rank %d: %s: " MPI_SAYS "%s", b->public.rank, what, text);
	return status_fail(STATUS_RUN, "rank %d: %s with rank %d: " MPI_SAYS "%s", b->public.rank, what, peer, text);
}

enum status communicator_timed_out(struct communicator_base *b, int64_t limit_ns, const char *what, int peer)
{
	double seconds = (double)limit_ns * 1e-9;
	char whom[32] = "the other ranks";
	b->broken = true;
	if (peer >= 0)
		snprintf(whom, sizeof whom, "rank %d", peer);
	return status_fail(
	        STATUS_RUN,
	        "rank %d: %s: waited %g s for %s and nothing moved; that rank may have stopped, wait itself, "
	        "or still be at work " LIMIT_SET_BY,
	        b->public.rank, what, seconds, whom);
}

bool communicator_lost(const char *message)
{
	return strstr(message, LIMIT_SET_BY) || strstr(message, MPI_SAYS);
}

bool communicator_failed(const struct communicator *c)
{
	return ((const struct communicator_base *)c)->broken;
}

enum status communicator_is_broken(const struct communicator_base *b)
{
	return status_fail(STATUS_RUN, "rank %d: the communicator failed before and cannot be used again",
	                   b->public.rank);
}
