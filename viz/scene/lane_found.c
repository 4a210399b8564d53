/* Marks what a search has found among the lanes. */
#include <math.h>

#include "viz/scene/lane_spans.h"
#include "viz/scene/search.h"

/* A pixel at a time, so that thousands of hits are a few boxes. */
void lane_found_draw(struct canvas *c, const struct search *search, const struct lane_area *l, const struct lane *lane,
                     double y, double height, int depth)
{
	double drawn = -1e9, right = l->plot.x + l->plot.width;
	cairo_new_path(c->cr);
	for (size_t i = lane_find(lane, depth, l->from); i < lane->row[depth + 1] && lane->spans[i].begin <= l->to;
	     i++) {
		const struct lane_span *s = &lane->spans[i];
		double x0 = fmax(lane_area_x(l, s->begin), l->plot.x), x1 = fmin(lane_area_x(l, s->end), right);
		if (x1 <= drawn || !search_has(search, l->lanes, lane, s))
			continue;
		x0 = fmax(x0, drawn);
		x1 = fmax(x1, x0 + 2);
		cairo_rectangle(c->cr, x0, y + 1, x1 - x0, fmax(1, height - 2));
		drawn = x1;
	}
	draw_colour(c, c->theme->warning);
	cairo_set_line_width(c->cr, 2.2 * c->theme->stroke);
	draw_stroke_path(c);
	cairo_new_path(c->cr);
}
