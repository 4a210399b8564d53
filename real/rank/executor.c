#include "real/rank/executor_internal.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/clock.h"

enum status executor_base_open(struct executor *e, const struct executor_ops *ops, struct rank_memory *memory,
                               struct communicator *communicator)
{
	e->ops = ops;
	pthread_mutex_init(&e->lock, NULL);
	e->memory = memory;
	e->communicator = communicator;
	e->role = memory->role;
	e->span = calloc((size_t)e->role->op_count + 1, sizeof *e->span);
	if (!e->span)
		return status_fail(STATUS_MEMORY, "out of memory");
	trace_open(&e->trace, memory->plan, "", true);
	return STATUS_OK;
}

void executor_base_release(struct executor *e)
{
	for (int i = 0; i < e->group_count; i++)
		communicator_close(e->groups[i].communicator);
	trace_release(&e->trace);
	free(e->span);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void executor_begin(struct executor *e, const struct section *s)
{
	e->status = STATUS_OK;
	e->times_are_given = false;
	for (int t = 0; t < TRAFFIC_COUNT; t++)
		e->traffic[t] = (struct traffic_count){.counted = true};
	for (int i = s->begin; i < s->end; i++)
		e->span[i] = (struct op_span){-1, -1};
	memset(e->memory->transfer, 0, sizeof e->memory->transfer);
	e->started = clock_ns();
}

void executor_end(struct executor *e, const struct section *s)
{
	e->trace.span_count = 0;
	for (int i = s->begin; i < s->end; i++)
		if (e->span[i].begin >= 0 && op_class(e->role->ops[i].kind) != OP_CLASS_M)
			trace_add_span(&e->trace, e->memory->rank, i, e->span[i].begin, e->span[i].end);
}

void executor_failed(struct executor *e, enum status status)
{
	if (!status || e->status)
		return;
	e->status = status;
	snprintf(e->message, sizeof e->message, "%s", status_message());
}

bool executor_stops(struct executor *e)
{
	pthread_mutex_lock(&e->lock);
	bool stops = e->status != STATUS_OK;
	pthread_mutex_unlock(&e->lock);
	return stops;
}

enum status executor_run(struct executor *e, const struct section *s)
{
	return e->ops->run(e, s);
}

enum status executor_read(struct executor *e, int buffer, void *out, int64_t bytes)
{
	return e->ops->read(e, buffer, out, bytes);
}

void executor_close(struct executor *e)
{
	if (e)
		e->ops->close(e);
}

void executor_span(const struct executor *e, int op, int64_t *begin, int64_t *end)
{
	*begin = e->span[op].begin;
	*end = e->span[op].end;
}

struct times executor_times(const struct executor *e)
{
	return e->times_are_given ? e->times : trace_times(&e->trace, e->memory->rank, 0);
}

int64_t executor_started(const struct executor *e)
{
	return e->started;
}

const struct traffic_count *executor_traffic(const struct executor *e)
{
	return e->traffic;
}
