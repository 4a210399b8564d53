/* Buttons: their places, how they look, and the help. Few kinds, drawn by hand. */
#include <math.h>

#include "strategy/base/language.h"
#include "viz/scene/scene_parts.h"
#include "viz/window/parts.h"

static const struct {
	const char *key, *button, *what;
} actions[] = {
#define X(constant, key, button, what) {key, button, what},
        ACTION_LIST(X)
#undef X
};

const char *action_key(enum action a)
{
	return actions[a].key;
}

const char *action_what(enum action a)
{
	return actions[a].what;
}

struct widget *widget_add(struct window *w, enum widget_kind kind, int number, struct box box, const char *label)
{
	struct widget *one = &w->widgets[w->widget_count];
	if (w->widget_count + 1 < WIDGETS)
		w->widget_count++;
	*one = (struct widget){.kind = kind, .number = number, .box = box, .label = label, .enabled = true};
	return one;
}

static const char *label_of(const struct window *w, enum action a)
{
	if (a == ACTION_STEP_SIZE)
		return w->playback->step_size == STEP_SIZE_ROUND   ? tr("step: round")
		       : w->playback->step_size == STEP_SIZE_PHASE ? tr("step: phase")
		                                                   : tr("step: message");
	if (a == ACTION_OVER_TIME)
		return w->playback->over_steps ? tr("steps") : tr("time");
	return actions[a].button;
}

static bool is_on(const struct window *w, enum action a)
{
	const struct playback *p = w->playback;
	return (a == ACTION_COMPARE && (p->compare || p->second)) || (a == ACTION_PREDICT && p->beside) ||
	       (a == ACTION_VALUES && p->values) || (a == ACTION_MEASURE && p->measured_from < p->measured_to) ||
	       (a == ACTION_HELP && w->help) || (a == ACTION_FULL && w->full) ||
	       (w->mode && w->mode->entered_by == (int)a);
}

bool action_is_of_window(enum action a)
{
	static const bool is[ACTION_COUNT] = {
	        [ACTION_THEME] = true,       [ACTION_SAVE] = true, [ACTION_COPY] = true,    [ACTION_LARGER] = true,
	        [ACTION_SMALLER] = true,     [ACTION_FULL] = true, [ACTION_PRESENT] = true, [ACTION_BLANK] = true,
	        [ACTION_NORMAL_TEXT] = true, [ACTION_HELP] = true, [ACTION_QUIT] = true,
	};
	return is[a];
}

/* Another program's trace has these too. */
static bool is_of_any_trace(enum action a)
{
	static const bool is[ACTION_COUNT] = {
	        [ACTION_FIRST] = true,      [ACTION_LAST] = true,       [ACTION_BACK] = true,
	        [ACTION_NEXT] = true,       [ACTION_BACK_PHASE] = true, [ACTION_NEXT_PHASE] = true,
	        [ACTION_BACK_EVENT] = true, [ACTION_NEXT_EVENT] = true, [ACTION_HIGHLIGHT] = true,
	        [ACTION_EXPOSED] = true,    [ACTION_SEARCH] = true,     [ACTION_RANK] = true,
	};
	return is[a] || (action_is_of_window(a) && a != ACTION_BLANK);
}

static bool is_enabled(const struct window *w, enum action a)
{
	const struct playback *p = w->playback;
	switch (a) {
	case ACTION_PREDICT:
		return p->shown->has_other;
	case ACTION_FIT:
		return p->from < p->to || p->measured_from < p->measured_to;
	case ACTION_ZOOM_IN:
	case ACTION_ZOOM_OUT:
	case ACTION_MEASURE:
		return window_has_timeline(w);
	case ACTION_OVER_TIME:
		return !p->shown->foreign && p->scene == SCENE_MEMORY && !p->compare;
	default:
		return !p->shown->foreign || is_of_any_trace(a);
	}
}

static bool has_number(const struct widget *one)
{
	return one->kind == WIDGET_STRATEGY && one->number < 9; /* there are no more keys */
}

/* ---- rows: where one is too narrow, there are two; where two are, everything is made smaller alike ---- */

enum { TOP_ROW = 33, BOTTOM_ROW = 36, GAP = 4 };

/* How long the widgets [first, end) are side by side, with a gap behind each. */
static double length_of(const struct window *w, int first, int end)
{
	double length = 0;
	for (int i = first; i < end; i++)
		length += w->widgets[i].before + w->widgets[i].box.width + GAP;
	return length;
}

