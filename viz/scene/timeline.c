/* The timeline: a lane for each queue of each rank; where computing stands still, and why. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz/scene/lane_area.h"
#include "viz/scene/scene_parts.h"

static void draw_axis(struct canvas *c, const struct lane_area *l)
{
	const struct theme *t = c->theme;
	double range = (double)(l->to - l->from), tick = tick_of(range, fmax(2, l->plot.width / 110));
	for (int64_t i = (int64_t)ceil((double)l->from / tick); (double)i * tick <= (double)l->to; i++) {
		double at = (double)i * tick, x = lane_area_x(l, (int64_t)at);
		char word[WORD];
		time_word(word, (int64_t)at);
		draw_line(c, x, l->plot.y - 4, x, l->plot.y + l->plot.height, t->line, 0.5);
		short_word(word);
		if (x + 3 + text_length(c, 11, WEIGHT_PLAIN, word) <= l->box.x + l->box.width - 4)
			draw_text(c, x + 3, l->plot.y - 7, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0, "%s", word);
	}
}

/* A gap's box, from left to right; nothing of those that are narrower than a pixel. */
static bool gap_box(const struct canvas *c, const struct lane_area *l, const struct lane_gap *g, double y,
                    double height, struct box *out)
{
	double x0 = fmax(lane_area_x(l, g->begin), l->plot.x);
	double x1 = fmin(lane_area_x(l, g->end), l->plot.x + l->plot.width);
	double inset = fmin(1, height * 0.1);
	*out = (struct box){x0, y + inset, x1 - x0, height - 2 * inset};
	return x1 - x0 >= c->pixel;
}

/* "bubble: waits for rank 0", or what of it there is room for. */
static void draw_gap_word(struct canvas *c, const struct lane_gap *g, struct box b, colour ink)
{
	char whole[64] = "exposed", whom[48];
	const char *word = g->exposed ? "exposed" : "bubble";
	double room = b.width - 12, middle = b.y + b.height / 2, x = b.x + b.width / 2;
	if (g->waits)
		snprintf(whole, sizeof whole, "bubble: %s", wait_words(whom, sizeof whom, "waits for", g->awaits));
	if (g->waits && text_length(c, 11, WEIGHT_BOLD, whole) <= room)
		word = whole;
	double length = text_length(c, 11, WEIGHT_BOLD, word);
	if (length > room)
		return;
	draw_fill(c, (struct box){x - length / 2 - 4, middle - 7, length + 8, 14}, c->theme->panel);
	draw_text(c, x, middle + 4, 11, WEIGHT_BOLD, ink, ALIGN_CENTRE, 0, "%s", word);
}

/* Bars of one kind are drawn as one path: there can be many. */
static void draw_gaps(struct canvas *c, const struct lane_area *l, const struct lane *lane, double y, double height)
{
	const struct theme *t = c->theme;
	size_t first = lane_find_gap(lane, l->from);
	struct box all = {l->plot.x, y, l->plot.width, height}, b;
	for (int exposed = 0; exposed < 2; exposed++) {
		colour ink = exposed ? t->warning : t->soft;
		cairo_new_path(c->cr);
		for (size_t i = first; i < lane->gap_count && lane->gaps[i].begin < l->to; i++)
			if (lane->gaps[i].exposed == exposed && gap_box(c, l, &lane->gaps[i], y, height, &b))
				cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
		draw_patterned_path(c, all, colour_mix(t->panel, exposed ? t->warning : t->line, 0.25),
		                    exposed ? PATTERN_RISING : PATTERN_LEVEL, ink);
		cairo_new_path(c->cr);
		for (size_t i = first; height >= 15 && i < lane->gap_count && lane->gaps[i].begin < l->to; i++)
			if (lane->gaps[i].exposed == exposed && gap_box(c, l, &lane->gaps[i], y, height, &b))
				draw_gap_word(c, &lane->gaps[i], b, ink);
	}
}

static colour foreign_colour(const char *name)
{
	static const colour some[] = {0x56B4E9, 0xE69F00, 0x009E73, 0xCC79A7, 0xF0E442, 0x7FB3D5, 0xD55E00, 0xA9A9A9};
	unsigned h = 0;
	for (const char *p = name; *p; p++)
		h = h * 31 + (unsigned char)*p;
	return some[h % 8];
}

static void label_of(const struct lane_area *l, const struct lane *lane, const struct lane_span *s, char *out,
                     size_t size)
{
	if (s->name || !l->lanes->timeline)
		snprintf(out, size, "%s", s->name ? s->name : "");
	else
		op_describe(l->lanes->timeline->plan, &plan_role_of(l->lanes->timeline->plan, lane->rank)->ops[s->op],
		            out, (int)size);
}

