/* The what-if panel: settings. ↑ and ↓ choose one, ← and → change it, Enter types a value, and the mouse moves its
 * slider; after each change the step is made anew, at the same place. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/whatif.h"
#include "viz/window/mode.h"
#include "viz/window/parts.h"

/* Numbers of widgets: two a row, and those of the foot. */
enum { LESS, MORE, SIDES };
enum { FOOT_UNDO = SIDES * WHATIF_ROWS, FOOT_REDO, FOOT_RESET, FOOT_TOGETHER, FOOT_CLOSE, FOOT_END };

static const struct {
	const char *label, *tip;
	enum whatif_move move;
} feet[] = {{"undo", "the change before (U, Ctrl Z)", WHATIF_UNDO},
            {"redo", "what was undone, again (Shift U, Ctrl Y)", WHATIF_REDO},
            {"original", "the settings that it began with", WHATIF_RESET},
            {"beside", "before and now side by side, or now alone (B)", WHATIF_TOGETHER},
            {"close", "closes the panel; the changes stay (Esc)", WHATIF_CLOSE}};

/* ---- asking the program ---- */

static void busy(void *window)
{
	struct window *w = window;
	window_note(w, "The changed step is being made …");
	window_draw_now(w);
}

/* False: it was refused, and nothing has changed. */
static bool ask(struct window *w, struct whatif_change c)
{
	struct playback *p = w->playback;
	struct place place;
	c.busy = busy;
	c.window = w;
	w->dirty = true;
	place_remember(&place, w);
	const struct trace_view *second = p->second;
	if (!w->host.change || w->host.change(w->host.context, &c)) {
		if (p->whatif && w->host.change)
			snprintf(p->whatif->refused, sizeof p->whatif->refused, "%s", status_message());
		else
			window_note(w, "%s",
			            w->host.change ? status_message() : tr("There is nothing to change here."));
		return false;
	}
	if (p->whatif)
		p->whatif->refused[0] = 0;
	if (w->paired && w->paired == second)
		w->paired = p->second;
	if (c.move != WHATIF_OPEN && c.move != WHATIF_CLOSE && c.move != WHATIF_TOGETHER)
		place_return(&place, w);
	return true;
}

void whatif_enter(struct window *w)
{
	if (w->mode == &mode_whatif) {
		window_leave(w);
	} else if (ask(w, (struct whatif_change){.move = WHATIF_OPEN})) {
		window_enter(w, &mode_whatif);
		ask(w, (struct whatif_change){.move = WHATIF_OPEN}); /* the mode before may have closed it */
	}
}

void whatif_undo(struct window *w, int by)
{
	ask(w, (struct whatif_change){.move = by > 0 ? WHATIF_REDO : WHATIF_UNDO});
}

static void leave(struct window *w)
{
	if (w->playback->whatif)
		w->playback->whatif->typing = false;
	w->slider = -1;
	ask(w, (struct whatif_change){.move = WHATIF_CLOSE});
}

/* A value that was refused is no wall: the same key again tries the one behind it. */
static void change_by(struct window *w, int by)
{
	struct whatif *f = w->playback->whatif;
	bool on = *f->refused && f->passed_row == f->row && f->passed * by > 0;
	int number = by + (on ? f->passed : 0);
	f->passed_row = f->row;
	f->passed = ask(w, (struct whatif_change){.move = WHATIF_BY, .row = f->row, .number = number}) ? 0 : number;
}

/* ---- keys ---- */

static void choose(struct whatif *f, int by)
{
	int row = f->row < 0 ? (by > 0 ? 0 : f->row_count - 1) : f->row + by;
	f->row = (row + f->row_count) % f->row_count;
}

static void take_typed(struct window *w)
{
	struct whatif *f = w->playback->whatif;
	char typed[WHATIF_VALUE];
	memcpy(typed, f->typed, sizeof typed);
	f->typing = false;
	if (*typed)
		ask(w, (struct whatif_change){.move = WHATIF_TYPE, .row = f->row, .text = typed});
}

static bool key_typing(struct window *w, SDL_Keycode key)
{
	struct whatif *f = w->playback->whatif;
	size_t n = strlen(f->typed);
	if (key == SDLK_RETURN || key == SDLK_KP_ENTER)
		take_typed(w);
	else if (key == SDLK_ESCAPE)
		f->typing = false;
	else if (key == SDLK_BACKSPACE)
		while (n && ((unsigned char)f->typed[--n] & 0xc0) == 0x80)
			;
	if (key == SDLK_BACKSPACE)
		f->typed[n] = 0;
	return key != SDLK_TAB;
}

static bool key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	struct whatif *f = w->playback->whatif;
	if (!f || control || (shift && !f->typing))
		return false;
	w->dirty = true;
	if (f->typing)
		return key_typing(w, key);
	switch (key) {
	case SDLK_UP:
	case SDLK_DOWN:
		choose(f, key == SDLK_DOWN ? 1 : -1);
		f->refused[0] = 0;
		return true;
	case SDLK_LEFT:
	case SDLK_RIGHT:
		if (f->row < 0)
			f->row = 0;
		change_by(w, key == SDLK_RIGHT ? 1 : -1);
		return true;
	case SDLK_RETURN:
	case SDLK_KP_ENTER:
		f->row = f->row < 0 ? 0 : f->row;
		f->typing = true;
		f->typed[0] = f->refused[0] = 0;
		return true;
	default:
		return false;
	}
}