/* How many rows the widgets from `first` on need in `room`. */
static int rows_of(const struct window *w, int first, double room)
{
	return length_of(w, first, w->widget_count) - GAP <= 1.15 * room ? 1 : 2;
}

/* Lays widgets [first, end) side by side from `left`, within `room`; at its right end with `right`. */
static void lay_row(struct window *w, int first, int end, double left, double y, double room, bool right)
{
	double length = length_of(w, first, end) - GAP, part = fmin(1, fmax(room, 1) / fmax(length, 1));
	double x = right ? left + room - length * part : left;
	for (int i = first; i < end; i++) {
		struct box *b = &w->widgets[i].box;
		x += w->widgets[i].before * part;
		b->x = x;
		b->y = y;
		x += (b->width + GAP) * part;
		b->width *= part;
	}
}

/* The group of buttons that begins the second of two rows, so that the longer is as short as can be. */
static int break_of(const struct window *w, int first)
{
	int best = first;
	double shortest = length_of(w, first, w->widget_count);
	for (int i = first + 1; i < w->widget_count; i++) {
		double longer = fmax(length_of(w, first, i), length_of(w, i, w->widget_count));
		if (w->widgets[i].before <= 0 || longer >= shortest)
			continue;
		shortest = longer;
		best = i;
	}
	return best;
}

/* Scenes at the left; strategies at the right, or below. */
static void lay_top(struct window *w, struct canvas *c)
{
	double room = c->width - 40, scenes = 0;
	for (int i = 0; i < SCENE_COUNT && !w->playback->shown->foreign; i++) {
		double length = text_length(c, 14, WEIGHT_BOLD, scene_row((enum scene)i)->title) + 22;
		widget_add(w, WIDGET_SCENE, i, (struct box){0, 0, length, 28}, scene_row((enum scene)i)->title)->on =
		        w->playback->scene == (enum scene)i && !w->playback->compare;
		scenes += length + GAP;
	}
	int first = w->widget_count;
	for (int i = 0; i < w->host.strategies; i++) {
		const char *name = w->host.strategy(w->host.context, i);
		struct widget *one = widget_add(w, WIDGET_STRATEGY, i, (struct box){0, 0, 0, 28}, name);
		one->on =
		        i == w->strategy || (w->playback->second && w->playback->second == w->paired && i == w->second);
		one->box.width = text_length(c, 13, WEIGHT_BOLD, name) + (has_number(one) ? 26 : 16);
	}
	int rows = first ? rows_of(w, 0, room) : 1;
	lay_row(w, 0, first, 20, 7, room, false);
	if (rows == 1)
		lay_row(w, first, w->widget_count, 30 + scenes, 7, room - scenes - 10, true);
	else
		lay_row(w, first, w->widget_count, 20, 7 + TOP_ROW, room, false);
	w->top = w->widget_count ? 7 + TOP_ROW * rows : 7;
}

static void lay_bottom(struct window *w, struct canvas *c)
{
	static const int groups[] = {ACTION_BACK_PHASE, ACTION_BACK_EVENT, ACTION_COLLECTIVE,
	                             ACTION_SLOWER,     ACTION_RANK,       ACTION_ZOOM_IN,
	                             ACTION_COMPARE,    ACTION_LARGER,     ACTION_FULL};
	int first = w->widget_count, middle;
	for (int a = 0; a < ACTION_COUNT; a++) {
		const char *label = label_of(w, (enum action)a);
		if (!*label)
			continue;
		double length = a == ACTION_PLAY ? 46 : fmax(30, text_length(c, 12, WEIGHT_PLAIN, label) + 14);
		struct widget *one = widget_add(w, WIDGET_ACTION, a, (struct box){0, 0, length, 32}, label);
		for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
			one->before += groups[g] == a ? 8 : 0;
		one->on = is_on(w, (enum action)a);
		one->enabled = is_enabled(w, (enum action)a);
	}
	double room = c->width - 40;
	int rows = rows_of(w, first, room);
	w->bottom = 10 + BOTTOM_ROW * rows;
	middle = rows == 2 ? break_of(w, first) : first;
	if (rows == 2)
		lay_row(w, first, middle, 20, c->height - w->bottom + 6, room, false);
	lay_row(w, middle, w->widget_count, 20, c->height - BOTTOM_ROW - 4, room, false);
}

