/* Keys and mouse. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_area.h"
#include "viz/scene/pair.h"
#include "viz/scene/scene_parts.h"
#include "viz/window/parts.h"

static void escape(struct window *w)
{
	w->dirty = true;
	window_forget_tip(w);
	if (window_lift_blank(w))
		return;
	if (w->help)
		w->help = false;
	else if (w->mode)
		window_leave(w);
	else if (w->playback->measured_from < w->playback->measured_to)
		window_put_away(w);
	else if (w->playback->presenter)
		window_do(w, ACTION_PRESENT);
	else if (w->full)
		window_do(w, ACTION_FULL);
	else
		w->focus = w->playback->selected_op = -1;
}

/* Says what a button does when the mouse or Tab is on it. */
static void explain_widget(struct window *w, const struct widget *one, char *out, size_t size)
{
	if (one->kind == WIDGET_MODE)
		snprintf(out, size, "%s", w->mode && w->mode->tip ? tr(w->mode->tip(w, one->number)) : "");
	else if (one->kind == WIDGET_ACTION)
		snprintf(out, size, "%s (%s)", tr(action_what((enum action)one->number)),
		         tr(action_key((enum action)one->number)));
	else if (one->kind == WIDGET_SCENE)
		snprintf(out, size, "%s", tr(scene_row((enum scene)one->number)->what));
	else if (one->number < 9)
		snprintf(out, size, tr("the step by %s (%d)"), one->label, one->number + 1);
	else
		snprintf(out, size, tr("the step by %s"), one->label);
}

static void move_focus(struct window *w, int by)
{
	if (!w->widget_count)
		return;
	for (int tries = 0; tries < w->widget_count; tries++) {
		w->focus = w->focus < 0 ? (by > 0 ? 0 : w->widget_count - 1)
		                        : (w->focus + by + w->widget_count) % w->widget_count;
		if (w->widgets[w->focus].enabled)
			break;
	}
	const struct widget *one = &w->widgets[w->focus];
	explain_widget(w, one, w->tip, sizeof w->tip);
	w->tip_x = one->box.x;
	w->tip_y = one->box.y + one->box.height - 10;
	w->dirty = true;
}

void window_key(struct window *w, const SDL_KeyboardEvent *k)
{
	SDL_Keycode key = k->keysym.sym;
	bool control = k->keysym.mod & KMOD_CTRL, shift = k->keysym.mod & KMOD_SHIFT;
	bool on_button = (key == SDLK_RETURN || key == SDLK_KP_ENTER) && w->focus >= 0 && w->focus < w->widget_count;
	if (w->mode && w->mode->key && !on_button && !w->help && w->mode->key(w, key, control, shift))
		return;
	if (key == SDLK_ESCAPE) {
		escape(w);
	} else if (key == SDLK_TAB) {
		move_focus(w, shift ? -1 : 1);
	} else if (on_button) {
		struct widget one = w->widgets[w->focus];
		window_activate(w, &one);
	} else {
		enum action a;
		if (window_action_of_key(key, control, shift, &a)) {
			window_forget_tip(w);
			window_do(w, a);
		}
	}
}

void window_text(struct window *w, const char *text)
{
	char c = text[0];
	if (text[0] == 0 || text[1] != 0)
		return;
	if (w->mode && w->mode->text && !w->help && w->mode->text(w, text))
		return;
	enum action a;
	if (SDL_GetModState() & KMOD_CTRL)
		return;
	if (c >= '1' && c <= '9') {
		if (window_lift_blank(w))
			return;
		window_forget_tip(w);
		window_open_strategy(w, c - '1');
	} else if (window_action_of_text(c, &a)) {
		window_forget_tip(w);
		window_do(w, a);
	}
}

/* ---- the mouse ---- */

static struct hit look(struct window *w, struct canvas *c)
{
	return scene_hit(c, playback_view(w->playback), window_scene_box(w, c), w->mouse_x, w->mouse_y);
}

static void scrub(struct window *w, struct canvas *c)
{
	const struct view *v = playback_view(w->playback);
	struct box b = frame_phases(v, window_scene_box(w, c));
	const struct timeline *s = &w->playback->shown->timeline;
	double part = fmin(1, fmax(0, (w->mouse_x - b.x) / b.width));
	size_t position = (size_t)(part * (double)s->instant_count + 0.5);
	w->playing = false;
	window_move(w, timeline_stop(s, w->playback->step_size, timeline_stop_of(s, w->playback->step_size, position)),
	            false);
}

/* A second click goes where the operation begins. */
static void select_at(struct window *w, const struct hit *h, bool twice)
{
	struct playback *p = w->playback;
	if (h->moves) {
		w->playing = false;
		window_move(w, h->position, false);
		return;
	}
	window_select(w, h->rank, h->op);
	if (h->op >= 0 && *h->text && !p->shown->foreign)
		window_note(w, "%s", h->text);
	if (p->shown->foreign && h->time >= 0) {
		p->cursor = h->time;
		p->first_lane = h->first_lane; /* nothing moves under the mouse */
	}
	if (twice && h->op >= 0)
		window_to_selected(w);
}

/* On a measured range, twice: it is what is in sight from now on, and measured again. */
static void click(struct window *w, const struct hit *h, bool twice)
{
	struct playback *p = w->playback;
	bool there = h->time >= w->put_away_from && h->time < w->put_away_to;
	if (twice && there) {
		p->measured_from = p->from = w->put_away_from;
		p->measured_to = p->to = w->put_away_to;
		return;
	}
	if (!twice)
		window_put_away(w);
	select_at(w, h, twice);
}

/* Beside its buttons, a mode may use the mouse: to draw its own things, to move them. In place of the scene it takes
 * all. */
