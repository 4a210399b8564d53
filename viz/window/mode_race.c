/* A race of algorithms, in place of the scene. The keys and buttons that step and play move its clock; ↑ and ↓ change
 * the size of the message, with Shift the ranks; digits type a size, R and digits a number of ranks, O is another
 * operation.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"
#include "viz/scene/scene.h"
#include "viz/window/parts.h"

enum { SHOWN_MS = 7000, FRAME_MS = 16, CONTROLS = 46, LEAST_RANKS = 2 };
#define LEAST_BYTES INT64_C(4)
#define MOST_BYTES INT64_C(100000000000)

enum { FIELD_NONE, FIELD_BYTES, FIELD_RANKS };
enum { BUTTON_OPERATION, BUTTON_BYTES, BUTTON_RANKS, BUTTONS };

static struct race *race_of(struct window *w)
{
	return &w->racing.race;
}

/* ---- what races ---- */

static void ask(struct window *w)
{
	struct racing *g = &w->racing;
	struct race *r = &g->race;
	if (!g->stale)
		return;
	g->stale = false;
	w->host.race(w->host.context, r);
	g->now = 0;
}

static void change(struct window *w, int64_t bytes, int64_t ranks)
{
	struct race *r = race_of(w);
	w->racing.stale |= r->bytes != bytes || r->ranks != ranks;
	r->bytes = bytes;
	r->ranks = ranks;
	w->dirty = true;
}

/* To a size with two digits that count, which is whole elements. */
static int64_t round_bytes(double bytes)
{
	double power = pow(10, fmax(0, floor(log10(bytes)) - 1));
	int64_t whole = (int64_t)(floor(bytes / power + 0.5) * power);
	whole = whole / 4 * 4;
	return whole < LEAST_BYTES ? LEAST_BYTES : whole > MOST_BYTES ? MOST_BYTES : whole;
}

static void change_bytes(struct window *w, bool more)
{
	int64_t bytes = race_of(w)->bytes;
	if (more ? bytes > MOST_BYTES / 2 : bytes < 2 * LEAST_BYTES)
		return;
	change(w, more ? 2 * bytes : bytes / 2 / 4 * 4, race_of(w)->ranks);
}

static void change_ranks(struct window *w, int by)
{
	int64_t ranks = race_of(w)->ranks + by;
	if (ranks >= LEAST_RANKS && ranks <= RACE_MOST_RANKS)
		change(w, race_of(w)->bytes, ranks);
}

static void change_operation(struct window *w)
{
	static const enum operation all[] = {OPERATION_ALL_REDUCE, OPERATION_BROADCAST, OPERATION_REDUCE};
	struct race *r = race_of(w);
	int i = 0;
	while (i < 2 && all[i] != r->operation)
		i++;
	r->operation = all[(i + 1) % 3];
	w->racing.stale = true;
	w->dirty = true;
}

/* ---- the clock ---- */

static void go(struct window *w, int64_t now)
{
	w->racing.playing = false;
	w->racing.now = (double)now;
	w->dirty = true;
}

static void play(struct window *w)
{
	struct racing *g = &w->racing;
	if (!g->playing && g->now >= (double)g->race.longest)
		g->now = 0;
	g->playing = !g->playing && !*g->race.refused;
	g->turned = SDL_GetTicks64();
}

static int tick(struct window *w, Uint64 now)
{
	struct racing *g = &w->racing;
	if (!g->playing)
		return -1;
	g->now += (double)(now - g->turned) * w->speed * (double)g->race.longest / SHOWN_MS;
	g->turned = now;
	if (g->now >= (double)g->race.longest) {
		g->now = (double)g->race.longest;
		g->playing = false;
	}
	w->dirty = true;
	return FRAME_MS;
}

/* ---- typing ---- */

static void type_into(struct window *w, int field)
{
	w->racing.field = field;
	w->racing.typed[0] = 0;
	w->dirty = true;
}