/* Rounds of a collective inside its span: where the messages that this rank sends arrive. */
static void draw_messages(struct canvas *c, const struct lane_area *l, const struct lane *lane,
                          const struct lane_span *s, struct box b, colour fill)
{
	const struct timeline *timeline = l->lanes->timeline;
	int number = timeline_collective_of(timeline, timeline_index_of(timeline, lane->rank), s->op);
	double last = b.x;
	if (number < 0 || !timeline->collectives[number].shown || b.width < 40)
		return;
	size_t from = timeline->instants[timeline_position_at(timeline, s->begin)
	                                         ? timeline_position_at(timeline, s->begin) - 1
	                                         : 0]
	                      .begin;
	for (size_t i = from; i < timeline->event_count && timeline->events[i].time <= s->end; i++) {
		const struct event *e = &timeline->events[i];
		if (e->kind != EVENT_MESSAGE || e->collective != number || e->rank != lane->rank)
			continue;
		double x = lane_area_x(l, e->time);
		if (x > l->plot.x && last < l->plot.x + l->plot.width && x - last > 3) {
			draw_line(c, x, b.y + b.height * 0.55, x, b.y + b.height, ink_on(fill), 0.8);
			if (x - last > 22)
				draw_text(c, (fmax(last, l->plot.x) + fmin(x, l->plot.x + l->plot.width)) / 2,
				          b.y + b.height - 4, 10, WEIGHT_PLAIN, ink_on(fill), ALIGN_CENTRE,
				          x - last - 2, x - last > 64 ? "→ rank %" PRId64 : "→ %" PRId64, e->to);
		}
		last = x;
	}
}

/* Spans of a row in sight, which are drawn together: fills of a colour are one path, and so are frames. */
struct row {
	struct bar {
		struct box b;
		const struct lane_span *span;
		const struct op *op; /* NULL: another program's */
		colour fill;
		bool waits; /* the part of its span in which it waits for another rank */
		bool live, framed, filled;
	} * bars;
	size_t count, capacity;
};

static void add_bar(struct row *row, struct bar bar)
{
	row->bars = array_reserve(row->bars, row->count, &row->capacity, sizeof *row->bars);
	row->bars[row->count++] = bar;
}

static void find_bars(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                      struct box place, int depth, struct row *row)
{
	const struct theme *t = c->theme;
	const struct timeline *timeline = l->lanes->timeline;
	const struct state *st = l->current ? v->state : NULL;
	double drawn = -1e9;
	int index = timeline && lane->rank >= 0 ? timeline_index_of(timeline, lane->rank) : -1;
	row->count = 0;
	for (size_t i = lane_find(lane, depth, l->from); i < lane->row[depth + 1] && lane->spans[i].begin <= l->to;
	     i++) {
		const struct lane_span *s = &lane->spans[i];
		double x0 = lane_area_x(l, s->begin), x1 = lane_area_x(l, s->end);
		if (x1 <= drawn + c->pixel * 0.5) { /* nothing new to see before the next pixel */
			size_t next = lane_find(lane, depth, lane_area_time(l, drawn + c->pixel * 0.5));
			i = next > i + 1 ? next - 1 : i;
			continue;
		}
		x0 = fmax(fmax(x0, l->plot.x), drawn);
		x1 = fmin(fmax(x1, x0 + c->pixel), l->plot.x + l->plot.width);
		if (x1 <= x0)
			continue;
		drawn = x1;
		double came = fmin(lane_area_x(l, s->came), x1 - fmin(c->pixel, x1 - x0));
		if (came - x0 >= c->pixel) {
			add_bar(row, (struct bar){.b = {x0, place.y, came - x0, place.height}, .span = s, .waits = true});
			x0 = came;
		}
		struct bar bar = {.b = {x0, place.y, x1 - x0, place.height}, .span = s};
		if (s->op >= 0 && timeline)
			bar.op = &timeline_role_of(timeline, index)->ops[s->op];
		enum op_state state = st && bar.op ? state_of_op(st, index, s->op) : OP_DONE;
		bar.fill = bar.op ? op_colour(t, bar.op) : foreign_colour(s->name ? s->name : "");
		bar.fill = state == OP_WAITS ? colour_mix(bar.fill, t->panel, 0.55) : bar.fill;
		bar.live = state == OP_RUNS;
		bar.framed = bar.b.width > 2.5 * c->pixel && place.height > (bar.live ? 4 : 6);
		add_bar(row, bar);
	}
}

