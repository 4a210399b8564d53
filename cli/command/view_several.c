/* Strategies side by side, in `view`. */
#include <stdio.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "strategy/base/path.h"
#include "strategy/strategies/strategy.h"

bool viewer_alone(const struct viewer *v)
{
	return v->loaded[0].read || option_given(v->options, OPTION_PLAN_FILE) ||
	       option_given(v->options, OPTION_COLLECTIVE) || option_given(v->options, OPTION_RACE);
}

enum option viewer_source(const struct viewer *v)
{
	return v->loaded[0].read                            ? OPTION_TRACE
	       : option_given(v->options, OPTION_PLAN_FILE) ? OPTION_PLAN_FILE
	                                                    : OPTION_COLLECTIVE;
}

/* ---- the steps that are kept ---- */

static bool is_shown(const struct viewer *v, int i)
{
	const struct playback *p = &v->playback;
	const struct trace_view *one = &v->loaded[i].shown;
	bool shown = i == 0 || one == p->shown || one == p->second || &v->loaded[i] == v->before ||
	             &v->loaded[i] == v->built_from;
	for (int k = 0; k < p->contender_count; k++)
		shown |= p->contender[k] == one;
	return shown;
}

static void forget(struct viewer *v, int i)
{
	struct playback *p = &v->playback;
	const struct timeline *gone = &v->loaded[i].shown.timeline;
	if (p->before.timeline == gone)
		state_release(&p->before);
	for (int k = 0; k < CONTENDERS; k++)
		if (p->contenders[k].timeline == gone)
			state_release(&p->contenders[k]);
	load_release(&v->loaded[i]);
	v->used[i] = 0;
}

/* An empty place. Few steps are kept that were changed and are not shown. */
static int place_for(struct viewer *v)
{
	enum { KEPT = 8 };
	int empty = -1, oldest = -1, any = -1, kept = 0;
	for (int i = 0; i < VIEWS; i++) {
		bool free_to_go = v->used[i] && !is_shown(v, i), changed = changes_any(&v->changes[i]);
		kept += free_to_go && changed;
		if (!v->used[i])
			empty = i;
		if (free_to_go && changed && (oldest < 0 || v->used[i] < v->used[oldest]))
			oldest = i;
		if (free_to_go && (any < 0 || v->used[i] < v->used[any]))
			any = i;
	}
	int out = kept >= KEPT ? oldest : empty >= 0 ? empty : oldest >= 0 ? oldest : any;
	if (out >= 0 && v->used[out])
		forget(v, out);
	return out;
}

enum status viewer_find(struct viewer *v, const struct changes *c, const char *strategy, struct loaded **out)
{
	struct settings settings;
	char cluster[CLUSTER_TEXT];
	for (int i = 0; i < VIEWS; i++)
		if (v->used[i] && !strcmp(v->loaded[i].job.settings.strategy, strategy) &&
		    changes_equal(&v->changes[i], c)) {
			v->used[i] = ++v->uses;
			*out = &v->loaded[i];
			return STATUS_OK;
		}
	enum status s = changes_settings(c, v->options, strategy, &settings, cluster);
	int place = s ? -1 : place_for(v);
	if (!s && place < 0)
		s = status_fail(STATUS_INPUT, "no more strategies can be opened");
	if (s || (s = work_load(&v->loaded[place], v->options, &settings, cluster, &v->busy)))
		return s;
	*out = &v->loaded[place];
	v->changes[place] = *c;
	v->used[place] = ++v->uses;
	changes_print(c, (*out)->shown.changed, sizeof(*out)->shown.changed);
	return STATUS_OK;
}

enum status viewer_load(struct viewer *v, const char *strategy, struct loaded **out)
{
	return viewer_find(v, viewer_changes(v), strategy, out);
}

enum status viewer_begin(struct viewer *v, const struct options *o)
{
	v->options = o;
	TRY(load_from_options(&v->loaded[0], o));
	v->used[0] = ++v->uses;
	v->past_count = 1;
	v->whatif.row = -1;
	playback_show(&v->playback, &v->loaded[0].shown);
	return STATUS_OK;
}

