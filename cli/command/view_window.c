/* The window of `view`: what it asks of the program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "cli/command/view_race.h"
#include "strategy/base/memory.h"
#include "strategy/strategies/strategy.h"

/* In the order of the keys 1 … 9: all of `all`, then contrasts, of which the last have buttons alone. */
static const struct strategy *choice_at(int i)
{
	static const char *const first[] = {"hybrid", "pipeline"};
	enum { FIRST = sizeof first / sizeof first[0] };
	int all = 0;
	while (strategy_at(all))
		all++;
	if (i < all)
		return strategy_at(i);
	i -= all;
	if (i < FIRST)
		return strategy_find(first[i]);
	i -= FIRST;
	for (int k = 0; strategy_contrast_at(k); k++) {
		bool had = false;
		for (int n = 0; n < FIRST; n++)
			had |= !strcmp(strategy_contrast_at(k)->name, first[n]);
		if (!had && i-- == 0)
			return strategy_contrast_at(k);
	}
	return NULL;
}

static const char *strategy_name_at(void *context, int i)
{
	(void)context;
	return choice_at(i)->name;
}

/* A strategy keeps its place once it is loaded. */
static enum status open_strategy(void *context, int i)
{
	struct viewer *v = context;
	struct loaded *l;
	TRY(viewer_load(v, choice_at(i)->name, &l));
	playback_show(&v->playback, &l->shown);
	if (v->playback.whatif)
		viewer_fill(v);
	return STATUS_OK;
}

/* The change that would make the shown step fit, if it does not. */
static bool search_on(void *context)
{
	return load_search(viewer_shown(context));
}

static enum status pair_with(void *context, int i)
{
	return viewer_pair(context, choice_at(i)->name);
}

static enum status compare_all(void *context)
{
	return viewer_compare(context, "all");
}

static void race(void *context, struct race *r)
{
	race_run(r, viewer_cluster(context));
}

/* ---- the command that restores a view ---- */

/* Quotes a word for the shell unless it is plain. */
static void put_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+@%";
	if (*word && strspn(word, plain) == strlen(word)) {
		fprintf(out, " %s", word);
		return;
	}
	fputs(" '", out);
	for (; *word; word++)
		fprintf(out, *word == '\'' ? "'\\'%c" : "%c", *word);
	fputc('\'', out);
}

/* The cursor, what is selected, and how far a list is scrolled. */
static void say_position(const struct playback *p, struct arguments *a)
{
	const struct trace_view *shown = p->shown;
	const struct timeline *s = &shown->timeline;
	if (shown->foreign) {
		arguments_set(a, OPTION_AT, "%" PRId64, p->cursor);
	} else {
		size_t stop = timeline_stop_of(s, p->step_size, p->position),
		       past = p->position - timeline_stop(s, p->step_size, stop);
		arguments_set(a, OPTION_AT, "%zu", stop);
		if (past)
			arguments_set(a, OPTION_PAST, "%zu", past);
	}
	if (p->selected_op >= 0)
		arguments_set(a, OPTION_SELECT, "%" PRId64 ":%d", p->selected_rank, p->selected_op);
	if (p->scene == SCENE_PLAN && !shown->foreign && p->plan_scroll)
		arguments_set(a, OPTION_SCROLL, "%d", p->plan_scroll);
	else if ((shown->foreign || p->scene != SCENE_PLAN) && p->first_lane >= 0)
		arguments_set(a, OPTION_SCROLL, "%d", p->first_lane);
	if (!shown->foreign && s->rank_count && p->focus_rank != s->ranks[0].rank)
		arguments_set(a, OPTION_FOCUS, "%" PRId64, p->focus_rank);
	if (p->from < p->to)
		arguments_set(a, OPTION_RANGE, "%" PRId64 ":%" PRId64, p->from, p->to);
	if (p->measured_from < p->measured_to)
		arguments_set(a, OPTION_MEASURE, "%" PRId64 ":%" PRId64, p->measured_from, p->measured_to);
}

static void say_look(const struct playback *p, struct arguments *a)
{
	arguments_set(a, OPTION_SCENE, "%s",
	              scene_name(p->shown->foreign ? SCENE_TIMELINE
	                         : p->compare      ? SCENE_MEMORY
	                                           : p->scene));
	arguments_set(a, OPTION_THEME, "%s", theme_of(p->theme)->name);
	if (p->step_size != STEP_SIZE_ROUND)
		arguments_set(a, OPTION_STEP, "%s", step_size_name(p->step_size));
	if (p->over_steps)
		arguments_set(a, OPTION_OVER, "steps");
	if (p->text < 0.999 || p->text > 1.001)
		arguments_set(a, OPTION_TEXT, "%g", p->text);
	if (!p->values)
		arguments_flag(a, OPTION_NO_VALUES);
	if (p->asking)
		arguments_flag(a, OPTION_ASK);
	if (p->presenter)
		arguments_flag(a, OPTION_PRESENTER);
}

/* Other steps that are shown with this one. */
static void say_others(const struct viewer *v, struct arguments *a)
{
	const struct playback *p = &v->playback;
	if (p->compare)
		arguments_set(a, OPTION_COMPARE, "%s",
		              option_given(v->options, OPTION_COMPARE) ? option_text(v->options, OPTION_COMPARE)
		                                                       : "all");
	if (p->second)
		arguments_set(a, OPTION_PAIR, "%s",
		              v->loaded[0].read    ? option_text(v->options, OPTION_PAIR)
		              : v->whatif.together ? PAIR_BEFORE
		                                   : p->second->label);
	if (p->beside)
		arguments_flag(a, OPTION_PREDICT);
}