/* The mouse may be over something else now. */
void window_forget_tip(struct window *w)
{
	w->dirty |= *w->tip != 0;
	*w->tip = 0;
}

void widgets_lay(struct window *w, struct canvas *c)
{
	w->widget_count = 0;
	if (!w->playback->presenter) {
		lay_top(w, c);
		lay_bottom(w, c);
	}
	if (w->mode && w->mode->lay)
		w->mode->lay(w, c, mode_box(w, c));
	if (w->focus >= w->widget_count)
		w->focus = -1;
}

int widget_at(const struct window *w, double x, double y)
{
	for (int i = 0; i < w->widget_count; i++)
		if (box_has(w->widgets[i].box, x, y))
			return i;
	return -1;
}

/* ---- drawing ---- */

static void triangle(struct canvas *c, double x, double y, double size, bool right)
{
	double d = right ? size : -size;
	cairo_move_to(c->cr, x - d * 0.45, y - size * 0.7);
	cairo_line_to(c->cr, x + d * 0.75, y);
	cairo_line_to(c->cr, x - d * 0.45, y + size * 0.7);
	cairo_close_path(c->cr);
}

static void bar(struct canvas *c, double x, double y, double size)
{
	cairo_rectangle(c->cr, x - 1.2, y - size * 0.7, 2.4, size * 1.4);
}

static void pause_sign(struct canvas *c, double x, double y)
{
	cairo_rectangle(c->cr, x - 7, y - 8, 5, 16);
	cairo_rectangle(c->cr, x + 2, y - 8, 5, 16);
}

/* Triangles, by how far they are from the middle, and a bar; 0: there is none. */
static const struct icon {
	double size, x, second, bar;
	bool right;
} icons[ACTION_COUNT] = {
        [ACTION_FIRST] = {9, 2, 0, -7, false},        [ACTION_LAST] = {9, -2, 0, 7, true},
        [ACTION_BACK] = {9, 0, 0, 0, false},          [ACTION_NEXT] = {9, 0, 0, 0, true},
        [ACTION_BACK_PHASE] = {7.2, -4, 5, 0, false}, [ACTION_NEXT_PHASE] = {7.2, -5, 4, 0, true},
        [ACTION_BACK_EVENT] = {4.95, 0, 0, 0, false}, [ACTION_NEXT_EVENT] = {4.95, 0, 0, 0, true},
        [ACTION_PLAY] = {12, 0, 0, 0, true},
};

/* Transport signs are drawn, since fonts differ in them. False: the label is text. */
static bool draw_icon(const struct window *w, struct canvas *c, const struct widget *one, colour ink)
{
	const struct icon *i = &icons[one->number];
	double x = one->box.x + one->box.width / 2, y = one->box.y + one->box.height / 2;
	if (!i->size)
		return false;
	draw_colour(c, ink);
	if (one->number == ACTION_PLAY && w->playing)
		pause_sign(c, x, y);
	else
		triangle(c, x + i->x, y, i->size, i->right);
	if (i->second)
		triangle(c, x + i->second, y, i->size, i->right);
	if (i->bar)
		bar(c, x + i->bar, y, i->size);
	cairo_fill(c->cr);
	return true;
}

static void draw_widget(const struct window *w, struct canvas *c, int i)
{
	const struct theme *t = c->theme;
	const struct widget *one = &w->widgets[i];
	colour fill = one->on ? t->ink : t->panel, ink = one->on ? t->panel : one->enabled ? t->ink : t->line;
	if (one->bare) {
		if (i == w->focus)
			draw_frame(c, one->box, t->accent, 4);
		return;
	}
	draw_card(c, one->box, fill, i == w->focus ? t->accent : t->line, i == w->focus ? 3 : 1);
	double x = one->box.x + one->box.width / 2, y = one->box.y + one->box.height / 2;
	if (one->kind == WIDGET_ACTION || one->kind == WIDGET_MODE) {
		double size = 12, length = text_length(c, size, WEIGHT_PLAIN, one->label);
		if (length > one->box.width - 6)
			size *= (one->box.width - 6) / length;
		if (one->kind == WIDGET_MODE || !draw_icon(w, c, one, ink))
			draw_text(c, x, y + size * 0.36, size, WEIGHT_PLAIN, ink, ALIGN_CENTRE, 0, "%s", one->label);
	} else if (one->kind == WIDGET_SCENE) {
		draw_text(c, x, y + 5, 14, WEIGHT_BOLD, ink, ALIGN_CENTRE, one->box.width - 8, "%s", one->label);
	} else {
		double number = has_number(one) ? 12 : 0;
		if (has_number(one))
			draw_text(c, one->box.x + 6, y + 4, 10, WEIGHT_PLAIN, ink, ALIGN_LEFT, 0, "%d",
			          one->number + 1);
		draw_fitting(c, x + number / 2, y + 4.5, 13, 8, WEIGHT_BOLD, ink, ALIGN_CENTRE,
		             one->box.width - number - 6, one->label);
	}
}

