#include "viz/scene/chart_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"

const char *chart_word(const struct chart *chart, char *word, int64_t value)
{
	return chart->time ? time_word(word, value) : bytes_word(word, value);
}

void chart_draw_axis(struct canvas *c, const struct chart *chart, struct box b, double top)
{
	double tick = tick_of(top, 6);
	for (int i = 0; i * tick <= top; i++) {
		double v = i * tick, y = b.y + b.height * (1 - v / top);
		char word[WORD];
		chart_word(chart, word, (int64_t)v);
		draw_line(c, b.x, y, b.x + b.width, y, c->theme->line, v > 0 ? 0.6 : 1.4);
		draw_text(c, b.x - 8, y + 5, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s",
		          v > 0 ? short_word(word) : "0");
	}
}

/* Its name stands above the chart, where it hides nothing. */
void chart_draw_capacity(struct canvas *c, const struct chart *chart, struct box b, double y)
{
	const struct theme *t = c->theme;
	char word[64], text[sizeof word + 32];
	if (!chart->capacity || chart->time)
		return;
	number_format_capacity(word, sizeof word, chart->capacity);
	if (y < b.y) {
		draw_text(c, b.x + b.width, b.y - 8, 14, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, b.width,
		          "capacity less libraries %s, above the chart", word);
		return;
	}
	draw_line(c, b.x, y, b.x + b.width, y, t->warning, 2);
	snprintf(text, sizeof text, tr("capacity less libraries %s"), word);
	double left = b.x + b.width - text_length(c, 14, WEIGHT_BOLD, text);
	draw_text(c, left, b.y - 8, 14, WEIGHT_BOLD, t->warning, ALIGN_LEFT, 0, "%s", text);
	draw_line(c, left - 30, b.y - 13, left - 8, b.y - 13, t->warning, 2);
}

/* ---- bars ---- */

static double bar_top(const struct chart *chart)
{
	double most = 1;
	for (int i = 0; i < chart->bar_count; i++) {
		double sum = 0;
		for (int k = 0; k < CATEGORY_COUNT; k++)
			sum += (double)chart->bars[i].bytes[k];
		most = fmax(most, sum);
	}
	if ((double)chart->capacity < 2.5 * most)
		most = fmax(most, (double)chart->capacity);
	return (chart->bar_count > 14 ? 1.25 : 1.1) * most; /* narrow bars have their sums upright */
}

/* Hatches the part beyond the capacity, so that not only a line shows it. */
static void draw_overflow(struct canvas *c, const struct chart *chart, struct box b, double y, double top)
{
	double line = b.y + b.height * (1 - (double)chart->capacity / top);
	struct box part = {b.x, y, b.width, line - y};
	if (!chart->capacity || line - y < c->pixel / 2)
		return;
	draw_pattern(c, part, PATTERN_CROSS, c->theme->warning);
	draw_frame(c, part, c->theme->warning, 2.2);
}

static void draw_letters(struct canvas *c, const struct chart_bar *bar, struct box b, double top)
{
	double y = b.y + b.height;
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		double height = b.height * (double)bar->bytes[k] / top;
		colour fill = c->theme->category[k];
		y -= height;
		if (height <= 15 || b.width <= 14)
			continue;
		draw_fill(c, (struct box){b.x + b.width / 2 - 8, y + height / 2 - 8, 16, 16}, fill);
		draw_text(c, b.x + b.width / 2, y + height / 2 + 5, 14, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE, 0,
		          "%c", category_letter((enum category)k));
	}
}

static void draw_bar(struct canvas *c, const struct chart *chart, const struct chart_bar *bar, struct box b, double top)
{
	double y = b.y + b.height;
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		double height = b.height * (double)bar->bytes[k] / top;
		if (height >= c->pixel / 2)
			draw_category(c, (struct box){b.x, y - height, b.width, height}, (enum category)k);
		y -= height;
	}
	draw_overflow(c, chart, b, y, top);
	draw_letters(c, bar, b, top);
}

