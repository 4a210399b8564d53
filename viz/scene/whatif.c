#include "viz/scene/whatif.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"

/* Units, where there is room for all; a lower panel has everything lower alike. */
enum { HEAD = 44, LINE = 27, GAP = 12, FIGURE = 20, SAID = 46, FOOT = 40, MARGIN = 10, LABEL = 104, ARROW = 24 };

/* The least size of values. A longer value ends in "…" and stands below in full once it is chosen. */
enum { SMALL = 11 };

/* ---- places ---- */

static double part_of(const struct whatif *w, struct box b)
{
	double whole = HEAD + LINE * w->row_count + GAP + FIGURE * (w->figure_count + 1) + SAID + FOOT;
	return fmin(1.2, b.height / whole);
}

double whatif_side(double width)
{
	return fmin(WHATIF_SIDE, width / 2);
}

struct box whatif_line(const struct whatif *w, struct box b, int row)
{
	double part = part_of(w, b);
	return (struct box){b.x + 6, b.y + (HEAD + LINE * row) * part, b.width - 12, LINE * part - 2};
}

struct box whatif_cell(const struct whatif *w, struct box b, int row)
{
	struct box line = whatif_line(w, b, row);
	return (struct box){b.x + MARGIN + LABEL + ARROW, line.y + 1, b.width - 2 * MARGIN - LABEL - 2 * ARROW,
	                    line.height - 2};
}

struct box whatif_foot(const struct whatif *w, struct box b)
{
	double height = FOOT * part_of(w, b);
	return (struct box){b.x + MARGIN, b.y + b.height - height, b.width - 2 * MARGIN, height - 8};
}

int whatif_place(const struct whatif *w, struct box b, int row, double x)
{
	struct box cell = whatif_cell(w, b, row);
	int places = w->rows[row].places;
	int place = (int)floor((x - cell.x) / cell.width * places);
	return place < 0 ? 0 : place >= places ? places - 1 : place;
}

/* ---- rows ---- */

static const char *label_words(const struct whatif_row *r)
{
	static const char *const keys[] = {"model:", NULL}; /* a strategy is called model, too */
	const char *own = tr_name(r->label, keys);
	return own != r->label ? own : tr(r->label);
}

/* The value as options write it; a word stands for none. */
static const char *value_word(const char *value)
{
	static const char *const keys[] = {"none:", NULL};
	return tr_name(value, keys);
}

/* "4 → 8": what it was, smaller, and what it is. */
static void draw_values(struct canvas *c, const struct whatif_row *r, struct box cell, double size, double y)
{
	const struct theme *t = c->theme;
	const char *is = value_word(r->now), *was = value_word(r->before);
	double room = cell.width - 12, arrow = text_length(c, size, WEIGHT_PLAIN, " → "),
	       now = fmin(text_length(c, size, WEIGHT_BOLD, is) + 1, r->changed ? room * 0.6 : room),
	       before = r->changed ? fmin(text_length(c, size, WEIGHT_PLAIN, was) + 1, room - now - arrow) : 0;
	double x = cell.x + 6 + (room - now - before - (r->changed ? arrow : 0)) / 2;
	if (r->changed) {
		draw_fitting(c, x, y, size, SMALL, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, before, was);
		draw_text(c, x + before, y, size, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, 0, " → ");
		x += before + arrow;
	}
	draw_fitting(c, x, y, size, SMALL, r->changed ? WEIGHT_BOLD : WEIGHT_PLAIN, t->ink, ALIGN_LEFT, now, is);
}

/* A line at the foot of the value, so that nothing runs through the text. */
static void draw_slider(struct canvas *c, const struct whatif_row *r, struct box cell)
{
	const struct theme *t = c->theme;
	draw_card(c, cell, t->ground, r->changed ? t->accent : t->line, r->changed ? 2 : 1);
	if (!r->places || r->place < 0)
		return;
	double room = cell.width - 12, x = cell.x + 6 + room * (r->place + 0.5) / r->places,
	       y = cell.y + cell.height - 3;
	draw_line(c, cell.x + 6, y, cell.x + 6 + room, y, t->line, 2);
	draw_line(c, cell.x + 6, y, x, y, t->accent, 2.5);
	draw_fill(c, (struct box){x - 3, y - 3, 6, 6}, t->accent);
}

static void draw_row(struct canvas *c, const struct whatif *w, struct box b, int row, bool buttons)
{
	const struct theme *t = c->theme;
	const struct whatif_row *r = &w->rows[row];
	struct box line = whatif_line(w, b, row), cell = whatif_cell(w, b, row);
	double size = fmin(13, line.height * 0.52), y = line.y + line.height / 2 + size * 0.18;
	if (row == w->row && buttons)
		draw_card(c, line, t->panel, t->accent, 2);
	draw_fitting(c, b.x + MARGIN + 2, y, size, 8, r->changed ? WEIGHT_BOLD : WEIGHT_PLAIN, t->ink, ALIGN_LEFT,
	             LABEL - 6, label_words(r));
	draw_slider(c, r, cell);
	c->verbatim = true; /* a value, as options have it */
	if (row == w->row && w->typing && buttons)
		draw_text(c, cell.x + 6, y, size, WEIGHT_BOLD, t->ink, ALIGN_LEFT, cell.width - 10, "%s_", w->typed);
	else
		draw_values(c, r, cell, size, y);
	c->verbatim = false;
}

