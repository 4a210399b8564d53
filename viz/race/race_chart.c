/* Time over the size of the message, both by powers of ten; the fastest changes where lines cross. */
#include <math.h>

#include "viz/race/race.h"
#include "viz/scene/scene.h"

struct axes {
	struct box plot;
	double x0, x1, y0, y1; /* powers of ten */
};

static double x_of(const struct axes *a, double bytes)
{
	return a->plot.x + a->plot.width * (log10(fmax(1, bytes)) - a->x0) / (a->x1 - a->x0);
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
	a->x0 = log10((double)v->bytes[0]);
	a->x1 = log10((double)v->bytes[v->points - 1]);
	a->y0 = floor(log10(fmax(1, least)));
	a->y1 = fmax(a->y0 + 1, ceil(log10(most)));
}

static void draw_grid(struct canvas *c, const struct axes *a)
{
	const struct theme *t = c->theme;
	const struct box *p = &a->plot;
	char word[WORD];
	for (int k = (int)a->y0; k <= (int)a->y1; k++) {
		double y = y_of(a, pow(10, k));
		draw_line(c, p->x, y, p->x + p->width, y, t->line, 0.6);
		if (p->height / (a->y1 - a->y0) > 12 || k % 2 == 0)
			draw_text(c, p->x - 6, y + 4, 11, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "%s",
			          short_word((char *)time_word(word, (int64_t)pow(10, k))));
	}
	for (int k = (int)ceil(a->x0); k <= (int)a->x1; k++) {
		double x = x_of(a, pow(10, k));
		draw_line(c, x, p->y, x, p->y + p->height, t->line, 0.6);
		draw_text(c, x, p->y + p->height + 15, 11, WEIGHT_PLAIN, t->soft, ALIGN_CENTRE, 0, "%s",
		          short_word((char *)bytes_word(word, (int64_t)pow(10, k))));
	}
}

static void draw_line_of(struct canvas *c, const struct race *r, const struct axes *a, int number)
{
	const struct race_curve *v = &r->curve;
	cairo_new_path(c->cr);
	for (int k = 0; k < v->points; k++)
		cairo_line_to(c->cr, x_of(a, (double)v->bytes[k]), y_of(a, (double)v->ns[number][k]));
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
		double y = fmax(last + 15, y_of(a, (double)r->curve.ns[order[i]][r->curve.points - 1]));
		draw_fill(c, (struct box){a->plot.x + a->plot.width + 8, y - 5, 10, 10},
		          race_colour(&r->racer[order[i]]));
		draw_text(c, a->plot.x + a->plot.width + 23, y + 4, 12, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, 0, "%s",
		          r->racer[order[i]].name);
		last = y;
	}
}

static void draw_crossings(struct canvas *c, const struct race *r, const struct axes *a)
{
	struct race_crossing all[RACE_SIZES];
	char word[WORD];
	for (int i = 0, n = race_crossings(r, all); i < n; i++) {
		const struct race_curve *v = &r->curve;
		int k = 0;
		while (k + 2 < v->points && v->bytes[k + 1] < all[i].bytes)
			k++;
		double part = (double)(all[i].bytes - v->bytes[k]) / (double)(v->bytes[k + 1] - v->bytes[k]);
		const int64_t *ns = v->ns[all[i].after];
		double x = x_of(a, (double)all[i].bytes),
		       y = y_of(a, (double)ns[k] + part * (double)(ns[k + 1] - ns[k]));
		cairo_new_path(c->cr);
		cairo_arc(c->cr, x, y, 6, 0, 2 * M_PI);
		draw_colour(c, c->theme->ink);
		cairo_set_line_width(c->cr, 2 * c->theme->stroke);
		draw_stroke_path(c);
		draw_text(c, x, y + 22, 12, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE, 0, "%s",
		          bytes_word(word, all[i].bytes));
	}
}

void race_draw_chart(struct canvas *c, const struct race *r, struct box b)
{
	const struct theme *t = c->theme;
	char words[RACE_WORDS];
	struct axes a = {.plot = {b.x + 62, b.y + 30, b.width - 62 - 160, fmax(1, b.height - 52)}};
	if (!r->curve.points)
		return;
	find_axes(&a, r);
	draw_text(c, b.x, b.y + 16, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width, "%s", race_words(words, r));
	draw_grid(c, &a);
	for (int i = 0; i < r->count; i++)
		draw_line_of(c, r, &a, i);
	draw_crossings(c, r, &a);
	draw_names(c, r, &a);
	double x = x_of(&a, (double)r->bytes);
	if (x >= a.plot.x - 1 && x <= a.plot.x + a.plot.width + 1)
		draw_line(c, x, a.plot.y, x, a.plot.y + a.plot.height, t->accent, 2);
	draw_text(c, a.plot.x + a.plot.width + 8, a.plot.y + a.plot.height - 4, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT,
	          0, "time over S, the size");
}