/* The total of a bar, over the line of the capacity. */
static void draw_sum(struct canvas *c, const struct chart *chart, const struct chart_bar *bar, struct box b, double top,
                     double room)
{
	const struct theme *t = c->theme;
	double sum = 0;
	char word[WORD];
	for (int k = 0; k < CATEGORY_COUNT; k++)
		sum += (double)bar->bytes[k];
	double y = b.y + b.height * (1 - sum / top);
	bool over = chart->capacity && sum > (double)chart->capacity;
	colour ink = over ? t->warning : t->ink;
	bytes_word(word, (int64_t)sum);
	if (text_length(c, 10, WEIGHT_BOLD, word) <= room) {
		double length = fmin(room, text_length(c, 14, WEIGHT_BOLD, word)) + 4;
		draw_fill(c, (struct box){b.x + (b.width - length) / 2, y - 19, length, 16}, t->ground);
		draw_fitting(c, b.x + b.width / 2, y - 7, 14, 10, WEIGHT_BOLD, ink, ALIGN_CENTRE, room, word);
		return;
	}
	cairo_save(c->cr); /* upright, where bars are narrower than what they come to */
	cairo_translate(c->cr, b.x + b.width / 2 + 4, y - 5);
	cairo_rotate(c->cr, -M_PI / 2);
	draw_text(c, 0, 0, fmin(12, room), WEIGHT_BOLD, ink, ALIGN_LEFT, 0, "%s", word);
	cairo_restore(c->cr);
}

/* Below the bars of one strategy, once: a long name breaks before its settings. */
static void draw_label(struct canvas *c, const char *label, double x, double y, double room)
{
	const char *colon = strchr(label, ':');
	char part[sizeof((struct chart_bar *)0)->label];
	if (!colon || text_length(c, 12, WEIGHT_BOLD, label) <= room) {
		draw_fitting(c, x, y, 15, 9, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE, room, label);
		return;
	}
	snprintf(part, sizeof part, "%.*s", (int)(colon - label), label);
	draw_fitting(c, x, y - 6, 13, 9, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE, room, part);
	draw_fitting(c, x, y + 6, 12, 9, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE, room, colon + 1);
}

/* ---- roles ---- */

enum role_form { ROLE_LINE, ROLE_TWO_LINES, ROLE_UPRIGHT };
enum { ROLE_SIZE = 12, ROLE_LINE_HEIGHT = 13 };

/* "each worker": its first word, or what follows. */
static void split_role(const char *role, char first[64], const char **rest)
{
	const char *space = strchr(role, ' ');
	snprintf(first, 64, "%.*s", space ? (int)(space - role) : 63, role);
	*rest = space ? space + 1 : "";
}

/* All in the form that the longest needs: nothing is cut. */
static enum role_form role_form(struct canvas *c, const struct chart *chart, double room)
{
	double line = 0, half = 0;
	for (int i = 0; i < chart->bar_count; i++) {
		char first[64];
		const char *rest;
		split_role(chart->bars[i].role, first, &rest);
		line = fmax(line, text_length(c, ROLE_SIZE, WEIGHT_PLAIN, chart->bars[i].role));
		half = fmax(half, fmax(text_length(c, ROLE_SIZE - 2, WEIGHT_PLAIN, first),
		                       text_length(c, ROLE_SIZE - 2, WEIGHT_PLAIN, rest)));
	}
	return line <= room ? ROLE_LINE : half <= room ? ROLE_TWO_LINES : ROLE_UPRIGHT;
}

/* Below the names of strategies. */
static double role_height(struct canvas *c, const struct chart *chart, double room)
{
	double longest = 0;
	switch (role_form(c, chart, room)) {
	case ROLE_LINE:
		return ROLE_LINE_HEIGHT;
	case ROLE_TWO_LINES:
		return 2 * ROLE_LINE_HEIGHT;
	case ROLE_UPRIGHT:
		break;
	}
	for (int i = 0; i < chart->bar_count; i++)
		longest = fmax(longest, text_length(c, ROLE_SIZE - 2, WEIGHT_PLAIN, chart->bars[i].role));
	return longest + 4;
}

