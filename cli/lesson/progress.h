/* What a learner has done, kept in the user's state folder ($XDG_STATE_HOME or ~/.local/state) as
 * shardlab/lessons.json:
 *
 *     {"3": {"piece": 12, "done": true, "right": 5, "asked": 6, "solved": ["own-order"]}}
 */
#ifndef SHARDLAB_LESSON_PROGRESS_H
#define SHARDLAB_LESSON_PROGRESS_H

#include <stdbool.h>

#include "strategy/base/status.h"

struct json_t;

struct progress {
	struct json_t *all;
	char path[512]; /* "": there is nowhere to keep it */
};

struct lesson_progress {
	int piece; /* where to go on */
	int right, asked;
	bool done;
};

/* A file that cannot be read counts as none; one that is no progress is set aside, not overwritten. */
enum status progress_open(struct progress *p);
struct lesson_progress progress_of(const struct progress *p, int lesson);
enum status progress_set(struct progress *p, int lesson, const struct lesson_progress *l);
bool progress_solved(const struct progress *p, int lesson, const char *exercise);
enum status progress_solve(struct progress *p, int lesson, const char *exercise);
void progress_release(struct progress *p);

#endif
