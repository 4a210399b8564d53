/* Keys and mouse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "viz/scene_parts.h"
#include "viz/timeline.h"
#include "viz/window_parts.h"

/* key, with Ctrl, with Shift (-1: either), action */
static const struct {
	SDL_Keycode key;
	bool control;
	int shift;
	enum action action;
} keys[] = {
        {SDLK_SPACE, false, -1, ACTION_PLAY},     {SDLK_RIGHT, false, 0, ACTION_NEXT},
        {SDLK_LEFT, false, 0, ACTION_BACK},       {SDLK_PAGEDOWN, false, -1, ACTION_NEXT},
        {SDLK_PAGEUP, false, -1, ACTION_BACK},    {SDLK_RIGHT, false, 1, ACTION_NEXT_PHASE},
        {SDLK_LEFT, false, 1, ACTION_BACK_PHASE}, {SDLK_HOME, false, -1, ACTION_FIRST},
        {SDLK_END, false, -1, ACTION_LAST},       {SDLK_BACKSPACE, false, -1, ACTION_NORMAL},
        {SDLK_F11, false, -1, ACTION_FULL},       {SDLK_F5, false, -1, ACTION_PRESENT},
        {SDLK_F1, false, -1, ACTION_HELP},        {SDLK_c, true, -1, ACTION_COPY},
        {SDLK_q, true, -1, ACTION_QUIT},          {SDLK_PLUS, true, -1, ACTION_LARGER},
        {SDLK_EQUALS, true, -1, ACTION_LARGER},   {SDLK_KP_PLUS, true, -1, ACTION_LARGER},
        {SDLK_MINUS, true, -1, ACTION_SMALLER},   {SDLK_KP_MINUS, true, -1, ACTION_SMALLER},
        {SDLK_0, true, -1, ACTION_NORMAL_TEXT},   {SDLK_KP_0, true, -1, ACTION_NORMAL_TEXT},
};

/* Letters and signs come as text, so that they work on every keyboard. */
static const struct {
	char text;
	enum action action;
} letters[] = {
        {'.', ACTION_NEXT_EVENT}, {',', ACTION_BACK_EVENT}, {'n', ACTION_NOTABLE}, {'g', ACTION_GO},
        {'d', ACTION_STRIDE},     {'[', ACTION_SLOWER},     {']', ACTION_FASTER},  {'v', ACTION_SCENE},
        {'c', ACTION_COMPARE},    {'p', ACTION_PREDICT},    {'t', ACTION_THEME},   {'s', ACTION_SAVE},
        {'z', ACTION_FIT},        {'f', ACTION_FULL},       {'?', ACTION_HELP},    {'h', ACTION_HELP},
};

static void answer(struct window *w, SDL_Keycode key)
{
	size_t n = strlen(w->asked);
	const struct score *s = &w->player->piece->score;
	w->dirty = true;
	if (key == SDLK_ESCAPE) {
		w->asking = false;
	} else if (key == SDLK_BACKSPACE && n) {
		w->asked[n - 1] = 0;
	} else if (key == SDLK_RETURN || key == SDLK_KP_ENTER) {
		w->asking = false;
		w->playing = false;
		if (n)
			window_move(w, score_stop(s, w->player->stride, strtoul(w->asked, NULL, 10)), false);
	}
}

static void escape(struct window *w)
{
	w->dirty = true;
	if (w->help)
		w->help = false;
	else if (w->player->presenter)
		window_do(w, ACTION_PRESENT);
	else if (w->full)
		window_do(w, ACTION_FULL);
	else
		w->focus = w->player->selected_op = -1;
}

static void move_focus(struct window *w, int by)
{
	if (!w->widget_count || w->player->presenter)
		return;
	for (int tries = 0; tries < w->widget_count; tries++) {
		w->focus = w->focus < 0 ? (by > 0 ? 0 : w->widget_count - 1)
		                        : (w->focus + by + w->widget_count) % w->widget_count;
		if (w->widgets[w->focus].enabled)
			break;
	}
	w->dirty = true;
}

