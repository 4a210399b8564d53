/* The timeline of a step: everything that happens in it, in order, from a plan and a trace of it. The window and the
 * exports step through it; nothing in it moves by itself.
 *
 * An *event* is the least that can happen: a rank allocates or frees a buffer, begins an operation, its queue runs dry,
 * or a message of a collective arrives. All that ranks do at one time is one *instant*. A position p of the cursor
 * stands for "the first p instants have happened": 0 is the beginning, instant_count the end. The cursor
 * moves in steps of one of three sizes (enum step_size): a message, a round or operation, a phase; or to the next
 * highlight.
 *
 *     struct timeline s;
 *     timeline_open(&s, &trace, &limits);            // trace.plan is the plan; both outlive the timeline
 *     size_t p = timeline_next(&s, STEP_SIZE_ROUND, 0);
 *     … struct state of position p: viz/timeline/state.h …
 *     timeline_release(&s);
 *
 * Memory follows the order of issue, as the plan accounts for it: an allocation has happened when an operation behind
 * it has begun, and what was to compute before that is done. Messages are those of the schedules; a trace that
 * recorded messages says when they arrived, otherwise the rounds of a collective share its time equally.
 */
#ifndef SHARDLAB_VIZ_TIMELINE_H
#define SHARDLAB_VIZ_TIMELINE_H

#include "strategy/plan/plan.h"
#include "strategy/trace/bubble.h"
#include "strategy/trace/report.h"
#include "strategy/trace/trace.h"

/* In the order in which they happen at one time. */
enum event_kind {
	EVENT_MESSAGE, /* has arrived at `to` */
	EVENT_IDLE,    /* the queue of `op`, whose next operation that is, has nothing to do */
	EVENT_MEMORY,  /* alloc or free */
	EVENT_BEGIN,   /* an operation */
	EVENT_END,     /* of the step: the last */
};

struct event {
	int64_t time;                 /* ns */
	int64_t rank;                 /* message: the sender */
	int64_t to;                   /* message: the receiver */
	int64_t offset, count, bytes; /* message: elements of the collective's buffer, how many, and their bytes */
	int op;                       /* of the role of `rank` */
	int index;                    /* of the rank among those that are shown */
	int collective;               /* message: which; else -1 */
	int round;                    /* message: of the collective */
	short member, to_member;      /* message: the places of its ends in the group */
	/* Many ranks have many events: the least room. */
	enum event_kind kind : 8;
	enum queue queue : 8;
	bool add; /* message: the receiver adds it to what it has */
};

/* A unit's pass over a micro-batch, or the update. A phase ends when the gradients that it makes are reduced: what a
 * collective does says where it belongs, and not what else goes on meanwhile. */
struct phase {
	enum pass pass;
	int unit, micro; /* -1: of the update */
};

struct instant {
	size_t begin, end; /* events */
	int64_t time;
};

/* name in options, constant, what help says */
#define STEP_SIZE_LIST(X)                                                                                              \
	X("message", MESSAGE, "every message, allocation and beginning of an operation")                               \
	X("round", ROUND, "a round of a collective, or an operation")                                                  \
	X("phase", PHASE, "a unit's forward or backward pass, the update")

enum step_size {
#define X(name, constant, what) STEP_SIZE_##constant,
	STEP_SIZE_LIST(X)
#undef X
	        STEP_SIZE_COUNT
};

const char *step_size_name(enum step_size s);
bool step_size_parse(const char *name, enum step_size *out);

/* Highlights: "run to the next event" stops at them. */
#define HIGHLIGHT_LIST(X)                                                                                              \
	X(PEAK, "memory reaches its peak")                                                                             \
	X(OVERFLOW, "memory exceeds the capacity")                                                                     \
	X(STALL, "computing waits")                                                                                    \
	X(OVERLAP, "the first overlap of computing and communicating")                                                 \
	X(COLLECTIVE, "a collective is done")                                                                          \
	X(MESSAGE, "a message has arrived")

enum highlight_kind {
#define X(constant, what) HIGHLIGHT_##constant,
	HIGHLIGHT_LIST(X)
#undef X
	        HIGHLIGHT_COUNT
};

struct highlight {
	enum highlight_kind kind;
	size_t position;
	int64_t rank;
};

const char *highlight_name(enum highlight_kind k);

