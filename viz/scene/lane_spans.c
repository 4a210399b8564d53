/* The spans of the timeline's lanes: bars, what stands in them, and what they wait for before they move data. */
#include "viz/scene/lane_spans.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"

static void label_of(const struct lane_area *l, const struct lane *lane, const struct lane_span *s, char *out,
                     size_t size)
{
	char name[FOREIGN_NAME];
	if (!l->lanes->timeline)
		snprintf(out, size, "%s", foreign_name(name, &l->lanes->file->spans[s->number]));
	else if (s->name)
		snprintf(out, size, "%s", s->name);
	else
		op_describe(l->lanes->timeline->plan, &plan_role_of(l->lanes->timeline->plan, lane->rank)->ops[s->op],
		            out, (int)size);
}

/* The first word, in the user's language. Returns what stands behind it, a space before that. */
static const char *first_word(const char *text, char out[WORD])
{
	size_t first = strcspn(text, " ");
	char word[WORD];
	snprintf(word, sizeof word, "%.*s", (int)first, text);
	snprintf(out, WORD, "%s", tr(word));
	return text + first;
}

/* "all-reduce bucket.0"; where that is too long, "all-reduce". */
static const char *label_of_collective(struct canvas *c, double size, double room, char *text, size_t bytes)
{
	static const char *const keys[] = {" all:", NULL};
	char operation[WORD], rest[112];
	for (char *at = text; *at && *at != ' '; at++) /* as people write it */
		*at = *at == '_' ? '-' : *at;
	snprintf(rest, sizeof rest, "%s", first_word(text, operation));
	snprintf(text, bytes, "%s%s", operation, tr_name(rest, keys));
	if (text_length(c, size, WEIGHT_PLAIN, text) > room)
		snprintf(text, bytes, "%s", operation);
	return text;
}

/* "copy device-to-host block.3", "forward layer.0.linear" */
static void label_of_other(char *text, size_t bytes)
{
	char verb[WORD], way[WORD], rest[60];
	const char *from = first_word(text, verb);
	bool copies = !strncmp(text, "copy ", 5);
	snprintf(rest, sizeof rest, "%.59s", copies ? first_word(from + 1, way) : from);
	snprintf(text, bytes, "%s%s%s%s", verb, copies ? " " : "", copies ? way : "", rest);
}

/* Rounds of a collective inside its span: where the messages that this rank sends arrive. */
static void draw_messages(struct canvas *c, const struct lane_area *l, const struct lane *lane,
                          const struct lane_span *s, struct box b, colour fill)
{
	const struct timeline *timeline = l->lanes->timeline;
	int number = timeline_collective_of(timeline, timeline_index_of(timeline, lane->rank), s->op);
	double last = b.x;
	bool one = !lane_is_folded(l->lanes, lane); /* equal ranks send to different ones */
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
			if (x - last > 2 * l->small && one)
				draw_text(c, (fmax(last, l->plot.x) + fmin(x, l->plot.x + l->plot.width)) / 2,
				          b.y + b.height - 4, l->small, WEIGHT_PLAIN, ink_on(fill), ALIGN_CENTRE,
				          x - last - 2, x - last > 5.5 * l->small ? "→ rank %" PRId64 : "→ %" PRId64,
				          e->to);
		}
		last = x;
	}
}

