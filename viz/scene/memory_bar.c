/* A scale of bytes, a bar on it, and the capacity. */
#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/memory_parts.h"

struct memory_scale memory_scale_for(int64_t peak, int64_t capacity)
{
	struct memory_scale s = {.bytes = 1.12 * (double)peak, .capacity = (double)capacity};
	if (capacity && (double)peak > 0.3 * (double)capacity) {
		s.line = true;
		s.bytes = 1.12 * fmax((double)peak, (double)capacity);
	}
	if (s.bytes < 1)
		s.bytes = 1;
	return s;
}

int64_t memory_capacity(const struct timeline *s)
{
	int64_t left = s->limits.device_bytes - s->limits.overhead_bytes;
	return s->limits.device_bytes && left > 0 ? left : 0;
}

int64_t memory_highest(const struct timeline *s, enum space space)
{
	int64_t peak = 0;
	for (int r = 0; r < s->plan->role_count; r++)
		peak = s->roles[r].peak[space] > peak ? s->roles[r].peak[space] : peak;
	return peak;
}

void memory_axis(struct canvas *c, struct box b, const struct memory_scale *s)
{
	const struct theme *t = c->theme;
	double tick = tick_of(s->bytes, fmax(1, fmin(6, b.height / 18)));
	for (int i = 0; i * tick <= s->bytes; i++) {
		double v = i * tick, y = b.y + b.height * (1 - v / s->bytes);
		char word[WORD];
		draw_line(c, b.x, y, b.x + b.width, y, t->line, v == 0 ? 1.2 : 0.5);
		bytes_word(word, (int64_t)v);
		draw_text(c, b.x - 6, y + 4, 11, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "%s", short_word(word));
	}
}

static double letter_side(const struct canvas *c)
{
	return fmax(14, 1.15 * c->least);
}

/* Over hatched categories a letter stands on a patch of its category's colour. */
static void draw_letter(struct canvas *c, double x, double y, enum category k)
{
	colour fill = c->theme->category[k];
	double side = letter_side(c);
	draw_fill(c, (struct box){x - side / 2, y - side / 2, side, side}, fill);
	draw_text(c, x, y + 0.32 * side, 12, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE, 0, "%c", category_letter(k));
}

void memory_ghost(struct canvas *c, struct box b)
{
	cairo_save(c->cr);
	cairo_set_dash(c->cr, (const double[]){4, 3}, 2, 0);
	draw_frame(c, b, c->theme->soft, 1);
	cairo_restore(c->cr);
}

void memory_bar(struct canvas *c, const struct memory_scale *s, struct box b, const int64_t *live, int64_t peak,
                bool letters)
{
	const struct theme *t = c->theme;
	double y = b.y + b.height, unit = b.height / s->bytes, total = 0;
	for (int k = 0; live && k < HELD_COUNT; k++) {
		double height = unit * (double)live[k];
		total += (double)live[k];
		if (height < c->pixel / 2)
			continue;
		draw_category(c, (struct box){b.x, y - height, b.width, height}, held_category((enum held)k));
		y -= height;
	}
	if (s->line && total > s->capacity) {
		double over = unit * (total - s->capacity);
		struct box part = {b.x, y, b.width, over};
		draw_pattern(c, part, PATTERN_CROSS, t->warning);
		draw_frame(c, part, t->warning, 2.2);
	}
	double at = b.y + b.height;
	for (int k = 0; live && k < HELD_COUNT; k++) {
		double height = unit * (double)live[k];
		if (letters && height > letter_side(c) && b.width > fmax(12, 1.1 * c->least))
			draw_letter(c, b.x + b.width / 2, at - height / 2, held_category((enum held)k));
		at -= height < c->pixel / 2 ? 0 : height;
	}
	double top = b.y + b.height - unit * (double)peak;
	if (peak > (int64_t)total && b.width < 12) {
		draw_line(c, b.x, top, b.x + b.width, top, t->soft, 1.2);
	} else if (peak > (int64_t)total) {
		memory_ghost(c, (struct box){b.x, top, b.width, y - top});
	}
}

