#include "real/cuda/executor.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "real/cuda/algorithms.h"
#include "real/cuda/executor_internal.h"

static struct cuda_executor *own(struct executor *e)
{
	return (struct cuda_executor *)e;
}

/* ---- one operation ---- */

static void run_on_host(void *context)
{
	struct host_job *job = context;
	struct executor *b = &job->executor->base;
	if (executor_stops(b))
		return;
	enum status s = rank_execute(b->memory, job->op);
	pthread_mutex_lock(&b->lock);
	executor_failed(b, s);
	pthread_mutex_unlock(&b->lock);
}

static enum status call_host(struct executor *base, int number)
{
	struct cuda_executor *e = own(base);
	const struct op *op = &base->role->ops[number];
	int error = e->device->api->host_call(e->device->context, e->stream[op->queue], run_on_host, &e->jobs[number]);
	return cuda_device_error(e->device, error, op_name(op->kind));
}

static enum status launch(struct executor *base, int number)
{
	const struct op *op = &base->role->ops[number];
	return cuda_device_issue(own(base)->device, op, own(base)->stream[op->queue]);
}

static enum status await(struct executor *base, int number)
{
	struct cuda_executor *e = own(base);
	struct cuda_device *c = e->device;
	const struct op *op = &base->role->ops[number];
	cuda_event begin = e->measures ? e->events[number].begin : NULL;
	int error = 0;
	for (int i = 0; i < op->after_count && !error; i++)
		if (e->events[op->after[i]].done && base->role->ops[op->after[i]].queue != op->queue)
			error = c->api->stream_wait(c->context, e->stream[op->queue], e->events[op->after[i]].done);
	if (!error && begin)
		error = c->api->event_record(c->context, begin, e->stream[op->queue]);
	return cuda_device_error(c, error, op_name(op->kind));
}

static enum status done(struct executor *base, int number, enum status status)
{
	struct cuda_executor *e = own(base);
	struct cuda_device *c = e->device;
	const struct op_events *v = &e->events[number];
	const struct op *op = &base->role->ops[number];
	int error = 0;
	if (status)
		return status;
	if (e->measures)
		error = c->api->event_record(c->context, v->end, e->stream[op->queue]);
	if (!error && v->done)
		error = c->api->event_record(c->context, v->done, e->stream[op->queue]);
	return cuda_device_error(c, error, op_name(op->kind));
}

/* ---- a section ---- */

static enum status issue(struct cuda_executor *e, const struct section *s, bool measured)
{
	struct cuda_device *c = e->device;
	kernel_stream compute = e->stream[QUEUE_COMPUTE];
	int error = c->api->event_record(c->context, e->forked, compute);
	e->measures = measured;
	for (int q = 0; q < QUEUE_COUNT && !error; q++)
		if (q != QUEUE_COMPUTE && executor_uses(&e->base, s, q))
			error = c->api->stream_wait(c->context, e->stream[q], e->forked);
	if (error)
		return cuda_device_error(c, error, "beginning a section");
	enum status status = executor_issue(&e->base, s, ALL_QUEUES);
	for (int q = 0; q < QUEUE_COUNT && !status; q++) {
		if (q == QUEUE_COMPUTE || !executor_uses(&e->base, s, q))
			continue;
		error = c->api->event_record(c->context, e->joined[q], e->stream[q]);
		if (!error)
			error = c->api->stream_wait(c->context, compute, e->joined[q]);
		status = cuda_device_error(c, error, "ending a section");
	}
	return status;
}

static void pause_shortly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* Waits until all work on the streams is done. NCCL is watched meanwhile, since a dead peer would never finish. */
static enum status wait_for_all(struct cuda_executor *e)
{
	enum { POLLS = 1000 }; /* between two looks at NCCL */
	struct cuda_device *c = e->device;
	if (!e->is_nccl)
		return cuda_device_error(c, c->api->stream_synchronize(c->context, e->stream[QUEUE_COMPUTE]),
		                         "a section");
	for (int polls = 1;; polls++) {
		bool done = false;
		enum status s = cuda_device_error(c, c->api->event_is_done(c->context, e->ended, &done), "a section");
		if (s || done)
			return s;
		if (polls % POLLS == 0 && (s = cuda_communication_watch(e)))
			return s;
		if (polls > POLLS)
			pause_shortly();
	}
}

