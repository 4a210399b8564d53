/* The selected operation among the lanes: what it waits for, and what waits for it. */
#include <math.h>

#include "viz/scene/lane_spans.h"

/* The places at which the lines begin and end. */
struct waits {
	struct canvas *c;
	const struct lane_area *l;
	const struct role *role;
	const int64_t *begin, *end; /* by operation of the role */
	int64_t rank;
};

static void draw_bow(const struct waits *w, double x0, double y0, double x1, double y1, colour ink, double width)
{
	cairo_t *cr = w->c->cr;
	double bend = fmax(24, fabs(x1 - x0) * 0.4);
	draw_colour(w->c, ink);
	cairo_set_line_width(cr, width * w->c->theme->stroke);
	cairo_move_to(cr, x0, y0);
	cairo_curve_to(cr, x0 + bend, y0, x1 - bend, y1, x1 - 2, y1);
	draw_stroke_path(w->c);
	draw_arrow_head(w->c, x1 - 12, y1, x1, y1, 10, ink);
}

static double y_of(const struct waits *w, int op)
{
	return lane_area_y(w->l, w->rank, w->role->ops[op].queue);
}

static void draw_before(const struct waits *w, int op, double x, double y)
{
	const struct op *one = &w->role->ops[op];
	for (int i = 0; i < one->after_count; i++) {
		int other = one->after[i];
		double y0 = y_of(w, other);
		if (y0 >= 0)
			draw_bow(w, lane_area_x(w->l, w->end[other]), y0, x, y, w->c->theme->ink, 2);
	}
}

static void draw_behind(const struct waits *w, int op, double x, double y)
{
	for (int k = op + 1; k < w->role->step.end; k++) {
		double y1 = op_waits_for(&w->role->ops[k], op) && w->begin[k] >= 0 ? y_of(w, k) : -1;
		if (y1 >= 0)
			draw_bow(w, x, y, lane_area_x(w->l, w->begin[k]), y1, w->c->theme->accent, 1.6);
	}
}

void lane_waits_draw(struct canvas *c, const struct view *v, const struct lane_area *l)
{
	const struct timeline *s = l->lanes->timeline;
	int index = s ? timeline_index_of(s, v->selected_rank) : -1, op = v->selected_op;
	if (index < 0 || op < 0)
		return;
	const struct role *role = timeline_role_of(s, index);
	if (op < role->step.begin || op >= role->step.end)
		return;
	struct waits w = {.c = c, .l = l, .role = role, .rank = v->selected_rank};
	w.begin = s->ranks[index].begin - role->step.begin;
	w.end = s->ranks[index].end - role->step.begin;
	double y = y_of(&w, op), x0 = lane_area_x(l, w.begin[op]), x1 = lane_area_x(l, w.end[op]);
	if (y < 0 || w.begin[op] < 0)
		return;
	const struct lane *lane = &l->lanes->lanes[lane_area_of(l, v->selected_rank, role->ops[op].queue)];
	struct lane_piece piece;
	if (lane_piece_at(lane, lane_area_scale(l), w.begin[op], &piece) && piece.fold) {
		x0 = lane_area_x(l, piece.begin);
		x1 = lane_area_x(l, piece.end);
	}
	cairo_save(c->cr);
	cairo_rectangle(c->cr, l->plot.x - 4, l->box.y, l->plot.width + 8, l->box.height);
	cairo_clip(c->cr);
	draw_frame(c, (struct box){x0, y - l->row / 2, x1 - x0, l->row}, c->theme->ink, 2.6);
	draw_behind(&w, op, x1, y);
	draw_before(&w, op, x0, y);
	cairo_restore(c->cr);
}
