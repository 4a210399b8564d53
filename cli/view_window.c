/* The window of `view`: what it asks of the program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view_open.h"
#include "strategy/strategy.h"
#include "viz/window.h"

static const char *strategy_name_at(void *context, int i)
{
	(void)context;
	return strategy_at(i)->name;
}

/* The strategies that the keys 1 … 9 choose keep their place once they are loaded. */
static enum status open_strategy(void *context, int i)
{
	struct viewer *v = context;
	const char *name = strategy_at(i)->name;
	for (int k = 0; k < v->loaded_count; k++)
		if (!strcmp(v->loaded[k].piece.label, name)) {
			player_set_piece(&v->player, &v->loaded[k].piece);
			return STATUS_OK;
		}
	if (v->loaded_count == (int)(sizeof v->loaded / sizeof v->loaded[0]))
		return status_fail(STATUS_INPUT, "no more strategies can be opened");
	enum status s = load_strategy(&v->loaded[v->loaded_count], v->options, &v->loaded[0].job, name);
	if (s)
		return s;
	player_set_piece(&v->player, &v->loaded[v->loaded_count++].piece);
	return STATUS_OK;
}

static enum status compare_all(void *context)
{
	return viewer_compare(context, "all");
}

/* ---- the command that restores a view ---- */

struct line {
	char *text;
	size_t size, at;
};

static void append(struct line *l, const char *text)
{
	size_t n = strlen(text);
	if (l->at + n + 1 > l->size)
		return;
	memcpy(l->text + l->at, text, n + 1);
	l->at += n;
}

/* As a shell reads it: in quotes unless it is plain. */
static void append_word(struct line *l, const char *word)
{
	append(l, " ");
	if (*word &&
	    strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+@%") == strlen(word)) {
		append(l, word);
		return;
	}
	append(l, "'");
	for (; *word; word++) {
		char one[2] = {*word, 0};
		append(l, *word == '\'' ? "'\\''" : one);
	}
	append(l, "'");
}

static void append_arguments(struct line *l, const struct viewer *v)
{
	const struct player *p = &v->player;
	const struct piece *piece = p->piece;
	static const enum option anew[] = {OPTION_AT,      OPTION_STEP,    OPTION_FOCUS,     OPTION_RANGE,
	                                   OPTION_COMPARE, OPTION_PREDICT, OPTION_PRESENTER, OPTION_EXPORT,
	                                   OPTION_PAGES,   OPTION_DELAY,   OPTION_SCALE};
	struct arguments a = {0};
	arguments_begin(&a, "view");
	/* A strategy that was chosen in the window stands for the one that was asked for. */
	if (piece != &v->loaded[0].piece) {
		const struct settings *s = &piece->score.plan->settings;
		arguments_set(&a, OPTION_STRATEGY, "%s", piece->label);
		/* One rank, or those that serve the same samples, with the whole batch. */
		if (s->ranks == 1 || option_given(v->options, OPTION_MICRO_BATCH)) {
			arguments_set(&a, OPTION_RANKS, "%" PRId64, s->ranks);
			arguments_set(&a, OPTION_BATCH, "%" PRId64, s->batch);
			arguments_set(&a, OPTION_ACCUMULATE, "%" PRId64, s->accumulate);
			arguments_drop(&a, OPTION_MICRO_BATCH);
		}
	}
	arguments_set(&a, OPTION_SCENE, "%s", scene_name(piece->foreign ? SCENE_TIMELINE : p->scene));
	arguments_set(&a, OPTION_THEME, "%s", theme_of(p->theme)->name);
	if (p->stride != STRIDE_ROUND)
		arguments_set(&a, OPTION_STEP, "%s", stride_name(p->stride));
	if (piece->foreign)
		arguments_set(&a, OPTION_AT, "%" PRId64, p->cursor);
	else
		arguments_set(&a, OPTION_AT, "%zu", score_stop_of(&piece->score, p->stride, p->position));
	if (!piece->foreign && piece->score.rank_count && p->focus_rank != piece->score.ranks[0].rank)
		arguments_set(&a, OPTION_FOCUS, "%" PRId64, p->focus_rank);
	if (p->from < p->to)
		arguments_set(&a, OPTION_RANGE, "%" PRId64 ":%" PRId64, p->from, p->to);
	if (p->text < 0.999 || p->text > 1.001)
		arguments_set(&a, OPTION_TEXT, "%g", p->text);
	if (p->compare)
		arguments_set(&a, OPTION_COMPARE, "%s",
		              option_given(v->options, OPTION_COMPARE) ? option_text(v->options, OPTION_COMPARE)
		                                                       : "all");
	if (p->beside)
		arguments_flag(&a, OPTION_PREDICT);
	if (p->presenter)
		arguments_flag(&a, OPTION_PRESENTER);
	for (size_t i = 0; i < sizeof anew / sizeof anew[0]; i++)
		arguments_drop(&a, anew[i]);
	arguments_drop(&a, OPTION_TEXT);
	arguments_pass(&a, COMMAND_VIEW, v->options);
	for (int i = 0; i < a.count; i++)
		append_word(l, a.list[i]);
	arguments_release(&a);
}

/* Between two stops of the stride, the finest stride restores the position. */
static const char *restore(void *context)
{
	static char text[4096];
	struct viewer *v = context;
	struct player *p = &v->player;
	struct line l = {.text = text, .size = sizeof text};
	enum stride stride = p->stride;
	text[0] = 0;
	append(&l, "shardlab");
	if (!p->piece->foreign &&
	    score_stop(&p->piece->score, stride, score_stop_of(&p->piece->score, stride, p->position)) != p->position)
		p->stride = STRIDE_MESSAGE;
	append_arguments(&l, v);
	p->stride = stride;
	return text;
}

enum status viewer_window(struct viewer *v)
{
	int strategies = 0;
	struct window *w;
	while (strategy_at(strategies))
		strategies++;
	/* What a file holds has no other strategies. */
	struct window_host host = {.context = v,
	                           .strategies = viewer_alone(v) ? 0 : strategies,
	                           .strategy = strategy_name_at,
	                           .open = open_strategy,
	                           .compare = viewer_alone(v) ? NULL : compare_all,
	                           .command = restore};
	enum status s = window_open(&w, &v->player, &v->size, &host, !option_given(v->options, OPTION_NO_MOTION));
	if (s)
		return s;
	s = window_run(w);
	window_close(w);
	return s;
}