/* In the row of the title, with a piece of the line that it names; false: there is no room. */
static bool capacity_in_title(struct canvas *c, struct box plot, const char *text, colour ink, double room)
{
	enum { PIECE = 18 };
	double length = text_length(c, 12, WEIGHT_BOLD, text), right = plot.x + plot.width;
	if (length + PIECE + 6 > room)
		return false;
	draw_text(c, right, plot.y - MEMORY_TITLE, 12, WEIGHT_BOLD, ink, ALIGN_RIGHT, 0, "%s", text);
	draw_line(c, right - length - PIECE - 6, plot.y - MEMORY_TITLE - 4, right - length - 6,
	          plot.y - MEMORY_TITLE - 4, ink, 2);
	return true;
}

/* It hides what lies under it, so it is the last resort. */
static void capacity_on_line(struct canvas *c, struct box plot, double y, const char *text, colour ink)
{
	double length = fmin(text_length(c, 12, WEIGHT_BOLD, text), plot.width - 8);
	struct box plate = {plot.x + plot.width - length - 8, y - 19, length + 8, 16};
	draw_card(c, plate, c->theme->ground, ink, 1);
	draw_text(c, plate.x + 4, y - 6.5, 12, WEIGHT_BOLD, ink, ALIGN_LEFT, length + 1, "%s", text);
}

static void capacity_above(struct canvas *c, struct box plot, const char *word, double room)
{
	for (int i = 0; i < 2; i++) {
		char text[WORD + 48];
		snprintf(text, sizeof text, i ? tr("beside libraries %s") : tr("capacity less libraries %s, far above"),
		         word);
		if (text_length(c, 11, WEIGHT_PLAIN, text) > room)
			continue;
		draw_text(c, plot.x + plot.width, plot.y - MEMORY_TITLE, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT,
		          0, "%s", text);
		return;
	}
}

void memory_capacity_line(struct canvas *c, struct box plot, const struct memory_scale *s, int64_t peak, double title)
{
	const struct theme *t = c->theme;
	char word[WORD], text[WORD + 32];
	if (!s->capacity)
		return;
	bytes_word(word, (int64_t)s->capacity);
	if (!s->line) {
		capacity_above(c, plot, word, plot.width - title);
		return;
	}
	double y = plot.y + plot.height * (1 - s->capacity / s->bytes);
	colour ink = (double)peak > s->capacity ? t->warning : t->ink;
	draw_line(c, plot.x, y, plot.x + plot.width, y, ink, 2);
	snprintf(text, sizeof text, tr("capacity less libraries %s"), word);
	/* In narrow pictures side by side none has the longer words, so that all have the same. */
	if (plot.width > 400 && capacity_in_title(c, plot, text, ink, plot.width - title))
		return;
	snprintf(text, sizeof text, tr("beside libraries %s"), word);
	if (capacity_in_title(c, plot, text, ink, plot.width - title))
		return;
	bool brief = text_length(c, 12, WEIGHT_BOLD, text) > plot.width - 8;
	capacity_on_line(c, plot, y, brief ? short_word(word) : text, ink);
}

/* Whole heights, the highest first: each covers the next. */
void memory_stack(struct canvas *c, const struct memory_curve *curve)
{
	const struct theme *t = c->theme;
	for (int k = HELD_COUNT - 1; k >= 0; k--) {
		enum category of = held_category((enum held)k);
		if (!curve->ever(curve->of, k))
			continue;
		curve->path(c, curve->of, k);
		draw_patterned_path(c, curve->plot, t->category[of], category_pattern(of),
		                    colour_mix(t->category[of], ink_on(t->category[of]), 0.4));
		draw_colour(c, t->outline);
		cairo_set_line_width(c->cr, 0.8 * t->stroke);
		draw_stroke_path(c);
	}
}