/* As bubbles are. */
static void draw_waiting(struct canvas *c, const struct lane_area *l, struct row *row, double y, double height)
{
	const struct theme *t = c->theme;
	cairo_new_path(c->cr);
	for (size_t i = 0; i < row->count; i++) {
		struct bar *bar = &row->bars[i];
		if (bar->waits)
			cairo_rectangle(c->cr, bar->b.x, bar->b.y, bar->b.width, bar->b.height);
		bar->filled |= bar->waits;
	}
	draw_patterned_path(c, (struct box){l->plot.x, y, l->plot.width, height}, colour_mix(t->panel, t->line, 0.25),
	                    PATTERN_FALLING, t->soft);
	cairo_new_path(c->cr);
}

static void draw_bars(struct canvas *c, const struct row *row)
{
	const struct theme *t = c->theme;
	for (size_t i = 0; i < row->count; i++) {
		if (row->bars[i].filled)
			continue;
		for (size_t k = i; k < row->count; k++) {
			struct bar *bar = &row->bars[k];
			if (bar->filled || bar->fill != row->bars[i].fill)
				continue;
			bar->filled = true;
			cairo_rectangle(c->cr, bar->b.x, bar->b.y, bar->b.width, bar->b.height);
		}
		draw_colour(c, row->bars[i].fill);
		cairo_fill(c->cr);
	}
	for (int live = 0; live < 2; live++) {
		for (size_t i = 0; i < row->count; i++) {
			const struct bar *bar = &row->bars[i];
			if (bar->framed && bar->live == live)
				cairo_rectangle(c->cr, bar->b.x, bar->b.y, bar->b.width, bar->b.height);
		}
		draw_colour(c, live ? t->accent : t->outline);
		cairo_set_line_width(c->cr, (live ? 2.6 : 0.6) * t->stroke);
		cairo_stroke(c->cr);
	}
}

/* The part of a kernel's name that says most, as long as there is room for: without the pass, which the colour says,
 * without the micro-batch, without units from the left. */
static const char *shorter_label(struct canvas *c, double size, double room, char *text)
{
	char *label = text, *part;
	if (text_length(c, size, WEIGHT_PLAIN, label) <= room || !(part = strchr(label, ' ')))
		return label;
	label = part + 1;
	if (text_length(c, size, WEIGHT_PLAIN, label) > room && (part = strchr(label, ',')))
		*part = 0;
	while (text_length(c, size, WEIGHT_PLAIN, label) > room && (part = strchr(label, '.')))
		label = part + 1;
	return label;
}

static void draw_label(struct canvas *c, const struct lane_area *l, const struct lane *lane, const struct bar *bar,
                       double size, bool messages)
{
	const struct box *b = &bar->b;
	char text[160];
	label_of(l, lane, bar->span, text, sizeof text);
	const char *label = bar->op && bar->op->kernel >= 0 ? shorter_label(c, size, b->width - 7, text) : text;
	if (text_length(c, size, WEIGHT_PLAIN, label) > b->width - 7 && b->width < 48)
		return;
	draw_text(c, b->x + 4, b->y + (messages ? b->height * 0.36 : b->height / 2) + size * 0.36, size, WEIGHT_PLAIN,
	          ink_on(bar->fill), ALIGN_LEFT, b->width - 7, "%s", label);
}

/* "waits for rank 0" */
static void draw_wait_word(struct canvas *c, const struct bar *bar)
{
	char word[48];
	const struct box *b = &bar->b;
	wait_words(word, sizeof word, "waits for", bar->span->awaits);
	double length = text_length(c, 11, WEIGHT_PLAIN, word), middle = b->y + b->height / 2;
	if (b->height < 14 || length > b->width - 12)
		return;
	draw_fill(c, (struct box){b->x + b->width / 2 - length / 2 - 4, middle - 7, length + 8, 14}, c->theme->panel);
	draw_text(c, b->x + b->width / 2, middle + 4, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_CENTRE, 0, "%s", word);
}

/* Room for a name and for messages under it. */
enum { TWO_LINES = 31 };

