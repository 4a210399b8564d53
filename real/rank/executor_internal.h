/* Shared by the devices' executors, which alone include it: the members of collectives, what was counted, the spans and
 * times of the last section, the first error, and the loop over operations.
 */
#ifndef SHARDLAB_EXECUTOR_INTERNAL_H
#define SHARDLAB_EXECUTOR_INTERNAL_H

#include <pthread.h>

#include "real/rank/executor.h"
#include "real/rank/values.h"
#include "strategy/base/clock.h"

struct executor_ops {
	enum status (*run)(struct executor *e, const struct section *s);
	enum status (*read)(struct executor *e, int buffer, void *out, int64_t bytes);
	void (*close)(struct executor *e); /* releases what is its own, and then calls executor_base_release */

	/* ---- one operation, as executor_issue goes through them ---- */
	/* Waits until all that the operation waits for is done, or will be when its queue comes to it. An error ends
	 * the loop. */
	enum status (*await)(struct executor *e, int number);
	enum status (*communicate)(struct executor *e, int number); /* class C */
	enum status (*call_host)(struct executor *e, int number);   /* of a host's queue */
	enum status (*launch)(struct executor *e, int number);      /* of the device's */
	/* The operation has been carried out, or issued, with this status. Returns the status for the loop. */
	enum status (*done)(struct executor *e, int number, enum status status);
};

struct op_span {
	int64_t begin, end; /* since the section began; -1: takes no time */
	int64_t came;       /* when the last member of its group had; -1: the others have not said so */
};

/* The ranks that a collective runs over, where they are not all. */
struct group_of_ranks {
	unsigned axes;
	bool ends;
	int colour, place;                 /* the group, and this rank's place in it; colour -1: none */
	struct communicator *communicator; /* NULL: this rank is in none */
	void *library;                     /* the executor's own: the same ranks in its library */
};

enum { MOST_GROUPS = 2 << PLAN_AXES };

struct executor {
	const struct executor_ops *ops;
	struct rank_memory *memory; /* the rank's buffers, wherever its memory is */
	struct communicator *communicator;
	struct group_of_ranks groups[MOST_GROUPS];
	int group_count;
	const struct role *role;
	struct op_span *span; /* by operation */
	struct traffic_count traffic[TRAFFIC_COUNT];
	int64_t started; /* of the section at hand */
	struct trace trace;
	struct value_log *values; /* NULL: none are noted */
	int64_t replayed_ns; /* the time of a replay of the step that the spans are of; -1: it was that step itself */

	pthread_mutex_t lock;
	/* under the lock */
	enum status status; /* of the first operation that failed; stops all queues */
	char message[1024];
};

/* memory and communicator outlive the executor. */
enum status executor_base_open(struct executor *e, const struct executor_ops *ops, struct rank_memory *memory,
                               struct communicator *communicator);
void executor_base_release(struct executor *e);

/* Begins a section: nothing is counted, and no operation has a span. */
void executor_begin(struct executor *e, const struct section *s);
/* Ends it: spans become the trace. Allocates nothing after the first time. */
void executor_end(struct executor *e, const struct section *s);
/* Call with the lock. Keeps `status` and the calling thread's message if they are the first failure. */
void executor_failed(struct executor *e, enum status status);

/* True once an operation has failed; nothing more begins then. */
bool executor_stops(struct executor *e);

/* ---- the loop (issue.c) ---- */

/* True if it is carried out. Alloc and free only mark guarded memory. */
bool executor_has_work(const struct executor *e, const struct op *op);
/* True if the section has work for this queue. */
bool executor_uses(const struct executor *e, const struct section *s, int queue);

/* The loop over operations in real time: those of a section that are on one of the queues (1 << enum queue), in issue
 * order, each by the device's functions. */
enum { ALL_QUEUES = (1 << QUEUE_COUNT) - 1 };
enum status executor_issue(struct executor *e, const struct section *s, unsigned queues);

/* A collective, message or sum whose operands stand in this process's memory, by the communicator; done on return. */
enum status executor_communicate(struct executor *e, const struct op *op, void *const operand[3],
                                 struct traffic *traffic);
/* A send's or receive's other end, and what is on the way from or to `at`. */
struct point_to_point executor_message(const struct executor *e, const struct op *op, void *at);

/* ---- communication (communication.c) ---- */

/* The group that an operation's ranks are; NULL: all of them. */
struct group_of_ranks *executor_group(struct executor *e, const struct op *op);
struct communicator *executor_members(struct executor *e, const struct op *op);
enum status executor_open_groups(struct executor *e);
void executor_spin(struct executor *e, bool yes);

/* A collective with its operands' memory. */
struct collective executor_collective(const struct executor *e, const struct op *op, void *const operand[3]);
/* Over control values in this process's memory. */
enum status executor_sum(struct executor *e, const struct op *op, float *x, int64_t n, struct traffic *traffic);
/* One call of an operation: its bytes, and the elements of its operands that the communicator says it used. */
void executor_count(struct executor *e, const struct op *op, const struct traffic *traffic);

#endif
