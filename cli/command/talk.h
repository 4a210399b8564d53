/* The talk of a run: what the child says on stderr, heard line by line, and the one message that it comes to.
 */
#ifndef SHARDLAB_TALK_H
#define SHARDLAB_TALK_H

#include "cli/command/launch.h"
#include "cli/command/pulse.h"
#include "strategy/base/arena.h"

enum { KEPT_LINES = 200, LINE_BYTES = 1024 };

struct talk {
	char fatal[LINE_BYTES]; /* the first line of ours, without "fatal: " */
	char died[LINE_BYTES];  /* mpirun's line about a rank that a signal ended */
	int signal;             /* its number */
	char *kept[KEPT_LINES]; /* the first of those that are not mpirun's framing: for a crash that says no more */
	int kept_count;
	char silent[256];         /* a rank that has fallen silent */
	char stopped[LINE_BYTES]; /* a rank's line that a signal has stopped the run */
	int64_t looked_ns;        /* when it was last looked for one */
	int64_t ending_ns;        /* since when the run should be ending; 0: it goes on */
	int kills;                /* signals sent since then */
	int ending_signal;        /* the first of them: it ends the child in order */
	int64_t killed_ns;        /* when the last of them was sent */
	struct pulse pulse;
	struct arena arena;
};

void talk_init(struct talk *t, int64_t ranks);
void talk_release(struct talk *t);
/* Takes one line. context: the talk. */
void talk_hear(void *context, const char *line);
/* From now on the run should be ending. */
void talk_should_end(struct talk *t);
/* How it ended. status: of waitpid. mpirun: the child was mpirun. */
enum status talk_judge(const struct launch *l, const struct talk *t, int status, bool mpirun);

#endif
