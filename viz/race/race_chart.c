/* The chart of a race: time over the size of the message, both by powers of ten, or over the number of ranks, by powers
 * of two. The fastest racer changes where lines cross. */
#include <math.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/race/race.h"
#include "viz/scene/scene.h"

struct axes {
	struct box plot;
	double x0, x1, y0, y1; /* powers of ten */
};

static double x_of(const struct axes *a, double at)
{
	return a->plot.x + a->plot.width * (log10(fmax(1, at)) - a->x0) / (a->x1 - a->x0);
}

static double y_of(const struct axes *a, double ns)
{
	return a->plot.y + a->plot.height * (1 - (log10(fmax(1, ns)) - a->y0) / (a->y1 - a->y0));
}

static void find_axes(struct axes *a, const struct race *r)
{
	const struct race_curve *v = &r->curve;
	double least = 1e300, most = 1;
	for (int i = 0; i < r->count; i++) {
		least = fmin(least, (double)v->ns[i][0]);
		for (int k = 0; k < v->points; k++)
			most = fmax(most, (double)v->ns[i][k]);
	}
	a->x0 = log10((double)v->at[0]);
	a->x1 = log10((double)v->at[v->points - 1]);
	a->y0 = floor(log10(fmax(1, least)));
	a->y1 = fmax(a->y0 + 1, ceil(log10(most)));
}

/* Labels the axis: powers of ten for bytes, powers of two for ranks. */
static void draw_tick(struct canvas *c, const struct axes *a, const struct race_curve *v, int64_t at)
{
	char word[WORD];
	const struct box *p = &a->plot;
	double x = x_of(a, (double)at);
	race_point_word(word, v, at);
	if (v->over == RACE_OVER_RANKS && at > 2)
		word[strcspn(word, " ")] = 0;
	draw_line(c, x, p->y, x, p->y + p->height, c->theme->line, 0.6);
	draw_text(c, x, p->y + p->height + fmax(15, c->least + 3), 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_CENTRE, 0,
	          "%s", short_word(word));
}

static void draw_grid(struct canvas *c, const struct axes *a, const struct race_curve *v)
{
	const struct theme *t = c->theme;
	const struct box *p = &a->plot;
	char word[WORD];
	for (int k = (int)a->y0; k <= (int)a->y1; k++) {
		double y = y_of(a, pow(10, k));
		draw_line(c, p->x, y, p->x + p->width, y, t->line, 0.6);
		if (p->height / (a->y1 - a->y0) > fmax(12, 1.2 * c->least) || k % 2 == 0)
			/* the lowest keeps off the first word of the other axis */
			draw_text(c, p->x - 6, y + (k == (int)a->y0 ? -2 : 4), 11, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT,
			          0, "%s", short_word((char *)time_word(word, (int64_t)pow(10, k))));
	}
	for (int64_t at = 2; v->over == RACE_OVER_RANKS && at <= v->at[v->points - 1]; at *= 2)
		draw_tick(c, a, v, at);
	for (int k = (int)ceil(a->x0); v->over == RACE_OVER_SIZES && k <= (int)a->x1; k++)
		draw_tick(c, a, v, (int64_t)pow(10, k));
}

static void draw_line_of(struct canvas *c, const struct race *r, const struct axes *a, int number)
{
	const struct race_curve *v = &r->curve;
	cairo_new_path(c->cr);
	for (int k = 0; k < v->points; k++)
		cairo_line_to(c->cr, x_of(a, (double)v->at[k]), y_of(a, (double)v->ns[number][k]));
	draw_colour(c, race_colour(&r->racer[number]));
	cairo_set_line_width(c->cr, 2.6 * c->theme->stroke);
	draw_stroke_path(c);
}

