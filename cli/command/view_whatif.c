/* The what-if panel's changes: made, undone and made again. A changed step is made from the options anew; when it
 * cannot be, all is as it was. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "cli/command/view_rows.h"
#include "strategy/base/language.h"

void viewer_fill(struct viewer *v)
{
	const struct loaded *now = viewer_shown(v);
	struct loaded *before;
	static const struct changes none;
	bool any = changes_any(viewer_changes(v));
	v->before = viewer_find(v, &none, now->job.settings.strategy, &before) ? NULL : before;
	panel_fill(&v->whatif, viewer_changes(v), v->before ? v->before : &v->loaded[0], v->before, now);
	v->whatif.undo = v->at > 0;
	v->whatif.redo = v->at + 1 < v->past_count;
	v->whatif.together = v->together && any && v->before;
	if (v->together)
		playback_pair(&v->playback, v->whatif.together ? &v->before->shown : NULL);
}

/* ---- showing ---- */

/* The step beside the shown one is made with the same changes. */
static void follow(struct viewer *v, const char *second, bool compared)
{
	struct playback *p = &v->playback;
	const char *list = option_given(v->options, OPTION_COMPARE) ? option_text(v->options, OPTION_COMPARE) : "all";
	p->contender_count = 0;
	playback_pair(p, NULL);
	if (*second)
		(void)viewer_pair(v, second);
	p->compare = false;
	if (compared)
		(void)viewer_compare(v, list);
}

/* Shows the step with these changes, and makes them those of now. */
static enum status show(struct viewer *v, const struct changes *c)
{
	struct playback *p = &v->playback;
	struct loaded *l;
	char second[sizeof l->job.settings.strategy] = "";
	bool compared = p->compare;
	TRY(viewer_find(v, c, viewer_shown(v)->job.settings.strategy, &l));
	if (p->second && !v->together)
		snprintf(second, sizeof second, "%s", p->second->timeline.plan->settings.strategy);
	v->past[v->at] = *c;
	playback_show(p, &l->shown);
	follow(v, second, compared);
	return STATUS_OK;
}

/* ---- the past ---- */

/* A place behind the present one; what was undone is gone, and what is longest ago. */
static void advance(struct viewer *v)
{
	if (v->at + 1 == HISTORY) {
		memmove(v->past, v->past + 1, (HISTORY - 1) * sizeof v->past[0]);
		v->at--;
	}
	v->at++;
	v->past_count = v->at + 1;
}

static enum status make(struct viewer *v, const struct changes *c, bool on)
{
	const struct changes was = *viewer_changes(v);
	if (changes_equal(c, &was))
		return STATUS_OK;
	/* One undo takes back all that a drag has done. */
	bool instead = on && v->at > v->drag_from;
	enum status s = show(v, c);
	if (s || instead)
		return s;
	v->past[v->at] = was;
	advance(v);
	v->past[v->at] = *c;
	return STATUS_OK;
}

static enum status go(struct viewer *v, int by)
{
	int was = v->at, to = was + by;
	if (to < 0 || to >= v->past_count)
		return status_fail(STATUS_INPUT,
		                   by < 0 ? tr("Nothing is left to undo.") : tr("Nothing is left to do again."));
	struct changes c = v->past[to];
	v->at = to;
	enum status s = show(v, &c);
	if (s)
		v->at = was;
	return s;
}

/* ---- what the window asks for ---- */

static enum status refuse_file(const struct viewer *v)
{
	return status_fail(STATUS_INPUT,
	                   tr("What --%s says cannot be changed: open a model and a strategy without it."),
	                   option_name(viewer_source(v)));
}

static enum status step(struct viewer *v, const struct whatif_change *c)
{
	struct changes next = *viewer_changes(v);
	const struct loaded *now = viewer_shown(v), *base = v->before ? v->before : &v->loaded[0];
	enum status s = c->move == WHATIF_TYPE
	                        ? changes_type(&next, v->options, now, c->row, c->text)
	                        : changes_step(&next, v->options, base, now, c->row, c->number, c->move == WHATIF_TO);
	if (!c->on)
		v->drag_from = v->at;
	return s ? s : make(v, &next, c->on);
}

static enum status open_panel(struct viewer *v, bool open)
{
	v->playback.whatif = open ? &v->whatif : NULL;
	if (!open && v->together)
		playback_pair(&v->playback, NULL);
	v->together &= open;
	return STATUS_OK;
}

