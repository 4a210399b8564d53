/* Searching in arrays of structures that are in ascending order of a member, an int64_t.
 *
 *     size_t i = FIRST_PAST(spans, end, 0, span_count, now);      spans[i] is the first that ends behind `now`
 */
#ifndef SHARDLAB_SEARCH_H
#define SHARDLAB_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Finds the first of array[low … high) whose member is above the value; high: there is none. The comparison is not
 * evaluated; it is there since compilers refuse it for a member of another type. */
#define FIRST_PAST(array, member, low, high, value)                                                                    \
	search_past(array, sizeof *(array),                                                                            \
	            offsetof(__typeof__(*(array)), member) + 0 * sizeof(&(array)->member == (const int64_t *)0),       \
	            (size_t)(low), (size_t)(high), value)

static inline size_t search_past(const void *array, size_t stride, size_t member, size_t low, size_t high,
                                 int64_t value)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t is;
		memcpy(&is, (const char *)array + middle * stride + member, sizeof is);
		if (is <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
