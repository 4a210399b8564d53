#define _GNU_SOURCE /* CPU_COUNT */
#include "strategy/base/work.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/memory.h"

enum { THREADS_MOST = 4 };

struct work {
	enum status (*piece)(void *context, int i);
	void *context;
	pthread_mutex_t lock;
	int next, end; /* end: the lowest piece that failed, or the count */
	enum status status;
	char *message; /* of that piece; NULL: none failed */
};

static atomic_int threads_set;
static _Thread_local bool within_piece;

void work_set_threads(int threads)
{
	atomic_store(&threads_set, threads);
}

static int threads_for(int count, int64_t size)
{
	cpu_set_t set;
	int threads = atomic_load(&threads_set);
	if (within_piece || size < WORK_LEAST)
		return 1;
	if (!threads)
		threads = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	threads = threads < THREADS_MOST ? threads : THREADS_MOST;
	return threads < count ? threads : count;
}

/* The next piece; -1: none is left that could change the outcome. */
static int take(struct work *w)
{
	pthread_mutex_lock(&w->lock);
	int i = w->next < w->end ? w->next++ : -1;
	pthread_mutex_unlock(&w->lock);
	return i;
}

/* Pieces below have all begun, and say so if they fail too. */
static void fail(struct work *w, int i, enum status s)
{
	char *message = memory_text(status_message());
	pthread_mutex_lock(&w->lock);
	if (i < w->end) {
		char *before = w->message;
		w->end = i;
		w->status = s;
		w->message = message;
		message = before;
	}
	pthread_mutex_unlock(&w->lock);
	free(message);
}

static void *do_pieces(void *work)
{
	struct work *w = work;
	within_piece = true;
	for (int i; (i = take(w)) >= 0;) {
		enum status s = w->piece(w->context, i);
		if (s)
			fail(w, i, s);
	}
	within_piece = false;
	return NULL;
}

/* Threads that the system does not give are done without. Signals are for the thread that waits for them. */
static int start_helpers(struct work *w, pthread_t *helpers, int most)
{
	sigset_t all, before;
	int n = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (n < most && !pthread_create(&helpers[n], NULL, do_pieces, w))
		n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

static enum status run_on(struct work *w, int threads)
{
	pthread_t helpers[THREADS_MOST];
	int n = start_helpers(w, helpers, threads - 1);
	do_pieces(w);
	while (n)
		pthread_join(helpers[--n], NULL);
	if (w->status)
		status_fail(w->status, "%s", w->message);
	free(w->message);
	return w->status;
}

enum status work_run(enum status (*piece)(void *context, int i), void *context, int count, int64_t size)
{
	struct work w = {piece, context, PTHREAD_MUTEX_INITIALIZER, 0, count, STATUS_OK, NULL};
	int threads = threads_for(count, size);
	if (threads > 1)
		return run_on(&w, threads);
	for (int i = 0; i < count; i++)
		TRY(piece(context, i));
	return STATUS_OK;
}
