/* The bytes of a rank over the step, by category, with the cursor. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "viz/scene/memory_parts.h"
#include "viz/scene/scene_parts.h"

/* How many operations a rank has issued at each position. */
static int *issued_at(const struct timeline *s, int index)
{
	int *issued = calloc(s->instant_count + 1, sizeof *issued);
	const struct section *step = &timeline_role_of(s, index)->step;
	if (!issued)
		abort();
	for (size_t m = 0; m < s->instant_count; m++) {
		issued[m + 1] = issued[m];
		for (size_t i = s->instants[m].begin; i < s->instants[m].end; i++) {
			const struct event *e = &s->events[i];
			if (e->rank == s->ranks[index].rank && event_issues(e) &&
			    e->op - step->begin + 1 > issued[m + 1])
				issued[m + 1] = e->op - step->begin + 1;
		}
	}
	return issued;
}

/* The most that the first categories up to k come to, over the positions of one column. */
static double highest_until(const struct timeline *s, int index, const int *issued, size_t from, size_t count, int k,
                            double column, size_t *next)
{
	double most = 0;
	*next = from + (size_t)fmax(1, column);
	for (size_t p = from; p < *next && p <= count; p++) {
		const int64_t *live = timeline_live(s, index, SPACE_DEVICE, issued[p]);
		double sum = 0;
		if (p > from && issued[p] == issued[p - 1])
			continue;
		for (int j = 0; live && j <= k; j++)
			sum += (double)live[j];
		most = fmax(most, sum);
	}
	return most;
}

static bool ever(const struct timeline *s, int index, enum held k)
{
	const struct section *step = &timeline_role_of(s, index)->step;
	for (int n = 0; n <= step->end - step->begin; n++) {
		const int64_t *live = timeline_live(s, index, SPACE_DEVICE, n);
		if (live && live[k])
			return true;
	}
	return false;
}

struct curve {
	const struct timeline *timeline;
	int index;         /* of the rank */
	const int *issued; /* at each position */
	struct box plot;
	double x_unit, y_unit; /* of a position, of a byte */
	double column;         /* positions of a pixel */
};

/* The sum of the first categories up to k, as a path: a pixel at a time, its highest. */
static void make_path(struct canvas *c, const struct curve *v, int k)
{
	const struct box *b = &v->plot;
	size_t count = v->timeline->instant_count;
	double last = -1;
	cairo_new_path(c->cr);
	cairo_move_to(c->cr, b->x, b->y + b->height);
	for (size_t p = 0, next; p <= count; p = next) {
		double sum = highest_until(v->timeline, v->index, v->issued, p, count, k, v->column, &next);
		double y = b->y + b->height - v->y_unit * sum;
		if (fabs(y - last) > 1e-9) {
			if (last >= 0)
				cairo_line_to(c->cr, b->x + v->x_unit * (double)p, last);
			cairo_line_to(c->cr, b->x + v->x_unit * (double)p, y);
		}
		last = y;
	}
	cairo_line_to(c->cr, b->x + b->width, last);
	cairo_line_to(c->cr, b->x + b->width, b->y + b->height);
	cairo_close_path(c->cr);
}

/* Whole heights, the highest first: each covers the next. */
static void draw_categories(struct canvas *c, const struct curve *v)
{
	const struct theme *t = c->theme;
	for (int k = HELD_COUNT - 1; k >= 0; k--) {
		enum category of = held_category((enum held)k);
		if (!ever(v->timeline, v->index, (enum held)k))
			continue;
		make_path(c, v, k);
		draw_patterned_path(c, v->plot, t->category[of], category_pattern(of),
		                    colour_mix(t->category[of], ink_on(t->category[of]), 0.4));
		draw_colour(c, t->outline);
		cairo_set_line_width(c->cr, 0.8 * t->stroke);
		draw_stroke_path(c);
	}
}

/* Bytes above the capacity are hatched, as in the bars. */
static void draw_overflow(struct canvas *c, const struct curve *v, double capacity)
{
	double y = v->plot.y + v->plot.height - v->y_unit * capacity;
	if (y <= v->plot.y)
		return;
	cairo_save(c->cr);
	cairo_rectangle(c->cr, v->plot.x, v->plot.y, v->plot.width, y - v->plot.y);
	cairo_clip(c->cr);
	make_path(c, v, HELD_COUNT - 1);
	draw_pattern_on_path(c, v->plot, PATTERN_CROSS, c->theme->warning);
	draw_colour(c, c->theme->warning);
	cairo_set_line_width(c->cr, 2.2 * c->theme->stroke);
	draw_stroke_path(c);
	cairo_restore(c->cr);
}

/* Bytes yet to come are pale, with only their outline. */
static void draw_future(struct canvas *c, const struct curve *v, double x)
{
	const struct theme *t = c->theme;
	const struct box *b = &v->plot;
	double right = b->x + b->width;
	cairo_set_source_rgba(c->cr, (t->ground >> 16 & 255) / 255.0, (t->ground >> 8 & 255) / 255.0,
	                      (t->ground & 255) / 255.0, 0.78);
	cairo_rectangle(c->cr, x, b->y - 2, right - x + 1, b->height + 1);
	draw_fill_path(c);
	cairo_save(c->cr);
	cairo_rectangle(c->cr, x, b->y - 2, right - x, b->height + 4);
	cairo_clip(c->cr);
	make_path(c, v, HELD_COUNT - 1);
	draw_colour(c, t->soft);
	cairo_set_line_width(c->cr, 1.2 * t->stroke);
	draw_stroke_path(c);
	cairo_restore(c->cr);
}

void draw_over_time(struct canvas *c, const struct view *v, int index, struct box b)
{
	const struct theme *t = c->theme;
	const struct timeline *s = v->state->timeline;
	int64_t peak = s->roles[s->ranks[index].role].peak[SPACE_DEVICE];
	struct memory_scale scale = memory_scale_for(v->peak > peak ? v->peak : peak, memory_capacity(s));
	struct box plot = {b.x + 62, b.y + 24, b.width - 66, fmax(1, b.height - 44)};
	int *issued = issued_at(s, index);
	char title[96], ranks[64];
	double x_unit = plot.width / (double)(s->instant_count ? s->instant_count : 1);
	struct curve curve = {.timeline = s,
	                      .index = index,
	                      .issued = issued,
	                      .plot = plot,
	                      .x_unit = x_unit,
	                      .y_unit = plot.height / scale.bytes,
	                      .column = x_unit < c->pixel ? c->pixel / x_unit : 1};
	double x = plot.x + x_unit * (double)v->state->position;
	snprintf(title, sizeof title, "Memory over the step, %s", ranks_word(ranks, s, index, index + 1));
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width, "%s", title);
	memory_axis(c, plot, &scale);
	draw_categories(c, &curve);
	if (scale.line && (double)peak > scale.capacity)
		draw_overflow(c, &curve, scale.capacity);
	if (is_veiled(v))
		draw_veil(c, (struct box){x, plot.y, plot.x + plot.width - x + 1, plot.height});
	else
		draw_future(c, &curve, x);
	memory_capacity_line(c, plot, &scale, peak, text_length(c, 14, WEIGHT_BOLD, title) - 50);
	draw_line(c, x, plot.y - 4, x, plot.y + plot.height + 4, t->ink, 2);
	draw_text(c, plot.x, plot.y + plot.height + 16, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, plot.width,
	          "steps of the cursor, in order →");
	free(issued);
}