void window_key(struct window *w, const SDL_KeyboardEvent *k)
{
	SDL_Keycode key = k->keysym.sym;
	bool control = k->keysym.mod & KMOD_CTRL, shift = k->keysym.mod & KMOD_SHIFT;
	if (w->asking) {
		answer(w, key);
		return;
	}
	if (key == SDLK_ESCAPE) {
		escape(w);
	} else if (key == SDLK_TAB) {
		move_focus(w, shift ? -1 : 1);
	} else if ((key == SDLK_RETURN || key == SDLK_KP_ENTER) && w->focus >= 0 && w->focus < w->widget_count) {
		struct widget one = w->widgets[w->focus];
		window_activate(w, &one);
	} else {
		for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
			if (keys[i].key == key && keys[i].control == control &&
			    (keys[i].shift < 0 || keys[i].shift == shift)) {
				window_do(w, keys[i].action);
				return;
			}
	}
}

void window_text(struct window *w, const char *text)
{
	char c = text[0];
	if (text[0] == 0 || text[1] != 0)
		return;
	if (c >= 'A' && c <= 'Z')
		c = (char)(c - 'A' + 'a');
	if (w->asking) {
		size_t n = strlen(w->asked);
		if (c >= '0' && c <= '9' && n + 1 < sizeof w->asked - 4) {
			w->asked[n] = c;
			w->asked[n + 1] = 0;
			w->dirty = true;
		}
		return;
	}
	if (c == 'b' && w->player->presenter) {
		w->blank = !w->blank;
		w->dirty = true;
		return;
	}
	if (c >= '1' && c <= '9') {
		window_open_strategy(w, c - '1');
		return;
	}
	if (SDL_GetModState() & KMOD_CTRL)
		return;
	for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
		if (letters[i].text == c) {
			window_do(w, letters[i].action);
			return;
		}
}

/* ---- the mouse ---- */

static struct hit look(struct window *w, struct canvas *c)
{
	return scene_hit(c, player_view(w->player), window_scene_box(w, c), w->mouse_x, w->mouse_y);
}

static void scrub(struct window *w, struct canvas *c)
{
	const struct view *v = player_view(w->player);
	struct box b = frame_phases(v, window_scene_box(w, c));
	const struct score *s = &w->player->piece->score;
	double part = fmin(1, fmax(0, (w->mouse_x - b.x) / b.width));
	size_t position = (size_t)(part * (double)s->moment_count + 0.5);
	w->playing = false;
	window_move(w, score_stop(s, w->player->stride, score_stop_of(s, w->player->stride, position)), false);
}

static void select_at(struct window *w, const struct hit *h)
{
	struct player *p = w->player;
	if (h->rank >= 0)
		p->focus_rank = p->piece->foreign ? 0 : h->rank;
	p->selected_rank = h->op >= 0 ? h->rank : -1;
	p->selected_op = h->op;
	if (p->piece->foreign && h->time >= 0)
		p->cursor = h->time;
	w->dirty = true;
}

static void press(struct window *w, struct canvas *c, const SDL_MouseButtonEvent *b)
{
	int number = w->player->presenter ? -1 : widget_at(w, w->mouse_x, w->mouse_y);
	if (w->help) {
		w->help = false;
		w->dirty = true;
		return;
	}
	if (b->button == SDL_BUTTON_RIGHT) {
		window_do(w, ACTION_FIT);
		return;
	}
	if (b->button != SDL_BUTTON_LEFT)
		return;
	if (number >= 0) {
		struct widget one = w->widgets[number];
		w->focus = number;
		window_activate(w, &one);
		return;
	}
	struct hit h = look(w, c);
	if (h.phases) {
		w->drag = DRAG_SCRUB;
		scrub(w, c);
	} else if (h.time >= 0) {
		w->drag = DRAG_RANGE;
		w->drag_from = w->mouse_x;
		w->drag_time = h.time;
	} else {
		select_at(w, &h);
	}
}

static void let_go(struct window *w, struct canvas *c)
{
	enum drag drag = w->drag;
	struct hit h = look(w, c);
	w->drag = DRAG_NONE;
	w->dirty |= drag != DRAG_NONE;
	if (drag != DRAG_RANGE)
		return;
	if (fabs(w->mouse_x - w->drag_from) < 5) { /* a click */
		select_at(w, &h);
		return;
	}
	int64_t from = w->drag_time, to = h.time;
	if (to < 0) { /* let go beside it: to its edge */
		int64_t first, last;
		timeline_range(player_view(w->player), &first, &last);
		to = w->mouse_x > w->drag_from ? last : first;
	}
	w->player->from = from < to ? from : to;
	w->player->to = from < to ? to : from;
}

