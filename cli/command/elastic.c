#include "cli/command/elastic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/hosts.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/command/reach.h"
#include "real/checkpoint/folder.h"
#include "real/checkpoint/manifest.h"
#include "strategy/base/path.h"
#include "strategy/strategies/strategy.h"

/* ---- options ---- */

static void set_whole(struct elastic *e, struct options *o, enum option i, int64_t value)
{
	char *text = arena_print(&e->arena, "%" PRId64, value);
	o->value[i] = (struct option_value){.given = true, .text = text, .whole = value, .least = value};
}

/* Makes the batch from the largest number of ranks. */
static enum status make_batch(struct elastic *e, struct options *o)
{
	struct settings settings;
	const struct strategy *strategy;
	enum status s = options_settings(o, &settings);
	if (s || (s = strategy_parse(settings.strategy, &strategy)) ||
	    (s = settings_resolve(&settings, strategy_data_ranks(&settings))))
		return s;
	set_whole(e, o, OPTION_BATCH, settings.batch);
	return STATUS_OK;
}

/* The same on any number of ranks. Where micro-batch and accumulation are given, the micro-batch stays: that is what a
 * rank has the memory for. */
static enum status settle_batch(struct elastic *e, struct options *o)
{
	enum status s = option_given(o, OPTION_BATCH) ? STATUS_OK : make_batch(e, o);
	if (!s && option_given(o, OPTION_MICRO_BATCH))
		o->value[OPTION_ACCUMULATE] = (struct option_value){.given = false};
	return s;
}

static enum status try_ranks(struct elastic *e, struct options *o, int64_t ranks)
{
	struct job j;
	int64_t each;
	set_whole(e, o, OPTION_RANKS, ranks);
	TRY(hosts_ranks_each(o, ranks, &each));
	enum status s = job_from_options(&j, o);
	job_release(&j);
	return s;
}

/* The largest number that the plan can have. Its number stays in the options; the first refusal is the one told. */
static enum status choose_ranks(struct elastic *e, struct options *o, int64_t most)
{
	char why[1024] = "";
	for (int64_t ranks = most; ranks >= e->least; ranks--) {
		if (!try_ranks(e, o, ranks)) {
			e->most = ranks;
			return STATUS_OK;
		}
		if (!*why)
			snprintf(why, sizeof why, "%s", status_message());
	}
	return status_fail(STATUS_INPUT, "{ranks} %" PRId64 "..%" PRId64 ": none of them will do: %s", e->least, most,
	                   why);
}

/* ---- checkpoints ---- */

