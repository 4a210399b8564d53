/* The steps that a page has: all, but of a collective of so many ranks that they are not drawn message by message only
 * the first two rounds, the one in the middle and the last. The others look like them, and would make a page of 64
 * ranks seven times as large.
 */
#ifndef SHARDLAB_VIZ_HTML_STEPS_H
#define SHARDLAB_VIZ_HTML_STEPS_H

#include "viz/export/playback.h"

struct page_steps {
	size_t *stop; /* of the timeline, ascending; the first is 0 */
	size_t count;
	bool all;
};

enum status page_steps_init(struct page_steps *steps, const struct playback *p);
void page_steps_release(struct page_steps *steps); /* accepts NULL and a zeroed struct */
/* The page's last step at or before a stop of the timeline, and its first at or behind. */
size_t page_step_before(const struct page_steps *steps, size_t stop);
size_t page_step_behind(const struct page_steps *steps, size_t stop);

#endif
