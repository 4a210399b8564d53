#include "viz/scene/chart_cloud.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "viz/scene/chart_parts.h"

/* COLUMN: the width of the names at the right. NUMBERED: how many of the frontier are said there. */
enum { COLUMN = 330, NUMBERED = 9, RADIUS = 6 };

/* ---- scales ---- */

struct scale {
	double low, high;
	bool logarithmic; /* else the small ones would lie on each other */
};

static struct scale scale_between(double least, double most)
{
	struct scale s = {0, 1.08 * most, most > 8 * least};
	if (s.logarithmic)
		s = (struct scale){least / 1.4, 1.25 * most, true};
	return s;
}

static double part_of(const struct scale *s, double v)
{
	return fmin(1, s->logarithmic ? log(fmax(v, s->low) / s->low) / log(s->high / s->low) : v / s->high);
}

static double x_of(const struct scale *s, struct box b, double bytes)
{
	return b.x + b.width * part_of(s, bytes);
}

static double y_of(const struct scale *s, struct box b, double rate)
{
	return b.y + b.height * (1 - part_of(s, rate));
}

struct scales {
	struct scale memory, rate;
};

static void widen(double *least, double *most, double v)
{
	*least = v > 0 ? fmin(*least, v) : *least;
	*most = fmax(*most, v);
}

static double largest_limit(const struct cloud *cloud)
{
	double most = 0;
	for (int i = 0; i < cloud->limit_count; i++)
		most = fmax(most, (double)cloud->limits[i].bytes);
	return most;
}

/* Points that are far from fitting stand at the edge: they would push the rest together. */
static struct scales scales_of(const struct cloud *cloud)
{
	double memory[2] = {1e300, 1}, rate[2] = {1e300, 1}, edge = 1.3 * largest_limit(cloud);
	for (int i = 0; i < cloud->point_count; i++) {
		widen(&memory[0], &memory[1], fmin((double)cloud->points[i].bytes, edge > 0 ? edge : 1e300));
		widen(&rate[0], &rate[1], cloud->points[i].rate);
	}
	for (int i = 0; i < cloud->limit_count; i++)
		widen(&memory[0], &memory[1], (double)cloud->limits[i].bytes);
	return (struct scales){scale_between(fmin(memory[0], memory[1]), memory[1]),
	                       scale_between(fmin(rate[0], rate[1]), rate[1])};
}

/* Does any candidate fit? */
static bool has_rates(const struct cloud *cloud)
{
	for (int i = 0; i < cloud->point_count; i++)
		if (cloud->points[i].rate > 0)
			return true;
	return false;
}

/* ---- axes ---- */

/* Calls back at each tick. */
static void each_tick(const struct scale *s, void (*tick)(void *context, double v), void *context)
{
	static const double steps[] = {1, 2, 5};
	double step = tick_of(s->high, 6);
	if (!s->logarithmic) {
		for (int i = 0; i * step <= s->high; i++)
			tick(context, i * step);
		return;
	}
	for (int e = (int)floor(log10(s->low)); e <= (int)log10(s->high); e++)
		for (int i = 0; i < 3; i++)
			if (pow(10, e) * steps[i] >= s->low && pow(10, e) * steps[i] <= s->high)
				tick(context, pow(10, e) * steps[i]);
}

struct axes {
	struct canvas *c;
	struct box b;
	struct scales s;
};

static void rate_tick(void *context, double v)
{
	const struct axes *a = context;
	char word[32];
	double y = y_of(&a->s.rate, a->b, v);
	draw_line(a->c, a->b.x, y, a->b.x + a->b.width, y, a->c->theme->line, 0.6);
	draw_text(a->c, a->b.x - 8, y + 5, 14, WEIGHT_PLAIN, a->c->theme->soft, ALIGN_RIGHT, 0, "%s",
	          number_format_count(word, (int64_t)(v + 0.5)));
}

static void memory_tick(void *context, double v)
{
	const struct axes *a = context;
	char word[WORD];
	double x = x_of(&a->s.memory, a->b, v), bottom = a->b.y + a->b.height;
	bytes_word(word, (int64_t)v);
	draw_line(a->c, x, a->b.y, x, bottom + 6, a->c->theme->line, 0.6);
	draw_text(a->c, x, bottom + 24, 14, WEIGHT_PLAIN, a->c->theme->soft, ALIGN_CENTRE, 0, "%s",
	          v > 0 ? short_word(word) : "0");
}

static const char *logarithmic(const struct scale *s)
{
	return s->logarithmic ? tr(" (logarithmic)") : "";
}

