/* The order of numbers, for the functions that qsort and bsearch call:
 *
 *     return x->rank != y->rank ? compare(x->rank, y->rank) : compare(x->op, y->op);
 */
#ifndef SHARDLAB_COMPARE_H
#define SHARDLAB_COMPARE_H

#include <stdint.h>

/* Below 0, 0 or above 0, as a is less than b, equal or greater. */
static inline int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Compares two elements of an array of int64_t, for qsort. */
static inline int compare_elements(const void *a, const void *b)
{
	return compare(*(const int64_t *)a, *(const int64_t *)b);
}

#endif