/* Drawn like bubbles. */
static void draw_waiting(struct canvas *c, const struct lane_area *l, struct bar_row *row, double y, double height)
{
	const struct theme *t = c->theme;
	for (int flat = 0; flat < 2; flat++) {
		cairo_new_path(c->cr);
		for (size_t i = 0; i < row->count; i++) {
			const struct bar *bar = &row->bars[i];
			if (bar->waits && pattern_is_too_dense(c, bar->b) == flat)
				cairo_rectangle(c->cr, bar->b.x, bar->b.y, bar->b.width, bar->b.height);
		}
		draw_tinted_path(c, (struct box){l->plot.x, y, l->plot.width, height}, LANE_WAITS(t), PATTERN_FALLING,
		                 colour_mix(t->panel, t->soft, 0.6), flat);
	}
	for (size_t i = 0; i < row->count; i++)
		row->bars[i].filled |= row->bars[i].waits;
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
		draw_fill_path(c);
	}
	for (int live = 0; live < 2; live++) {
		for (size_t i = 0; i < row->count; i++) {
			const struct bar *bar = &row->bars[i];
			if (bar->framed && bar->live == live)
				cairo_rectangle(c->cr, bar->b.x, bar->b.y, bar->b.width, bar->b.height);
		}
		draw_colour(c, live ? t->accent : t->outline);
		cairo_set_line_width(c->cr, (live ? 2.6 : 0.6) * t->stroke);
		draw_stroke_path(c);
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

/* Drops namespaces from the left until the name fits: "aten::linear", then "linear". */
static const char *shorter_foreign(struct canvas *c, double size, double room, const char *name)
{
	size_t whole = strcspn(name, "<(");
	while (text_length(c, size, WEIGHT_PLAIN, name) > room) {
		const char *part = strstr(name, ": "), *inner = strstr(name, "::");
		const char *next = inner && (!part || inner < part) ? inner : part;
		if (!next || (size_t)(next - name) >= whole)
			break;
		whole -= (size_t)(next + 2 - name);
		name = next + 2;
	}
	return name;
}

static void draw_label(struct canvas *c, const struct lane_area *l, const struct lane *lane, const struct bar *bar,
                       double size, bool messages)
{
	const struct box *b = &bar->b;
	char text[160];
	label_of(l, lane, bar->span, text, sizeof text);
	const char *label = text;
	if (bar->op && (bar->op->kernel >= 0 || bar->op->kind == OP_COPY))
		label_of_other(text, sizeof text);
	if (bar->op && bar->op->kernel >= 0)
		label = shorter_label(c, size, b->width - 7, text);
	else if (bar->op && op_class(bar->op->kind) == OP_CLASS_C)
		label = label_of_collective(c, size, b->width - 7, text, sizeof text);
	else if (!l->lanes->timeline)
		label = shorter_foreign(c, size, b->width - 7, text);
	if (text_length(c, size, WEIGHT_PLAIN, label) > b->width - 7 && b->width < 48)
		return;
	draw_text(c, b->x + 4, b->y + (messages ? b->height * 0.36 : b->height / 2) + size * 0.36, size, WEIGHT_PLAIN,
	          ink_on(bar->fill), ALIGN_LEFT, b->width - 7, "%s", label);
}

/* In the middle, as long and as large as there is room for. */
static void draw_fold_word(struct canvas *c, const struct lane_area *l, const struct bar *bar, double size)
{
	char word[FOLD_WORD];
	const struct box *b = &bar->named_in;
	double room = b->width - 4;
	for (int shorter = 0; *fold_word(word, l->lanes->timeline, bar->fold, shorter); shorter++) {
		double length = text_length(c, size, WEIGHT_BOLD, word), fits = length > room ? l->small : size;
		if (length > room && text_length(c, fits, WEIGHT_BOLD, word) > room)
			continue;
		draw_text(c, b->x + b->width / 2, b->y + b->height / 2 + fits * 0.36, fits, WEIGHT_BOLD,
		          ink_on(bar->fill), ALIGN_CENTRE, 0, "%s", word);
		return;
	}
}

/* "waits for rank 0" */
static void draw_wait_word(struct canvas *c, const struct lane_area *l, const struct bar *bar)
{
	char word[48];
	const struct box *b = &bar->b;
	if (b->width < 5 * l->small)
		return;
	wait_words(word, sizeof word, tr("waits for"), bar->span->awaits);
	double length = text_length(c, l->small, WEIGHT_PLAIN, word), middle = b->y + b->height / 2;
	if (b->height < l->small + 3 || length > b->width - 12)
		return;
	draw_fill(c,
	          (struct box){b->x + b->width / 2 - length / 2 - 4, middle - l->small * 0.64, length + 8,
	                       l->small * 1.28},
	          c->theme->panel);
	draw_text(c, b->x + b->width / 2, middle + l->small * 0.36, l->small, WEIGHT_PLAIN, c->theme->soft,
	          ALIGN_CENTRE, 0, "%s", word);
}

/* Room for a name and for messages under it. */
enum { TWO_LINES = 31 };

void lane_spans_draw(struct canvas *c, const struct view *v, const struct lane_area *l, const struct lane *lane,
                     double y, double height, int depth, struct bar_row *row)
{
	double inset = fmin(1.5, height * 0.12);
	lane_bars_find(c, v, l, lane, (struct box){0, y + inset, 0, height - 2 * inset}, depth, row);
	if (height < 8) /* rows of few pixels: whole ones are as good, and several times as fast */
		cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_NONE);
	draw_waiting(c, l, row, y, height);
	draw_bars(c, row);
	cairo_set_antialias(c->cr, CAIRO_ANTIALIAS_DEFAULT);
	for (size_t i = 0; i < row->count; i++) {
		const struct bar *bar = &row->bars[i];
		if (bar->waits) {
			draw_wait_word(c, l, bar);
			continue;
		}
		bool messages = bar->op && op_class(bar->op->kind) == OP_CLASS_C && bar->b.height >= TWO_LINES;
		double size = fmax(l->small, fmin(l->body, height * 0.62));
		if (bar->fold && bar->named && bar->named_in.width > size && height >= l->small + 3)
			draw_fold_word(c, l, bar, size);
		else if (!bar->fold && bar->b.width > 16 && height >= l->small + 3)
			draw_label(c, l, lane, bar, size, messages);
		if (messages)
			draw_messages(c, l, lane, bar->span, bar->b, bar->fill);
	}
}
