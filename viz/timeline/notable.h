/* The places of a step that are worth looking at, the most important first: that memory does not suffice, or is at its
 * peak; the longest exposed communication; the longest bubbles; the first overlap; the end of the first collective of
 * each kind.
 */
#ifndef SHARDLAB_VIZ_NOTABLE_H
#define SHARDLAB_VIZ_NOTABLE_H

#include "viz/timeline/exposed.h"

enum notable_kind {
	NOTABLE_OVERFLOW,
	NOTABLE_PEAK,
	NOTABLE_EXPOSED,
	NOTABLE_BUBBLE,
	NOTABLE_OVERLAP,
	NOTABLE_END, /* of a collective, or of a message */
};

struct notable {
	enum notable_kind kind;
	size_t position; /* of the cursor */
	int64_t rank;
	int op; /* peak, overflow: which needs the memory (-1: what stays between steps); bubble: which begins after it;
	           -1: none */
	int64_t amount; /* bytes of memory; ns of an exposed stretch or a bubble; else 0 */
};

enum { NOTABLE_EXPOSED_MOST = 3, NOTABLE_BUBBLES_MOST = 3 };

/* To be freed; of a plan's lanes. */
struct notable *notables_make(const struct lanes *l, size_t *count);

#endif
