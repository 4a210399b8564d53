/* The CPU executor: a thread for each queue that the program uses. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "real/cpu/device.h"
#include "real/rank/bind.h"
#include "real/rank/executor_internal.h"
#include "real/rank/thread_slice.h"

/* The thread of one queue; the compute queue's is the caller. */
struct worker {
	struct cpu_executor *executor;
	enum queue queue;
	pthread_t thread;
	bool started;
	const struct section *section; /* under the lock: it has work; NULL: none, or done */
};

struct cpu_executor {
	struct executor base;              /* first: a pointer to the one is a pointer to the other */
	struct worker worker[QUEUE_COUNT]; /* of queues that the program uses */
	pthread_cond_t changed;            /* a section was given or is done */
	pthread_cond_t op_done;            /* an operation that a queue awaits is done */
	/* under the lock */
	bool *done;                           /* by operation */
	const struct op *awaits[QUEUE_COUNT]; /* the operation that a queue waits for; NULL: it does not wait */
	bool quit;
};

static struct cpu_executor *own(struct executor *e)
{
	return (struct cpu_executor *)e;
}

/* ---- one operation ---- */

static enum status communicate(struct executor *e, int number)
{
	const struct op *op = &e->role->ops[number];
	struct traffic traffic = {0};
	int64_t n;
	void *operand[3] = {NULL, NULL, NULL};
	for (int i = 0; i < op_operand_count(op->kind); i++)
		operand[i] = rank_memory_region(e->memory, &op->operand[i], &n);
	enum status s = executor_communicate(e, op, operand, &traffic);
	executor_count(e, op, &traffic);
	/* A message begins once both ends have come. */
	if (traffic.began_ns > e->started)
		e->span[number].begin = traffic.began_ns - e->started;
	return s;
}

static enum status execute(struct executor *e, int number)
{
	return rank_execute(e->memory, number);
}

static bool waits_are_done(const struct cpu_executor *e, const struct op *op)
{
	for (int i = 0; i < op->after_count; i++)
		if (!e->done[op->after[i]])
			return false;
	return true;
}

/* Called with the lock. The communicator may spin while the compute queue has nothing better to do. */
static void wait_for(struct cpu_executor *e, const struct op *op)
{
	if (waits_are_done(e, op))
		return;
	if (op->queue == QUEUE_COMPUTE)
		executor_spin(&e->base, true);
	e->awaits[op->queue] = op;
	while (!waits_are_done(e, op) && !e->base.status)
		pthread_cond_wait(&e->op_done, &e->base.lock);
	e->awaits[op->queue] = NULL;
	if (op->queue == QUEUE_COMPUTE)
		executor_spin(&e->base, false);
}

/* Called with the lock when an operation is done. Returns whether another queue goes on. Waking a queue that must go on
 * waiting would cost ten microseconds, more than small operations take. */
static bool wake(struct cpu_executor *e)
{
	bool woken = false;
	for (int q = 0; q < QUEUE_COUNT; q++)
		woken |= e->awaits[q] && (e->base.status || waits_are_done(e, e->awaits[q]));
	if (woken)
		pthread_cond_broadcast(&e->op_done);
	return woken;
}

static enum status await(struct executor *base, int number)
{
	struct cpu_executor *e = own(base);
	pthread_mutex_lock(&base->lock);
	if (!base->memory->guard) /* with guard, all operations run in issue order */
		wait_for(e, &base->role->ops[number]);
	enum status status = base->status;
	pthread_mutex_unlock(&base->lock);
	if (!status)
		base->span[number].begin = clock_ns() - base->started;
	return status;
}

static enum status done(struct executor *base, int number, enum status status)
{
	struct cpu_executor *e = own(base);
	base->span[number].end = clock_ns() - base->started;
	pthread_mutex_lock(&base->lock);
	e->done[number] = true;
	executor_failed(base, status);
	bool woken = wake(e);
	pthread_mutex_unlock(&base->lock);
	/* The queue may share this core, where it would wait behind the next kernels, and so would the rank that it
	 * sends to. */
	if (woken && base->role->ops[number].queue == QUEUE_COMPUTE)
		sched_yield();
	return status;
}