static void take_typed(struct window *w)
{
	struct racing *g = &w->racing;
	struct race *r = &g->race;
	int64_t value = 0;
	int field = g->field;
	g->field = FIELD_NONE;
	g->note[0] = 0;
	if (!*g->typed)
		return;
	enum status s = field == FIELD_BYTES ? number_bytes(g->typed, "S", LEAST_BYTES, MOST_BYTES, &value)
	                                     : number_whole(g->typed, "n", LEAST_RANKS, RACE_MOST_RANKS, &value);
	if (!s && field == FIELD_BYTES && value % 4)
		s = status_fail(STATUS_INPUT, "S: %lld B are not whole elements of fp32: a multiple of 4",
		                (long long)value);
	if (s)
		snprintf(g->note, sizeof g->note, "%s", status_message());
	else
		change(w, field == FIELD_BYTES ? value : r->bytes, field == FIELD_RANKS ? value : r->ranks);
	w->dirty = true;
}

static bool key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	struct racing *g = &w->racing;
	size_t n = strlen(g->typed);
	(void)shift;
	if (!g->field || control)
		return false;
	w->dirty = true;
	if (key == SDLK_ESCAPE)
		g->field = FIELD_NONE;
	else if (key == SDLK_BACKSPACE && n)
		g->typed[n - 1] = 0;
	else if (key == SDLK_RETURN || key == SDLK_KP_ENTER)
		take_typed(w);
	return true;
}

static bool text(struct window *w, const char *text)
{
	struct racing *g = &w->racing;
	size_t n = strlen(g->typed);
	char c = (char)tolower((unsigned char)text[0]);
	if (!g->field && c >= '0' && c <= '9') {
		type_into(w, FIELD_BYTES);
		n = 0;
	}
	if (g->field) {
		if ((isalnum((unsigned char)text[0]) || text[0] == '.') && n + 1 < sizeof g->typed) {
			g->typed[n] = text[0];
			g->typed[n + 1] = 0;
			w->dirty = true;
		}
		return true;
	}
	if (c == 'r')
		type_into(w, FIELD_RANKS);
	else if (c == 'o')
		change_operation(w);
	return c == 'r' || c == 'o';
}

/* ---- actions ---- */

static void picture(struct window *w, struct canvas *c)
{
	race_draw(c, race_of(w), (int64_t)w->racing.now, (struct box){20, 8, c->width - 40, c->height - 16});
}

/* What steps and plays is the race's; what looks at the trace leaves the race first. */
static bool action(struct window *w, int a)
{
	struct race *r = race_of(w);
	ask(w);
	int64_t now = (int64_t)w->racing.now;
	w->racing.note[0] = 0;
	switch (a) {
	case ACTION_FIRST:
		go(w, 0);
		return true;
	case ACTION_LAST:
		go(w, r->longest);
		return true;
	case ACTION_NEXT:
	case ACTION_NEXT_EVENT:
	case ACTION_NEXT_PHASE:
		go(w, race_next(r, now));
		return true;
	case ACTION_BACK:
	case ACTION_BACK_EVENT:
	case ACTION_BACK_PHASE:
		go(w, race_previous(r, now));
		return true;
	case ACTION_PLAY:
		play(w);
		return true;
	case ACTION_SELECT_BACK:
	case ACTION_SELECT_NEXT:
		change_bytes(w, a == ACTION_SELECT_BACK);
		return true;
	case ACTION_SCROLL_UP:
	case ACTION_SCROLL_DOWN:
		change_ranks(w, a == ACTION_SCROLL_UP ? 1 : -1);
		return true;
	case ACTION_SLOWER:
	case ACTION_FASTER:
	case ACTION_NORMAL:
	case ACTION_THEME:
	case ACTION_LARGER:
	case ACTION_SMALLER:
	case ACTION_NORMAL_TEXT:
	case ACTION_FULL:
	case ACTION_PRESENT:
	case ACTION_BLANK:
	case ACTION_HELP:
	case ACTION_RACE:
	case ACTION_COPY:
	case ACTION_SAVE:
	case ACTION_QUIT:
		return false;
	default:
		window_leave(w);
		return false;
	}
}