void window_mouse_button(struct window *w, struct canvas *c, const SDL_MouseButtonEvent *b)
{
	if (b->type == SDL_MOUSEBUTTONDOWN)
		press(w, c, b);
	else if (b->button == SDL_BUTTON_LEFT)
		let_go(w, c);
}

void window_mouse_motion(struct window *w, struct canvas *c, double x, double y)
{
	char tip[sizeof w->tip] = "";
	w->mouse_x = x;
	w->mouse_y = y;
	if (w->drag == DRAG_SCRUB) {
		scrub(w, c);
		return;
	}
	if (w->drag == DRAG_RANGE) {
		w->dirty = true;
		return;
	}
	int number = w->player->presenter ? -1 : widget_at(w, x, y);
	if (number >= 0 && w->widgets[number].kind == WIDGET_ACTION) {
		enum action a = (enum action)w->widgets[number].number;
		snprintf(tip, sizeof tip, "%s (%s)", action_what(a), action_key(a));
	} else if (number < 0) {
		struct hit h = look(w, c);
		memcpy(tip, h.text, sizeof tip);
	}
	/* It stays where it came up until it says something else. */
	if (strcmp(tip, w->tip) != 0) {
		memcpy(w->tip, tip, sizeof tip);
		w->dirty = true;
	}
}

/* About a time, which stays where it is. */
static void zoom_about(struct window *w, int64_t at, double factor)
{
	struct player *p = w->player;
	int64_t from, to, first, last;
	timeline_range(player_view(p), &from, &to);
	p->from = p->to = 0;
	timeline_range(player_view(p), &first, &last);
	double width = fmin((double)(last - first), fmax(20, (double)(to - from) * factor));
	double part = (double)(at - from) / (double)(to - from);
	p->from = at - (int64_t)(width * part);
	p->from = p->from < first ? first : p->from;
	p->to = p->from + (int64_t)width;
	if (p->to > last) {
		p->to = last;
		p->from = last - (int64_t)width;
	}
	if (p->from <= first && p->to >= last)
		p->from = p->to = 0;
}

static void pan(struct window *w, double part)
{
	struct player *p = w->player;
	int64_t first, last, from = p->from, to = p->to;
	if (from >= to)
		return;
	p->from = p->to = 0;
	timeline_range(player_view(p), &first, &last);
	int64_t by = (int64_t)((double)(to - from) * part), width = to - from;
	from = from + by < first ? first : from + by;
	from = from + width > last ? last - width : from;
	p->from = from;
	p->to = from + width;
}

void window_wheel(struct window *w, struct canvas *c, double turns)
{
	struct player *p = w->player;
	const struct view *v = player_view(p);
	struct box b = frame_scene(v, window_scene_box(w, c));
	SDL_Keymod mod = SDL_GetModState();
	bool foreign = p->piece->foreign, overview = p->scene == SCENE_OVERVIEW && !foreign;
	w->dirty = true;
	if (p->scene == SCENE_PLAN && !foreign && !p->compare) {
		p->plan_scroll -= (int)lround(3 * turns);
		return;
	}
	if (p->compare || (!foreign && p->scene != SCENE_TIMELINE && !overview))
		return;
	struct fit fit = scene_fit(v, b);
	struct timeline l[2];
	double x = w->mouse_x, y = w->mouse_y;
	int n = timelines_lay(l, v, overview ? overview_boxes(fit.inner).timeline : fit.inner, overview);
	fit_point(&fit, &x, &y);
	const struct timeline *under = &l[n > 1 && y > l[0].box.y + l[0].box.height];
	if (mod & KMOD_CTRL)
		zoom_about(w, timeline_time(under, x), pow(0.8, turns));
	else if ((mod & KMOD_SHIFT) || !under->scrolls)
		pan(w, -0.1 * turns);
	else
		p->first_lane = (int)fmin(under->lanes->lane_count - 1, fmax(0, round(under->first - turns)));
}
