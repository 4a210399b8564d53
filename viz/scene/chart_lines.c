/* Lines over the number of ranks, or over the bandwidth of a link. Every series has a mark of its own. Where lines run
 * over each other, each is seen in turn, as dashes, and where points would cover each other, their marks stand side by
 * side.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/chart_parts.h"

static const colour line_colours[] = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0xD55E00, 0x56B4E9, 0x777777, 0xB8A800};
enum { LINE_COLOURS = sizeof line_colours / sizeof line_colours[0] };

/* SIDE: from the edges of the plot to the first and the last point, for marks side by side. */
enum { SIDE = 56, DASH = 9, APART = 14, NEAR = 9 };

static colour colour_of(int series)
{
	return line_colours[series % LINE_COLOURS];
}

/* ---- marks ---- */

/* A polygon or a star: corners, the turn of the first in parts of a circle, and how far in a star comes. */
static const struct {
	int corners;
	double turn, inner;
} shapes[] = {{0, 0, 0},       {4, 0.125, 0}, {3, -0.25, 0},   {4, -0.25, 0},    {3, 0.25, 0}, {5, -0.25, 0.45},
              {4, 0.125, 0.4}, {3, 0, 0},     {4, -0.25, 0.4}, {6, -0.25, 0.45}, {3, 0.5, 0}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };
_Static_assert(3 * SHAPES >= CHART_SERIES, "every series has a mark of its own");

static void add_shape(struct canvas *c, double x, double y, int shape, double radius)
{
	int corners = shapes[shape].corners, steps = shapes[shape].inner > 0 ? 2 * corners : corners;
	cairo_new_path(c->cr);
	if (!corners)
		cairo_arc(c->cr, x, y, radius * 0.85, 0, 2 * M_PI);
	for (int i = 0; i < steps; i++) {
		double angle = 2 * M_PI * (shapes[shape].turn + (double)i / steps);
		double r = 1.15 * radius * (steps > corners && i % 2 ? shapes[shape].inner : 1);
		cairo_line_to(c->cr, x + r * cos(angle), y + r * sin(angle));
	}
	cairo_close_path(c->cr);
}

/* The first of them are filled, the next hollow, the last have a hole. */
void chart_draw_mark(struct canvas *c, double x, double y, int number, double radius)
{
	int shape = number % SHAPES, form = number / SHAPES;
	add_shape(c, x, y, shape, radius);
	draw_colour(c, form == 1 ? c->theme->panel : colour_of(number));
	cairo_fill_preserve(c->cr);
	draw_colour(c, form == 1 ? colour_of(number) : c->theme->outline);
	cairo_set_line_width(c->cr, form == 1 ? 2 : 1);
	cairo_stroke(c->cr);
	if (form == 2) {
		cairo_arc(c->cr, x, y, radius / 4, 0, 2 * M_PI);
		draw_colour(c, c->theme->panel);
		cairo_fill(c->cr);
	}
}

static void draw_mark(struct canvas *c, double x, double y, int number)
{
	chart_draw_mark(c, x, y, number, 7);
}

/* ---- scales ---- */

struct range {
	double bottom, top;  /* bottom above 0: the scale is logarithmic */
	int64_t first, last; /* on the axis below */
};

static struct range range_of(const struct chart *chart)
{
	struct range r = {0, 1, INT64_MAX, 1};
	double least = 1e300;
	for (int i = 0; i < chart->series_count; i++)
		for (int k = 0; k < chart->series[i].count; k++) {
			r.top = fmax(r.top, (double)chart->series[i].value[k]);
			least = fmin(least, fmax(1, (double)chart->series[i].value[k]));
			r.first = chart->series[i].at[k] < r.first ? chart->series[i].at[k] : r.first;
			r.last = chart->series[i].at[k] > r.last ? chart->series[i].at[k] : r.last;
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
			chart_word(chart, word, (int64_t)v);
			draw_line(c, b.x, y, b.x + b.width, y, c->theme->line, 0.6);
			draw_text(c, b.x - 8, y + 5, 14, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s",
			          short_word(word));
		}
}

static double x_of(const struct range *r, struct box b, int64_t at)
{
	double whole = log2((double)r->last / (double)r->first);
	double part = whole > 0 ? log2((double)at / (double)r->first) / whole : 0.5;
	return b.x + SIDE + (b.width - 2 * SIDE) * part;
}

/* ---- lines ---- */

/* Finds the point of a series at a place of the axis; false: there is none. */
static bool point_of(const struct chart *chart, const struct range *r, struct box b, int series, int64_t at, double *y)
{
	const struct chart_series *s = &chart->series[series];
	for (int k = 0; k < s->count; k++)
		if (s->at[k] == at) {
			*y = y_of(r, b, (double)s->value[k]);
			return true;
		}
	return false;
}

