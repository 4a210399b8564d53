/* The clock of everything that is measured: nanoseconds that only go forward, the same for all processes of a machine.
 */
#ifndef SHARDLAB_CLOCK_H
#define SHARDLAB_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A process that polls all the time counts at most a second between two polls. Returns the rest: the process was
 * stopped then, maybe with all of its run, or had no core. */
static inline int64_t clock_away_ns(int64_t looked_ns, int64_t now_ns)
{
	int64_t away = now_ns - looked_ns - 1000000000;
	return away > 0 ? away : 0;
}

static inline double clock_seconds(void)
{
	return 1e-9 * (double)clock_ns();
}

#endif