static bool text(struct window *w, const char *text)
{
	struct whatif *f = w->playback->whatif;
	size_t n;
	if (!f)
		return false;
	if (!f->typing) {
		if ((text[0] != 'b' && text[0] != 'B') || w->playback->presenter)
			return false;
		ask(w, (struct whatif_change){.move = WHATIF_TOGETHER});
		return true;
	}
	n = strlen(f->typed);
	if (n + strlen(text) < sizeof f->typed)
		snprintf(f->typed + n, sizeof f->typed - n, "%s", text);
	w->dirty = true;
	return true;
}

/* ---- the mouse ---- */

static int row_under(const struct window *w, struct box b)
{
	const struct whatif *f = w->playback->whatif;
	for (int i = 0; i < f->row_count; i++) {
		struct box line = whatif_line(f, b, i);
		if (w->mouse_y >= line.y && w->mouse_y < line.y + line.height)
			return i;
	}
	return -1;
}

/* If more moves wait behind this one, only the last counts. */
static void slide(struct window *w, struct box b, bool on)
{
	const struct whatif *f = w->playback->whatif;
	int row = w->slider, place = whatif_place(f, b, row, w->mouse_x);
	if ((on && SDL_HasEvent(SDL_MOUSEMOTION)) || !f->rows[row].places ||
	    (f->rows[row].place == place && f->rows[row].place >= 0 && on))
		return;
	ask(w, (struct whatif_change){.move = WHATIF_TO, .row = row, .number = place, .on = on});
}

static bool press_at(struct window *w, struct box b)
{
	struct whatif *f = w->playback->whatif;
	int row = row_under(w, b);
	w->dirty = true;
	f->typing = false;
	f->refused[0] = 0;
	if (row < 0)
		return true;
	struct box cell = whatif_cell(f, b, row);
	f->row = row;
	if (w->mouse_x < cell.x || w->mouse_x > cell.x + cell.width)
		return true;
	w->slider = row;
	slide(w, b, false);
	return true;
}

static bool mouse(struct window *w, struct canvas *c, struct box b, Uint32 event)
{
	(void)c;
	if (!w->playback->whatif)
		return false;
	if (event == SDL_MOUSEBUTTONUP) {
		bool held = w->slider >= 0;
		w->slider = -1;
		return held;
	}
	if (event == SDL_MOUSEMOTION && w->slider >= 0) {
		slide(w, b, true);
		return true;
	}
	if (w->mouse_x < b.x)
		return false;
	return event != SDL_MOUSEBUTTONDOWN || press_at(w, b);
}

/* ---- buttons ---- */

static void lay(struct window *w, struct canvas *c, struct box b)
{
	const struct whatif *f = w->playback->whatif;
	(void)c;
	if (!f)
		return;
	for (int i = 0; i < f->row_count; i++) {
		struct box cell = whatif_cell(f, b, i);
		struct box less = {cell.x - 22, cell.y, 19, cell.height};
		struct box more = {cell.x + cell.width + 3, cell.y, 19, cell.height};
		const struct whatif_row *r = &f->rows[i];
		widget_add(w, WIDGET_MODE, SIDES * i + LESS, less, "<")->enabled = r->places > 0;
		widget_add(w, WIDGET_MODE, SIDES * i + MORE, more, ">")->enabled = r->places > 0;
	}
	struct box foot = whatif_foot(f, b);
	double width = foot.width / (FOOT_END - FOOT_UNDO);
	for (int k = FOOT_UNDO; k < FOOT_END; k++) {
		struct box place = {foot.x + width * (k - FOOT_UNDO), foot.y, width - 4, foot.height};
		struct widget *one = widget_add(w, WIDGET_MODE, k, place, feet[k - FOOT_UNDO].label);
		one->on = k == FOOT_TOGETHER && f->together;
		one->enabled = k == FOOT_UNDO    ? f->undo
		               : k == FOOT_REDO  ? f->redo
		               : k == FOOT_CLOSE ? true
		                                 : *f->words != 0;
	}
}

static void press(struct window *w, int number)
{
	struct whatif *f = w->playback->whatif;
	if (!f)
		return;
	if (number >= FOOT_UNDO && number < FOOT_END) {
		if (number == FOOT_CLOSE)
			window_leave(w);
		else
			ask(w, (struct whatif_change){.move = feet[number - FOOT_UNDO].move});
		return;
	}
	f->row = number / SIDES;
	change_by(w, number % SIDES == MORE ? 1 : -1);
}

static const char *tip(struct window *w, int number)
{
	static char text[160];
	const struct whatif *f = w->playback->whatif;
	if (number >= FOOT_UNDO && number < FOOT_END)
		return feet[number - FOOT_UNDO].tip;
	snprintf(text, sizeof text, tr("%s of %s"), tr(number % SIDES == MORE ? "the next value" : "the value before"),
	         f && number < SIDES * f->row_count ? tr(f->rows[number / SIDES].label) : "");
	return text;
}

static void draw(struct window *w, struct canvas *c, struct box b)
{
	if (w->playback->whatif)
		whatif_draw(c, w->playback->whatif, b, true);
}

const struct mode mode_whatif = {.entered_by = ACTION_WHAT_IF,
                                 .name = "what if",
                                 .side = WHATIF_SIDE,
                                 .lay = lay,
                                 .draw = draw,
                                 .key = key,
                                 .text = text,
                                 .mouse = mouse,
                                 .press = press,
                                 .tip = tip,
                                 .leave = leave};