/* One collective of one group, or one message from rank to rank, which is a group of two. */
struct collective {
	enum op_kind kind;
	enum traffic_kind traffic;
	struct schedule schedule; /* ranks: of the group; of a message, its two ends */
	int64_t lead;             /* the lowest rank shown of the group */
	int64_t *rank;            /* of each place in the group; NULL: more than are shown */
	int *ops;                 /* of each place: by which operation of its role it takes part */
	uint64_t everyone;        /* the ranks of the group as bits */
	int64_t element_bytes;
	int64_t begin, end;            /* of the first rank to begin and the last to end */
	int64_t came;                  /* when its last member had come: from then on it moves data */
	int64_t last_came;             /* the same of those shown */
	int last;                      /* the one of those shown that came then */
	int64_t *cuts;                 /* chunk i is elements [cuts[i], cuts[i + 1]) */
	int64_t sent_bytes;            /* by all ranks together */
	size_t first_event, end_event; /* between which its messages lie, with others */
	int op;                        /* of the lead's role */
	int family;                    /* the first of those that other groups carry out by the same operation */
	int rounds, chunk_count;
	bool control;  /* outside the totals */
	bool shown;    /* its messages are events */
	bool recorded; /* when they arrived is from the trace */
};

/* The kinds of memory that pictures tell apart: the categories of the accounting, of which `gathered` is parameters
 * that are whole for a while, or gradients that wait to be reduced. In the order in which bars stack them: constant,
 * name, category whose colour, pattern and letter it has. */
#define HELD_LIST(X)                                                                                                   \
	X(PARAMETERS, "parameters", PARAMETERS)                                                                        \
	X(GRADIENTS, "gradients", GRADIENTS)                                                                           \
	X(WHOLE_GRADIENTS, "whole gradients", GRADIENTS)                                                               \
	X(OPTIMIZER, "optimizer", OPTIMIZER)                                                                           \
	X(ACTIVATIONS, "activations", ACTIVATIONS)                                                                     \
	X(WHOLE_PARAMETERS, "whole parameters", GATHERED)                                                              \
	X(BUFFERS, "buffers", BUFFERS)

enum held {
#define X(constant, name, category) HELD_##constant,
	HELD_LIST(X)
#undef X
	        HELD_COUNT
};

const char *held_name(enum held h);
enum category held_category(enum held h); /* for its colour, pattern and letter */

/* Live bytes after the operations of a role's step, in issue order. */
struct timeline_role {
	const struct role *role;
	enum held *held;            /* by buffer */
	int64_t *live[SPACE_COUNT]; /* [(op - step.begin + 1) * HELD_COUNT + held]; NULL: nothing there */
	int64_t *most[SPACE_COUNT]; /* [op - step.begin + 1]: the largest total up to there */
	int64_t peak[SPACE_COUNT];
	int peak_at[SPACE_COUNT]; /* operations issued when it is reached; 0: before the first */
};

struct timeline_rank {
	int64_t rank;
	int role;
	int64_t *begin, *end; /* [op - step.begin], ns; -1: not recorded */
	int64_t *came;        /* [op - step.begin]: as in struct span */
	int64_t *issued;      /* [op - step.begin]: when it was issued at the latest */
	int *collective;      /* [op - step.begin]: which it is; -1: none */
	size_t *event;        /* [op - step.begin]: its event; SIZE_MAX: none */
};

/* How far all are after so many events. Some are kept, so that a state need not begin at the first event. */
struct mark {
	size_t event;   /* how many */
	bool alone;     /* the step has no collectives but control */
	bool begun;     /* a collective that counts has begun */
	int collective; /* the last in which something happened; before any, the first that counts; -1: none */
	int64_t sent;   /* bytes by all ranks, without control */
	struct rank_mark {
		int issued;             /* operations of the rank's step */
		int64_t sent, received; /* bytes, without control */
	} * ranks;
};

/* Limits of the cluster, drawn beside the needs of the plan. 0: unknown. */
struct limits {
	int64_t device_bytes;   /* of one rank */
	int64_t overhead_bytes; /* the libraries' share of it */
	/* Bytes/s of the links in one direction: a rank's inside a node, one NIC's, a device's to its host, a node's
	 * disk's. */
	int64_t link, network, host_link, disk_read, disk_write;
	int64_t rails;      /* NICs of a node; 0: one */
	int64_t node_ranks; /* ranks of a node; 0: all are in one */
	bool measured_rates;
	bool overflows; /* it does not fit: then what is tightest, and what would fit */
	bool searching; /* the search for a change that fits is under way */
	struct report_tightest tightest;
	struct report_change change;
};

/* Above so many ranks a collective is summed up instead of shown message by message. */
#define TIMELINE_MESSAGE_RANKS 16
/* Above so many, its rounds are no events either. */
#define TIMELINE_ROUND_RANKS 64

