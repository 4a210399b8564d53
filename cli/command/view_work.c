/* A step that takes long to make is made beside the window, which says so meanwhile. Everything else waits for it. */
#include "cli/command/view_work.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { PATIENCE_MS = 333 };

struct work {
	struct loaded *l;
	const struct options *options;
	const struct settings *settings;
	const char *cluster;
	enum status status;
	char message[512]; /* of the thread that failed */
	bool done;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

static void *run(void *context)
{
	struct work *w = context;
	enum status s = load_settings(w->l, w->options, w->settings, w->cluster);
	pthread_mutex_lock(&w->lock);
	w->status = s;
	if (s)
		snprintf(w->message, sizeof w->message, "%s", status_message());
	w->done = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static struct timespec in_ms(long ms)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void wait_for(struct work *w, const struct busy *busy)
{
	pthread_mutex_lock(&w->lock);
	while (!w->done) {
		struct timespec until = in_ms(busy->patience ? busy->patience : PATIENCE_MS);
		if (pthread_cond_timedwait(&w->changed, &w->lock, &until) != ETIMEDOUT || w->done)
			continue;
		pthread_mutex_unlock(&w->lock);
		busy->say(busy->context);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
}

enum status work_load(struct loaded *l, const struct options *o, const struct settings *settings, const char *cluster,
                      const struct busy *busy)
{
	struct work w = {.l = l, .options = o, .settings = settings, .cluster = cluster};
	pthread_t thread;
	if (!busy->say)
		return load_settings(l, o, settings, cluster);
	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.changed, NULL);
	if (pthread_create(&thread, NULL, run, &w)) {
		w.status = load_settings(l, o, settings, cluster);
	} else {
		wait_for(&w, busy);
		pthread_join(thread, NULL);
		if (w.status)
			status_fail(w.status, "%s", w.message);
	}
	pthread_cond_destroy(&w.changed);
	pthread_mutex_destroy(&w.lock);
	return w.status;
}