/* Turns the times of events into spans. */
static enum status take_spans(struct cuda_executor *e, const struct section *s)
{
	struct cuda_device *c = e->device;
	for (int i = s->begin; i < s->end; i++) {
		double begin, end;
		if (!executor_has_work(&e->base, &e->base.role->ops[i]))
			continue;
		int error = c->api->event_elapsed(c->context, e->begun, e->events[i].begin, &begin);
		if (!error)
			error = c->api->event_elapsed(c->context, e->begun, e->events[i].end, &end);
		if (error)
			return cuda_device_error(c, error, "reading times");
		e->base.span[i] = (struct op_span){(int64_t)(begin * 1e9), (int64_t)(end * 1e9), -1};
	}
	return STATUS_OK;
}

/* The host reports a loss scale that cannot shrink any more. */
static enum status check_loss_scale(struct cuda_executor *e, const struct section *s)
{
	const struct role *r = e->base.role;
	struct loss_scale scaler = {.scale = 0};
	if (!*e->device->gave_up)
		return STATUS_OK;
	for (int i = s->begin; i < s->end; i++)
		if (r->ops[i].kind == OP_SCALER_UPDATE)
			(void)executor_read(&e->base, r->ops[i].operand[SCALER_UPDATE_SCALER].buffer, &scaler,
			                    sizeof scaler);
	return rank_loss_scale_ended(&scaler);
}

/* ---- validation's sums ---- */

static int begin_sums(struct cuda_device *c)
{
	return c->rank.evaluating ? c->api->kernels.fill(c->context, c->stream, c->sums, 0, sizeof *c->sums) : 0;
}

static enum status end_sums(struct cuda_device *c)
{
	if (!c->rank.evaluating)
		return STATUS_OK;
	TRY(cuda_device_copy(c, c->shown, c->sums, sizeof *c->sums));
	c->rank.evaluate_loss += c->shown->loss;
	c->rank.evaluate_correct += c->shown->correct;
	return STATUS_OK;
}

/* ---- eager, and replayed ---- */

static bool is_step(const struct cuda_executor *e, const struct section *s)
{
	return s->begin == e->base.role->step.begin && s->end == e->base.role->step.end && s->begin < s->end;
}

/* Fills in the next step's samples while the GPU is at work. */
static void fill_ahead(struct cuda_executor *e, const struct section *s)
{
	if (is_step(e, s) && e->device->step_known)
		cuda_slots_fill(e->device, s, e->device->step);
}

static enum status run_eagerly(struct cuda_executor *e, const struct section *s)
{
	struct cuda_device *c = e->device;
	executor_begin(&e->base, s);
	executor_spin(&e->base, true);
	if (!is_step(e, s))
		c->step_known = false;
	enum status status = cuda_slots_begin(c, s);
	int64_t step = c->step;
	int error = status ? 0 : begin_sums(c);
	if (!status && !error)
		error = c->api->event_record(c->context, e->begun, e->stream[QUEUE_COMPUTE]);
	if (!status && !(status = cuda_device_error(c, error, "beginning a section")))
		status = issue(e, s, true);
	if (!status)
		status = cuda_device_error(c, c->api->event_record(c->context, e->ended, e->stream[QUEUE_COMPUTE]),
		                           "ended");
	if (!status && !c->rank.evaluating)
		fill_ahead(e, s);
	/* This waits after a failure too: work on the streams writes to memory that is about to be freed. */
	enum status waited = wait_for_all(e);
	executor_spin(&e->base, false);
	status = status ? status : waited;
	if (e->base.status)
		return status_fail(e->base.status, "%s", e->base.message);
	if (status || (status = take_spans(e, s)) || (status = end_sums(c)) || (status = check_loss_scale(e, s)))
		return status;
	executor_end(&e->base, s);
	if (is_step(e, s)) {
		e->eager_steps++;
		e->advances = c->step - step;
	} else {
		c->step_known = false; /* a section may have set the counter */
	}
	return STATUS_OK;
}

/* Puts a step on the streams once more to capture it. Its traffic was counted in the eager step before. */
static enum status capture(struct cuda_executor *e, const struct section *s, cuda_graph *out)
{
	struct cuda_device *c = e->device;
	struct traffic_count traffic[TRAFFIC_COUNT];
	struct transfer_count transfer[TRANSFER_COUNT];
	int64_t step = c->step;
	memcpy(traffic, e->base.traffic, sizeof traffic);
	memcpy(transfer, c->rank.transfer, sizeof transfer);
	int error = c->api->capture_begin(c->context, e->stream[QUEUE_COMPUTE]);
	TRY(cuda_device_error(c, error, "capturing a step"));
	enum status status = issue(e, s, false);
	error = c->api->capture_end(c->context, e->stream[QUEUE_COMPUTE], out);
	memcpy(e->base.traffic, traffic, sizeof traffic);
	memcpy(c->rank.transfer, transfer, sizeof transfer);
	c->step = step;
	return status ? status : cuda_device_error(c, error, "capturing a step");
}