static void draw_axes(struct canvas *c, const struct cloud *cloud, struct box b, const struct scales *s)
{
	struct axes a = {c, b, *s};
	double bottom = b.y + b.height;
	if (has_rates(cloud))
		each_tick(&s->rate, rate_tick, &a);
	else
		draw_text(c, b.x + b.width / 2, b.y + b.height / 2, 22, WEIGHT_BOLD, c->theme->soft, ALIGN_CENTRE,
		          b.width, "nothing fits");
	each_tick(&s->memory, memory_tick, &a);
	draw_line(c, b.x, bottom, b.x + b.width, bottom, c->theme->line, 1.4);
	draw_line(c, b.x, b.y, b.x, bottom, c->theme->line, 1.4);
	if (has_rates(cloud)) /* above the limits' names */
		draw_text(c, b.x - 60, b.y - 14 - 17.0 * cloud->limit_count, 15, WEIGHT_PLAIN, c->theme->soft,
		          ALIGN_LEFT, 0, "%s%s", tr(cloud->tokens ? "tokens a second" : "samples a second"),
		          logarithmic(&s->rate));
	draw_text(c, b.x + b.width / 2, bottom + 50, 15, WEIGHT_PLAIN, c->theme->soft, ALIGN_CENTRE, b.width,
	          "what is needed of the memory that is fullest for its size%s", logarithmic(&s->memory));
}

/* The names stand in turn above the plot, where they hide nothing. */
static void draw_limits(struct canvas *c, const struct cloud *cloud, struct box b, const struct scale *memory)
{
	for (int i = 0; i < cloud->limit_count; i++) {
		const struct cloud_limit *limit = &cloud->limits[i];
		char word[64], less[32] = "";
		double x = x_of(memory, b, (double)limit->bytes);
		if (cloud->spared > 0)
			snprintf(less, sizeof less, tr(" less %g %%"), cloud->spared);
		number_format_capacity(word, sizeof word, limit->bytes);
		draw_line(c, x, b.y - 4, x, b.y + b.height, c->theme->warning, 2);
		draw_text(c, x + 6, b.y - 8 - 17.0 * i, 14, WEIGHT_BOLD, c->theme->warning,
		          x > b.x + 0.6 * b.width ? ALIGN_RIGHT : ALIGN_LEFT, 0, "%s%s: %s", tr(limit->name), less,
		          word);
	}
}

/* ---- candidates ---- */

static void draw_cross(struct canvas *c, double x, double y)
{
	draw_line(c, x - 4, y - 4, x + 4, y + 4, c->theme->warning, 1.6);
	draw_line(c, x - 4, y + 4, x + 4, y - 4, c->theme->warning, 1.6);
}

static void draw_frontier(struct canvas *c, const struct cloud *cloud, struct box b, const struct scales *s)
{
	const struct cloud_point *last = NULL;
	for (int i = 0; i < cloud->point_count; i++) {
		const struct cloud_point *p = &cloud->points[i];
		if (!p->frontier)
			continue;
		if (last)
			draw_line(c, x_of(&s->memory, b, (double)last->bytes), y_of(&s->rate, b, last->rate),
			          x_of(&s->memory, b, (double)p->bytes), y_of(&s->rate, b, p->rate), c->theme->ink, 2);
		last = p;
	}
}

/* Marks that would hide each other stand side by side: the faster ones, or those of equal speed that come first, stay.
 */
static double aside(const struct cloud *cloud, struct box b, const struct scales *s, int point)
{
	const struct cloud_point *p = &cloud->points[point];
	double x = x_of(&s->memory, b, (double)p->bytes), y = y_of(&s->rate, b, p->rate);
	int hidden = 0;
	for (int i = 0; i < point; i++) {
		const struct cloud_point *q = &cloud->points[i];
		hidden += q->rate > 0 && fabs(x_of(&s->memory, b, (double)q->bytes) - x) < RADIUS &&
		          fabs(y_of(&s->rate, b, q->rate) - y) < RADIUS;
	}
	return 2.0 * RADIUS * hidden;
}

/* The slowest first, so that the frontier lies above. */
static void draw_points(struct canvas *c, const struct cloud *cloud, struct box b, const struct scales *s)
{
	for (int frontier = 0; frontier < 2; frontier++)
		for (int i = cloud->point_count; i-- > 0;) {
			const struct cloud_point *p = &cloud->points[i];
			double x = x_of(&s->memory, b, (double)p->bytes);
			if (p->frontier != frontier)
				continue;
			if (p->rate > 0)
				chart_draw_mark(c, x + (frontier ? 0 : aside(cloud, b, s, i)),
				                y_of(&s->rate, b, p->rate), p->series, RADIUS + 2.0 * frontier);
			else
				draw_cross(c, x, b.y + b.height);
		}
}