/* Counts the series that share this one's line between two places of the axis, and those of them that come before it.
 */
static int beside(const struct chart *chart, const struct range *r, struct box b, int series, int64_t from, int64_t to,
                  double near, int *before)
{
	double y0, y1, x0, x1;
	int count = 0;
	*before = 0;
	if (!point_of(chart, r, b, series, from, &y0) || !point_of(chart, r, b, series, to, &y1))
		return 1;
	for (int i = 0; i < chart->series_count; i++) {
		if (!point_of(chart, r, b, i, from, &x0) || !point_of(chart, r, b, i, to, &x1) ||
		    fabs(x0 - y0) > near || fabs(x1 - y1) > near)
			continue;
		count++;
		*before += i < series;
	}
	return count;
}

static void draw_line_of(struct canvas *c, const struct chart *chart, const struct range *r, struct box b, int series)
{
	const struct chart_series *s = &chart->series[series];
	double width = 3 * c->theme->stroke;
	cairo_save(c->cr);
	draw_colour(c, colour_of(series));
	cairo_set_line_width(c->cr, width);
	for (int k = 0; k + 1 < s->count; k++) {
		int before, count = beside(chart, r, b, series, s->at[k], s->at[k + 1], width, &before);
		/* The first is drawn whole, below the dashes of the others. */
		cairo_set_dash(c->cr, (const double[]){DASH, DASH * (count - 1)}, before ? 2 : 0, -DASH * before);
		cairo_move_to(c->cr, x_of(r, b, s->at[k]), y_of(r, b, (double)s->value[k]));
		cairo_line_to(c->cr, x_of(r, b, s->at[k + 1]), y_of(r, b, (double)s->value[k + 1]));
		cairo_stroke(c->cr);
	}
	cairo_restore(c->cr);
}

static void draw_marks(struct canvas *c, const struct chart *chart, const struct range *r, struct box b, int series)
{
	const struct chart_series *s = &chart->series[series];
	for (int k = 0; k < s->count; k++) {
		int before, count = beside(chart, r, b, series, s->at[k], s->at[k], NEAR, &before);
		double apart = fmin(APART, 2.0 * SIDE / count);
		draw_mark(c, x_of(r, b, s->at[k]) + apart * (before - (count - 1) / 2.0),
		          y_of(r, b, (double)s->value[k]), series);
	}
}

/* ---- names ---- */

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
		const struct chart_series *s = &chart->series[i];
		double end = s->count ? y_of(r, b, (double)s->value[s->count - 1]) : at;
		double from = s->count ? x_of(r, b, s->at[s->count - 1]) : b.x + b.width;
		draw_line(c, from, end, b.x + b.width + 14, at, c->theme->soft, 0.8);
		draw_mark(c, b.x + b.width + 22, at, i);
		draw_fitting(c, b.x + b.width + 36, at + 5, 15, 11, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT,
		             c->width - (b.x + b.width + 36) - 8, chart->series[i].label);
	}
}

static const char *place_word(const struct chart *chart, char *word, int64_t at)
{
	char bytes[WORD];
	bytes_word(bytes, at);
	if (chart->axis == CHART_RANKS)
		snprintf(word, WORD, "%" PRId64, at);
	else
		snprintf(word, WORD, "%.20s/s", short_word(bytes));
	return word;
}

void chart_draw_lines(struct canvas *c, const struct chart *chart, struct box b)
{
	static const char *const names[] = {
	        [CHART_RANKS] = "ranks", [CHART_BANDWIDTH] = "bandwidth of a rank's link, in each direction"};
	const struct theme *t = c->theme;
	struct range r = range_of(chart);
	char word[WORD];
	if (r.bottom > 0)
		draw_logarithmic_axis(c, chart, b, &r);
	else
		chart_draw_axis(c, chart, b, r.top);
	for (int64_t n = r.first; n <= r.last; n *= 2) {
		double x = x_of(&r, b, n);
		draw_line(c, x, b.y + b.height, x, b.y + b.height + 6, t->line, 1.4);
		draw_text(c, x, b.y + b.height + 24, 15, WEIGHT_PLAIN, t->ink, ALIGN_CENTRE, 0, "%s",
		          place_word(chart, word, n));
	}
	draw_text(c, b.x + b.width / 2, b.y + b.height + 48, 15, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, 0, "%s%s",
	          tr(names[chart->axis]), r.bottom > 0 ? tr(" (the scale at the left is logarithmic)") : "");
	for (int i = 0; i < chart->series_count; i++)
		draw_line_of(c, chart, &r, b, i);
	chart_draw_capacity(c, chart, b,
	                    (double)chart->capacity > r.top ? b.y - 1 : y_of(&r, b, (double)chart->capacity));
	draw_names(c, chart, b, &r);
	for (int i = 0; i < chart->series_count; i++)
		draw_marks(c, chart, &r, b, i);
}