/* ---- queues ---- */

static void *queue_thread(void *context)
{
	struct worker *w = context;
	struct cpu_executor *e = w->executor;
	if (w->queue == QUEUE_COMMUNICATION)
		thread_slice_shortest();
	pthread_mutex_lock(&e->base.lock);
	for (;;) {
		while (!w->section && !e->quit)
			pthread_cond_wait(&e->changed, &e->base.lock);
		if (e->quit)
			break;
		const struct section *s = w->section;
		pthread_mutex_unlock(&e->base.lock);
		executor_issue(&e->base, s, 1u << w->queue);
		pthread_mutex_lock(&e->base.lock);
		w->section = NULL;
		pthread_cond_broadcast(&e->changed);
	}
	pthread_mutex_unlock(&e->base.lock);
	return NULL;
}

static bool is_busy(const struct cpu_executor *e)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->worker[q].section)
			return true;
	return false;
}

/* The queues that the section uses, side by side. */
static void run_queues(struct cpu_executor *e, const struct section *s)
{
	pthread_mutex_lock(&e->base.lock);
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->worker[q].started && executor_uses(&e->base, s, q))
			e->worker[q].section = s;
	if (is_busy(e))
		pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->base.lock);
	executor_issue(&e->base, s, 1u << QUEUE_COMPUTE);
	pthread_mutex_lock(&e->base.lock);
	executor_spin(&e->base, true);
	while (is_busy(e))
		pthread_cond_wait(&e->changed, &e->base.lock);
	executor_spin(&e->base, false);
	pthread_mutex_unlock(&e->base.lock);
}

static enum status cpu_run(struct executor *base, const struct section *s)
{
	struct cpu_executor *e = own(base);
	executor_begin(base, s);
	for (int i = s->begin; i < s->end; i++)
		e->done[i] = false;
	if (base->memory->guard) {
		executor_spin(base, true);
		enum status status = executor_issue(base, s, ALL_QUEUES);
		return status ? status : rank_memory_check(base->memory);
	}
	run_queues(e, s);
	executor_end(base, s);
	return base->status ? status_fail(base->status, "%s", base->message) : STATUS_OK;
}

/* ---- life ---- */

static enum status cpu_read(struct executor *e, int buffer, void *out, int64_t bytes)
{
	memcpy(out, rank_memory_buffer(e->memory, buffer), (size_t)bytes);
	return STATUS_OK;
}

static void cpu_close(struct executor *base)
{
	struct cpu_executor *e = own(base);
	pthread_mutex_lock(&base->lock);
	e->quit = true;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&base->lock);
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (e->worker[q].started)
			pthread_join(e->worker[q].thread, NULL);
	free(e->done);
	executor_base_release(base);
}

static const struct executor_ops cpu_ops = {.run = cpu_run,
                                            .read = cpu_read,
                                            .close = cpu_close,
                                            .await = await,
                                            .communicate = communicate,
                                            .call_host = execute,
                                            .launch = execute,
                                            .done = done};

enum status cpu_executor_open(struct executor **out, struct rank_memory *memory, struct communicator *communicator)
{
	struct cpu_executor *e = array_make(1, sizeof *e);
	*out = &e->base;
	pthread_cond_init(&e->changed, NULL);
	pthread_cond_init(&e->op_done, NULL);
	e->done = array_make((size_t)memory->role->op_count, sizeof *e->done);
	TRY(executor_base_open(&e->base, &cpu_ops, memory, communicator));
	const struct section all = {0, memory->role->op_count};
	for (int q = 0; q < QUEUE_COUNT; q++) {
		struct worker *w = &e->worker[q];
		*w = (struct worker){.executor = e, .queue = (enum queue)q};
		if (q == QUEUE_COMPUTE || !executor_uses(&e->base, &all, q))
			continue;
		if (pthread_create(&w->thread, NULL, queue_thread, w))
			return status_fail(STATUS_RUN, "cannot start the thread of queue %s", queue_name(w->queue));
		w->started = true;
	}
	return communicator ? executor_open_groups(&e->base) : STATUS_OK;
}