static void draw_role(struct canvas *c, const char *role, enum role_form form, double x, double y)
{
	colour ink = c->theme->soft;
	char first[64];
	const char *rest;
	split_role(role, first, &rest);
	if (form == ROLE_LINE) {
		draw_text(c, x, y, ROLE_SIZE, WEIGHT_PLAIN, ink, ALIGN_CENTRE, 0, "%s", role);
	} else if (form == ROLE_TWO_LINES) {
		draw_text(c, x, y, ROLE_SIZE - 2, WEIGHT_PLAIN, ink, ALIGN_CENTRE, 0, "%s", first);
		draw_text(c, x, y + ROLE_LINE_HEIGHT, ROLE_SIZE - 2, WEIGHT_PLAIN, ink, ALIGN_CENTRE, 0, "%s", rest);
	} else {
		cairo_save(c->cr);
		cairo_translate(c->cr, x + 3, y - 9);
		cairo_rotate(c->cr, -M_PI / 2);
		draw_text(c, 0, 0, ROLE_SIZE - 2, WEIGHT_PLAIN, ink, ALIGN_RIGHT, 0, "%s", role);
		cairo_restore(c->cr);
	}
}

/* The categories that any bar has. */
static unsigned categories_of(const struct chart *chart)
{
	unsigned some = 0;
	for (int i = 0; i < chart->bar_count; i++)
		for (int k = 0; k < CATEGORY_COUNT; k++)
			some |= chart->bars[i].bytes[k] ? 1U << k : 0;
	return some;
}

static struct box box_moved(struct box b, double right)
{
	b.x += right;
	return b;
}

static void draw_bars(struct canvas *c, const struct chart *chart, struct box b)
{
	const struct theme *t = c->theme;
	double top = bar_top(chart), step = b.width / (chart->bar_count ? chart->bar_count : 1);
	enum role_form form = role_form(c, chart, step - 3);
	double roles = role_height(c, chart, step - 3);
	b.height -= roles - ROLE_LINE_HEIGHT;
	double width = fmin(96, step * 0.62);
	struct box place = {b.x + (step - width) / 2, b.y, width, b.height};
	chart_draw_axis(c, chart, b, top);
	for (int i = 0; i < chart->bar_count; i++)
		draw_bar(c, chart, &chart->bars[i], box_moved(place, step * i), top);
	chart_draw_capacity(c, chart, b, b.y + b.height * (1 - (double)chart->capacity / top));
	for (int i = 0, of = 1; i < chart->bar_count; i++) {
		const struct chart_bar *bar = &chart->bars[i];
		double x = b.x + step * (i + 0.5);
		draw_sum(c, chart, bar, box_moved(place, step * i), top, step - 4);
		draw_role(c, bar->role, form, x, b.y + b.height + 40);
		if (i + 1 < chart->bar_count && !strcmp(bar->label, bar[1].label)) {
			of++;
			continue;
		}
		if (of > 1 && step < 90) /* these belong together */
			draw_line(c, b.x + step * (i + 1 - of) + 6, b.y + b.height + 6, b.x + step * (i + 1) - 6,
			          b.y + b.height + 6, t->line, 1.4);
		draw_label(c, bar->label, b.x + step * (i + 1 - of / 2.0), b.y + b.height + 22, step * of - 4);
		of = 1;
	}
	legend_some(c, b.x, b.y + b.height + 43 + roles, b.width, category_name(CATEGORY_GATHERED),
	            categories_of(chart));
}

void chart_draw(void *context, cairo_t *cr, double width, double height)
{
	const struct chart *chart = context;
	struct canvas c;
	canvas_begin(&c, cr, width, height, 1, theme_of(chart->theme), chart->fonts);
	draw_text(&c, 36, 44, 22, WEIGHT_BOLD, c.theme->ink, ALIGN_LEFT, c.width - 72, "%s", chart->title);
	draw_text(&c, 36, 70, 14, WEIGHT_PLAIN, c.theme->soft, ALIGN_LEFT, c.width - 72, "%s", chart->subtitle);
	draw_fitting(&c, 36, 91, 14, 9, WEIGHT_PLAIN, c.theme->soft, ALIGN_LEFT, c.width - 72, chart->note);
	double top = *chart->note ? 124 : 110;
	struct box plot = {120, top, c.width - 160, c.height - top - 100};
	if (chart->series_count) {
		double longest = 0;
		for (int i = 0; i < chart->series_count; i++)
			longest = fmax(longest, text_length(&c, 15, WEIGHT_BOLD, chart->series[i].label));
		plot.width -= fmin(0.3 * c.width, fmax(130, longest + 10));
		chart_draw_lines(&c, chart, plot);
	} else {
		draw_bars(&c, chart, plot);
	}
	canvas_end(&c);
}
