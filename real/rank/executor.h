/* An executor carries out one rank's program: each queue in its own order, and queues side by side, ordered by the
 * plan's waits alone. One loop goes through the operations (issue.c). The device decides how an operation waits, where
 * it runs and how others learn that it is done: the CPU's executor (real/cpu/device.h) has a thread for each queue that
 * the program uses, the caller's for the compute queue, and the GPU's (real/cuda/executor.h) has streams and events.
 *
 *     compute thread         op ─ op ─ op ──────── wait ─ op ─ …
 *                                   └──────┐        ▲
 *     communication thread         wait ─ all-reduce ┘ ─ …
 *     host thread                       └─ wait ─ adamw ─ …
 *
 * Executors see operations, never strategies. Between sections all queues are empty. With guarded memory, operations
 * run one at a time in issue order instead.
 */
#ifndef SHARDLAB_EXECUTOR_H
#define SHARDLAB_EXECUTOR_H

#include "real/communicator/communicator.h"
#include "real/rank/memory.h"
#include "strategy/trace/trace.h"

struct executor;

struct traffic_count {
	int64_t calls, payload_bytes, sent_bytes, received_bytes;
	int64_t staging_bytes; /* the most that a call wrote to */
	bool counted;          /* false once a call's bytes could not be counted */
};

void executor_close(struct executor *e); /* accepts NULL */

/* Carries out a section. Returns when all queues are empty. */
enum status executor_run(struct executor *e, const struct section *s);

/* The first bytes of a state buffer, between sections. */
enum status executor_read(struct executor *e, int buffer, void *out, int64_t bytes);

/* From now on the executor notes the first element of every chunk of a collective in this process's memory, before and
 * after it. */
enum status executor_note_values(struct executor *e);
const struct trace_value *executor_values(const struct executor *e, size_t *count); /* none unless they are noted */

/* Times in the last section that was run, in nanoseconds since it began; -1 for operations that take no time. */
void executor_span(const struct executor *e, int op, int64_t *begin, int64_t *end);
int64_t executor_started(const struct executor *e); /* CLOCK_MONOTONIC */
struct times executor_times(struct executor *e);
/* When the last member of an operation's group had come to it. Other ranks tell (real/train/meet.c); until they have,
 * it is when this rank had. */
void executor_meet(struct executor *e, int op, int64_t came);
int64_t executor_came(const struct executor *e, int op);
const struct traffic_count *executor_traffic(const struct executor *e); /* [TRAFFIC_COUNT], of the last section */

#endif