static struct stat look_at_latest(const char *folder)
{
	struct stat info = {.st_ino = 0};
	char *path = path_in_folder(folder, CHECKPOINT_LATEST);
	if (stat(path, &info))
		info = (struct stat){.st_ino = 0};
	free(path);
	return info;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Finds what this run has saved; a checkpoint that lay in the folder before it began is another run's. Returns its
 * step, or -1: there is none. */
static int64_t find_own(struct elastic *e, const char *folder)
{
	struct stat now = look_at_latest(folder);
	struct manifest m;
	char *path = NULL;
	int64_t step = -1;
	if (!is_same(&now, &e->latest) && !checkpoint_find("latest", folder, &path) && !manifest_read(&m, path)) {
		step = m.step;
		manifest_release(&m);
		free(e->resume);
		e->resume = path;
		path = NULL;
	}
	free(path);
	return step;
}

/* ---- a run ---- */

static enum status check(const struct options *o)
{
	bool restarts = option_given(o, OPTION_RESTARTS);
	if (restarts && !option_given(o, OPTION_CHECKPOINT))
		return status_fail(STATUS_INPUT,
		                   "{restarts}: a run starts again from its checkpoints; give {checkpoint} DIR too");
	return STATUS_OK;
}

enum status elastic_begin(struct elastic *e, struct options *o)
{
	const struct option_value *ranks = &o->value[OPTION_RANKS];
	bool by_hosts = option_given(o, OPTION_HOSTS) && !ranks->given;
	enum status s = hosts_set_ranks(o);
	*e = (struct elastic){.least = ranks->least, .most = ranks->whole, .by_hosts = by_hosts};
	e->restarts = option_given(o, OPTION_RESTARTS) ? option_whole(o, OPTION_RESTARTS) : 0;
	if (s || (s = check(o)))
		return s;
	if (e->restarts)
		e->latest = look_at_latest(option_text(o, OPTION_CHECKPOINT));
	e->top = e->most;
	if (e->least == e->most)
		return STATUS_OK;
	s = settle_batch(e, o);
	if (!s)
		s = choose_ranks(e, o, e->most);
	e->top = e->most;
	return s;
}

static enum status check_world(const struct options *o, int64_t ranks)
{
	const struct option_value *v = &o->value[OPTION_RANKS];
	if (option_whole(o, OPTION_RESTARTS))
		return status_fail(STATUS_INPUT, "{restarts}: mpirun started the ranks, and shardlab starts again only "
		                                 "those that it started; leave one of the two out");
	if (v->given && (ranks < v->least || ranks > v->whole))
		return status_fail(STATUS_INPUT,
		                   "mpirun started %" PRId64 " ranks, and {ranks} is %.40s; leave {ranks} out", ranks,
		                   v->text);
	return STATUS_OK;
}

enum status elastic_join(struct elastic *e, struct options *o, int64_t ranks)
{
	const struct option_value *v = &o->value[OPTION_RANKS];
	*e = (struct elastic){.least = ranks, .most = ranks};
	enum status s = check_world(o, ranks);
	if (!s && v->given && v->least < v->whole)
		s = settle_batch(e, o);
	if (!s && !option_given(o, OPTION_PLAN_FILE))
		set_whole(e, o, OPTION_RANKS, ranks);
	return s;
}

/* Fewer, if there are fewer that will do. */
static void take_fewer(struct elastic *e, struct options *o, char why[80])
{
	int64_t now = e->most;
	if (e->least < now && choose_ranks(e, o, now - 1))
		set_whole(e, o, OPTION_RANKS, now);
	else if (e->most < now)
		snprintf(why, 80, ", fewer since %" PRId64 " came to no step, maybe for lack of memory,", now);
}

/* Takes as many ranks as the hosts that answer have, whether hosts were lost or came back. */
static enum status take_hosts(struct elastic *e, struct options *o, const char *what)
{
	char gone[256], why[512];
	if (!choose_ranks(e, o, e->top))
		return STATUS_OK;
	snprintf(why, sizeof why, "%s", status_message());
	reach_list_gone(gone, sizeof gone);
	return status_fail(STATUS_LOST, "%s; without %s, which does not answer, it cannot go on: %s", what, gone, why);
}

static void say(const struct elastic *e, const struct options *o, const char *what, const char *why, int64_t step)
{
	char from[64] = "the beginning", gone[256];
	if (step >= 0)
		snprintf(from, sizeof from, "step %" PRId64, step);
	int64_t ranks = option_whole(o, OPTION_RANKS);
	fprintf(stderr, "%s\n", what);
	reach_list_gone(gone, sizeof gone);
	fprintf(stderr, "starting again on %" PRId64 " rank%s%s%s%s from %s: restart %" PRId64 " of %" PRId64 "\n",
	        ranks, ranks == 1 ? "" : "s", why, *gone ? " without " : "", gone, from, e->restarted, e->restarts);
}

/* A run that was lost after its last step has nothing to start again for. */
static bool is_done(const struct elastic *e, const struct options *o, const char *what, int64_t step)
{
	bool done = step >= option_whole(o, OPTION_STEPS);
	if (done)
		status_fail(STATUS_LOST,
		            "%s; all steps were done, and %s has them: shardlab checkpoint weights takes them out",
		            what, e->resume);
	return done;
}

bool elastic_again(struct elastic *e, struct options *o, bool progressed)
{
	char what[1024], why[80] = "";
	if (e->restarted == e->restarts || launch_stop)
		return false;
	snprintf(what, sizeof what, "%s", status_message());
	int64_t step = find_own(e, option_text(o, OPTION_CHECKPOINT));
	if (is_done(e, o, what, step))
		return false;
	e->restarted++;
	if (reach_settle()) {
		if (take_hosts(e, o, what))
			return false;
	} else if (!progressed && !e->by_hosts) {
		take_fewer(e, o, why);
	}
	if (e->resume)
		o->value[OPTION_RESUME] = (struct option_value){.given = true, .text = e->resume};
	say(e, o, what, why, step);
	return true;
}

void elastic_release(struct elastic *e)
{
	free(e->resume);
	arena_release(&e->arena);
	*e = (struct elastic){0};
}
