#include "viz/scene/lane_foreign.h"

#include <math.h>

enum { COMPUTES = 0x56B4E9, COMMUNICATES = 0xCC79A7 };

/* A GPU's work has the colours of the plans' timelines; the host's calls have others, chosen by their names. */
colour foreign_colour(const struct lane_span *s)
{
	static const colour some[] = {0xE8C468, 0x8FCBB5, 0xDDB3CC, 0xF0E442, 0xC9C2E0, 0xB5C99A, 0xD9C7A8, 0xB8B8B8};
	unsigned h = 0;
	if (s->kind != GPU_NONE)
		return s->kind == GPU_COMPUTE ? COMPUTES : COMMUNICATES;
	for (const char *p = s->name ? s->name : ""; *p; p++)
		h = h * 31 + (unsigned char)*p;
	return some[h % 8];
}

/* ---- the heading of a process ---- */

/* A pixel's column of the strip: how long the GPU is in which state. at: the first stretch that matters. */
static void sum_column(const struct gpu_process *g, size_t *at, int64_t begin, int64_t end, int64_t sum[GPU_STATES])
{
	for (int k = 0; k < GPU_STATES; k++)
		sum[k] = 0;
	for (; *at < g->stretch_count && g->stretches[*at].begin < end; (*at)++) {
		const struct gpu_stretch *s = &g->stretches[*at];
		int64_t from = s->begin > begin ? s->begin : begin, to = s->end < end ? s->end : end;
		sum[s->state] += to > from ? to - from : 0;
		if (s->end > end)
			return; /* it goes on in the next */
	}
}

/* Adds to the path the part of each column that belongs to a state, from `upper` to `lower` of it. Above lies
 * computing, below it what is exposed, and between them both at once. */
static void add_columns(struct canvas *c, const struct lane_area *l, const struct gpu_process *g, struct box b,
                        enum gpu_state state, double upper, double lower)
{
	int columns = (int)fmax(1, ceil(b.width / c->pixel));
	size_t at = gpu_stretch_at(g, l->from);
	int64_t sum[GPU_STATES], begin = l->from;
	cairo_new_path(c->cr);
	for (int i = 0; i < columns; i++) {
		double x0 = b.x + b.width * i / columns, x1 = b.x + b.width * (i + 1) / columns;
		int64_t end = lane_area_time(l, x1);
		sum_column(g, &at, begin, end, sum);
		double unit = b.height / (double)(end > begin ? end - begin : 1);
		double above = state == GPU_COMPUTES ? 0 : (double)sum[GPU_COMPUTES];
		above += state == GPU_EXPOSED ? (double)sum[GPU_BOTH] : 0;
		if (sum[state])
			cairo_rectangle(c->cr, x0, b.y + unit * (above + upper * (double)sum[state]), x1 - x0,
			                unit * (lower - upper) * (double)sum[state]);
		begin = end;
	}
}

static void hatch(struct canvas *c, struct box b)
{
	const struct theme *t = c->theme;
	draw_patterned_path(c, b, colour_mix(t->panel, t->warning, 0.25), PATTERN_RISING, t->warning);
	cairo_new_path(c->cr);
}

static void draw_use(struct canvas *c, const struct lane_area *l, const struct gpu_process *g, struct box b)
{
	static const struct {
		enum gpu_state state;
		double upper, lower;
		colour fill;
	} parts[] = {{GPU_COMPUTES, 0, 1, COMPUTES}, {GPU_BOTH, 0, 0.5, COMPUTES}, {GPU_BOTH, 0.5, 1, COMMUNICATES}};
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_NONE); /* columns meet without a seam */
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		add_columns(c, l, g, b, parts[i].state, parts[i].upper, parts[i].lower);
		draw_colour(c, parts[i].fill);
		draw_fill_path(c);
	}
	add_columns(c, l, g, b, GPU_EXPOSED, 0, 1);
	hatch(c, b);
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_DEFAULT);
}

