/* Inside the simulator: who runs, what they wait for, and what is under way.
 *
 *     process    a rank, or a class of ranks that are alike, on its way through its role's step (engine.c)
 *     instance   a collective or a message of the step (strategy/plan/rendezvous.h), with its cost (instance.c)
 *     group      one group that carries out an instance: its processes arrive, and then it begins (group.c: as one
 *                operation; message.c: round by round)
 *     activity   work under way, that shares the cluster's resources with others (fluid.h)
 */
#ifndef SHARDLAB_SIM_ENGINE_H
#define SHARDLAB_SIM_ENGINE_H

#include "sim/cost.h"
#include "sim/fluid.h"
#include "sim/rank_class.h"
#include "sim/sim.h"
#include "strategy/base/subset.h"
#include "strategy/plan/rendezvous.h"
#include "strategy/plan/walk.h"

/* A process's part in the communication that one of its queues has come to. */
struct participation {
	int group; /* -1: none */
	int op;
	int hold;         /* the activity that holds its share of a gpu; -1 */
	int64_t round;    /* of messages; -1: not yet in the first */
	struct round now; /* its peers are ranks, not processes */
	int pending;      /* messages of the round that are under way */
	int64_t message_begin;
};
#define NO_PARTICIPATION ((struct participation){.group = -1, .op = -1, .hold = -1, .round = -1})

struct process {
	const struct rank_class *who;
	const struct role *role;
	struct walk walk;
	const struct subset *timed;    /* of its role */
	int64_t *begin, *end;          /* by place; -1: not yet */
	int device, link_out, link_in; /* resources; -1 */
	struct participation at[QUEUE_COUNT];
};

struct simulated_instance {
	struct cost cost;
	struct schedule schedule;
	int64_t rounds, element_bytes;
	int first_group;   /* its groups follow one another */
	bool inside_nodes; /* every group lies on one node */
};

struct simulated_group {
	int instance;
	int arrived, wanted; /* processes */
	int64_t came;        /* when the last of them had */
};

enum activity_kind {
	ACTIVITY_OPERATION,
	ACTIVITY_HOLD,
	ACTIVITY_COLLECTIVE,
	ACTIVITY_LAUNCH,
	ACTIVITY_LATENCY,
	ACTIVITY_TRANSFER
};

struct node_resources {
	int cores, memory, network_out, network_in;
	int disk_read, disk_write; /* -1: there is no disk */
};

struct ready {
	int process, op;
};

/* The operations of a role's step that take time have a place among them; more than half of a step takes none. What its
 * ranks do by themselves has one of its different costs. */
struct timed {
	struct subset timed; /* [op - step.begin] */
	struct cost *costs;
	size_t cost_count, cost_capacity;
	int *cost; /* by place */
};
void timed_set_cost(struct timed *t, int place, const struct cost *cost);

struct engine {
	const struct plan *plan;
	const struct cluster *c;
	enum grain grain;
	struct trace *trace; /* NULL, or where messages go */
	struct rank_classes classes;
	int64_t shift; /* message by message: how many ranks stand for all (symmetry.h) */
	struct rendezvous rendezvous;
	struct cost_cache cache;
	struct timed timed[PLAN_ROLES]; /* by role */
	struct process *processes;      /* one a class */
	struct simulated_instance *instances;
	struct simulated_group *groups;
	struct node_resources *nodes;
	struct fluid fluid;
	struct ready *ready; /* first in, first out */
	size_t ready_begin, ready_count, ready_capacity;
	int64_t now;
	bool measured;
};

enum status engine_init(struct engine *e, const struct plan *plan, const struct cluster *c, enum grain grain,
                        struct trace *trace);
enum status engine_run(struct engine *e);
void engine_release(struct engine *e);

/* An operation of a process is done now. */
void engine_finish(struct engine *e, int process, int op);

static inline const struct op *engine_op(const struct engine *e, int process, int op)
{
	return &e->processes[process].role->ops[op];
}

static inline int64_t *process_begin(const struct process *p, int op)
{
	return &p->begin[subset_place(p->timed, op - p->role->step.begin)];
}
static inline int64_t *process_end(const struct process *p, int op)
{
	return &p->end[subset_place(p->timed, op - p->role->step.begin)];
}

static inline struct participation *engine_participation(struct engine *e, int process, int op)
{
	return &e->processes[process].at[engine_op(e, process, op)->queue];
}

/* The process's part in what a group carries out; NULL: it has not arrived. */
static inline struct participation *participation_in(struct engine *e, int process, int group)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->processes[process].at[q].group == group)
			return &e->processes[process].at[q];
	return NULL;
}

static inline const struct simulated_instance *engine_instance(const struct engine *e, int group)
{
	return &e->instances[e->groups[group].instance];
}

/* instance.c */
enum status instances_make(struct engine *e); /* before there are processes */
enum status groups_make(struct engine *e);    /* after */
int group_of(const struct engine *e, int process, int op);
/* The time at which all that an operation needs had come: its group's last member, or itself where it is no
 * communication. */
int64_t engine_came(const struct engine *e, int process, int op);
void instances_release(struct engine *e);

/* group.c */
void group_arrive(struct engine *e, int process, int op);
void group_leave(struct engine *e, int process, int op); /* gives back what it held, and finishes the operation */
void group_done(struct engine *e, int group);

/* message.c */
void message_join(struct engine *e, int process, int op);
void message_activity_done(struct engine *e, struct activity_tag tag);

#endif