struct loaded *viewer_shown(struct viewer *v)
{
	for (int i = 0; i < VIEWS; i++)
		if (&v->loaded[i].shown == v->playback.shown)
			return &v->loaded[i];
	/* A step that somebody has built: what that is about. */
	return v->built_from ? &v->loaded[v->built_from - v->loaded] : &v->loaded[0];
}

void viewer_release(struct viewer *v)
{
	board_close(v->board);
	race_release(&v->race);
	playback_release(&v->playback);
	for (int i = 0; i < VIEWS; i++)
		load_release(&v->loaded[i]);
	job_release(&v->built);
}

/* ---- several ---- */

/* The strategy's name comes from --pair, and so the message names that. */
static enum status pair_refused(enum status s)
{
	char why[1024];
	const char *at;
	snprintf(why, sizeof why, "%s", status_message());
	at = strncmp(why, "--strategy", 10) ? why : why + 10;
	return status_fail(s, "--%s%s%s", option_name(OPTION_PAIR), *at == ':' || *at == ' ' ? "" : ": ", at);
}

enum status viewer_pair(struct viewer *v, const char *strategy)
{
	struct loaded *l;
	enum status s = viewer_load(v, strategy, &l);
	if (s)
		return pair_refused(s);
	if (&l->shown == v->playback.shown)
		s = status_fail(STATUS_INPUT, "--pair %.60s: it is shown already; name another", strategy);
	if (!s)
		playback_pair(&v->playback, &l->shown);
	return s;
}

/* Two runs of one strategy are told apart by their files. */
static void name_by_file(struct trace_view *shown, const char *path)
{
	snprintf(shown->label, sizeof shown->label, "%.60s", path_name(path));
}

enum status viewer_pair_traces(struct viewer *v, const char *path)
{
	enum { SECOND = 1 }; /* a trace is loaded alone */
	struct loaded *first = &v->loaded[0], *second = &v->loaded[SECOND];
	enum status s = first->shown.foreign ? STATUS_OK : load_trace(second, v->options, path);
	if (s)
		return status_prefix(s, "--pair");
	if (first->shown.foreign || second->shown.foreign)
		return status_fail(STATUS_INPUT,
		                   "--pair FILE is for two runs that shardlab recorded: a trace of another program "
		                   "has no steps in which two could go together");
	v->used[SECOND] = ++v->uses;
	name_by_file(&first->shown, option_text(v->options, OPTION_TRACE));
	name_by_file(&second->shown, path);
	playback_pair(&v->playback, &second->shown);
	return STATUS_OK;
}

static enum status add_contender(struct viewer *v, const char *strategy)
{
	struct playback *p = &v->playback;
	struct loaded *l;
	if (p->contender_count == CONTENDERS)
		return status_fail(STATUS_INPUT, "--compare: more than %d strategies", CONTENDERS);
	enum status s = viewer_load(v, strategy, &l);
	if (!s)
		p->contender[p->contender_count++] = &l->shown;
	return s;
}

/* Leaves out the strategies of `all` that make no sense with the other settings. */
static enum status add_all(struct viewer *v)
{
	enum status s = STATUS_OK;
	for (int i = 0; strategy_at(i) && (!s || s == STATUS_INPUT); i++) {
		bool full = v->playback.contender_count == CONTENDERS;
		s = add_contender(v, strategy_at(i)->name);
		if (full)
			return s;
	}
	return s == STATUS_INPUT ? STATUS_OK : s;
}

static enum status add_contenders(struct viewer *v, const char *list)
{
	enum status s = STATUS_OK;
	for (const char *at = list; !s; at++) {
		size_t length = strcspn(at, ",");
		char name[256];
		snprintf(name, sizeof name, "%.*s", (int)(length < 250 ? length : 250), at);
		s = strcmp(name, "all") ? add_contender(v, name) : add_all(v);
		at += length;
		if (!*at)
			break;
	}
	return s;
}

enum status viewer_compare(struct viewer *v, const char *list)
{
	v->playback.contender_count = 0;
	enum status s = add_contenders(v, list);
	v->playback.compare = !s;
	if (s)
		v->playback.contender_count = 0;
	return s;
}