static enum status change(struct viewer *v, const struct whatif_change *c)
{
	static const struct changes none;
	switch (c->move) {
	case WHATIF_OPEN:
	case WHATIF_CLOSE:
		return open_panel(v, c->move == WHATIF_OPEN);
	case WHATIF_UNDO:
	case WHATIF_REDO:
		return go(v, c->move == WHATIF_UNDO ? -1 : 1);
	case WHATIF_RESET:
		return make(v, &none, false);
	case WHATIF_TOGETHER:
		if (v->together)
			playback_pair(&v->playback, NULL);
		v->together = !v->together;
		return STATUS_OK;
	default:
		return step(v, c);
	}
}

enum status viewer_change(void *viewer, const struct whatif_change *c)
{
	struct viewer *v = viewer;
	if (viewer_alone(v))
		return refuse_file(v);
	v->busy = (struct busy){.say = c->busy, .context = c->window};
	enum status s = change(v, c);
	if (!s)
		viewer_fill(v);
	v->busy = (struct busy){0};
	return s;
}

/* ---- the command that makes it again ---- */

static void say_batch(struct arguments *a, const struct settings *s)
{
	arguments_set(a, OPTION_RANKS, "%" PRId64, s->ranks);
	arguments_set(a, OPTION_BATCH, "%" PRId64, s->batch);
	arguments_set(a, OPTION_ACCUMULATE, "%" PRId64, s->accumulate);
	arguments_drop(a, OPTION_MICRO_BATCH);
}

/* Gives each change as an option of its own. */
static void say_changes(const struct viewer *v, struct arguments *a, const struct loaded *now)
{
	char text[SETTING_TEXT];
	for (int i = 0; i < row_count; i++) {
		int setting = rows[i].setting;
		if (setting >= SETTING_COUNT || !*viewer_changes(v)->value[i] || a->set[setting])
			continue;
		setting_print((enum setting)setting, &now->job.settings, text, sizeof text);
		arguments_set(a, (enum option)setting, "%s", text);
	}
	arguments_set(a, OPTION_CLUSTER, "%s", now->cluster);
}

/* Another strategy than the one that was asked for takes the batch of that one, before and now. */
static void say_what_if(const struct viewer *v, struct arguments *a, const struct loaded *now, bool asked)
{
	struct changes c = *viewer_changes(v);
	char words[1000];
	if (!asked && v->before) {
		const struct settings *s = &now->job.settings;
		say_batch(a, &v->before->job.settings);
		changes_set_batch(&c, s->ranks, s->batch, s->accumulate);
	}
	if (!changes_any(&c)) /* the panel alone */
		changes_set_batch(&c, now->job.settings.ranks, 0, 0);
	changes_print(&c, words, sizeof words);
	arguments_set(a, OPTION_WHAT_IF, "%s", words);
}

void viewer_say_settings(const struct viewer *v, struct arguments *a)
{
	const struct loaded *now = viewer_shown((struct viewer *)(uintptr_t)v);
	bool asked = !strcmp(now->job.settings.strategy, v->loaded[0].job.settings.strategy);
	bool changed = changes_any(viewer_changes(v)), open = v->playback.whatif && v->before;
	if (viewer_alone(v))
		return;
	/* A strategy that was chosen in the window stands for the one that was asked for. */
	if (!asked)
		arguments_set(a, OPTION_STRATEGY, "%s", now->job.settings.strategy);
	if (open) {
		say_what_if(v, a, now, asked);
		return;
	}
	/* One rank, or those that serve the same samples, with the whole batch. */
	if (changed || (!asked && (now->job.settings.ranks == 1 || option_given(v->options, OPTION_MICRO_BATCH))))
		say_batch(a, &now->job.settings);
	if (changed)
		say_changes(v, a, now);
}

enum status viewer_what_if(struct viewer *v, const char *text)
{
	struct changes c;
	enum status s = changes_read(&c, text);
	if (s)
		return s;
	changes_simplify(&c, v->options, v->loaded[0].job.settings.strategy);
	if ((s = make(v, &c, false)))
		return s == STATUS_INPUT ? status_prefix(s, "--what-if") : s;
	open_panel(v, true);
	viewer_fill(v);
	return STATUS_OK;
}
