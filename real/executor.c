#include "real/executor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "real/clock.h"

struct op_record {
	int64_t begin, end;
	bool done;
};

/* The thread of one queue; the compute queue's is the caller. */
struct worker {
	struct executor *executor;
	enum queue queue;
	pthread_t thread;
	bool started;
	const struct section *section; /* under the lock: it has work; NULL: none, or done */
};

/* The ranks that a collective runs over, where they are not all. */
struct group_of_ranks {
	unsigned axes;
	bool ends;
	struct communicator *communicator; /* NULL: this rank is in none */
};

enum { MOST_GROUPS = 2 << PLAN_AXES };

struct executor {
	struct cpu_device *device;
	struct communicator *communicator;
	struct group_of_ranks groups[MOST_GROUPS];
	int group_count;
	const struct role *role;
	struct op_record *record; /* by operation */
	struct traffic_count traffic[TRAFFIC_COUNT];
	int64_t started; /* of the section at hand */
	struct trace trace;

	struct worker worker[QUEUE_COUNT]; /* of queues that the program uses */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a section was given or is done */
	pthread_cond_t op_done; /* what a queue awaits is done */
	/* under the lock */
	const struct op *awaits[QUEUE_COUNT]; /* that a queue stands before; NULL: it does not stand */
	bool quit;
	enum status status; /* of the first operation that failed; stops all queues */
	char message[1024];
};

/* ---- communication ---- */

/* Who takes part in a collective. */
static struct communicator *members(const struct executor *e, const struct op *op)
{
	for (int i = 0; i < e->group_count; i++)
		if (e->groups[i].axes == op_axes(e->device->plan, op) && e->groups[i].ends == op->ends)
			return e->groups[i].communicator;
	return e->communicator;
}

static bool is_of_all(const struct plan *p, const struct op *op)
{
	return op_class(op->kind) != OP_CLASS_C || op_is_message(op->kind) ||
	       (!op->ends && op_axes(p, op) == plan_all_axes(p));
}

/* Every rank opens those of all roles, in the order in which the plan names them: splitting is collective. */
static enum status open_groups(struct executor *e)
{
	const struct plan *p = e->device->plan;
	int64_t rank = e->device->rank;
	enum status s = STATUS_OK;
	for (int r = 0; r < p->role_count; r++)
		for (int i = 0; i < p->roles[r].op_count && !s; i++) {
			const struct op *op = &p->roles[r].ops[i];
			if (is_of_all(p, op) || members(e, op) != e->communicator)
				continue;
			struct group_of_ranks *g = &e->groups[e->group_count++];
			*g = (struct group_of_ranks){op_axes(p, op), op->ends, NULL};
			int place = (int)op_member(p, op, rank);
			int colour = place < 0 ? -1 : (int)plan_place(p, plan_all_axes(p) & ~g->axes, rank);
			s = communicator_split(&g->communicator, e->communicator, colour, place);
		}
	return s;
}

static enum status run_message(struct executor *e, const struct op *op, struct traffic *traffic)
{
	struct cpu_device *d = e->device;
	int64_t n;
	void *at = cpu_device_region(d, &op->operand[0], &n);
	struct point_to_point m = {.sends = op->kind == OP_SEND,
	                           .peer = (int)op_peer(d->plan, op, d->rank),
	                           .at = at,
	                           .bytes = n * type_bytes(e->role->buffers[op->operand[0].buffer].type)};
	enum status s = e->communicator->ops->message(e->communicator, &m, traffic);
	cpu_device_touch(d, op, 0, n);
	return s;
}

/* Scalars travel as doubles and come back as what they were. */
static enum status run_sum(struct executor *e, const struct op *op, struct traffic *traffic)
{
	double values[4];
	int64_t n;
	float *x = cpu_device_region(e->device, &op->operand[0], &n);
	if (n > 4)
		return status_fail(STATUS_INPUT, "sum: more than 4 control values");
	for (int64_t i = 0; i < n; i++)
		values[i] = x[i];
	struct communicator *c = members(e, op);
	enum status s = c->ops->sum(c, values, (int)n, traffic);
	for (int64_t i = 0; i < n && !s; i++)
		x[i] = (float)values[i];
	cpu_device_touch(e->device, op, 0, n);
	return s;
}