/* The command with `a`, and of what was asked for all but `anew`; stays until the next. Releases `a`. */
static const char *line_of(struct arguments *a, const enum option *anew, size_t count, const struct options *o)
{
	static char *text;
	size_t size;
	free(text);
	FILE *out = memory_stream(&text, &size);
	for (size_t i = 0; i < count; i++)
		arguments_drop(a, anew[i]);
	arguments_pass(a, COMMAND_VIEW, o);
	fputs("shardlab", out);
	for (int i = 0; i < a->count; i++)
		put_word(out, a->list[i]);
	memory_stream_close(out);
	arguments_release(a);
	return text;
}

/* width, height: 0 where the screen gives them. */
static const char *restore(void *context, int width, int height)
{
	static const enum option anew[] = {
	        OPTION_AT,      OPTION_STEP,      OPTION_FOCUS,  OPTION_RANGE,  OPTION_COMPARE, OPTION_PAIR,
	        OPTION_PREDICT, OPTION_PRESENTER, OPTION_EXPORT, OPTION_PAGES,  OPTION_DELAY,   OPTION_SCALE,
	        OPTION_SIZE,    OPTION_SELECT,    OPTION_ASK,    OPTION_SCROLL, OPTION_PAST,    OPTION_NO_VALUES,
	        OPTION_WHAT_IF, OPTION_MEASURE,   OPTION_OVER,   OPTION_TEXT};
	struct viewer *v = context;
	struct arguments a = {0};
	arguments_begin(&a, "view");
	viewer_say_settings(v, &a);
	say_look(&v->playback, &a);
	say_position(&v->playback, &a);
	say_others(v, &a);
	if (width && height)
		arguments_set(&a, OPTION_SIZE, "%dx%d", width, height);
	return line_of(&a, anew, sizeof anew / sizeof anew[0], v->options);
}

/* Adds the options of a step that the user builds: those that make the exercise, and the placed moves. */
static const char *restore_building(void *context, int width, int height, const char *moves)
{
	static const enum option anew[] = {OPTION_AT,      OPTION_STEP,   OPTION_FOCUS,   OPTION_RANGE,
	                                   OPTION_COMPARE, OPTION_PAIR,   OPTION_PAST,    OPTION_SELECT,
	                                   OPTION_SCENE,   OPTION_SCROLL, OPTION_PREDICT, OPTION_EXPORT,
	                                   OPTION_PAGES,   OPTION_DELAY,  OPTION_ASK,     OPTION_WHAT_IF};
	const struct viewer *v = context;
	struct arguments a = {0};
	arguments_begin(&a, "view");
	arguments_flag(&a, OPTION_BUILD);
	arguments_set(&a, OPTION_STRATEGY, "%s", v->built.settings.strategy);
	arguments_set(&a, OPTION_RANKS, "%" PRId64, v->built.plan.ranks);
	if (*moves)
		arguments_set(&a, OPTION_MOVES, "%s", moves);
	else
		arguments_drop(&a, OPTION_MOVES);
	arguments_set(&a, OPTION_THEME, "%s", theme_of(v->playback.theme)->name);
	if (width && height)
		arguments_set(&a, OPTION_SIZE, "%dx%d", width, height);
	if (v->playback.text < 0.999 || v->playback.text > 1.001)
		arguments_set(&a, OPTION_TEXT, "%g", v->playback.text);
	return line_of(&a, anew, sizeof anew / sizeof anew[0], v->options);
}

struct window_host viewer_host(struct viewer *v)
{
	int strategies = 0;
	while (choice_at(strategies))
		strategies++;
	/* A file's step has no other strategies. */
	struct build_host build = {0};
	if (!viewer_alone(v))
		build = viewer_build_host(v);
	return (struct window_host){.context = v,
	                            .strategies = viewer_alone(v) ? 0 : strategies,
	                            .strategy = strategy_name_at,
	                            .open = open_strategy,
	                            .compare = viewer_alone(v) ? NULL : compare_all,
	                            .race = race,
	                            .pair = viewer_alone(v) ? NULL : pair_with,
	                            .command = restore,
	                            .build_command = restore_building,
	                            .change = viewer_change,
	                            .later = viewer_alone(v) ? NULL : search_on,
	                            .build = build,
	                            .asked_size = option_given(v->options, OPTION_SIZE)};
}

enum status viewer_window(struct viewer *v)
{
	struct window_host host = viewer_host(v);
	struct window *w;
	char *moves = NULL;
	enum status s = viewer_moves(v->options, &moves);
	if (!s)
		s = window_open(&w, &v->playback, &v->size, &host, !option_given(v->options, OPTION_NO_MOTION));
	if (!s) {
		if (option_given(v->options, OPTION_ASK))
			window_ask(w);
		if (option_given(v->options, OPTION_RACE))
			window_race(w, &v->race);
		if (option_given(v->options, OPTION_BUILD))
			s = window_begin_building(w, moves);
		if (!s)
			s = window_run(w);
		window_close(w);
	}
	free(moves);
	return s;
}
