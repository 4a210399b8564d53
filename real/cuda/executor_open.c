/* The CUDA executor's streams and events: made before the first section, gone after the last. */
#include <stdlib.h>
#include <string.h>

#include "real/cuda/executor_internal.h"

#include "real/communicator/kind.h"

void cuda_executor_close(struct executor *base)
{
	struct cuda_executor *e = (struct cuda_executor *)base;
	const struct cuda_api *api = e->device->api;
	struct kernel_context *context = e->device->context;
	/* Graphs go before NCCL's communicators, which wait for the graphs that captured them even when they are
	 * aborted. */
	for (int g = 0; g < GRAPHS; g++)
		if (e->graph[g])
			api->graph_destroy(context, e->graph[g]);
	cuda_communication_close(e);
	for (int i = 0; e->events && i < base->role->op_count; i++) {
		const cuda_event own_events[] = {e->events[i].done, e->events[i].begin, e->events[i].end};
		for (int k = 0; k < 3; k++)
			if (own_events[k])
				api->event_destroy(context, own_events[k]);
	}
	const cuda_event marks[] = {e->forked, e->begun, e->ended};
	for (int k = 0; k < 3; k++)
		if (marks[k])
			api->event_destroy(context, marks[k]);
	for (int q = 0; q < QUEUE_COUNT; q++) {
		if (e->joined[q])
			api->event_destroy(context, e->joined[q]);
		if (e->stream[q] && q != QUEUE_COMPUTE) /* that one is the device's */
			api->stream_destroy(context, e->stream[q]);
	}
	free(e->events);
	free(e->jobs);
	executor_base_release(base);
}

static int open_streams(struct cuda_executor *e)
{
	struct cuda_device *c = e->device;
	const struct section all = {0, e->base.role->op_count};
	int error = c->api->event_create(c->context, false, &e->forked);
	e->stream[QUEUE_COMPUTE] = c->stream;
	for (int q = 0; q < QUEUE_COUNT && !error; q++) {
		if (q == QUEUE_COMPUTE || !executor_uses(&e->base, &all, q))
			continue;
		error = c->api->stream_create(c->context, q == QUEUE_COMMUNICATION, &e->stream[q]);
		if (!error)
			error = c->api->event_create(c->context, false, &e->joined[q]);
	}
	if (!error)
		error = c->api->event_create(c->context, true, &e->begun);
	return error ? error : c->api->event_create(c->context, true, &e->ended);
}

static int open_events(struct cuda_executor *e)
{
	struct cuda_device *c = e->device;
	const struct role *r = e->base.role;
	int error = 0;
	for (int i = 0; i < r->op_count && !error; i++) {
		e->jobs[i] = (struct host_job){.executor = e, .op = i};
		if (!executor_has_work(&e->base, &r->ops[i]))
			continue;
		error = c->api->event_create(c->context, true, &e->events[i].begin);
		if (!error)
			error = c->api->event_create(c->context, true, &e->events[i].end);
		for (int k = 0; k < r->ops[i].after_count && !error; k++) {
			int on = r->ops[i].after[k];
			if (r->ops[on].queue != r->ops[i].queue && executor_has_work(&e->base, &r->ops[on]) &&
			    !e->events[on].done)
				error = c->api->event_create(c->context, false, &e->events[on].done);
		}
	}
	return error;
}

enum status cuda_executor_open(struct executor **out, struct cuda_device *device, struct communicator *communicator,
                               const struct device_choice *choice)
{
	struct cuda_executor *e = array_make(1, sizeof *e);
	*out = &e->base;
	e->device = device;
	e->is_nccl = choice->collectives && communicator_kind(choice->collectives)->device;
	TRY(executor_base_open(&e->base, &cuda_executor_ops, &device->rank, communicator));
	size_t ops = (size_t)e->base.role->op_count;
	e->events = array_make(ops, sizeof *e->events);
	e->jobs = array_make(ops, sizeof *e->jobs);
	int error = open_streams(e);
	if (!error)
		error = open_events(e);
	if (error)
		return cuda_device_error(device, error, "making streams and events");
	cuda_executor_replay(&e->base, !choice->eager);
	return cuda_communication_open(e);
}