/* Steps cannot be captured here, or not on this driver: they are issued as the first ones were. An error of the GPU's
 * own shows there again. */
static enum status go_on_eagerly(struct cuda_executor *e, const struct section *s)
{
	struct cuda_device *c = e->device;
	e->captures = false;
	snprintf(c->not_captured, sizeof c->not_captured, "%s", status_message());
	return run_eagerly(e, s);
}

static enum status replay(struct cuda_executor *e, const struct section *s)
{
	struct cuda_device *c = e->device;
	kernel_stream compute = e->stream[QUEUE_COMPUTE];
	cuda_graph *graph = &e->graph[c->step & 1];
	bool is_new = !*graph;
	double seconds = 0;
	e->base.started = clock_ns();
	cuda_slots_fill(c, s, c->step);
	if (is_new)
		cuda_overhead_begin(c);
	enum status status = is_new ? capture(e, s, graph) : STATUS_OK;
	if (status)
		return go_on_eagerly(e, s);
	int error = c->api->event_record(c->context, e->begun, compute);
	if (!error)
		error = c->api->graph_launch(c->context, *graph, compute);
	if (!error)
		error = c->api->event_record(c->context, e->ended, compute);
	if (!error) {
		c->step += e->advances;
		fill_ahead(e, s);
	}
	status = wait_for_all(e);
	status = error ? cuda_device_error(c, error, "replaying a step; {no_graph} runs without") : status;
	if (status || (status = check_loss_scale(e, s)))
		return status;
	if (is_new)
		cuda_overhead_end(c, OVERHEAD_GRAPHS);
	error = c->api->event_elapsed(c->context, e->begun, e->ended, &seconds);
	e->base.replayed_ns = (int64_t)(seconds * 1e9);
	return cuda_device_error(c, error, "reading times");
}

/* A step can be captured if the GPU or NCCL carries out all of it. */
static bool can_capture(const struct cuda_executor *e)
{
	const struct role *r = e->base.role;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (!executor_has_work(&e->base, op))
			continue;
		bool staged = op_class(op->kind) == OP_CLASS_C && cuda_communication_is_staged(e, op);
		if (op_is_of_host(op) || bind_is_of_process(op) || staged)
			return false;
	}
	return true;
}

/* Once: all shapes of a step have been met by now. */
static enum status keep_algorithms(struct cuda_device *c)
{
	c->tunes = false;
	return cuda_algorithms_keep(c);
}

static enum status cuda_run(struct executor *base, const struct section *s)
{
	struct cuda_executor *e = own(base);
	/* The loads tell which graph a step needs. A rank without loads may replay either. */
	bool knows = e->device->step_known || !cuda_slots_are_in(e->device, s);
	bool replays = is_step(e, s) && e->captures && e->eager_steps >= EAGER_STEPS && knows;
	bool first = !e->eager_steps; /* until a step is done */
	if (replays)
		return replay(e, s);
	if (first)
		cuda_overhead_begin(e->device);
	enum status status = run_eagerly(e, s);
	if (first)
		cuda_overhead_end(e->device, OVERHEAD_FIRST_USE);
	if (!status && e->device->tunes && e->eager_steps == EAGER_STEPS && !e->device->rank.rank)
		status = keep_algorithms(e->device);
	return status;
}

static enum status cuda_read(struct executor *base, int buffer, void *out, int64_t bytes)
{
	const void *at = rank_memory_buffer(base->memory, buffer);
	if (base->role->buffers[buffer].space == SPACE_DEVICE)
		return cuda_device_copy(own(base)->device, out, at, bytes);
	memcpy(out, at, (size_t)bytes);
	return STATUS_OK;
}

void cuda_executor_replay(struct executor *base, bool yes)
{
	own(base)->captures = yes && can_capture(own(base));
}

const struct executor_ops cuda_executor_ops = {.run = cuda_run,
                                               .read = cuda_read,
                                               .close = cuda_executor_close,
                                               .await = await,
                                               .communicate = cuda_communication_issue,
                                               .call_host = call_host,
                                               .launch = launch,
                                               .done = done};
