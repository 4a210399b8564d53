/* A progress bar on stderr: on a terminal only, and only for work that takes more than two seconds.
 *
 *     struct progress p;
 *     progress_begin(&p, 700);
 *     progress_show(&p, 12, "zero2");     // as often as one likes
 *     progress_clear(&p);                 // before anything else is printed, and at the end
 *
 * A label may have several items with " · " between them: the last ones are left out where the terminal is narrow.
 */
#ifndef SHARDLAB_PROGRESS_H
#define SHARDLAB_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool terminal, shown;
	int64_t total;
	double began, drawn; /* by clock_seconds() */
};

void progress_begin(struct progress *p, int64_t total);
void progress_show(struct progress *p, int64_t done, const char *label);
void progress_clear(struct progress *p);

#endif