/* ---- controls ---- */

struct slider {
	struct box box;
	double least, most, value; /* log10 */
};

static struct slider slider_at(const struct window *w, struct box panel, int which)
{
	const struct race *r = &w->racing.race;
	double width = fmin(300, (panel.width - 40) * 0.24), y = panel.y + panel.height - CONTROLS + 12;
	double x = panel.x + 20 + (which == FIELD_RANKS ? (panel.width - 40) * 0.4 : 0) + 118;
	if (which == FIELD_BYTES)
		return (struct slider){{x, y, width, 20}, log10(4), log10(1e10), log10((double)r->bytes)};
	return (struct slider){{x, y, width, 20}, log10(2), log10(256), log10((double)r->ranks)};
}

static void draw_slider(struct canvas *c, const struct slider *s)
{
	const struct theme *t = c->theme;
	double y = s->box.y + s->box.height / 2;
	double part = fmin(1, fmax(0, (s->value - s->least) / (s->most - s->least))),
	       x = s->box.x + s->box.width * part;
	draw_line(c, s->box.x, y, s->box.x + s->box.width, y, t->soft, 3);
	draw_line(c, s->box.x, y, x, y, t->accent, 4);
	cairo_new_path(c->cr);
	cairo_arc(c->cr, x, y, 8, 0, 2 * M_PI);
	draw_colour(c, t->accent);
	draw_fill_path(c);
}

static void slide(struct window *w, struct box panel)
{
	struct slider s = slider_at(w, panel, w->racing.slider);
	double part = fmin(1, fmax(0, (w->mouse_x - s.box.x) / s.box.width)),
	       value = pow(10, s.least + part * (s.most - s.least));
	struct race *r = race_of(w);
	if (w->racing.slider == FIELD_BYTES)
		change(w, round_bytes(value), r->ranks);
	else
		change(w, r->bytes, (int64_t)(value + 0.5));
}

static bool mouse(struct window *w, struct canvas *c, struct box panel, Uint32 event)
{
	struct racing *g = &w->racing;
	(void)c;
	if (event == SDL_MOUSEBUTTONUP)
		g->slider = FIELD_NONE;
	for (int i = FIELD_BYTES; event == SDL_MOUSEBUTTONDOWN && i <= FIELD_RANKS; i++) {
		struct box b = slider_at(w, panel, i).box;
		if (w->mouse_x >= b.x - 10 && w->mouse_x <= b.x + b.width + 10 && w->mouse_y >= b.y - 6 &&
		    w->mouse_y <= b.y + b.height + 6)
			g->slider = i;
	}
	if (g->slider)
		slide(w, panel);
	return true;
}

static void lay(struct window *w, struct canvas *c, struct box panel)
{
	struct racing *g = &w->racing;
	char word[WORD], shown[WORD];
	double y = panel.y + panel.height - CONTROLS + 8;
	(void)c;
	snprintf(g->labels[BUTTON_OPERATION], sizeof g->labels[0], "%s", operation_name(g->race.operation));
	snprintf(g->labels[BUTTON_BYTES], sizeof g->labels[0], "S = %s%s",
	         g->field == FIELD_BYTES ? g->typed : short_word((char *)bytes_word(word, g->race.bytes)),
	         g->field == FIELD_BYTES ? "_" : "");
	snprintf(shown, sizeof shown, "%lld", (long long)g->race.ranks);
	snprintf(g->labels[BUTTON_RANKS], sizeof g->labels[0], "n = %s%s", g->field == FIELD_RANKS ? g->typed : shown,
	         g->field == FIELD_RANKS ? "_" : "");
	for (int i = FIELD_BYTES; i <= FIELD_RANKS; i++) {
		struct box b = {slider_at(w, panel, i).box.x - 118, y, 106, 28};
		widget_add(w, WIDGET_MODE, i == FIELD_BYTES ? BUTTON_BYTES : BUTTON_RANKS, b,
		           g->labels[i == FIELD_BYTES ? BUTTON_BYTES : BUTTON_RANKS])
		        ->on = g->field == i;
	}
	widget_add(w, WIDGET_MODE, BUTTON_OPERATION, (struct box){panel.x + panel.width - 130, y, 110, 28},
	           g->labels[BUTTON_OPERATION]);
}

