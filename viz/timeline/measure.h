/* How ranks, or the GPUs of another program's trace, spend a stretch of time: the sums beside the timeline, and those
 * of a range that was dragged.
 *
 *     struct measured m = measure_times(&lanes, first_lane_of_a_rank, from, to);
 *     … m.compute + m.exposed + m.bubble == m.length …
 *
 * Over the whole step they are struct times of strategy/trace/trace.h, which `sim` prints; over parts of it they add up
 * to the whole.
 */
#ifndef SHARDLAB_VIZ_MEASURE_H
#define SHARDLAB_VIZ_MEASURE_H

#include "viz/timeline/lanes.h"

struct measured {
	int64_t length;                   /* ns */
	int64_t compute, exposed, bubble; /* ns; of a GPU, bubble is all the time in which it does nothing */
	int64_t communication;            /* ns: it moves data, with computing beside it or not */
	int64_t sent_bytes; /* without control. Of an operation of which a part is in the range, that part; of a
	                       GPU, what its collectives and copies carry, as far as the trace says so */
	int64_t operations; /* of all queues or streams, of which some is in the range */
};

/* True for the first lane of a rank, and for the heading of a process. */
bool measure_begins(const struct lanes *l, int lane);
/* True if it has something to sum up: the lane of a rank, or of a process with a GPU. */
bool measure_has(const struct lanes *l, int lane);
/* How many lanes belong to the rank or process whose first that is. */
int measure_lanes(const struct lanes *l, int lane);

/* Measures the rank or process whose first lane that is, in [from, to) as far as something was recorded.
 * measure_times() gives length, compute, exposed and bubble alone: it takes as long for a long range as for a short
 * one. */
struct measured measure_times(const struct lanes *l, int lane, int64_t from, int64_t to);
struct measured measure_range(const struct lanes *l, int lane, int64_t from, int64_t to);

#endif
