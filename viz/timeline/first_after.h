/* Looking for a time in an array whose times ascend, by halving:
 *
 *     i = FIRST_AFTER(lane->gaps, 0, lane->gap_count, struct lane_gap, end, time);     the first gap that ends after it
 */
#ifndef SHARDLAB_VIZ_FIRST_AFTER_H
#define SHARDLAB_VIZ_FIRST_AFTER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of the elements [from, to), of `size` bytes each with its time `offset` bytes behind its beginning, the first whose
 * time is after one; none is: `to`. */
static inline size_t first_after(const void *array, size_t from, size_t to, size_t size, size_t offset, int64_t time)
{
	size_t low = from, high = to;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t there;
		memcpy(&there, (const char *)array + middle * size + offset, sizeof there);
		if (there <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define FIRST_AFTER(array, from, to, type, member, time)                                                               \
	first_after(array, (size_t)(from), (size_t)(to), sizeof(type), offsetof(type, member), time)

#endif
