/* The spans of the timeline's lanes: bars, what stands in them, and what they wait for before they move data. */
#include "viz/scene/lane_spans.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"

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

static void add_bar(struct bar_row *row, struct bar bar)
{
	row->bars = array_reserve(row->bars, row->count, &row->capacity, sizeof *row->bars);
	row->bars[row->count++] = bar;
}

static void find_bars(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                      struct box place, int depth, struct bar_row *row)
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
			add_bar(row,
			        (struct bar){.b = {x0, place.y, came - x0, place.height}, .span = s, .waits = true});
			x0 = came;
		}
		struct bar bar = {.b = {x0, place.y, x1 - x0, place.height}, .span = s};
		if (s->op >= 0 && timeline)
			bar.op = &timeline_role_of(timeline, index)->ops[s->op];
		enum op_state state = st && bar.op ? state_of_op(st, index, s->op) : OP_DONE;
		bar.fill = bar.op ? op_colour(t, bar.op) : foreign_colour(s);
		bar.fill = state == OP_WAITS ? colour_mix(bar.fill, t->panel, 0.55) : bar.fill;
		bar.live = state == OP_RUNS;
		bar.framed = bar.b.width > 2.5 * c->pixel && place.height > (bar.live ? 4 : 6);
		add_bar(row, bar);
	}
}

/* As bubbles are. */
static void draw_waiting(struct canvas *c, const struct lane_area *l, struct bar_row *row, double y, double height)
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

static void draw_bars(struct canvas *c, const struct bar_row *row)
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

void lane_spans_draw(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                     double y, double height, int depth, struct bar_row *row)
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