static void press(struct window *w, int number)
{
	if (number == BUTTON_OPERATION)
		change_operation(w);
	else
		type_into(w, number == BUTTON_BYTES ? FIELD_BYTES : FIELD_RANKS);
}

static const char *tip(struct window *w, int number)
{
	static const char *const words[BUTTONS] = {
	        [BUTTON_OPERATION] = "another operation: all-reduce, broadcast, reduce (O)",
	        [BUTTON_BYTES] = "the size of the message: ↑ and ↓, or digits such as 4MB and Enter",
	        [BUTTON_RANKS] = "how many ranks: Shift ↑ and Shift ↓, or R, digits and Enter",
	};
	(void)w;
	return words[number];
}

static void draw(struct window *w, struct canvas *c, struct box panel)
{
	struct racing *g = &w->racing;
	ask(w);
	struct box b = {panel.x + 20, panel.y + 4, panel.width - 40, fmax(1, panel.height - CONTROLS - 8)};
	draw_fill(c, panel, c->theme->ground);
	race_draw(c, &g->race, (int64_t)g->now, b);
	for (int i = FIELD_BYTES; i <= FIELD_RANKS; i++) {
		struct slider s = slider_at(w, panel, i);
		draw_slider(c, &s);
	}
	const char *note = *g->note ? g->note : w->playback->note;
	if (*note)
		draw_text(c, panel.x + 20, panel.y + panel.height - CONTROLS + 2, 13, WEIGHT_BOLD, c->theme->warning,
		          ALIGN_LEFT, panel.width - 40, "%s", note);
}

static void leave(struct window *w)
{
	w->racing.playing = false;
	w->racing.field = w->racing.slider = FIELD_NONE;
}

const struct mode mode_race = {
        .name = "race",
        .covers = true,
        .lay = lay,
        .draw = draw,
        .key = key,
        .text = text,
        .mouse = mouse,
        .press = press,
        .tip = tip,
        .action = action,
        .tick = tick,
        .picture = picture,
        .leave = leave,
};

/* ---- entering ---- */

/* The message and the ranks of the collective that is shown. */
static void begin_with_shown(struct window *w)
{
	const struct playback *p = w->playback;
	struct race *r = race_of(w);
	r->operation = OPERATION_ALL_REDUCE;
	r->bytes = 4000000;
	r->ranks = 8;
	if (p->shown->foreign)
		return;
	const struct timeline *s = &p->shown->timeline;
	if (s->plan->ranks >= LEAST_RANKS)
		r->ranks = s->plan->ranks < RACE_MOST_RANKS ? s->plan->ranks : RACE_MOST_RANKS;
	if (p->state.collective < 0 || s->collectives[p->state.collective].control)
		return;
	const struct collective *one = &s->collectives[p->state.collective];
	int64_t bytes = one->schedule.elements * one->element_bytes / 4 * 4;
	r->bytes = bytes < LEAST_BYTES ? LEAST_BYTES : bytes > MOST_BYTES ? MOST_BYTES : bytes;
}

void window_race(struct window *w, const struct race *what)
{
	if (!w->host.race) {
		window_note(w, "There is no simulator here that could time a race.");
		return;
	}
	if (what) {
		race_of(w)->operation = what->operation;
		race_of(w)->ranks = what->ranks;
		race_of(w)->bytes = what->bytes;
	} else if (!race_of(w)->ranks) {
		begin_with_shown(w);
	}
	w->playing = false;
	w->racing.stale = true;
	window_enter(w, &mode_race);
}