/* Behind the ends of the lines, kept apart. */
static void draw_names(struct canvas *c, const struct race *r, const struct axes *a)
{
	int order[RACERS] = {0};
	double last = -1e9;
	for (int i = 0; i < r->count; i++)
		order[i] = i;
	for (int i = 1; i < r->count; i++) /* from the top: the slowest first */
		for (int k = i; k > 0 && r->curve.ns[order[k]][r->curve.points - 1] >
		                                 r->curve.ns[order[k - 1]][r->curve.points - 1];
		     k--) {
			int other = order[k];
			order[k] = order[k - 1];
			order[k - 1] = other;
		}
	for (int i = 0; i < r->count; i++) {
		double y = fmax(last + fmax(15, 1.2 * c->least),
		                y_of(a, (double)r->curve.ns[order[i]][r->curve.points - 1]));
		draw_fill(c, (struct box){a->plot.x + a->plot.width + 8, y - 5, 10, 10},
		          race_colour(&r->racer[order[i]]));
		draw_text(c, a->plot.x + a->plot.width + 23, y + 4, 12, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, 0, "%s",
		          r->racer[order[i]].name);
		last = y;
	}
}

static void draw_crossings(struct canvas *c, const struct race *r, const struct axes *a)
{
	struct race_crossing all[RACE_POINTS];
	char word[WORD];
	for (int i = 0, n = race_crossings(r, all); i < n; i++) {
		const struct race_curve *v = &r->curve;
		int k = 0;
		while (k + 2 < v->points && v->at[k + 1] < all[i].at)
			k++;
		double part = (double)(all[i].at - v->at[k]) / (double)(v->at[k + 1] - v->at[k]);
		const int64_t *ns = v->ns[all[i].after];
		double x = x_of(a, (double)all[i].at), y = y_of(a, (double)ns[k] + part * (double)(ns[k + 1] - ns[k]));
		cairo_new_path(c->cr);
		cairo_arc(c->cr, x, y, 6, 0, 2 * M_PI);
		draw_colour(c, c->theme->ink);
		cairo_set_line_width(c->cr, 2 * c->theme->stroke);
		draw_stroke_path(c);
		if (v->over == RACE_OVER_SIZES) /* numbers of ranks are those of the axis, and said above */
			draw_text(c, x, y + 10 + fmax(12, c->least), 12, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE, 0,
			          "%s", race_point_word(word, v, all[i].at));
	}
}

/* The width of the names beside the lines. */
static double names_width(struct canvas *c, const struct race *r, const char *axis)
{
	double width = text_length(c, 11, WEIGHT_PLAIN, axis) + 12;
	for (int i = 0; i < r->count; i++)
		width = fmax(width, text_length(c, 12, WEIGHT_BOLD, r->racer[i].name) + 27);
	return fmax(160, width);
}

void race_draw_chart(struct canvas *c, const struct race *r, struct box b)
{
	const struct theme *t = c->theme;
	bool ranks = r->curve.over == RACE_OVER_RANKS;
	const char *axis = ranks ? tr("time over n, the ranks") : tr("time over S, the size");
	char words[RACE_WORDS];
	double names = names_width(c, r, axis), left = fmax(62, text_length(c, 11, WEIGHT_PLAIN, "100 µs") + 10);
	struct axes a = {.plot = {b.x + left, b.y + 30, b.width - left - names,
	                          fmax(1, b.height - 37 - fmax(15, c->least + 3))}};
	if (!r->curve.points)
		return;
	find_axes(&a, r);
	draw_fitting(c, b.x, b.y + 16, 14, 9, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width, race_words(words, r));
	draw_grid(c, &a, &r->curve);
	for (int i = 0; i < r->count; i++)
		draw_line_of(c, r, &a, i);
	draw_crossings(c, r, &a);
	draw_names(c, r, &a);
	double x = x_of(&a, (double)(ranks ? r->ranks : r->bytes));
	if (x >= a.plot.x - 1 && x <= a.plot.x + a.plot.width + 1)
		draw_line(c, x, a.plot.y, x, a.plot.y + a.plot.height, t->accent, 2);
	draw_text(c, a.plot.x + a.plot.width + 8, a.plot.y + a.plot.height - 4, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT,
	          names - 8, "%s", axis);
}
