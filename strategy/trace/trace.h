/* A trace: what happened. When each operation of each rank began and ended, and which messages moved when. Memory and
 * bytes need no record of their own: they follow from the plan's operations in issue order. The simulator and the real
 * executors write the same trace, so comparing them is a subtraction.
 *
 *     struct trace t = {0};
 *     trace_open(&t, &plan, "local", false);
 *     trace_add_span(&t, rank, op, begin_ns, end_ns);
 *     trace_meet(&t);                     // when the last member of every collective had come
 *     trace_write(&t, file);              // Chrome trace JSON: opens in Perfetto
 *     trace_release(&t);
 */
#ifndef SHARDLAB_TRACE_H
#define SHARDLAB_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "strategy/plan/plan.h"

/* A collective moves data from the moment on which its last member has come, a message when both of its ends have:
 *
 *     rank 0   begin = came ████████ end        came last: all of its span is communication
 *     rank 1   begin ░░░░░░░████████ end        waits for rank 0 from begin to came: a bubble
 */
struct span {
	int64_t rank;
	int op;             /* of the rank's role */
	int64_t begin, end; /* nanoseconds since the step began */
	int64_t came;       /* from begin to end: when the last member had come; begin of what needs no other rank */
};

struct message {
	int64_t from, to, bytes;
	int op; /* of the sender's role */
	int64_t begin, end;
};

/* The first element of a collective's chunk (strategy/collective/chunks.h) on a rank. NAN: nothing that is its to give
 * or to keep, or not a finite number. */
struct trace_value {
	int64_t rank;
	int op, chunk; /* op: of the rank's role */
	double before, after;
};
/* Values are kept for groups of up to so many ranks. */
enum { TRACE_VALUE_RANKS = 8 };

/* The loss scale of an fp16 run in the step that was recorded, and in the one after. */
struct trace_scale {
	double now, next; /* 0: not known */
	bool skipped;     /* the step: an infinity was met */
};

struct trace {
	const struct plan *plan;
	char cluster[64];
	bool measured;
	struct span *spans;
	size_t span_count, span_capacity;
	struct message *messages;
	size_t message_count, message_capacity;
	struct trace_value *values; /* in the order of rank, op and chunk; none unless the run was asked for them */
	size_t value_count, value_capacity;
	struct trace_scale scale;
};

/* Times of one rank over one step, in nanoseconds. communication: the communication queue moves data (from `came` on).
 * exposed: the compute queue idles meanwhile; bubble: it idles for any other reason, as while it waits for a member
 * that has not come. compute + exposed + bubble = step. */
struct times {
	int64_t step, compute, communication, exposed, bubble;
	int64_t forward, recompute, backward; /* of compute: the model's kernels, by pass */
	int64_t rank;
};

void trace_open(struct trace *t, const struct plan *p, const char *cluster, bool measured);
void trace_release(struct trace *t); /* accepts NULL and a zeroed struct */
void trace_add_span(struct trace *t, int64_t rank, int op, int64_t begin, int64_t end);
void trace_add_message(struct trace *t, const struct message *m);
void trace_add_value(struct trace *t, const struct trace_value *v);

/* True if values of this operation are kept. */
bool trace_values_of(const struct plan *p, const struct op *op);
/* NULL: the trace has none there. */
const struct trace_value *trace_value(const struct trace *t, int64_t rank, int op, int chunk);

/* Sets `came` of all communication: the latest begin of its group among the ranks that the trace has, whose clocks
 * agree. The plan has been verified. */
void trace_meet(struct trace *t);

/* step: the end of the last span of any rank, or `step` if that is larger. */
struct times trace_times(const struct trace *t, int64_t rank, int64_t step);
/* True if `a` ends later than `b`, or at the same time after computing more, so that others wait for it. */
bool times_are_slower(const struct times *a, const struct times *b);
/* For spans in order of rank: the times of the rank whose spans begin at *at, which moves on behind them. */
struct times trace_next_times(const struct trace *t, size_t *at, int64_t step);
/* The times of the slowest rank; of the first among equals. */
struct times trace_slowest(const struct trace *t);

/* Chrome trace JSON with one process a rank and one thread a queue, memory as counters, and under "shardlab" the plan's
 * text, so that the window can open it. STATUS_RUN if the file cannot be written. */
enum status trace_write(const struct trace *t, FILE *out);
enum status trace_save(const struct trace *t, const char *path);

#endif