struct timeline {
	const struct plan *plan;
	const struct trace *trace;
	struct limits limits;
	struct timeline_role roles[PLAN_ROLES];
	struct timeline_rank *ranks; /* those that the trace shows, ascending */
	int rank_count;
	struct event *events;
	size_t event_count, event_capacity;
	struct instant *instants;
	size_t instant_count;
	size_t *stops[STEP_SIZE_COUNT]; /* positions, ascending, from 0 to instant_count */
	size_t stop_count[STEP_SIZE_COUNT];
	struct phase *phases; /* the k-th lies between the k-th stop of its step size and the next */
	struct collective *collectives;
	int collective_count;
	struct highlight *highlights; /* by position */
	int highlight_count;
	struct mark *marks; /* one after every mark_every events, and after none */
	size_t mark_count, mark_every;
	int64_t step_ns;
	struct times times;  /* of the slowest rank */
	struct times *shown; /* of each of ranks, over the whole step */
	struct bubble bubble;
};

/* Every span and message of the trace must be one of its plan's (a trace that was read is checked).
 * STATUS_INPUT: more events than a picture can use. */
enum status timeline_open(struct timeline *s, const struct trace *trace, const struct limits *limits);
void timeline_release(struct timeline *s); /* accepts NULL and a zeroed struct */

/* ---- walking ---- */

size_t timeline_next(const struct timeline *s, enum step_size step_size, size_t position); /* stays at the end */
size_t timeline_previous(const struct timeline *s, enum step_size step_size, size_t position);
/* The k-th stop of a step size, and the last stop at or before a position. */
size_t timeline_stop(const struct timeline *s, enum step_size step_size, size_t k); /* k past the last: the last */
size_t timeline_stop_of(const struct timeline *s, enum step_size step_size, size_t position);
/* The first stop at or after a position: the step that shows what happens there. */
size_t timeline_stop_showing(const struct timeline *s, enum step_size step_size, size_t position);
/* The phase in which the last event before a position lies; at the beginning, the first. */
const struct phase *timeline_phase(const struct timeline *s, size_t position);
size_t timeline_position_at(const struct timeline *s, int64_t time); /* the last position by then */
int64_t timeline_time(const struct timeline *s, size_t position);
/* The position, forward or back from another, at which the next collective or message between stages has begun and sent
 * nothing yet. SIZE_MAX: there is none. */
size_t timeline_collective_begin(const struct timeline *s, size_t position, bool forward);
/* The position in another step of the same model that corresponds to ours: the first rank computes the same there.
 * Steps of another number of micro-batches correspond by the share of their instants. (same_place.c) */
size_t timeline_same_place(const struct timeline *ours, size_t position, const struct timeline *other);

/* ---- looking up (lookup.c) ---- */

const struct role *timeline_role_of(const struct timeline *s, int index);
/* The place of a rank among those shown; -1. */
int timeline_index_of(const struct timeline *s, int64_t rank);
/* The collective that an operation of a shown rank is; -1. */
int timeline_collective_of(const struct timeline *s, int index, int op);
/* The time in which communication of a shown rank waits for another: from its coming to the other's. */
struct wait {
	int64_t begin, end;
	int64_t rank; /* the rank that comes last; -1: none that is shown */
};
struct wait timeline_wait(const struct timeline *s, int index, int op);
/* The position right after an event. */
size_t timeline_position_of(const struct timeline *s, size_t event);
/* The operation that comes next in the order of issue, for which an allocation is; -1: none does. */
int role_needed_by(const struct role *r, int allocation);
/* The chunks that a message carries: returns the first, *last is the last. */
int collective_chunks(const struct collective *c, const struct event *message, int *last);
bool collective_carries(const struct collective *c, const struct event *message, int chunk);
/* Does the rank's order of issue go on with this event? */
static inline bool event_issues(const struct event *e)
{
	return e->kind == EVENT_MEMORY || (e->kind == EVENT_BEGIN && e->queue == QUEUE_COMPUTE);
}
/* Bytes of a shown rank by what they hold (enum held), after `issued` operations of its step. NULL: it has nothing
 * there. */
const int64_t *timeline_live(const struct timeline *s, int index, enum space space, int issued);

/* How far all are after the first `event` events. */
void timeline_mark(const struct timeline *s, size_t event, struct mark *out);
void mark_release(struct mark *m);

/* For the files that make a timeline. */
void timeline_count_memory(struct timeline_role *out, const struct role *role); /* memory.c */
void timeline_collect_collectives(struct timeline *s);
void timeline_collect_events(struct timeline *s);
void timeline_make_stops(struct timeline *s);
void timeline_find_highlights(struct timeline *s);
void timeline_make_marks(struct timeline *s);

#endif
