#include "viz/scene/chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const colour line_colours[] = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0xD55E00, 0x56B4E9, 0x777777, 0xB8A800};
enum { LINE_COLOURS = sizeof line_colours / sizeof line_colours[0] };

static const char *word_of(const struct chart *chart, char *word, int64_t value)
{
	return chart->time ? time_word(word, value) : bytes_word(word, value);
}

static void draw_axis(struct canvas *c, const struct chart *chart, struct box b, double top)
{
	double tick = tick_of(top, 6);
	for (int i = 0; i * tick <= top; i++) {
		double v = i * tick, y = b.y + b.height * (1 - v / top);
		char word[WORD];
		word_of(chart, word, (int64_t)v);
		draw_line(c, b.x, y, b.x + b.width, y, c->theme->line, v > 0 ? 0.6 : 1.4);
		draw_text(c, b.x - 8, y + 5, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s",
		          v > 0 ? short_word(word) : "0");
	}
}

/* y: where it would lie. Its name stands above the chart, where it hides nothing. */
static void draw_capacity(struct canvas *c, const struct chart *chart, struct box b, double y)
{
	const struct theme *t = c->theme;
	char word[WORD], text[WORD + 16];
	if (!chart->capacity || chart->time)
		return;
	bytes_word(word, chart->capacity);
	if (y < b.y) {
		draw_text(c, b.x + b.width, b.y - 8, 14, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, b.width,
		          "capacity %s, above the chart", word);
		return;
	}
	draw_line(c, b.x, y, b.x + b.width, y, t->warning, 2);
	snprintf(text, sizeof text, "capacity %s", word);
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
	return 1.1 * most;
}