static void draw_spans(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                       double y, double height, int depth, struct row *row)
{
	double inset = fmin(1.5, height * 0.12);
	find_bars(c, v, l, lane, (struct box){0, y + inset, 0, height - 2 * inset}, depth, row);
	if (height < 8) /* rows of few pixels: whole ones are as good, and several times as fast */
		cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_NONE);
	draw_waiting(c, l, row, y, height);
	draw_bars(c, row);
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_DEFAULT);
	for (size_t i = 0; i < row->count; i++) {
		const struct bar *bar = &row->bars[i];
		if (bar->waits) {
			draw_wait_word(c, bar);
			continue;
		}
		bool messages = bar->op && op_class(bar->op->kind) == OP_CLASS_C && bar->b.height >= TWO_LINES;
		if (bar->b.width > 30 && height >= 14)
			draw_label(c, l, lane, bar, fmin(12, height * 0.62), messages);
		if (messages)
			draw_messages(c, l, lane, bar->span, bar->b, bar->fill);
	}
}

/* Frames where the other trace has the same operations. */
static void draw_difference(struct canvas *c, const struct lane_area *l, const struct lane *lane,
                            const struct lanes *other, double y, double height)
{
	const struct theme *t = c->theme;
	for (int k = 0; k < other->lane_count; k++) {
		const struct lane *o = &other->lanes[k];
		if (o->rank != lane->rank || o->queue != lane->queue)
			continue;
		cairo_save(c->cr);
		cairo_set_dash(c->cr, (const double[]){3, 2}, 2, 0);
		for (size_t i = lane_find(o, 0, l->from); i < o->span_count && o->spans[i].begin <= l->to; i++) {
			double x0 = fmax(lane_area_x(l, o->spans[i].begin), l->plot.x);
			double x1 = fmin(lane_area_x(l, o->spans[i].end), l->plot.x + l->plot.width);
			if (x1 - x0 > 4)
				draw_frame(c, (struct box){x0, y + 0.5, x1 - x0, height - 1}, t->warning, 1.3);
		}
		cairo_restore(c->cr);
	}
}

/* From the end of every operation that the selected one waits for to its beginning. */
static void draw_waits(struct canvas *c, const struct view *v, const struct lane_area *l)
{
	const struct theme *t = c->theme;
	const struct timeline *s = l->lanes->timeline;
	int index = s ? timeline_index_of(s, v->selected_rank) : -1;
	if (index < 0 || v->selected_op < 0)
		return;
	const struct role *role = timeline_role_of(s, index);
	if (v->selected_op < role->step.begin || v->selected_op >= role->step.end)
		return;
	const struct op *op = &role->ops[v->selected_op];
	const int64_t *begin = s->ranks[index].begin - role->step.begin, *end = s->ranks[index].end - role->step.begin;
	double y1 = lane_area_y(l, v->selected_rank, op->queue), x1 = lane_area_x(l, begin[v->selected_op]);
	if (y1 < 0)
		return;
	draw_frame(c, (struct box){x1, y1 - l->row / 2, lane_area_x(l, end[v->selected_op]) - x1, l->row}, t->ink, 2.6);
	for (int i = 0; i < op->after_count; i++) {
		double y0 = lane_area_y(l, v->selected_rank, role->ops[op->after[i]].queue),
		       x0 = lane_area_x(l, end[op->after[i]]);
		if (y0 < 0)
			continue;
		double bend = fmax(24, fabs(x1 - x0) * 0.4);
		draw_colour(c, t->ink);
		cairo_set_line_width(c->cr, 2 * t->stroke);
		cairo_move_to(c->cr, x0, y0);
		cairo_curve_to(c->cr, x0 + bend, y0, x1 - bend, y1, x1 - 2, y1);
		cairo_stroke(c->cr);
		draw_arrow_head(c, x1 - 12, y1, x1, y1, 10, t->ink);
	}
}

static void draw_lanes(struct canvas *c, const struct view *v, const struct lane_area *l)
{
	const struct theme *t = c->theme;
	double y = l->plot.y, named = -100;
	char last[96] = "";
	struct row row = {0};
	cairo_save(c->cr);
	cairo_rectangle(c->cr, l->box.x, l->box.y, l->box.width, l->plot.y + l->plot.height - l->box.y);
	cairo_clip(c->cr);
	for (int i = l->first, end = lane_area_last(l) + 1; i < end; i++) {
		const struct lane *lane = &l->lanes->lanes[i];
		bool head = strcmp(last, lane->process) != 0;
		snprintf(last, sizeof last, "%s", lane->process);
		double size = fmin(12, l->row * 0.62 + 2);
		if (head && i > l->first && l->row > 5)
			draw_line(c, l->box.x, y, l->plot.x + l->plot.width, y, t->line, 1);
		if (l->row >= 9)
			draw_text(c, l->plot.x - 8, y + l->row / 2 + size * 0.36, size, WEIGHT_PLAIN, t->soft,
			          ALIGN_RIGHT, head ? l->names * 0.52 : l->names - 14, "%s", lane->name);
		if (head && y - named >= 12) {
			named = y;
			draw_text(c, l->box.x + 2, y + l->row / 2 + size * 0.36, fmax(size, 9), WEIGHT_BOLD, t->ink,
			          ALIGN_LEFT, l->row >= 9 ? l->names * 0.44 : l->names - 6, "%s", lane->process);
		}
		draw_gaps(c, l, lane, y, l->row);
		for (int d = 0; d < lane->depth; d++, y += l->row)
			draw_spans(c, v, l, lane, y, l->row, d, &row);
		if (l->other)
			draw_difference(c, l, lane, l->other, y - l->row, l->row);
	}
	free(row.bars);
	cairo_restore(c->cr);
}

