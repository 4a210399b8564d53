/* The bytes of a rank over the step, by category, with the cursor and the peak: over time, or over the positions of the
 * cursor, which are the steps in order. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/language.h"
#include "viz/scene/memory_parts.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/op_words.h"

/* How many operations a rank has issued at each position. */
static int *issued_at(const struct timeline *s, int index)
{
	int *issued = array_make(s->instant_count + 1, sizeof *issued);
	const struct section *step = &timeline_role_of(s, index)->step;
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

struct curve {
	const struct timeline *timeline;
	int index;   /* of the rank */
	int *issued; /* at each position; owned */
	struct box plot;
	struct memory_scale scale;
	bool over_steps;
	double ns; /* at the right edge, over time */
	double pixel;
};

static bool ever(const void *of, int k)
{
	const struct curve *v = of;
	const struct section *step = &timeline_role_of(v->timeline, v->index)->step;
	for (int n = 0; n <= step->end - step->begin; n++) {
		const int64_t *live = timeline_live(v->timeline, v->index, SPACE_DEVICE, n);
		if (live && live[k])
			return true;
	}
	return false;
}

static void curve_init(struct curve *v, const struct canvas *c, const struct view *view, int index, struct box b)
{
	const struct timeline *s = view->state->timeline;
	int64_t peak = s->roles[s->ranks[index].role].peak[SPACE_DEVICE];
	*v = (struct curve){.timeline = s,
	                    .index = index,
	                    .issued = issued_at(s, index),
	                    .plot = {b.x + 62, b.y + 24, b.width - 66, fmax(1, b.height - 44)},
	                    .scale = memory_scale_for(view->peak > peak ? view->peak : peak, memory_capacity(s)),
	                    .over_steps = view->over_steps,
	                    .ns = fmax(1, (double)(view->end > s->step_ns ? view->end : s->step_ns)),
	                    .pixel = c->pixel};
}

/* The x of a position, then the position at an x. */
static double x_of(const struct curve *v, size_t position)
{
	const struct timeline *s = v->timeline;
	double part = v->over_steps ? (double)position / (double)(s->instant_count ? s->instant_count : 1)
	                            : (double)timeline_time(s, position) / v->ns;
	return v->plot.x + v->plot.width * part;
}

static size_t position_at(const struct curve *v, double x)
{
	double part = fmin(1, fmax(0, (x - v->plot.x) / v->plot.width));
	return v->over_steps ? (size_t)(part * (double)v->timeline->instant_count)
	                     : timeline_position_at(v->timeline, (int64_t)(part * v->ns));
}

static double y_of(const struct curve *v, double bytes)
{
	return v->plot.y + v->plot.height * (1 - bytes / v->scale.bytes);
}

static double sum_until(const struct curve *v, size_t position, int k)
{
	const int64_t *live = timeline_live(v->timeline, v->index, SPACE_DEVICE, v->issued[position]);
	double sum = 0;
	for (int j = 0; live && j <= k; j++)
		sum += (double)live[j];
	return sum;
}

/* The sum of the first categories up to k, as a path: a pixel at a time, its highest. */
static void make_path(struct canvas *c, const void *of, int k)
{
	const struct curve *v = of;
	const struct box *b = &v->plot;
	size_t count = v->timeline->instant_count;
	double last = -1;
	cairo_new_path(c->cr);
	cairo_move_to(c->cr, b->x, b->y + b->height);
	for (size_t p = 0, next; p <= count; p = next) {
		double x = x_of(v, p), most = sum_until(v, p, k);
		for (next = p + 1; next <= count && x_of(v, next) < x + v->pixel; next++)
			if (v->issued[next] != v->issued[next - 1])
				most = fmax(most, sum_until(v, next, k));
		double y = y_of(v, most);
		if (fabs(y - last) > 1e-9) {
			if (last >= 0)
				cairo_line_to(c->cr, x, last);
			cairo_line_to(c->cr, x, y);
		}
		last = y;
	}
	cairo_line_to(c->cr, x_of(v, count), last);
	cairo_line_to(c->cr, x_of(v, count), b->y + b->height);
	cairo_close_path(c->cr);
}

/* Bytes above the capacity are hatched, as in the bars. */
static void draw_overflow(struct canvas *c, const struct curve *v, double capacity)
{
	double y = y_of(v, capacity);
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

/* ---- the peak ---- */

/* The first position at which so many operations are issued. */
static size_t first_issued(const struct curve *v, int issued)
{
	size_t p = 0;
	while (p < v->timeline->instant_count && v->issued[p] < issued)
		p++;
	return p;
}

/* The largest buffer that the step has made by then and not freed; -1: there is none. */
static int largest_made(const struct role *r, int issued)
{
	int largest = -1;
	for (int b = 0; b < r->buffer_count; b++) {
		bool alive = false;
		if (r->buffers[b].space != SPACE_DEVICE)
			continue;
		for (int k = r->step.begin; k < r->step.begin + issued; k++)
			if ((r->ops[k].kind == OP_ALLOC || r->ops[k].kind == OP_FREE) && op_buffer(&r->ops[k]) == b)
				alive = r->ops[k].kind == OP_ALLOC;
		if (alive && (largest < 0 || buffer_bytes(&r->buffers[b]) > buffer_bytes(&r->buffers[largest])))
			largest = b;
	}
	return largest;
}

/* "for the backward pass of head; the largest that the step has made: the output of head, 67 MB". The operation is the
 * one that `sim` says. */
static void peak_cause(const struct timeline *s, int index, char *out, size_t size)
{
	const struct timeline_role *r = &s->roles[s->ranks[index].role];
	int alloc = r->role->step.begin + r->peak_at[SPACE_DEVICE] - 1, op = role_needed_by(r->role, alloc);
	int largest = op >= 0 ? largest_made(r->role, r->peak_at[SPACE_DEVICE]) : -1;
	char words[OP_WORDS], buffer[OP_WORDS], bytes[WORD];
	out[0] = 0;
	if (!r->peak_at[SPACE_DEVICE])
		snprintf(out, size, tr("as the step begins"));
	else if (largest >= 0)
		snprintf(out, size, tr("for %s; the largest that the step has made: %s, %s"),
		         op_words(words, s, r->role, &r->role->ops[op]), buffer_words(buffer, s, r->role, largest),
		         bytes_word(bytes, buffer_bytes(&r->role->buffers[largest])));
	else if (op >= 0)
		snprintf(out, size, tr("for %s"), op_words(words, s, r->role, &r->role->ops[op]));
}

static void draw_peak(struct canvas *c, const struct curve *v)
{
	const struct theme *t = c->theme;
	const struct timeline *s = v->timeline;
	const struct timeline_role *r = &s->roles[s->ranks[v->index].role];
	char cause[2 * OP_WORDS + 64], bytes[WORD], head[WORD + 8];
	double x = x_of(v, first_issued(v, r->peak_at[SPACE_DEVICE])), y = y_of(v, (double)r->peak[SPACE_DEVICE]);
	peak_cause(s, v->index, cause, sizeof cause);
	snprintf(head, sizeof head, tr("peak %s"), bytes_word(bytes, r->peak[SPACE_DEVICE]));
	double room = v->plot.width - 24;
	char *second = strchr(cause, ';');
	if (second && text_length(c, fmax(9, c->least), WEIGHT_PLAIN, cause) > room)
		*second = 0;
	double length =
	        fmin(room, fmax(text_length(c, 12, WEIGHT_BOLD, head), text_length(c, 11, WEIGHT_PLAIN, cause)));
	double first = fmax(14, c->least), line_height = fmax(14, 1.2 * c->least), height = first + line_height + 6;
	struct box plate = {x - length / 2 - 4, v->plot.y + v->plot.height - height - 8, length + 8, height};
	if (v->scale.line && y_of(v, v->scale.capacity) > plate.y) /* the capacity's words stand there */
		plate.y -= 24;
	plate.x = fmax(v->plot.x + 4, fmin(plate.x, v->plot.x + v->plot.width - plate.width - 4));
	/* The capacity's name stands above its line, at the right. */
	double line = v->scale.line ? y_of(v, v->scale.capacity) : 0, above = line - 22 - c->least;
	if (v->scale.line && line > plate.y && above < plate.y + plate.height)
		plate.y = fmax(v->plot.y, above - plate.height);
	cairo_move_to(c->cr, x, y);
	cairo_line_to(c->cr, x - 6, y - 9);
	cairo_line_to(c->cr, x + 6, y - 9);
	cairo_close_path(c->cr);
	draw_colour(c, t->warning);
	draw_fill_path(c);
	if (plate.y > y)
		draw_line(c, x, y, x, plate.y, t->warning, 1.4);
	draw_card(c, plate, t->panel, t->warning, 1.2);
	draw_text(c, plate.x + 4, plate.y + first, 12, WEIGHT_BOLD, t->ink, ALIGN_LEFT, length, "%s", head);
	draw_fitting(c, plate.x + 4, plate.y + first + line_height, 11, 8, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, length,
	             cause);
}

/* ---- the axis ---- */

static void draw_time_axis(struct canvas *c, const struct curve *v)
{
	double step = v->ns, tick = tick_of(step, fmax(2, v->plot.width / 90));
	double y = v->plot.y + v->plot.height;
	char word[WORD];
	if (!(tick > 0)) /* a step of no time */
		return;
	for (int i = 0; (double)i * tick <= step; i++) {
		double x = v->plot.x + v->plot.width * (double)i * tick / step;
		time_word(word, (int64_t)((double)i * tick));
		short_word(word);
		draw_line(c, x, y, x, y + 4, c->theme->soft, 1);
		if (x + text_length(c, 11, WEIGHT_PLAIN, word) <= v->plot.x + v->plot.width + 4)
			draw_text(c, x, y + 16, 11, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, 0, "%s%s", word,
			          i ? "" : tr(": time →"));
	}
}

/* ---- the whole ---- */

void draw_over_time(struct canvas *c, const struct view *v, int index, struct box b)
{
	const struct theme *t = c->theme;
	const struct timeline *s = v->state->timeline;
	int64_t peak = s->roles[s->ranks[index].role].peak[SPACE_DEVICE];
	char title[96], ranks[64];
	struct curve curve;
	curve_init(&curve, c, v, index, b);
	const struct box plot = curve.plot;
	double x = x_of(&curve, v->state->position);
	snprintf(title, sizeof title, tr("Memory over %s, %s"), v->over_steps ? tr("the steps") : tr("time"),
	         ranks_word(ranks, s, index, index + 1));
	if (text_length(c, 14, WEIGHT_BOLD, title) > b.width)
		snprintf(title, sizeof title, tr("Over %s, %s"), v->over_steps ? tr("steps") : tr("time"),
		         ranks_word(ranks, s, index, index + 1));
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width, "%s", title);
	memory_axis(c, plot, &curve.scale);
	memory_stack(c, &(struct memory_curve){plot, make_path, ever, &curve});
	if (curve.scale.line && (double)peak > curve.scale.capacity)
		draw_overflow(c, &curve, curve.scale.capacity);
	if (is_veiled(v))
		draw_veil(c, (struct box){x, plot.y, plot.x + plot.width - x + 1, plot.height});
	else
		draw_future(c, &curve, x);
	memory_capacity_line(c, plot, &curve.scale, peak, text_length(c, 14, WEIGHT_BOLD, title) - 50);
	draw_line(c, x, plot.y - 4, x, plot.y + plot.height + 4, t->ink, 2);
	if (peak > 0 && !is_veiled(v))
		draw_peak(c, &curve);
	if (v->over_steps)
		draw_text(c, plot.x, plot.y + plot.height + 16, 11, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, plot.width,
		          "steps of the cursor, in order →");
	else
		draw_time_axis(c, &curve);
	free(curve.issued);
}

/* "rank 0 at 3.1 ms, step 71, forward: 12 GB: parameters 4 GB, …; after the forward pass of block.3" */
static void explain(const struct curve *v, const struct state *st, size_t position, char *out, size_t size)
{
	const struct timeline *s = v->timeline;
	const struct role *role = timeline_role_of(s, v->index);
	const int64_t *live = timeline_live(s, v->index, SPACE_DEVICE, v->issued[position]);
	char ranks[64], time[WORD], word[WORD], words[OP_WORDS];
	int op = v->issued[position] ? role->step.begin + v->issued[position] - 1 : -1;
	size_t at =
	        (size_t)snprintf(out, size, tr("%s at %s, %s %zu: %s"), ranks_word(ranks, s, v->index, v->index + 1),
	                         time_word(time, timeline_time(s, position)),
	                         st->step_size == STEP_SIZE_ROUND ? tr("step") : tr(step_size_name(st->step_size)),
	                         timeline_stop_of(s, st->step_size, position),
	                         bytes_word(word, (int64_t)sum_until(v, position, HELD_COUNT - 1)));
	for (int k = 0; live && k < HELD_COUNT; k++)
		if (live[k] && at < size)
			at += (size_t)snprintf(out + at, size - at, ", %s %s", tr(held_name((enum held)k)),
			                       bytes_word(word, live[k]));
	if (op >= 0 && at < size)
		snprintf(out + at, size - at, "; %s", op_words(words, s, role, &role->ops[op]));
}

/* Near its line, the peak. */
static size_t snapped(const struct curve *v, double x)
{
	enum { NEAR = 6 };
	const struct timeline_role *r = &v->timeline->roles[v->timeline->ranks[v->index].role];
	size_t peak = first_issued(v, r->peak_at[SPACE_DEVICE]);
	return r->peak[SPACE_DEVICE] > 0 && fabs(x_of(v, peak) - x) <= NEAR ? peak : position_at(v, x);
}

void over_time_hit(struct canvas *c, const struct view *v, int index, struct box b, double x, double y, struct hit *h)
{
	struct curve curve;
	curve_init(&curve, c, v, index, b);
	size_t position = snapped(&curve, x);
	if (box_has(curve.plot, x, y) && !(is_veiled(v) && position > v->state->position)) {
		h->moves = true;
		h->position = position;
		explain(&curve, v->state, h->position, h->text, sizeof h->text);
	}
	free(curve.issued);
}
