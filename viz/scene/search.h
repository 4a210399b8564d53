/* Searching operations, buffers and spans by a part of their names, in either case.
 *
 *     struct search s = {0};
 *     search_make(&s, &lanes, "bucket.2");
 *     … s.hits[0 … s.count − 1], in order of time …
 *     search_release(&s);
 *
 * An operation of a plan is found by what it is called (in the plan, and in plain words), by its kernel or bucket, and
 * by the buffers that it uses: once a role, for all ranks do the same. Another program's spans are found by their
 * names.
 */
#ifndef SHARDLAB_VIZ_SEARCH_H
#define SHARDLAB_VIZ_SEARCH_H

#include "viz/timeline/lanes.h"

enum { SEARCH_TEXT = 48 };

struct search {
	char text[SEARCH_TEXT]; /* "": nothing is searched */
	struct search_hit {
		int64_t rank; /* another program's: the lane */
		int op;       /* another program's: the span of the lane */
		int64_t time; /* ns */
	} * hits;
	size_t count, capacity;
	bool *lit[PLAN_ROLES]; /* by operation of the role; NULL: none of it */
	bool *spans;           /* by number of another program's span; NULL: none */
};

void search_make(struct search *s, const struct lanes *l, const char *text); /* forgets the hits of an earlier search */
void search_release(struct search *s);                                       /* accepts a zeroed struct */

/* True if the span of a lane is among what was found. */
bool search_has(const struct search *s, const struct lanes *l, const struct lane *lane, const struct lane_span *span);
bool search_has_op(const struct search *s, int role, int op);
/* The first hit from a time on; of none the first of all. */
size_t search_from(const struct search *s, int64_t time);

#endif
