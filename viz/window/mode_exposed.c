/* The longest exposed communication as a list beside the scene: ↑ and ↓ select, Enter goes there. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/scene_parts.h"
#include "viz/window/parts.h"

enum { HEAD = 62, ROW = 33, FOOT = 26 };

static int listed(const struct window *w)
{
	size_t n = w->playback->shown->exposed_count;
	return n < EXPOSED_LISTED ? (int)n : EXPOSED_LISTED;
}

/* Rows that there is room for, and the first of them: the chosen one is among them. */
static int rows_of(struct box b)
{
	return (int)fmax(1, floor((b.height - HEAD - FOOT) / ROW));
}

static int first_of(const struct window *w, struct box b)
{
	int rows = rows_of(b), first = w->chosen - rows + 1;
	return first > 0 ? first : 0;
}

static void go(struct window *w, bool cursor)
{
	const struct playback *p = w->playback;
	const struct exposed *e = &p->shown->exposed[w->chosen];
	if (!listed(w))
		return;
	window_go_to(w, e->rank, e->op, cursor && p->shown->foreign);
	if (cursor && !p->shown->foreign)
		window_move(w, timeline_position_at(&p->shown->timeline, e->begin), false);
}

static bool key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	int count = listed(w), by = key == SDLK_DOWN ? 1 : key == SDLK_UP ? -1 : 0;
	w->chosen = w->chosen < count ? w->chosen : 0;
	if (control || shift || (!by && key != SDLK_RETURN && key != SDLK_KP_ENTER))
		return false;
	w->dirty = true;
	if (by && w->chosen + by >= 0 && w->chosen + by < count)
		w->chosen += by;
	go(w, !by);
	return true;
}

static bool mouse(struct window *w, struct canvas *c, struct box b, Uint32 event)
{
	int row = (int)floor((w->mouse_y - b.y - HEAD) / ROW);
	(void)c;
	if (!box_has(b, w->mouse_x, w->mouse_y))
		return false;
	if (event == SDL_MOUSEBUTTONDOWN && row >= 0 && row < rows_of(b) && first_of(w, b) + row < listed(w)) {
		w->chosen = first_of(w, b) + row;
		w->dirty = true;
		go(w, true);
	}
	return true;
}

/* Bytes, bandwidth and share; where there is no room, the end alone, which compares best. */
static void figures_words(struct canvas *c, const struct trace_view *shown, const struct exposed *e, double size,
                          double room, char *out, size_t length)
{
	char words[3][WORD + 16] = {"", "", ""}, rate[WORD];
	struct speed s = {0};
	if (e->bytes)
		bytes_word(words[0], e->bytes);
	if (exposed_speed(&shown->lanes, e, &s))
		snprintf(words[1], sizeof words[1], "%s%s", s.bus > 0 && s.ranks != 1 ? tr("bus ") : "",
		         rate_word(rate, s.bus > 0 ? s.bus : s.algorithm));
	if ((*words[0] || *words[1]) && speed_share(&s) > 0)
		snprintf(words[2], sizeof words[2], "%.0f %%", 100 * speed_share(&s));
	for (int i = 0; i < 3; i++) {
		size_t at = 0;
		*out = 0;
		for (int k = i; k < 3; k++)
			if (*words[k] && at < length)
				at += (size_t)snprintf(out + at, length - at, "%s%s", at ? ", " : "", words[k]);
		if (text_length(c, size, WEIGHT_PLAIN, out) <= room)
			return;
	}
}

static void draw_row(struct canvas *c, const struct window *w, int number, struct box row)
{
	const struct theme *t = c->theme;
	const struct trace_view *shown = w->playback->shown;
	const struct exposed *e = &shown->exposed[number];
	char time[WORD], name[256], when[96], more[3 * WORD + 64], where[128];
	exposed_name(&shown->lanes, e, name, sizeof name);
	exposed_when(&shown->lanes, e, when, sizeof when);
	if (shown->foreign)
		snprintf(where, sizeof where, "%s", shown->lanes.lanes[e->rank].process);
	else
		snprintf(where, sizeof where, tr("rank %" PRId64), e->rank);
	if (number == w->chosen)
		draw_card(c, row, colour_mix(t->panel, t->accent, 0.15), t->accent, 1.6);
	double left = row.x + 8, right = row.x + row.width - 8;
	draw_text(c, left + 18, row.y + 14, 12, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "%d", number + 1);
	draw_text(c, left + 96, row.y + 14, 12, WEIGHT_BOLD, t->warning, ALIGN_RIGHT, 0, "%s",
	          time_word(time, e->time));
	draw_text(c, left + 150, row.y + 14, 12, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, 0, "%.1f %%",
	          100 * (double)e->time / (double)exposed_whole(&shown->lanes));
	double first = shown->foreign ? 68 : 44, room = right - left - 164 - first;
	figures_words(c, shown, e, 8, room, more, sizeof more);
	draw_fitting(c, left + 158, row.y + 14, 11, 8, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, first,
	             shown->foreign ? when : where);
	draw_fitting(c, right, row.y + 14, 11, 8, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, room, more);
	draw_fitting(c, right, row.y + 28, 11, 8, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 124,
	             shown->foreign ? where : when);
	draw_fitting(c, left + 24, row.y + 28, 11.5, 9, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, row.width - 176, name);
}

static void draw(struct window *w, struct canvas *c, struct box b)
{
	const struct theme *t = c->theme;
	const struct trace_view *shown = w->playback->shown;
	int count = listed(w), first, rows = rows_of(b);
	w->chosen = w->chosen < count ? w->chosen : 0;
	first = first_of(w, b);
	draw_card(c, (struct box){b.x, b.y + 6, b.width - 14, b.height - 12}, t->panel, t->line, 1);
	draw_text(c, b.x + 14, b.y + 28, 15, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width - 40,
	          "The longest exposed communication");
	if (!count) {
		draw_paragraph(
		        c, b.x + 14, b.y + 52, b.width - 44, 13, 3, t->ink,
		        shown->foreign && !shown->lanes.gpus.count
		                ? "No span of this trace runs on a GPU, so that it has no communication to look for."
		                : "Nothing is exposed: all communication is hidden behind computing.");
		return;
	}
	draw_text(c, b.x + 14, b.y + 48, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width - 40,
	          shown->foreign ? "%zu in all · %% of the GPUs' time · payload, %s"
	                         : "%zu in all · %% of the step · payload, %s",
	          shown->exposed_count, tr(shown->foreign ? "bandwidth" : "bandwidth, share of the link"));
	for (int i = first; i < count && i < first + rows; i++)
		draw_row(c, w, i, (struct box){b.x + 6, b.y + HEAD + ROW * (i - first), b.width - 26, ROW});
	draw_text(c, b.x + 14, b.y + b.height - 14, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width - 40,
	          "↑ ↓ select · Enter goes there · Esc leaves");
}

const struct mode mode_exposed = {
        .entered_by = ACTION_EXPOSED, .name = "longest exposed", .side = 410, .key = key, .mouse = mouse, .draw = draw};