static bool mode_takes_mouse(struct window *w, struct canvas *c, Uint32 event)
{
	const struct mode *m = w->mode;
	return m && ((m->mouse && m->mouse(w, c, mode_box(w, c), event)) || m->covers);
}

/* A widget that can be dragged is pressed only when it is let go where it was. */
static bool take(struct window *w, const struct widget *one)
{
	if (one->kind != WIDGET_MODE || !w->mode || !w->mode->drags || !w->mode->drags(w, one->number))
		return false;
	window_forget_tip(w);
	w->drag = DRAG_WIDGET;
	w->drag_number = one->number;
	w->drag_from = w->mouse_x;
	w->drag_from_y = w->mouse_y;
	return true;
}

static void drop(struct window *w, struct canvas *c)
{
	bool moved = window_drags(w);
	w->drag = DRAG_NONE;
	w->dirty = true;
	if (!w->mode)
		return;
	if (moved && w->mode->drop)
		w->mode->drop(w, c, w->drag_number);
	else if (!moved && w->mode->press)
		w->mode->press(w, w->drag_number);
}

static void press(struct window *w, struct canvas *c, const SDL_MouseButtonEvent *b)
{
	int number = widget_at(w, w->mouse_x, w->mouse_y);
	w->focus = -1; /* the ring of Tab is for keys */
	if (window_lift_blank(w))
		return;
	if (w->help) {
		w->help = false;
		w->dirty = true;
		return;
	}
	if (b->button == SDL_BUTTON_RIGHT) {
		w->playback->from = w->playback->to = 0;
		w->playback->first_lane = -1;
		w->dirty = true;
		return;
	}
	if (b->button != SDL_BUTTON_LEFT)
		return;
	if (number >= 0) {
		struct widget one = w->widgets[number];
		if (!take(w, &one))
			window_activate(w, &one);
		return;
	}
	if (mode_takes_mouse(w, c, SDL_MOUSEBUTTONDOWN))
		return;
	struct hit h = look(w, c);
	if (h.phases) {
		w->drag = DRAG_SCRUB;
		scrub(w, c);
	} else if (h.time >= 0) {
		w->drag = DRAG_RANGE;
		w->drag_from = w->mouse_x;
		w->drag_time = h.time;
	} else {
		click(w, &h, b->clicks > 1);
	}
}

static void let_go(struct window *w, struct canvas *c, bool twice)
{
	enum drag drag = w->drag;
	if (drag == DRAG_WIDGET) {
		drop(w, c);
		return;
	}
	struct hit h = look(w, c);
	w->drag = DRAG_NONE;
	w->dirty |= drag != DRAG_NONE;
	if (drag != DRAG_RANGE)
		return;
	if (fabs(w->mouse_x - w->drag_from) < 5) { /* a click */
		click(w, &h, twice);
		return;
	}
	int64_t from = w->drag_time, to = h.time;
	if (to < 0) { /* let go beside it: to its edge */
		int64_t first, last;
		lane_area_range(playback_view(w->playback), &first, &last);
		to = w->mouse_x > w->drag_from ? last : first;
	}
	w->playback->measured_from = from < to ? from : to;
	w->playback->measured_to = from < to ? to : from;
}

void window_mouse_button(struct window *w, struct canvas *c, const SDL_MouseButtonEvent *b)
{
	if (b->type == SDL_MOUSEBUTTONDOWN)
		press(w, c, b);
	else if (b->button == SDL_BUTTON_LEFT && (w->drag != DRAG_NONE || !mode_takes_mouse(w, c, SDL_MOUSEBUTTONUP)))
		let_go(w, c, b->clicks > 1);
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
	if (w->drag == DRAG_RANGE || w->drag == DRAG_WIDGET) {
		w->dirty = true;
		return;
	}
	int number = widget_at(w, x, y);
	if (number >= 0) {
		explain_widget(w, &w->widgets[number], tip, sizeof tip);
	} else if (!mode_takes_mouse(w, c, SDL_MOUSEMOTION)) {
		struct hit h = look(w, c);
		memcpy(tip, h.text, sizeof tip);
	}
	/* It stays where it came up until it says something else. */
	if (strcmp(tip, w->tip) != 0) {
		memcpy(w->tip, tip, sizeof tip);
		w->tip_x = x;
		w->tip_y = y;
		w->dirty = true;
	}
}

void window_wheel(struct window *w, struct canvas *c, double turns)
{
	struct playback *p = w->playback;
	const struct view *v = playback_view(p);
	struct box b = frame_scene(v, window_scene_box(w, c));
	SDL_Keymod mod = SDL_GetModState();
	struct pair pair;
	w->dirty = true;
	if (w->mode && w->mode->covers)
		return;
	v = pair_at(&pair, v, &b, w->mouse_x, w->mouse_y);
	if (!v)
		return;
	bool overview = p->scene == SCENE_OVERVIEW && !p->shown->foreign;
	struct fit fit = scene_fit(v, b);
	if (!window_has_timeline(w) || (overview && !fit.row->timeline)) {
		window_scroll(w, -(int)lround(3 * turns));
		return;
	}
	struct lane_area l[2];
	double x = w->mouse_x, y = w->mouse_y;
	int n = lane_areas_lay(l, v, overview ? overview_boxes(fit.inner).timeline : fit.inner, overview);
	fit_point(&fit, &x, &y);
	const struct lane_area *under = &l[n > 1 && y > l[0].box.y + l[0].box.height];
	if (mod & KMOD_CTRL) {
		window_zoom(w, lane_area_time(under, x), pow(0.8, turns));
	} else if ((mod & KMOD_SHIFT) || !under->scrolls) {
		window_pan(w, -0.1 * turns);
	} else {
		p->first_lane = under->first;
		window_scroll(w, -(int)lround(turns));
	}
}