void widgets_draw(struct window *w, struct canvas *c)
{
	for (int i = 0; i < w->widget_count; i++)
		draw_widget(w, c, i);
}

/* ---- the help ---- */

struct help_line {
	const char *key, *what;
};

static const struct help_line more[] = {
#define X(key, what) {key, what},
        HELP_LIST(X)
#undef X
};
enum { HELP_LINES = ACTION_COUNT + sizeof more / sizeof more[0] };

static struct help_line help_line(int i)
{
	return i < ACTION_COUNT ? (struct help_line){actions[i].key, actions[i].what} : more[i - ACTION_COUNT];
}

/* Two columns of lines; long lines break. */
struct help {
	int first; /* of the second column */
	double size, row, key, room, height;
};

static int rows_of_line(const struct help *h, struct canvas *c, int i)
{
	return paragraph_lines(c, h->room, h->size, WEIGHT_PLAIN, help_line(i).what);
}

static void lay_help(struct help *h, struct canvas *c, double width, double size)
{
	int all = 0, rows = 0, left;
	h->size = size;
	h->row = 1.35 * size;
	h->key = 0;
	for (int i = 0; i < HELP_LINES; i++)
		h->key = fmax(h->key, text_length(c, size, WEIGHT_BOLD, help_line(i).key));
	h->room = width / 2 - 40 - h->key;
	for (int i = 0; i < HELP_LINES; i++)
		all += rows_of_line(h, c, i);
	for (h->first = 0; h->first < HELP_LINES && rows < (all + 1) / 2; h->first++)
		rows += rows_of_line(h, c, h->first);
	left = all - rows;
	h->height = h->row * (rows > left ? rows : left);
}

/* The text is as large as fits, in the presenter too: the help is for the person at the keys. */
void help_draw(struct canvas *c)
{
	enum { HEAD = 48, FOOT = 12 };
	const struct theme *t = c->theme;
	double width = fmin(1200, c->width - 16), least = c->least, room = c->height - 8 - HEAD - FOOT;
	double size = 13;
	struct help h;
	c->least = 0;
	lay_help(&h, c, width, size);
	while (h.height > room && size > 5.5)
		lay_help(&h, c, width, size -= 0.5);
	h.row *= fmin(1.4, fmax(1, room / h.height));
	struct box b = {(c->width - width) / 2, 0, width, h.row / (1.35 * h.size) * h.height + HEAD + FOOT};
	b.y = fmax(4, (c->height - b.height) / 2);
	draw_card(c, b, t->panel, t->ink, 2);
	draw_text(c, b.x + 24, b.y + 30, 20, WEIGHT_BOLD, t->ink, ALIGN_LEFT, 0, "Keys");
	draw_fitting(c, b.x + b.width - 24, b.y + 30, 13, 8, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, width - 120,
	             "every letter has a button, except those for presenting; any click closes this");
	double y = b.y + HEAD + h.size;
	for (int i = 0; i < HELP_LINES; i++) {
		double left = b.x + 20 + (i >= h.first ? width / 2 : 0);
		if (i == h.first)
			y = b.y + HEAD + h.size;
		draw_text(c, left, y, h.size, WEIGHT_BOLD, t->ink, ALIGN_LEFT, 0, "%s", help_line(i).key);
		y += (draw_paragraph(c, left + h.key + 12, y, h.room, h.size, 4, t->ink, help_line(i).what) - 1) *
		             1.35 * h.size +
		     h.row;
	}
	c->least = least;
}

bool window_drags(const struct window *w)
{
	return w->drag == DRAG_WIDGET && hypot(w->mouse_x - w->drag_from, w->mouse_y - w->drag_from_y) >= 5;
}