static int64_t number_of(const struct lanes *all, int lane)
{
	return all->timeline ? all->lanes[lane].rank : lane + 1;
}

/* Which lanes are drawn, where it is not all of them. */
static void draw_extent(struct canvas *c, const struct lane_area *l)
{
	const struct lanes *all = l->lanes;
	int last = lane_area_last(l);
	char text[160];
	if (!l->scrolls)
		return;
	const char *what = all->timeline ? "ranks" : "lanes";
	snprintf(text, sizeof text, "%s %" PRId64 "–%" PRId64 " of %d are drawn", what, number_of(all, l->first),
	         number_of(all, last), all->timeline ? all->timeline->rank_count : all->lane_count);
	size_t at = strlen(text);
	if (l->first > 0)
		at += (size_t)snprintf(text + at, sizeof text - at, " · %s %" PRId64 "–%" PRId64 " above", what,
		                       number_of(all, 0), number_of(all, l->first - 1));
	if (last + 1 < all->lane_count)
		snprintf(text + at, sizeof text - at, " · %s %" PRId64 "–%" PRId64 " below", what,
		         number_of(all, last + 1), number_of(all, all->lane_count - 1));
	draw_text(c, l->plot.x, l->plot.y + l->plot.height + 13, 11, WEIGHT_BOLD, c->theme->soft, ALIGN_LEFT,
	          l->plot.width, "%s", text);
}

static void draw_one(struct canvas *c, const struct view *v, struct lane_area *l, const char *title)
{
	const struct theme *t = c->theme;
	draw_card(c, l->box, t->panel, t->line, 1);
	draw_text(c, l->box.x + 10, l->box.y + 17, 13, WEIGHT_BOLD, t->ink, ALIGN_LEFT, l->names - 6, "%s", title);
	draw_axis(c, l);
	draw_lanes(c, v, l);
	draw_extent(c, l);
	if (l->current)
		draw_waits(c, v, l);
	int64_t now = v->state ? v->state->time : v->cursor;
	if (now >= l->from && now <= l->to) {
		double x = lane_area_x(l, now);
		draw_line(c, x, l->plot.y - 6, x, l->plot.y + l->plot.height, t->ink, 2);
	}
}

static void draw_timeline(struct canvas *c, const struct view *v, struct box b, bool small)
{
	const struct theme *t = c->theme;
	struct lane_area l[2];
	if (!v->lanes || !v->lanes->lane_count) {
		draw_text(c, b.x + 20, b.y + 40, 15, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width,
		          "Nothing was recorded.");
		return;
	}
	if (lane_areas_lay(l, v, b, small) == 1) {
		draw_one(c, v, &l[0],
		         v->state && v->state->timeline->trace->measured ? "measured"
		         : v->state                                      ? "simulated"
		                                                         : "trace");
		return;
	}
	char predicted[WORD], real[WORD];
	int64_t simulated = l[0].lanes->end, measured = l[1].lanes->end;
	draw_one(c, v, &l[0], "simulated");
	draw_one(c, v, &l[1], "measured");
	double off = 100.0 * (double)(measured - simulated) / (double)(simulated ? simulated : 1);
	draw_text(c, b.x + 4, b.y + l[0].box.height + 22, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width,
	          "a step: simulated %s, measured %s (%+.1f %%); dashed frames: where the simulation has the same "
	          "operation",
	          time_word(predicted, simulated), time_word(real, measured), off);
}

const struct scene_row scene_timeline = {
        .title = "Timeline",
        .what = "queues of all ranks",
        .width = 420,
        .height = 160,
        .draw = draw_timeline,
        .hit = lane_area_hit,
        .timeline = true,
};
