/* The state of all ranks at a position of the cursor. It depends on the timeline and the position alone: going forward,
 * backward or by a jump leads to the same state. (The step size says which events count as the latest.)
 *
 *     struct state st = {0};
 *     state_make(&st, &timeline, STEP_SIZE_ROUND, position);
 *     … st.held[member * chunks + chunk] is the set of ranks whose contributions a member holds of chunk …
 *     state_release(&st);
 */
#ifndef SHARDLAB_VIZ_STATE_H
#define SHARDLAB_VIZ_STATE_H

#include "viz/timeline/timeline.h"

enum op_state { OP_WAITS, OP_RUNS, OP_DONE };

struct state_rank {
	int issued;                /* operations of its step */
	int running[QUEUE_COUNT];  /* operation of the role; -1: the queue stands still */
	int next[QUEUE_COUNT];     /* the operation that it begins next; -1: none */
	int64_t live[SPACE_COUNT]; /* bytes */
	int64_t peak[SPACE_COUNT]; /* the most so far */
	int64_t sent, received;    /* bytes in this step, without control */
	int64_t sent_collective;   /* bytes in the collective that is shown */
	bool member;               /* it takes part in that collective, in whichever group */
};

/* One group's part of the collective that is shown. Other groups carry out theirs by the same operation. */
struct state_group {
	int collective;
	bool done;
	int round;      /* rounds of it that are over on all ranks */
	size_t arrived; /* messages of it that have arrived */
	uint64_t *held; /* [member * chunk_count + chunk], bit r: holds the contribution of rank r; NULL: not shown */
	int64_t sent;   /* bytes */
};

struct state {
	const struct timeline *timeline;
	size_t position;
	int64_t time;
	struct state_rank *ranks; /* as timeline.ranks */
	/* The last step did events [latest, latest_end) of the timeline; empty at the beginning. */
	enum step_size step_size;
	size_t latest, latest_end;
	/* The collective of which something happened last; before any, the first. Control (the loss) counts only if
	 * there is no other. -1: the step has none. */
	int collective;
	bool begun; /* it, or another before it */
	/* The groups that carry it out, `collective` being that of the first, whose figures are those below. */
	struct state_group *groups;
	int group_count;
	bool done;
	int round;
	size_t arrived;
	uint64_t *held;
	int64_t sent_collective;
	int64_t sent; /* by all ranks in this step, without control */
};

void state_make(struct state *st, const struct timeline *s, enum step_size step_size, size_t position);
void state_release(struct state *st); /* accepts NULL and a zeroed struct */

/* The state of operation `op` of the role of the shown rank `index`. */
enum op_state state_of_op(const struct state *st, int index, int op);

/* Marks in `alive`, which has a place for each buffer of the rank's role, those that are alive. */
void state_alive(const struct state *st, int index, bool *alive);

/* True if a member's contribution to a collective is there, since all that its operation waits for is done. */
bool state_ready(const struct state *st, int collective, int64_t member);

/* Contributions held before the first message: the bits of a place in the group and a chunk. */
uint64_t state_initially(const struct collective *c, int64_t member, int chunk);
/* How many ranks' contributions these are. */
int state_contributors(uint64_t held);
/* A chunk that ends with all ranks' contributions, or that is only passed on. */
bool collective_adds(const struct collective *c);

#endif
