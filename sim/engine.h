/* Inside the simulator: who walks, what they wait for, and what is going on.
 *
 *     program   a role's step section as a graph: how many an operation waits for, and who waits for it (program.c)
 *     actor     a rank, or a class of them, on its way through its role's program (engine.c)
 *     event     a collective or a message of the step: the n-th of those who take part in it (event.c)
 *     meeting   an event of one group, to which the actors come that are of it (meeting.c: whole; message.c: by
 * messages)
 */
#ifndef SHARDLAB_SIM_ENGINE_H
#define SHARDLAB_SIM_ENGINE_H

#include "sim/cost.h"
#include "sim/fluid.h"
#include "sim/population.h"
#include "sim/sim.h"

struct program {
	const struct role *role;
	int begin, count;    /* operations [begin, begin + count) of the role; indices below are relative */
	int *waits;          /* by operation: the one before it on its queue, and those that it names */
	int *first_follower; /* count + 1 entries into followers */
	int *followers;
	struct cost *cost; /* not of communication: events have that */
	int *event;        /* by operation: which event of the step it is; -1 */
};

enum status program_make(struct program *p, const struct plan *plan, const struct role *role, const struct cluster *c);
void program_release(struct program *p);

/* The communication that an actor is in: one for each queue. */
struct attendance {
	int meeting; /* -1: none */
	int op;
	int hold;      /* activity that holds its share of a gpu; -1 */
	int64_t round; /* of messages; -1: not yet in the first */
	struct round now;
	int pending; /* messages of the round that are under way */
	int64_t message_begin;
};

struct actor {
	const struct population_actor *who;
	struct program *program;
	int *waits;                    /* by operation: still to come */
	int64_t *begin, *end;          /* by operation; -1: not yet */
	int device, link_out, link_in; /* resources; -1 */
	struct attendance at[QUEUE_COUNT];
};

/* The n-th time that the same ranks communicate: the members of a group, or two neighbours. */
struct event {
	const struct role *role;   /* one that issues it … */
	const struct op *op;       /* … as this */
	const struct role *sender; /* of a message */
	struct cost cost;
	struct rounds rounds;
	int first_meeting; /* of its groups, at the grain at hand */
};

struct meeting {
	int event, arrived, wanted;
};

/* Who communicates: an event's number is the n-th of its channel. */
struct channel {
	unsigned axes;
	bool ends;
	int sender; /* of messages: role; -1 */
	int *events;
	size_t count, capacity;
};

enum activity_kind {
	ACTIVITY_OPERATION,
	ACTIVITY_HOLD,
	ACTIVITY_MEETING,
	ACTIVITY_LAUNCH,
	ACTIVITY_LATENCY,
	ACTIVITY_TRANSFER
};

struct node_resources {
	int cores, memory, network_out, network_in;
	int disk_read, disk_write; /* -1: there is no disk */
};

struct ready {
	int actor, op;
};

struct engine {
	const struct plan *plan;
	const struct cluster *c;
	enum grain grain;
	struct trace *trace; /* NULL, or where messages go */
	struct population people;
	struct cost_cache cache;
	struct program programs[PLAN_ROLES];
	struct actor *actors;
	struct channel *channels;
	size_t channel_count, channel_capacity;
	struct event *events;
	size_t event_count, event_capacity;
	struct meeting *meetings;
	struct node_resources *nodes;
	struct fluid fluid;
	struct ready *ready;
	size_t ready_begin, ready_count, ready_capacity;
	int64_t now;
	int64_t left; /* operations, of all actors */
	bool measured;
};

enum status engine_init(struct engine *e, const struct plan *plan, const struct cluster *c, enum grain grain,
                        struct trace *trace);
enum status engine_run(struct engine *e);
void engine_release(struct engine *e);

/* An operation of an actor (index within its program) is done now. */
void engine_finish(struct engine *e, int actor, int op);

static inline const struct op *engine_op(const struct engine *e, int actor, int op)
{
	const struct program *p = e->actors[actor].program;
	return &p->role->ops[p->begin + op];
}

static inline struct attendance *engine_attendance(struct engine *e, int actor, int op)
{
	return &e->actors[actor].at[engine_op(e, actor, op)->queue];
}

/* The actor's part in a meeting that it has come to; NULL: it is not there. */
static inline struct attendance *attendance_in(struct engine *e, int actor, int meeting)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->actors[actor].at[q].meeting == meeting)
			return &e->actors[actor].at[q];
	return NULL;
}

static inline const struct event *engine_event(const struct engine *e, int meeting)
{
	return &e->events[e->meetings[meeting].event];
}

/* event.c */
enum status events_make(struct engine *e); /* of all programs, before there are actors */
enum status meetings_make(struct engine *e);
int meeting_of(const struct engine *e, int actor, int op);
void events_release(struct engine *e);

/* meeting.c */
void meeting_arrive(struct engine *e, int actor, int op);
void meeting_leave(struct engine *e, int actor, int op); /* gives back what it held, and finishes the operation */
void meeting_done(struct engine *e, int meeting);

/* message.c */
void message_join(struct engine *e, int actor, int op);
void message_event(struct engine *e, struct activity_tag tag);

#endif