/* So high that it hides none of those that stand already. */
static double clear_of(const double (*placed)[2], int count, double x, double y)
{
	for (int i = 0; i < count; i++)
		if (fabs(x - placed[i][0]) < 16 && fabs(y - placed[i][1]) < 14)
			return clear_of(placed, count, x, placed[i][1] - 14);
	return y;
}

/* Above and to the left of its mark, where a frontier that rises leaves room. */
static void draw_numbers(struct canvas *c, const struct cloud *cloud, struct box b, const struct scales *s)
{
	double placed[NUMBERED][2];
	for (int i = 0, n = 0; i < cloud->point_count && n < NUMBERED; i++) {
		const struct cloud_point *p = &cloud->points[i];
		if (!p->frontier)
			continue;
		double x = x_of(&s->memory, b, (double)p->bytes) - 13, y = y_of(&s->rate, b, p->rate);
		placed[n][1] = clear_of((const double(*)[2])placed, n, x, y - 9);
		placed[n][0] = x;
		if (placed[n][1] < y - 10) /* a number that had to go up still leads to its mark */
			draw_line(c, x + 5, placed[n][1], x + 13, y, c->theme->soft, 0.8);
		draw_text(c, x, placed[n][1], 14, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE, 0, "%d", n + 1);
		n++;
	}
}

/* ---- at the right ---- */

static bool is_drawn(const struct cloud *cloud, int series)
{
	for (int i = 0; i < cloud->point_count; i++)
		if (cloud->points[i].series == series && cloud->points[i].rate > 0)
			return true;
	return false;
}

static double draw_names(struct canvas *c, const struct cloud *cloud, double x, double y)
{
	bool lacks = false;
	for (int i = 0; i < cloud->series_count; i++) {
		if (!is_drawn(cloud, i))
			continue;
		chart_draw_mark(c, x + 8, y - 5, i, RADIUS);
		draw_text(c, x + 24, y, 14, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, COLUMN - 40, "%s",
		          cloud->series[i]);
		y += 21;
	}
	for (int i = 0; i < cloud->point_count; i++)
		lacks |= cloud->points[i].rate <= 0;
	if (lacks) {
		draw_cross(c, x + 8, y - 5);
		draw_text(c, x + 24, y, 14, WEIGHT_PLAIN, c->theme->ink, ALIGN_LEFT, COLUMN - 40,
		          "fits with no micro-batch");
		y += 21;
	}
	return y;
}

static void draw_said(struct canvas *c, const struct cloud *cloud, double x, double y)
{
	draw_line(c, x, y - 5, x + 17, y - 5, c->theme->ink, 2);
	draw_text(c, x + 24, y, 14, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, COLUMN - 40,
	          "frontier: none is faster with less");
	for (int i = 0, n = 0; i < cloud->point_count && n < NUMBERED; i++) {
		const struct cloud_point *p = &cloud->points[i];
		if (!p->frontier)
			continue;
		y += 12;
		draw_text(c, x + 12, y + 10, 14, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE, 0, "%d", ++n);
		y += 16.0 * draw_paragraph(c, x + 24, y + 10, COLUMN - 40, 13, 2, c->theme->soft, p->label) + 2;
	}
}

void cloud_draw(void *context, cairo_t *cr, double width, double height)
{
	const struct cloud *cloud = context;
	struct canvas c;
	canvas_begin(&c, cr, width, height, 1, theme_of(cloud->theme), cloud->fonts);
	draw_text(&c, 36, 44, 22, WEIGHT_BOLD, c.theme->ink, ALIGN_LEFT, c.width - 72, "%s", cloud->title);
	draw_text(&c, 36, 70, 14, WEIGHT_PLAIN, c.theme->soft, ALIGN_LEFT, c.width - 72, "%s", cloud->subtitle);
	double top = 118 + 17.0 * cloud->limit_count;
	struct box plot = {110, top, c.width - 110 - COLUMN - 30, c.height - top - 80};
	struct scales s = scales_of(cloud);
	draw_axes(&c, cloud, plot, &s);
	draw_limits(&c, cloud, plot, &s.memory);
	draw_frontier(&c, cloud, plot, &s);
	draw_points(&c, cloud, plot, &s);
	draw_numbers(&c, cloud, plot, &s);
	double right = plot.x + plot.width + 30, below = draw_names(&c, cloud, right, 112);
	if (has_rates(cloud))
		draw_said(&c, cloud, right, below + 14);
	canvas_end(&c);
}
