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
	e->span = array_make((size_t)e->role->op_count, sizeof *e->span);
	e->replayed_ns = -1;
	trace_open(&e->trace, memory->plan, "", true);
	return STATUS_OK;
}

void executor_base_release(struct executor *e)
{
	for (int i = 0; i < e->group_count; i++)
		communicator_close(e->groups[i].communicator);
	trace_release(&e->trace);
	values_close(e->values);
	free(e->span);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

enum status executor_note_values(struct executor *e)
{
	return values_open(&e->values, e->memory);
}

const struct trace_value *executor_values(const struct executor *e, size_t *count)
{
	*count = 0;
	return e->values ? values_all(e->values, count) : NULL;
}

void executor_begin(struct executor *e, const struct section *s)
{
	e->status = STATUS_OK;
	e->replayed_ns = -1;
	for (int t = 0; t < TRAFFIC_COUNT; t++)
		e->traffic[t] = (struct traffic_count){.counted = true};
	for (int i = s->begin; i < s->end; i++)
		e->span[i] = (struct op_span){-1, -1, -1};
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

void executor_meet(struct executor *e, int op, int64_t came)
{
	struct op_span *s = &e->span[op];
	s->came = came < s->begin ? s->begin : came > s->end ? s->end : came;
}

int64_t executor_came(const struct executor *e, int op)
{
	return e->span[op].came < 0 ? e->span[op].begin : e->span[op].came;
}

/* The times of the last eager step, none of them above the replayed step's. */
static struct times replayed_times(struct times t, int64_t step)
{
	t.step = step;
	t.compute = t.compute < step ? t.compute : step;
	int64_t rest = step - t.compute;
	t.exposed = t.exposed < rest ? t.exposed : rest;
	t.bubble = rest - t.exposed;
	return t;
}

struct times executor_times(struct executor *e)
{
	for (size_t i = 0; i < e->trace.span_count; i++)
		e->trace.spans[i].came = executor_came(e, e->trace.spans[i].op);
	struct times t = trace_times(&e->trace, e->memory->rank, 0);
	return e->replayed_ns < 0 ? t : replayed_times(t, e->replayed_ns);
}

int64_t executor_started(const struct executor *e)
{
	return e->started;
}

const struct traffic_count *executor_traffic(const struct executor *e)
{
	return e->traffic;
}
