/* A learner's progress, kept in the user's state folder ($XDG_STATE_HOME or ~/.local/state) as
 * shardlab/lessons.json:
 *
 *     {"3": {"piece": 12, "done": true, "right": 5, "asked": 6, "solved": ["own-order"]}}
 */
#ifndef SHARDLAB_LESSON_LEARNER_H
#define SHARDLAB_LESSON_LEARNER_H

#include <stdbool.h>

#include "strategy/base/status.h"

struct json_t;

struct learner {
	struct json_t *all;
	char path[512]; /* "": there is nowhere to keep it */
};

struct lesson_progress {
	int piece; /* where to go on */
	int right, asked;
	bool done;
};

/* A file that cannot be read counts as none; one that is no progress is set aside, not overwritten. */
enum status learner_open(struct learner *p);
struct lesson_progress learner_progress(const struct learner *p, int lesson);
enum status learner_set(struct learner *p, int lesson, const struct lesson_progress *l);
bool learner_solved(const struct learner *p, int lesson, const char *exercise);
enum status learner_solve(struct learner *p, int lesson, const char *exercise);
void learner_release(struct learner *p);

#endif