static void draw_process(struct canvas *c, const struct lane_area *l, const struct lane *lane, double y)
{
	const struct theme *t = c->theme;
	const struct gpu_process *g = gpu_of_process(&l->lanes->gpus, lane->process_number);
	double size = fmin(13, l->row * 0.62 + 2), strip = fmin(24, l->row - 4);
	draw_fill(c, (struct box){l->box.x + 1, y, l->box.width - 2, l->row}, colour_mix(t->panel, t->line, 0.35));
	draw_line(c, l->box.x, y, l->plot.x + l->plot.width, y, t->line, 1);
	draw_text(c, l->box.x + 8, y + l->row / 2 + size * 0.36, size, WEIGHT_BOLD, t->ink, ALIGN_LEFT, l->names - 16,
	          "%s", lane->process);
	if (g)
		draw_use(c, l, g, (struct box){l->plot.x, y + (l->row - strip) / 2, l->plot.width, strip});
}

/* ---- counters ---- */

static double counter_y(const struct foreign_counter *counter, double value, double y, double height)
{
	double low = fmin(0, counter->least), high = fmax(0, counter->most);
	return high > low ? y + height * (1 - (value / (high - low) - low / (high - low))) : y + height;
}

/* A step curve; of the points within a pixel the last is drawn. */
static void draw_curve(struct canvas *c, const struct lane_area *l, const struct foreign_counter *counter, double y,
                       double height)
{
	double right = l->plot.x + l->plot.width, at = counter_y(counter, 0, y, height), drawn = -1e9;
	bool begun = false;
	cairo_new_path(c->cr);
	for (size_t i = 0; i < counter->point_count && counter->points[i].time <= l->to; i++) {
		double x = fmax(lane_area_x(l, counter->points[i].time), l->plot.x);
		bool last = i + 1 == counter->point_count || counter->points[i + 1].time > l->to;
		if (!last && lane_area_x(l, counter->points[i + 1].time) <= fmax(l->plot.x, drawn + c->pixel))
			continue;
		if (begun)
			cairo_line_to(c->cr, x, at);
		at = counter_y(counter, counter->points[i].value, y, height);
		if (begun)
			cairo_line_to(c->cr, x, at);
		else
			cairo_move_to(c->cr, x, at);
		begun = true;
		drawn = x;
	}
	if (begun)
		cairo_line_to(c->cr, right, at);
	draw_colour(c, c->theme->ink);
	cairo_set_line_width(c->cr, 1.2 * c->theme->stroke);
	draw_stroke_path(c);
}

/* Says below the peak what the program was doing, if there is room. */
static void draw_cause(struct canvas *c, const struct lane_area *l, const struct foreign_counter *counter, double x,
                       double bottom)
{
	enum { SIZE = 10 };
	char cause[128];
	counter_peak_cause(l->lanes, counter, cause, sizeof cause);
	double length = fmin(text_length(c, SIZE, WEIGHT_PLAIN, cause), l->plot.width / 2);
	double left = fmax(l->plot.x, fmin(x - 3, l->plot.x + l->plot.width - length - 4));
	if (!*cause)
		return;
	draw_fill(c, (struct box){left - 2, bottom - SIZE - 1, length + 4, SIZE + 3}, c->theme->panel);
	draw_text(c, left, bottom - 1, SIZE, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, length + 1, "%s", cause);
}

/* A triangle above the curve, where it is at its most. */
static void draw_peak(struct canvas *c, const struct lane_area *l, const struct foreign_counter *counter, double y,
                      double height)
{
	int64_t time = counter_peak(counter);
	double x = lane_area_x(l, time), top = counter_y(counter, counter->most, y, height);
	if (time < l->from || time > l->to || counter->most <= counter->least || height < 8)
		return;
	cairo_move_to(c->cr, x, top + 1);
	cairo_line_to(c->cr, x - 4, top - 5);
	cairo_line_to(c->cr, x + 4, top - 5);
	cairo_close_path(c->cr);
	draw_colour(c, c->theme->warning);
	draw_fill_path(c);
	if (height >= 20)
		draw_cause(c, l, counter, x, y + height);
}

static void draw_counter(struct canvas *c, const struct lane_area *l, const struct lane *lane, double y)
{
	const struct theme *t = c->theme;
	double size = fmin(12, l->row * 0.62 + 2), inset = fmin(3, l->row * 0.15);
	char most[COUNTER_WORD];
	draw_text(c, l->plot.x - 8, y + l->row / 2 + size * 0.36, size, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT,
	          l->names - 18, "%s, up to %s", lane->name, counter_word(most, lane->counter, lane->counter->most));
	draw_curve(c, l, lane->counter, y + inset, l->row - 2 * inset);
	draw_peak(c, l, lane->counter, y + inset, l->row - 2 * inset);
}

