/* A race of algorithms, in place of the scene. The keys and buttons that step and play move its clock; ↑ and ↓ change
 * the size of the message, with Shift the ranks; digits type a size, R and digits a number of ranks, O is another
 * operation, X the chart's other axis.
 */
#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/scene.h"
#include "viz/window/parts.h"

enum { SHOWN_MS = 7000, FRAME_MS = 16, CONTROLS = 46 };
enum { BUTTON_OPERATION, BUTTON_BYTES, BUTTON_RANKS, BUTTON_CHART, BUTTONS };

static struct race *race_of(struct window *w)
{
	return &w->racing.race;
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

/* ---- actions ---- */

static void picture(struct window *w, struct canvas *c)
{
	race_draw(c, race_of(w), (int64_t)w->racing.now, (struct box){20, 8, c->width - 40, c->height - 16});
}

/* The command that draws this race. */
static void copy(struct window *w)
{
	struct race *r = race_of(w);
	char command[256];
	snprintf(command, sizeof command, "%s %s %s %lld %s %lld %s '%s'", status_words("{view} {race}"),
	         operation_name(r->operation), status_words("{ranks}"), (long long)r->ranks, status_words("{bytes}"),
	         (long long)r->bytes, status_words("{cluster}"), r->cluster);
	if (r->over == RACE_OVER_RANKS)
		snprintf(command + strlen(command), sizeof command - strlen(command), tr(" %s ranks"),
		         status_words("{over}"));
	bool failed = SDL_SetClipboardText(command) != 0;
	snprintf(w->racing.note, sizeof w->racing.note, "%s%.200s", failed ? tr("Could not copy: ") : tr("Copied: "),
	         failed ? SDL_GetError() : command);
	w->dirty = true;
}

/* Keys that step and play act on the race; keys that look at the trace leave the race first. */
static bool action(struct window *w, int a)
{
	struct race *r = race_of(w);
	racing_ask(w);
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
		racing_change_bytes(w, a == ACTION_SELECT_BACK);
		return true;
	case ACTION_SCROLL_UP:
	case ACTION_SCROLL_DOWN:
		racing_change_ranks(w, a == ACTION_SCROLL_UP ? 1 : -1);
		return true;
	case ACTION_COPY:
		copy(w);
		return true;
	case ACTION_SLOWER:
	case ACTION_FASTER:
	case ACTION_NORMAL:
	case ACTION_RACE:
		return false;
	default:
		if (!action_is_of_window((enum action)a))
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
	double x = panel.x + 20 + (which == RACE_FIELD_RANKS ? (panel.width - 40) * 0.4 : 0) + 118;
	if (which == RACE_FIELD_BYTES)
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
	if (w->racing.slider == RACE_FIELD_BYTES)
		racing_change(w, racing_round_bytes(value), r->ranks);
	else
		racing_change(w, r->bytes, (int64_t)(value + 0.5));
}

static bool mouse(struct window *w, struct canvas *c, struct box panel, Uint32 event)
{
	struct racing *g = &w->racing;
	(void)c;
	if (event == SDL_MOUSEBUTTONUP)
		g->slider = RACE_FIELD_NONE;
	for (int i = RACE_FIELD_BYTES; event == SDL_MOUSEBUTTONDOWN && i <= RACE_FIELD_RANKS; i++) {
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
	snprintf(g->labels[BUTTON_OPERATION], sizeof g->labels[0], "%s", tr(operation_name(g->race.operation)));
	snprintf(g->labels[BUTTON_BYTES], sizeof g->labels[0], "S = %s%s",
	         g->field == RACE_FIELD_BYTES ? g->typed : short_word((char *)bytes_word(word, g->race.bytes)),
	         g->field == RACE_FIELD_BYTES ? "_" : "");
	snprintf(shown, sizeof shown, "%lld", (long long)g->race.ranks);
	snprintf(g->labels[BUTTON_RANKS], sizeof g->labels[0], "n = %s%s",
	         g->field == RACE_FIELD_RANKS ? g->typed : shown, g->field == RACE_FIELD_RANKS ? "_" : "");
	for (int i = RACE_FIELD_BYTES; i <= RACE_FIELD_RANKS; i++) {
		struct box b = {slider_at(w, panel, i).box.x - 118, y, 106, 28};
		widget_add(w, WIDGET_MODE, i == RACE_FIELD_BYTES ? BUTTON_BYTES : BUTTON_RANKS, b,
		           g->labels[i == RACE_FIELD_BYTES ? BUTTON_BYTES : BUTTON_RANKS])
		        ->on = g->field == i;
	}
	snprintf(g->labels[BUTTON_CHART], sizeof g->labels[0], "%s",
	         g->race.over == RACE_OVER_RANKS ? tr("over ranks") : tr("over sizes"));
	double width = fmin(100, 0.11 * panel.width);
	widget_add(w, WIDGET_MODE, BUTTON_CHART, (struct box){panel.x + panel.width - 24 - 2 * width, y, width, 28},
	           g->labels[BUTTON_CHART]);
	widget_add(w, WIDGET_MODE, BUTTON_OPERATION, (struct box){panel.x + panel.width - 20 - width, y, width, 28},
	           g->labels[BUTTON_OPERATION]);
}

static void press(struct window *w, int number)
{
	if (number == BUTTON_OPERATION)
		racing_change_operation(w);
	else if (number == BUTTON_CHART)
		racing_change_chart(w);
	else
		racing_type(w, number == BUTTON_BYTES ? RACE_FIELD_BYTES : RACE_FIELD_RANKS);
}

static const char *tip(struct window *w, int number)
{
	static const char *const words[BUTTONS] = {
	        [BUTTON_OPERATION] = "another operation: all-reduce, broadcast, reduce (O)",
	        [BUTTON_CHART] = "the chart over sizes of the message or over numbers of ranks (X)",
	        [BUTTON_BYTES] = "the size of the message: ↑ and ↓, or digits such as 4MB and Enter",
	        [BUTTON_RANKS] = "how many ranks: Shift ↑ and Shift ↓, or R, digits and Enter",
	};
	(void)w;
	return words[number];
}

static void draw(struct window *w, struct canvas *c, struct box panel)
{
	struct racing *g = &w->racing;
	racing_ask(w);
	struct box b = {panel.x + 20, panel.y + 4, panel.width - 40, fmax(1, panel.height - CONTROLS - 8)};
	draw_fill(c, panel, c->theme->ground);
	c->least = w->playback->presenter ? LEGIBLE * c->height : 0;
	race_draw(c, &g->race, (int64_t)g->now, b);
	c->least = 0;
	for (int i = RACE_FIELD_BYTES; i <= RACE_FIELD_RANKS; i++) {
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
	w->racing.field = w->racing.slider = RACE_FIELD_NONE;
}

const struct mode mode_race = {
        .entered_by = ACTION_RACE,
        .name = "race",
        .covers = true,
        .lay = lay,
        .draw = draw,
        .key = racing_key,
        .text = racing_text,
        .mouse = mouse,
        .press = press,
        .tip = tip,
        .action = action,
        .tick = tick,
        .picture = picture,
        .leave = leave,
};

/* ---- entering ---- */

void window_race(struct window *w, const struct race *what)
{
	if (!w->host.race) {
		window_note(w, "There is no simulator here that could time a race.");
		return;
	}
	if (what) {
		race_of(w)->over = what->over;
		race_of(w)->operation = what->operation;
		race_of(w)->ranks = what->ranks;
		race_of(w)->bytes = what->bytes;
	} else {
		racing_begin_with_shown(w);
	}
	w->playing = false;
	w->racing.stale = true;
	window_enter(w, &mode_race);
}