static void draw_bar(struct canvas *c, const struct chart_bar *bar, struct box b, double top)
{
	const struct theme *t = c->theme;
	double y = b.y + b.height;
	for (int k = 0; k < CATEGORY_COUNT; k++) {
		double height = b.height * (double)bar->bytes[k] / top;
		if (height < c->pixel / 2)
			continue;
		draw_category(c, (struct box){b.x, y - height, b.width, height}, (enum category)k);
		if (height > 15 && b.width > 14) {
			colour fill = t->category[k];
			draw_fill(c, (struct box){b.x + b.width / 2 - 8, y - height / 2 - 8, 16, 16}, fill);
			draw_text(c, b.x + b.width / 2, y - height / 2 + 5, 14, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE,
			          0, "%c", category_letter((enum category)k));
		}
		y -= height;
	}
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

static struct box box_moved(struct box b, double right)
{
	b.x += right;
	return b;
}

static void draw_bars(struct canvas *c, const struct chart *chart, struct box b)
{
	const struct theme *t = c->theme;
	double top = bar_top(chart), step = b.width / (chart->bar_count ? chart->bar_count : 1);
	double width = fmin(96, step * 0.62);
	struct box place = {b.x + (step - width) / 2, b.y, width, b.height};
	draw_axis(c, chart, b, top);
	for (int i = 0; i < chart->bar_count; i++)
		draw_bar(c, &chart->bars[i], box_moved(place, step * i), top);
	draw_capacity(c, chart, b, b.y + b.height * (1 - (double)chart->capacity / top));
	for (int i = 0, of = 1; i < chart->bar_count; i++) {
		const struct chart_bar *bar = &chart->bars[i];
		double x = b.x + step * (i + 0.5);
		draw_sum(c, chart, bar, box_moved(place, step * i), top, step - 4);
		draw_fitting(c, x, b.y + b.height + 40, 13, 9, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, step - 3,
		             bar->role);
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
	legend_categories(c, b.x, b.y + b.height + 56, b.width, category_name(CATEGORY_GATHERED));
}

/* ---- lines ---- */

static void draw_mark(struct canvas *c, double x, double y, int number, colour fill)
{
	double s = 6;
	cairo_new_path(c->cr);
	switch ((number + number / LINE_COLOURS) % 4) { /* where colours return, marks differ */
	case 0:
		cairo_arc(c->cr, x, y, s, 0, 2 * M_PI);
		break;
	case 1:
		cairo_rectangle(c->cr, x - s * 0.9, y - s * 0.9, s * 1.8, s * 1.8);
		break;
	case 2:
		cairo_move_to(c->cr, x, y - s * 1.2);
		cairo_line_to(c->cr, x + s * 1.1, y + s * 0.8);
		cairo_line_to(c->cr, x - s * 1.1, y + s * 0.8);
		break;
	default:
		cairo_move_to(c->cr, x, y - s * 1.3);
		cairo_line_to(c->cr, x + s * 1.3, y);
		cairo_line_to(c->cr, x, y + s * 1.3);
		cairo_line_to(c->cr, x - s * 1.3, y);
	}
	cairo_close_path(c->cr);
	draw_colour(c, fill);
	cairo_fill_preserve(c->cr);
	draw_colour(c, c->theme->outline);
	cairo_set_line_width(c->cr, 1);
	cairo_stroke(c->cr);
}

struct range {
	double bottom, top;  /* bottom above 0: the scale is logarithmic */
	int64_t first, last; /* ranks */
};

static struct range range_of(const struct chart *chart)
{
	struct range r = {0, 1, INT64_MAX, 1};
	double least = 1e300;
	for (int i = 0; i < chart->series_count; i++)
		for (int k = 0; k < chart->series[i].count; k++) {
			r.top = fmax(r.top, (double)chart->series[i].value[k]);
			least = fmin(least, fmax(1, (double)chart->series[i].value[k]));
			r.first = chart->series[i].ranks[k] < r.first ? chart->series[i].ranks[k] : r.first;
			r.last = chart->series[i].ranks[k] > r.last ? chart->series[i].ranks[k] : r.last;
		}
	if (!chart->time && (double)chart->capacity < 2.5 * r.top)
		r.top = fmax(r.top, (double)chart->capacity);
	r.top *= 1.08;
	if (r.top > 8 * least) /* else the small ones would lie on each other */
		r.bottom = least / 1.25;
	return r;
}

static double y_of(const struct range *r, struct box b, double value)
{
	double part =
	        r->bottom > 0 ? log(fmax(value, r->bottom) / r->bottom) / log(r->top / r->bottom) : value / r->top;
	return b.y + b.height * (1 - part);
}

static void draw_logarithmic_axis(struct canvas *c, const struct chart *chart, struct box b, const struct range *r)
{
	static const double steps[] = {1, 2, 5};
	draw_line(c, b.x, b.y + b.height, b.x + b.width, b.y + b.height, c->theme->line, 1.4);
	for (int e = (int)floor(log10(r->bottom)); e <= (int)log10(r->top); e++)
		for (int i = 0; i < 3; i++) {
			double v = pow(10, e) * steps[i], y = y_of(r, b, v);
			char word[WORD];
			if (v < r->bottom || v > r->top)
				continue;
			word_of(chart, word, (int64_t)v);
			draw_line(c, b.x, y, b.x + b.width, y, c->theme->line, 0.6);
			draw_text(c, b.x - 8, y + 5, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s",
			          short_word(word));
		}
}

static double x_of(const struct range *r, struct box b, int64_t ranks)
{
	double whole = log2((double)r->last / (double)r->first);
	return whole > 0 ? b.x + b.width * log2((double)ranks / (double)r->first) / whole : b.x + b.width / 2;
}

/* At the right end of their lines, moved apart where they would touch. */
static void draw_names(struct canvas *c, const struct chart *chart, struct box b, const struct range *r)
{
	int order[CHART_SERIES], n = 0;
	double y[CHART_SERIES], last = -1e9;
	for (int i = 0; i < chart->series_count; i++) {
		const struct chart_series *s = &chart->series[i];
		int at = n++;
		if (!s->count)
			y[i] = b.y + b.height;
		else
			y[i] = y_of(r, b, (double)s->value[s->count - 1]);
		for (; at > 0 && y[order[at - 1]] > y[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (int k = 0; k < n; k++) {
		y[order[k]] = fmax(y[order[k]], last + 20);
		last = y[order[k]];
	}
	double below = fmax(0, last - (b.y + b.height));
	for (int k = 0; k < n; k++) {
		int i = order[k];
		double at = y[i] - below;
		draw_mark(c, b.x + b.width + 22, at, i, line_colours[i % LINE_COLOURS]);
		draw_fitting(c, b.x + b.width + 36, at + 5, 15, 11, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT,
		             c->width - (b.x + b.width + 36) - 8, chart->series[i].label);
	}
}

static void draw_series(struct canvas *c, const struct chart *chart, struct box b)
{
	const struct theme *t = c->theme;
	struct range r = range_of(chart);
	if (r.bottom > 0)
		draw_logarithmic_axis(c, chart, b, &r);
	else
		draw_axis(c, chart, b, r.top);
	for (int64_t n = r.first; n <= r.last; n *= 2) {
		double x = x_of(&r, b, n);
		draw_line(c, x, b.y + b.height, x, b.y + b.height + 6, t->line, 1.4);
		draw_text(c, x, b.y + b.height + 24, 15, WEIGHT_PLAIN, t->ink, ALIGN_CENTRE, 0, "%" PRId64, n);
	}
	draw_text(c, b.x + b.width / 2, b.y + b.height + 48, 15, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, 0, "ranks%s",
	          r.bottom > 0 ? " (the scale at the left is logarithmic)" : "");
	for (int i = 0; i < chart->series_count; i++) {
		const struct chart_series *s = &chart->series[i];
		draw_colour(c, line_colours[i % LINE_COLOURS]);
		cairo_set_line_width(c->cr, 3 * t->stroke);
		cairo_new_path(c->cr);
		for (int k = 0; k < s->count; k++)
			cairo_line_to(c->cr, x_of(&r, b, s->ranks[k]), y_of(&r, b, (double)s->value[k]));
		cairo_stroke(c->cr);
		for (int k = 0; k < s->count; k++)
			draw_mark(c, x_of(&r, b, s->ranks[k]), y_of(&r, b, (double)s->value[k]), i,
			          line_colours[i % LINE_COLOURS]);
	}
	draw_capacity(c, chart, b, (double)chart->capacity > r.top ? b.y - 1 : y_of(&r, b, (double)chart->capacity));
	draw_names(c, chart, b, &r);
}

void chart_draw(void *context, cairo_t *cr, double width, double height)
{
	const struct chart *chart = context;
	struct canvas c;
	canvas_begin(&c, cr, width, height, 1, theme_of(chart->theme), chart->fonts);
	draw_text(&c, 36, 44, 22, WEIGHT_BOLD, c.theme->ink, ALIGN_LEFT, c.width - 72, "%s", chart->title);
	draw_text(&c, 36, 70, 14, WEIGHT_PLAIN, c.theme->soft, ALIGN_LEFT, c.width - 72, "%s", chart->subtitle);
	struct box plot = {120, 110, c.width - 160, c.height - 210};
	if (chart->series_count) {
		double longest = 0;
		for (int i = 0; i < chart->series_count; i++)
			longest = fmax(longest, text_length(&c, 15, WEIGHT_BOLD, chart->series[i].label));
		plot.width -= fmin(0.3 * c.width, fmax(130, longest + 10));
		draw_series(&c, chart, plot);
	} else {
		draw_bars(&c, chart, plot);
	}
	canvas_end(&c);
}
