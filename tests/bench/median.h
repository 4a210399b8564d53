/* What benchmarks say of many times: the middle one, which a busy moment of the machine does not move. */
#ifndef SHARDLAB_TESTS_BENCH_MEDIAN_H
#define SHARDLAB_TESTS_BENCH_MEDIAN_H

#include <stdlib.h>

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, by_value);
	return values[n / 2];
}

#endif