static enum status run_communication(struct executor *e, const struct op *op, int64_t *began_ns)
{
	struct cpu_device *d = e->device;
	struct traffic traffic = {0};
	enum status s = STATUS_OK;
	if (op_is_message(op->kind)) {
		s = run_message(e, op, &traffic);
	} else if (op->kind == OP_SUM) {
		s = run_sum(e, op, &traffic);
		traffic.counted = true;
	} else {
		int64_t n[3];
		void *operand[3];
		for (int i = 0; i < 3; i++)
			operand[i] = cpu_device_region(d, &op->operand[i], &n[i]);
		bool two = op->kind == OP_REDUCE_SCATTER || op->kind == OP_ALL_GATHER || op->kind == OP_SCATTER ||
		           op->kind == OP_GATHER;
		bool x_whole = op->kind == OP_REDUCE_SCATTER || op->kind == OP_SCATTER;
		struct schedule schedule = op_schedule(d->plan, op);
		struct collective c = {.algorithm = op->algorithm,
		                       .root = op->root,
		                       .elements = schedule.elements,
		                       .type = e->role->buffers[op->operand[operand[0] ? 0 : 1].buffer].type,
		                       .whole = !two || x_whole ? operand[0] : operand[1],
		                       .part = !two      ? NULL
		                               : x_whole ? operand[1]
		                                         : operand[0],
		                       .maximum = op->kind == OP_ALL_REDUCE_MAXIMUM,
		                       .staging = two ? operand[2] : operand[1]};
		struct communicator *group = members(e, op);
		s = group->ops->run(group, &c, &traffic);
		for (int i = 0; i < 3; i++)
			cpu_device_touch(d, op, i, n[i]);
	}
	struct traffic_count *t = &e->traffic[op->traffic];
	t->calls++;
	t->payload_bytes += op_payload_bytes(e->role, op);
	t->sent_bytes += traffic.sent_bytes;
	t->received_bytes += traffic.received_bytes;
	t->counted &= traffic.counted;
	*began_ns = traffic.began_ns;
	return s;
}

/* ---- queues ---- */

static enum status run_op(struct executor *e, int number)
{
	const struct op *op = &e->role->ops[number];
	struct op_record *r = &e->record[number];
	int64_t began = 0;
	r->begin = clock_ns() - e->started;
	enum status s = op_class(op->kind) == OP_CLASS_C ? run_communication(e, op, &began)
	                                                 : cpu_device_execute(e->device, number);
	/* Until both ends of a message have come, nothing is communicated. */
	if (began > e->started)
		r->begin = began - e->started;
	r->end = clock_ns() - e->started;
	return s;
}

static bool waits_are_done(const struct executor *e, const struct op *op)
{
	for (int i = 0; i < op->after_count; i++)
		if (!e->record[op->after[i]].done)
			return false;
	return true;
}

static void hurry(struct executor *e, bool yes)
{
	if (e->communicator)
		e->communicator->ops->hurry(e->communicator, yes);
	for (int i = 0; i < e->group_count; i++)
		if (e->groups[i].communicator)
			e->groups[i].communicator->ops->hurry(e->groups[i].communicator, yes);
}

/* Called with the lock. The communicator may spin while the compute queue has nothing better to do. */
static void wait_for(struct executor *e, const struct op *op)
{
	if (waits_are_done(e, op))
		return;
	if (op->queue == QUEUE_COMPUTE)
		hurry(e, true);
	e->awaits[op->queue] = op;
	while (!waits_are_done(e, op) && !e->status)
		pthread_cond_wait(&e->op_done, &e->lock);
	e->awaits[op->queue] = NULL;
	if (op->queue == QUEUE_COMPUTE)
		hurry(e, false);
}

/* Called with the lock, when an operation is done. Waking a queue that must go on waiting costs ten microseconds, more
 * than small operations take. */
static void wake(struct executor *e)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->awaits[q] && (e->status || waits_are_done(e, e->awaits[q])))
			pthread_cond_broadcast(&e->op_done);
}

static void run_queue(struct executor *e, enum queue queue, const struct section *s)
{
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &e->role->ops[i];
		if (op->queue != queue || op_class(op->kind) == OP_CLASS_M)
			continue;
		pthread_mutex_lock(&e->lock);
		wait_for(e, op);
		bool stop = e->status != STATUS_OK;
		pthread_mutex_unlock(&e->lock);
		if (stop)
			return;
		enum status status = run_op(e, i);
		pthread_mutex_lock(&e->lock);
		e->record[i].done = true;
		if (status && !e->status) {
			e->status = status;
			snprintf(e->message, sizeof e->message, "%s", status_message());
		}
		wake(e);
		pthread_mutex_unlock(&e->lock);
	}
}

