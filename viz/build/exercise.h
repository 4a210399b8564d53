/* Build it yourself: the operations of a strategy lie in a drawer, and a learner puts an empty step together from them.
 * A move is as much of the plan as a person thinks of at once: a unit's pass, a collective, memory that is given back.
 *
 *     struct exercise e;
 *     status = exercise_open(&e, &plan);                  // a plan of ddp, zero3, …; it outlives the exercise
 *     int move = exercise_find(&e, "gather block.0");
 *     if (!exercise_place(&e, move))
 *             puts(e.said.text);                          // "Rule 3 (lifetime): …"
 *     if (exercise_done(&e))
 *             exercise_plan(&e, &mine);                   // a real plan: verified, to be simulated, or run
 *     exercise_release(&e);
 *
 * The verifier judges (strategy/plan/plan.h). A move is held against the plan that consists of what is placed,
 * then this move, then the rest in the strategy's own order: if that is refused, so is the move, and the rule that it
 * breaks is said in plain words. So every legal order can be built, also one that is worse than the strategy's own. A
 * move may be placed twice, or left out: then the verifier has its say.
 */
#ifndef SHARDLAB_VIZ_EXERCISE_H
#define SHARDLAB_VIZ_EXERCISE_H

#include "viz/timeline/timeline.h"

/* In the order of the drawer: constant, what one does, the heading, what it is for. */
#define MOVE_LIST(X)                                                                                                   \
	X(LOAD, "load", "Load", "gives each rank samples of its own")                                                  \
	X(GATHER, "gather", "Gather",                                                                                  \
	  "is an all-gather: every rank gets the others' shards, and has the parameters whole")                        \
	X(FORWARD, "forward", "Forward", "computes the outputs, and keeps what the backward pass will need")           \
	X(FREE, "free", "Free parameters", "gives the memory of whole parameters back; the rank's shard stays")        \
	X(BACKWARD, "backward", "Backward", "computes the gradients, from the loss back to the samples")               \
	X(ALL_REDUCE, "all-reduce", "All-reduce", "sums gradients over the ranks; every rank gets the whole sum")      \
	X(REDUCE_SCATTER, "reduce-scatter", "Reduce-scatter",                                                          \
	  "sums gradients over the ranks; every rank gets its shard of the sum")                                       \
	X(FREE_GRADIENTS, "free gradients of", "Free gradients",                                                       \
	  "gives the memory of whole gradients back; the rank's shard of the sum stays")                               \
	X(COUNT, "count", "Count", "counts the step, as the optimizer needs it, and sums the loss up to be shown")     \
	X(UPDATE, "update", "Update", "lets the optimizer change the parameters by the gradients")

enum move_kind {
#define X(constant, verb, heading, what) MOVE_##constant,
	MOVE_LIST(X)
#undef X
	        MOVE_KINDS
};

const char *move_heading(enum move_kind k);
const char *move_what(enum move_kind k);

struct move {
	enum move_kind kind;
	char name[80];                    /* "gather block.0 again": no two moves have the same */
	char object[64];                  /* "block.0 again" */
	char said[128], said_object[112]; /* both in the language that was chosen */
	int *ops;                         /* of the plan's step, in its order */
	int op_count;
	int unit, micro, group; /* -1: none */
	int kernel;             /* of the model, the first that it computes; -1: none */
	enum pass pass;
};

/* More are too many to think about. */
enum { EXERCISE_MOVES = 40, EXERCISE_PLACED = 3 * EXERCISE_MOVES };

/* Says the outcome in words. */
struct verdict {
	bool accepted;
	int rule; /* of the verifier; 0: none is broken */
	char text[512];
	int move; /* the move that was tried, or is advised; -1 */
};

struct exercise {
	const struct plan *plan;
	struct timeline words; /* of the plan: names its buffers; nothing happens in it */
	struct move *moves;    /* in the strategy's own order */
	int move_count;
	int placed[EXERCISE_PLACED]; /* moves, in the learner's order */
	int put[EXERCISE_PLACED];    /* the placed move before which each one went, in the order of placing */
	int placed_count;
	bool done;           /* finished, and accepted */
	struct verdict said; /* the last */
};

/* STATUS_INPUT: there is no such exercise about this plan, with a line that says why. */
enum status exercise_open(struct exercise *e, const struct plan *plan);
void exercise_release(struct exercise *e); /* accepts NULL and a zeroed struct */

/* Finds a move by its name as a person writes it. Of several with one name it is the first that is not placed yet
 * ("gather root" stands for "gather root again" once the first is placed). -1: there is none. */
int exercise_find(const struct exercise *e, const char *name);
int exercise_times(const struct exercise *e, int move); /* how often it is placed */

/* Places a move at the end, if the verifier lets it. False: `said` has the rule. */
bool exercise_place(struct exercise *e, int move);
/* Places a move before the at-th placed one, if the moves after it stay legal. False: `said` has the rule, and nothing
 * has changed. */
bool exercise_insert(struct exercise *e, int move, int at);
/* Takes back the move that was placed last. False: there is none. */
bool exercise_undo(struct exercise *e);
void exercise_restart(struct exercise *e);
/* The step is said to be complete. False: `said` has what it lacks. */
bool exercise_done(struct exercise *e);
/* Fills the moves in the drawer's order: by kind, then in the order of the model's parts, whatever the strategy's own
 * order is. Repeated moves come last in their kind. Returns how many there are. */
int exercise_drawer(const struct exercise *e, int order[EXERCISE_MOVES]);
/* The next move of the strategy's own plan, and why it comes now; -1: all are placed. */
int exercise_hint(struct exercise *e);
/* Places all that is left, in the strategy's own order. */
void exercise_solve(struct exercise *e);

/* The plan of what is placed: whole only when it is done. */
void exercise_plan(const struct exercise *e, struct plan *out);

/* "Rule 3 says: a buffer is used only while alive, …." */
enum { RULE_WORDS = 256 };
const char *exercise_rule(char out[RULE_WORDS], int rule);

/* ---- lists of moves ---- */

/* Places the moves of a list with commas or line ends between them, up to the first that is refused; the verdict is in
 * `said`. "…" stands for the rest in the strategy's own order, and # begins a remark. STATUS_INPUT: no such move. */
enum status exercise_play(struct exercise *e, const char *list);

/* Writes the placed moves as such a list; a list that is too long is cut. */
void exercise_list(const struct exercise *e, char *out, size_t size);

/* ---- for its own files ---- */

/* moves.c: splits the step. */
enum status exercise_split(struct exercise *e);
/* reasons.c: why the verifier refuses a plan in which `owner` says whose move each operation of the step is. `tried`:
 * -1: it was said to be complete. */
void exercise_explain(struct exercise *e, const struct plan *p, const struct refusal *why, const int *owner, int tried);
/* hints.c */
void exercise_say_why(const struct exercise *e, int move, char *out, size_t size);

#endif
