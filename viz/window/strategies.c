/* Strategies in the window: which is shown, what it is compared with, and which stands beside it. */
#include "viz/window/parts.h"

/* ---- one ---- */

static bool show(struct window *w, int number)
{
	struct place place;
	w->dirty = true;
	place_remember(&place, w);
	if (w->host.open(w->host.context, number)) {
		window_note(w, "%s", status_message());
		return false;
	}
	if (number != w->strategy)
		w->before = w->strategy;
	w->strategy = number;
	place_return(&place, w);
	return true;
}

/* ---- two ---- */

static bool set_second(struct window *w, int number)
{
	if (w->host.pair(w->host.context, number))
		return false;
	window_finish_tween(w);
	w->second = number;
	w->paired = w->playback->second;
	return true;
}

/* True if the second is one of the list, so that keys change it. */
static bool is_paired(const struct window *w)
{
	return w->playback->second && w->playback->second == w->paired && w->second >= 0;
}

/* The strategy that was shown before; if there was none, the next of the list that can be made. */
static void begin_pair(struct window *w)
{
	if (!w->host.pair || w->host.strategies < 2) {
		window_note(w, "There is no second strategy to show beside this one.");
		return;
	}
	if (w->before >= 0 && w->before != w->strategy && set_second(w, w->before))
		return;
	for (int i = 1; i < w->host.strategies; i++)
		if (set_second(w, (w->strategy + i) % w->host.strategies))
			return;
	window_note(w, "%s", status_message());
}

/* The one at the right changes; its own key, or the left one's, swaps the two. */
static void change_pair(struct window *w, int number)
{
	int left = w->strategy, right = w->second;
	if (number != left && number != right) {
		if (!set_second(w, number))
			window_note(w, "%s", status_message());
	} else if (left >= 0 && show(w, right)) {
		set_second(w, left);
	}
}

void window_open_strategy(struct window *w, int number)
{
	if (number >= w->host.strategies || !w->host.open)
		return;
	if (is_paired(w))
		change_pair(w, number);
	else
		show(w, number);
	if (w->mode && w->mode->follow)
		w->mode->follow(w);
}

/* ---- all ---- */

static void compare_all(struct window *w)
{
	struct playback *p = w->playback;
	if (p->shown->foreign)
		window_note(w, "A trace of another program has no strategies to compare.");
	else if (p->contender_count)
		p->compare = true;
	else if (!w->host.compare)
		window_note(w, "A file holds one plan: there are no strategies to compare it with.");
	else if (w->host.compare(w->host.context))
		window_note(w, "%s", status_message());
}

void window_compare(struct window *w)
{
	struct playback *p = w->playback;
	bool all = p->compare;
	p->compare = false;
	if (p->second)
		playback_pair(p, NULL);
	else if (all)
		begin_pair(w);
	else
		compare_all(w);
	w->dirty = true;
}