void foreign_lane_draw(struct canvas *c, const struct lane_area *l, const struct lane *lane, double y)
{
	if (lane->kind == LANE_PROCESS)
		draw_process(c, l, lane, y);
	else
		draw_counter(c, l, lane, y);
}

/* ---- the selection ---- */

/* The middle of a span's row; at the edge of the plot where its lane is not in sight. */
static double row_y(const struct lane_area *l, int lane, int depth)
{
	double y = l->plot.y, bottom = l->plot.y + l->plot.height;
	if (lane < l->first)
		return y;
	for (int i = l->first; i < lane && y < bottom; i++)
		y += l->row * l->lanes->lanes[i].depth;
	return fmin(bottom, y + l->row * (depth + 0.5));
}

static void draw_flow(struct canvas *c, const struct lane_area *l, const struct foreign_flow *flow)
{
	const struct span_place *from = &l->lanes->places[flow->from], *to = &l->lanes->places[flow->to];
	const struct lane_span *a = &l->lanes->lanes[from->lane].spans[from->span];
	const struct lane_span *b = &l->lanes->lanes[to->lane].spans[to->span];
	double x0 = lane_area_x(l, a->begin + (a->end - a->begin) / 2), x1 = lane_area_x(l, b->begin);
	double y0 = row_y(l, from->lane, a->depth), y1 = row_y(l, to->lane, b->depth);
	double bend = fmax(24, fabs(x1 - x0) * 0.4);
	draw_colour(c, c->theme->ink);
	cairo_set_line_width(c->cr, 1.6 * c->theme->stroke);
	cairo_move_to(c->cr, x0, y0);
	cairo_curve_to(c->cr, x0 + bend, y0, x1 - bend, y1, x1 - 2, y1);
	draw_stroke_path(c);
	draw_arrow_head(c, x1 - 12, y1, x1, y1, 9, c->theme->ink);
}

static void draw_frame_of(struct canvas *c, const struct lane_area *l, int lane, const struct lane_span *s)
{
	double x0 = lane_area_x(l, s->begin), x1 = lane_area_x(l, s->end), y = row_y(l, lane, s->depth);
	if (lane >= l->first && lane <= lane_area_last(l))
		draw_frame(c, (struct box){x0 - 1, y - l->row / 2, fmax(x1 - x0, 2) + 2, l->row}, c->theme->ink, 2.6);
}

/* ---- the legend ---- */

static void draw_legend(struct canvas *c, const struct lane_area *l)
{
	static const char *const words[] = {"computes", "communicates", "exposed"};
	static const colour fills[] = {COMPUTES, COMMUNICATES};
	double x = l->box.x + 60, length = 0;
	for (int i = 0; i < 3; i++)
		length += text_length(c, 10, WEIGHT_PLAIN, words[i]) + 22;
	if (!l->lanes->gpus.count || length > l->plot.x - x)
		return;
	for (int i = 0; i < 3; i++) {
		struct box b = {x, l->box.y + 8, 11, 11};
		if (i < 2) {
			draw_fill(c, b, fills[i]);
		} else {
			cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
			hatch(c, b);
		}
		draw_text(c, x + 15, l->box.y + 17, 10, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, 0, "%s", words[i]);
		x += text_length(c, 10, WEIGHT_PLAIN, words[i]) + 22;
	}
}

void foreign_draw_selected(struct canvas *c, const struct view *v, const struct lane_area *l)
{
	const struct lanes *all = l->lanes;
	draw_legend(c, l);
	if (v->selected_rank < 0 || v->selected_op < 0)
		return;
	const struct lane_span *s = &all->lanes[v->selected_rank].spans[v->selected_op];
	cairo_save(c->cr);
	cairo_rectangle(c->cr, l->plot.x, l->plot.y, l->plot.width, l->plot.height);
	cairo_clip(c->cr);
	draw_frame_of(c, l, (int)v->selected_rank, s);
	for (size_t i = 0; i < all->file->flow_count; i++)
		if (all->file->flows[i].from == s->number || all->file->flows[i].to == s->number)
			draw_flow(c, l, &all->file->flows[i]);
	cairo_restore(c->cr);
}