/* ---- figures ---- */

/* Right ends of the columns, as parts of the width. */
#define COLUMN_BEFORE 0.545
#define COLUMN_NOW 0.8

static void draw_figure(struct canvas *c, const struct whatif *w, const struct whatif_figure *f, struct box b, double y,
                        double size)
{
	const struct theme *t = c->theme;
	colour ink = f->better < 0 ? t->warning : t->ink;
	double room = b.width - 2 * MARGIN - 4, left = b.x + MARGIN + 2;
	draw_fitting(c, left, y, size, 8, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, room * 0.325, f->name);
	if (*w->words)
		draw_fitting(c, left + room * COLUMN_BEFORE, y, size, 7, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, room * 0.21,
		             f->before);
	draw_fitting(c, left + room * COLUMN_NOW, y, size, 7, WEIGHT_BOLD, ink, ALIGN_RIGHT, room * 0.24, f->now);
	if (*w->words)
		draw_fitting(c, left + room, y, size, 7, WEIGHT_PLAIN, ink, ALIGN_RIGHT, room * 0.18, f->change);
}

static void draw_figures(struct canvas *c, const struct whatif *w, struct box b)
{
	const struct theme *t = c->theme;
	double part = part_of(w, b), size = fmin(12.5, FIGURE * part * 0.64), room = b.width - 2 * MARGIN - 4,
	       y = b.y + (HEAD + LINE * w->row_count + GAP) * part, left = b.x + MARGIN + 2,
	       head = y + FIGURE * part * 0.7;
	draw_line(c, b.x + MARGIN, y - 4 * part, b.x + b.width - MARGIN, y - 4 * part, t->line, 1);
	if (*w->words)
		draw_text(c, left + room * COLUMN_BEFORE, head, size, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "before");
	draw_text(c, left + room * COLUMN_NOW, head, size, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, 0, "now");
	for (int i = 0; i < w->figure_count; i++)
		draw_figure(c, w, &w->figures[i], b, y + FIGURE * part * (i + 1.7), size);
}

/* ---- what is said ---- */

/* The chosen row: its value, where its cell is too narrow for it, and what it means. */
static void said_words(struct canvas *c, const struct whatif *w, struct box b, char *out, size_t size)
{
	const struct whatif_row *r = &w->rows[w->row];
	bool cut = text_length(c, SMALL, r->changed ? WEIGHT_BOLD : WEIGHT_PLAIN, r->now) >
	           whatif_cell(w, b, w->row).width - 12;
	snprintf(out, size, "%s%s%s", cut ? r->now : "", cut ? ": " : "", tr(r->what));
}

static void draw_said(struct canvas *c, const struct whatif *w, struct box b)
{
	char words[WHATIF_VALUE + 256];
	double part = part_of(w, b), y = b.y + b.height - (FOOT + SAID) * part + 12 * part, x = b.x + MARGIN + 2,
	       room = b.width - 2 * MARGIN - 4;
	if (*w->refused) {
		draw_paragraph(c, x, y, room, 12 * fmin(1, part), 3, c->theme->warning, w->refused);
	} else if (w->row >= 0) {
		said_words(c, w, b, words, sizeof words);
		draw_paragraph(c, x, y, room, 11.5 * fmin(1, part), 3, c->theme->soft, words);
	}
}

/* ---- the whole ---- */

void whatif_draw(struct canvas *c, const struct whatif *w, struct box b, bool buttons)
{
	const struct theme *t = c->theme;
	double part = part_of(w, b);
	draw_fill(c, b, t->panel);
	draw_line(c, b.x, b.y, b.x, b.y + b.height, t->line, 1.5);
	draw_text(c, b.x + MARGIN + 2, b.y + 19 * part, 16 * fmin(1, part), WEIGHT_BOLD, t->ink, ALIGN_LEFT, 0,
	          "What if");
	if (buttons)
		draw_fitting(c, b.x + MARGIN + 2, b.y + 36 * part, 12 * fmin(1, part), 7, WEIGHT_PLAIN, t->soft,
		             ALIGN_LEFT, b.width - 2 * MARGIN,
		             w->typing ? "Enter takes it, Esc leaves it"
		                       : "↑ ↓ choose · ← → change · Enter types · Esc closes");
	for (int i = 0; i < w->row_count; i++)
		draw_row(c, w, b, i, buttons);
	draw_figures(c, w, b);
	if (buttons)
		draw_said(c, w, b);
}

void whatif_describe(const struct whatif *w, FILE *out)
{
	char line[6 * WHATIF_VALUE];
	for (int i = 0; i < w->row_count; i++)
		if (w->rows[i].changed)
			fprintf(out, "what if  %s: %s → %s\n", w->rows[i].name, value_word(w->rows[i].before),
			        value_word(w->rows[i].now));
	for (int i = 0; i < w->figure_count && *w->words; i++) {
		const struct whatif_figure *f = &w->figures[i];
		snprintf(line, sizeof line, "%s: %s → %s%s%s%s%s", tr(f->name), f->before, f->now,
		         *f->change ? ", " : "", f->change, *f->exact ? "; " : "", f->exact);
		language_space(line, sizeof line);
		fprintf(out, "figure   %s\n", line);
	}
}
