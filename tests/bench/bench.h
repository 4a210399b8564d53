/* Shared by the benchmarks: a clock, the middle of many times, how many rounds were asked for, and the end of a run
 * that cannot go on.
 *
 *     int rounds = bench_rounds(argc, argv, 9, ROUNDS_MOST);
 *     must(executor_run(…));
 *     times[i] = clock_seconds() - begin;
 *     printf("%.3f s\n", median(times, rounds));
 */
#ifndef SHARDLAB_TESTS_BENCH_H
#define SHARDLAB_TESTS_BENCH_H

#include <stdio.h>
#include <stdlib.h>

#include "strategy/base/clock.h"
#include "strategy/base/status.h"

extern char *program_invocation_short_name; /* glibc's, in errno.h under _GNU_SOURCE */

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The middle one, which a busy moment of the machine does not move. Sorts the values. */
static inline double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, by_value);
	return values[n / 2];
}

static inline _Noreturn void bench_fail(const char *why)
{
	fprintf(stderr, "fatal: %s: %s\n", program_invocation_short_name, why);
	exit(2); /* of a rank too: mpirun then ends the others */
}

static inline void must(enum status s)
{
	if (s)
		bench_fail(status_message());
}

static inline void *bench_zeroed(size_t count, size_t bytes)
{
	void *p = calloc(count, bytes);
	if (!p)
		bench_fail("out of memory");
	return p;
}

/* The first argument, or `standard` without one. */
static inline int bench_rounds(int argc, char **argv, int standard, int most)
{
	char why[64];
	int rounds = argc > 1 ? atoi(argv[1]) : standard;
	snprintf(why, sizeof why, "rounds must be between 1 and %d", most);
	if (rounds < 1 || rounds > most)
		bench_fail(why);
	return rounds;
}

/* The word after a figure that has a target. */
static inline const char *verdict(bool reached)
{
	return reached ? "reached" : "MISSED";
}

#endif