static void *queue_thread(void *context)
{
	struct worker *w = context;
	struct executor *e = w->executor;
	pthread_mutex_lock(&e->lock);
	for (;;) {
		while (!w->section && !e->quit)
			pthread_cond_wait(&e->changed, &e->lock);
		if (e->quit)
			break;
		const struct section *s = w->section;
		pthread_mutex_unlock(&e->lock);
		run_queue(e, w->queue, s);
		pthread_mutex_lock(&e->lock);
		w->section = NULL;
		pthread_cond_broadcast(&e->changed);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static bool uses_queue(const struct role *r, enum queue queue, const struct section *s)
{
	for (int i = s->begin; i < s->end; i++)
		if (r->ops[i].queue == queue && op_class(r->ops[i].kind) != OP_CLASS_M)
			return true;
	return false;
}

static bool is_busy(const struct executor *e)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->worker[q].section)
			return true;
	return false;
}

/* The queues that the section uses, side by side. */
static void run_queues(struct executor *e, const struct section *s)
{
	pthread_mutex_lock(&e->lock);
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->worker[q].started && uses_queue(e->role, (enum queue)q, s))
			e->worker[q].section = s;
	if (is_busy(e))
		pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	run_queue(e, QUEUE_COMPUTE, s);
	pthread_mutex_lock(&e->lock);
	hurry(e, true);
	while (is_busy(e))
		pthread_cond_wait(&e->changed, &e->lock);
	hurry(e, false);
	pthread_mutex_unlock(&e->lock);
}

enum status executor_run(struct executor *e, const struct section *s)
{
	e->status = STATUS_OK;
	for (int t = 0; t < TRAFFIC_COUNT; t++)
		e->traffic[t] = (struct traffic_count){.counted = true};
	for (int i = s->begin; i < s->end; i++)
		e->record[i] = (struct op_record){-1, -1, false};
	memset(e->device->transfer, 0, sizeof e->device->transfer);
	e->started = clock_ns();
	if (e->device->guard) {
		hurry(e, true);
		for (int i = s->begin; i < s->end && !e->status; i++)
			e->status = run_op(e, i);
		return e->status ? e->status : cpu_device_check(e->device);
	}
	run_queues(e, s);
	e->trace.span_count = 0;
	for (int i = s->begin; i < s->end; i++)
		if (e->record[i].begin >= 0 && op_class(e->role->ops[i].kind) != OP_CLASS_M)
			trace_add_span(&e->trace, e->device->rank, i, e->record[i].begin, e->record[i].end);
	return e->status ? status_fail(e->status, "%s", e->message) : STATUS_OK;
}

/* ---- life ---- */

enum status executor_open(struct executor **out, struct cpu_device *device, struct communicator *communicator)
{
	struct executor *e = calloc(1, sizeof *e);
	*out = e;
	if (!e)
		return status_fail(STATUS_MEMORY, "out of memory");
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	pthread_cond_init(&e->op_done, NULL);
	e->device = device;
	e->communicator = communicator;
	e->role = device->role;
	e->record = calloc((size_t)e->role->op_count + 1, sizeof *e->record);
	if (!e->record)
		return status_fail(STATUS_MEMORY, "out of memory");
	trace_open(&e->trace, device->plan, "", true);
	const struct section all = {0, e->role->op_count};
	for (int q = 0; q < QUEUE_COUNT; q++) {
		struct worker *w = &e->worker[q];
		*w = (struct worker){.executor = e, .queue = (enum queue)q};
		if (q == QUEUE_COMPUTE || !uses_queue(e->role, w->queue, &all))
			continue;
		if (pthread_create(&w->thread, NULL, queue_thread, w))
			return status_fail(STATUS_RUN, "cannot start the thread of queue %s", queue_name(w->queue));
		w->started = true;
	}
	return e->communicator ? open_groups(e) : STATUS_OK;
}

void executor_close(struct executor *e)
{
	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->quit = true;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->worker[q].started)
			pthread_join(e->worker[q].thread, NULL);
	for (int i = 0; i < e->group_count; i++)
		communicator_close(e->groups[i].communicator);
	trace_release(&e->trace);
	free(e->record);
	free(e);
}

void executor_span(const struct executor *e, int op, int64_t *begin, int64_t *end)
{
	*begin = e->record[op].begin;
	*end = e->record[op].end;
}

struct times executor_times(const struct executor *e)
{
	return trace_times(&e->trace, e->device->rank, 0);
}

int64_t executor_started(const struct executor *e)
{
	return e->started;
}

const struct traffic_count *executor_traffic(const struct executor *e)
{
	return e->traffic;
}
