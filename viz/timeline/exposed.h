/* The longest exposed communication of a step: the collectives and messages during which a rank stands still, the
 * longest first. Among ranks that take part in the same one, the rank that stands still longest.
 */
#ifndef SHARDLAB_VIZ_EXPOSED_H
#define SHARDLAB_VIZ_EXPOSED_H

#include "viz/timeline/lanes.h"
#include "viz/timeline/speed.h"

struct exposed {
	int64_t rank;        /* another program's: the lane */
	int op;              /* another program's: the span of the lane */
	int64_t begin, time; /* ns: where it begins to be exposed, and how long it is in all */
	int64_t bytes;       /* of payload, as in struct speed; 0: not known */
};

/* The most that are listed. */
enum { EXPOSED_LISTED = 20 };

/* At most `most` of them; returns how many there are in all. */
size_t exposed_longest(const struct lanes *l, struct exposed *out, size_t most);
/* The whole of which the exposed time is a share: the step, or the time from the first to the last operation on any
 * GPU. */
int64_t exposed_whole(const struct lanes *l);
bool exposed_speed(const struct lanes *l, const struct exposed *e, struct speed *out);

#endif
