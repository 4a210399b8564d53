/* The frame around a scene: heading above, phases of the step and the caption below. */
#include "viz/scene/lane_foreign.h"
#include "viz/scene/pair.h"
#include "viz/scene/scene_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 20, HEADING = 44, PHASES = 30, CAPTION = 78 };

struct box frame_scene(const struct view *v, struct box all)
{
	double top = (v->presenter ? 8 : HEADING) + banner_height(v), bottom = PHASES + CAPTION;
	struct box b = {all.x + MARGIN, all.y + top, all.width - 2 * MARGIN, all.height - top - bottom};
	b.height = fmax(b.height, 1);
	b.width = fmax(b.width, 1);
	return b;
}

struct box scene_box(const struct canvas *c, const struct view *v)
{
	return frame_scene(v, (struct box){0, 0, c->width, c->height});
}

/* The place where the second line of the heading begins: after the last "·" that leaves the first short enough. */
static size_t break_heading(struct canvas *c, const char *heading, double room)
{
	size_t cut = strlen(heading);
	char part[384];
	for (const char *dot = heading; (dot = strstr(dot, " · ")) != NULL; dot++) {
		snprintf(part, sizeof part, "%.*s", (int)(dot - heading), heading);
		if (cut == strlen(heading) || text_length(c, 13, WEIGHT_BOLD, part) <= room)
			cut = (size_t)(dot - heading);
	}
	return cut;
}

static void draw_heading(struct canvas *c, const struct view *v, struct box all)
{
	const struct theme *t = c->theme;
	char highlight[160] = "";
	double right = all.x + all.width - MARGIN;
	if (v->state)
		caption_highlight(v->state, highlight, sizeof highlight);
	if (*highlight) {
		double length = text_length(c, 13, WEIGHT_BOLD, highlight) + 24;
		struct box plate = {right - length, all.y + 11, length, 24};
		draw_card(c, plate, t->accent, t->accent, 1);
		draw_text(c, plate.x + 12, plate.y + 17, 13, WEIGHT_BOLD, t->accent_ink, ALIGN_LEFT, 0, "%s",
		          highlight);
		right = plate.x - 12;
	}
	double room = right - all.x - MARGIN, length = text_length(c, 16, WEIGHT_BOLD, v->heading);
	if (length <= 16 / 13.0 * room) {
		draw_text(c, all.x + MARGIN, all.y + 29, length > room ? 16 * room / length : 16, WEIGHT_BOLD, t->ink,
		          ALIGN_LEFT, room + 1, "%s", v->heading);
		return;
	}
	size_t cut = break_heading(c, v->heading, room);
	draw_text(c, all.x + MARGIN, all.y + 19, 13, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room, "%.*s", (int)cut,
	          v->heading);
	draw_text(c, all.x + MARGIN, all.y + 37, 13, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room, "%s",
	          v->heading + cut + strspn(v->heading + cut, " ·"));
}

/* ---- phases ---- */

void draw_phases(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	const struct timeline *s = v->state->timeline;
	double count = s->instant_count ? (double)s->instant_count : 1, height = 12;
	enum pass last = PASS_NONE;
	double label_end = 0, size = v->presenter ? 13 : 10, room = 5.6 * size; /* of a label */
	for (size_t k = 0; k + 1 < s->stop_count[STEP_SIZE_PHASE]; k++) {
		size_t from = s->stops[STEP_SIZE_PHASE][k], to = s->stops[STEP_SIZE_PHASE][k + 1];
		enum pass pass = s->phases[k].pass;
		if (is_veiled(v) && from >= v->state->position)
			break;
		struct box part = {b.x + b.width * (double)from / count, b.y + 12,
		                   b.width * (double)(to - from) / count, height};
		colour fill = pass == PASS_NONE ? t->empty : pass_colour(pass);
		draw_fill(c, part, colour_mix(fill, t->ground, v->state->position > from ? 0.25 : 0.72));
		draw_line(c, part.x, part.y, part.x, part.y + height, t->line, 1);
		if (pass != PASS_NONE && pass != last && part.x > label_end) {
			bool edge = part.x + room > b.x + b.width;
			draw_text(c, edge ? b.x + b.width : part.x + 2, b.y + 8, size, WEIGHT_PLAIN, t->soft,
			          edge ? ALIGN_RIGHT : ALIGN_LEFT, 0, "%s", pass_name(pass));
			label_end = part.x + room;
			last = pass;
		}
	}
	draw_frame(c, (struct box){b.x, b.y + 12, b.width, height}, t->line, 1);
	for (int i = 0; i < s->highlight_count; i++) {
		double x = b.x + b.width * (double)s->highlights[i].position / count;
		bool bad = s->highlights[i].kind == HIGHLIGHT_OVERFLOW;
		if (is_veiled(v) && s->highlights[i].position > v->state->position)
			break;
		draw_line(c, x, b.y + 25, x, b.y + 28, bad ? t->warning : t->soft, 1.5);
	}
	double x = b.x + b.width * (double)v->state->position / count;
	draw_line(c, x, b.y + 9, x, b.y + 12 + height + 3, t->ink, 2.5);
}

/* ---- the caption ---- */

/* The largest size in which a text stands on two lines; 0: three are needed. */
static double size_for_two(struct canvas *c, double size, double width, const char *text)
{
	for (int less = 0; size - less >= 15; less++)
		if (text_length(c, size - less, WEIGHT_PLAIN, text) <= 1.85 * width)
			return size - less;
	return 0;
}

/* One line in large, two lines smaller, as it fits; above a hint always two. */
static void write_caption(struct canvas *c, struct box card, double width, double size, const char *caption, bool hint)
{
	colour ink = c->theme->ink;
	double x = card.x + 18, middle = card.y + card.height / 2, two = size_for_two(c, size - 2, width, caption);
	if (hint)
		draw_paragraph(c, x, card.y + 20, width, fmin(16, two > 0 ? two : 14), 2, ink, caption);
	else if (text_length(c, size - 2, WEIGHT_PLAIN, caption) <= width)
		draw_fitting(c, x, middle + size * 0.36, size, size - 2, WEIGHT_PLAIN, ink, ALIGN_LEFT, width + 1,
		             caption);
	else if (two > 0)
		draw_paragraph(c, x, middle - 5, width, two, 2, ink, caption);
	else
		draw_paragraph(c, x, card.y + 19, width, 14, 3, ink, caption);
}

static void draw_caption(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	char caption[CAPTION_SIZE], time[WORD];
	struct box card = {b.x, b.y, b.width, b.height - 8};
	double size = v->presenter ? 22 : 18, side = 178;
	draw_card(c, card, t->panel, t->line, 1);
	draw_fill(c, (struct box){card.x + 1, card.y + 6, 4, card.height - 12}, t->accent);
	if (v->state) {
		caption_make(v->state, caption, sizeof caption);
		const struct state *st = v->state;
		const struct timeline *s = st->timeline;
		size_t k = timeline_stop_of(s, st->step_size, st->position);
		draw_text(c, card.x + card.width - 12, card.y + 27, 16, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, side,
		          "%s %zu of %zu", st->step_size == STEP_SIZE_ROUND ? "step" : step_size_name(st->step_size), k,
		          s->stop_count[st->step_size] - 1);
		draw_text(c, card.x + card.width - 12, card.y + 50, 13, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, side,
		          "%s at %s", s->trace->measured ? "measured" : "simulated", time_word(time, st->time));
	} else {
		foreign_caption(v->lanes, v->selected_rank, v->selected_op, caption, sizeof caption);
		if (v->note && *v->note)
			snprintf(caption, sizeof caption, "%s", v->note);
		draw_text(c, card.x + card.width - 12, card.y + 27, 14, WEIGHT_BOLD, t->ink, ALIGN_RIGHT, side, "%s",
		          time_word(time, v->cursor));
	}
	double width = card.width - side - 50;
	if (v->state && v->note && *v->note)
		snprintf(caption, sizeof caption, "%s", v->note);
	else if (is_veiled(v))
		snprintf(caption, sizeof caption, "%s", "Before the next step is shown: what comes?");
	bool hint = v->hint && v->state && !v->state->position && !is_veiled(v);
	write_caption(c, card, width, size, caption, hint);
	if (hint)
		draw_text(c, card.x + 18, card.y + card.height - 9, 13, WEIGHT_BOLD, t->soft, ALIGN_LEFT,
		          card.width - 36, "%s", v->hint);
}

/* ---- the whole ---- */

struct box frame_phases(const struct view *v, struct box all)
{
	struct box b = frame_scene(v, all);
	return (struct box){b.x, b.y + b.height, b.width, PHASES};
}

/* ---- scenes that need more room than there is ---- */

struct fit scene_fit(const struct view *v, struct box b)
{
	double width = scene_of(v)->width, height = scene_of(v)->height;
	if (v->state && v->contender_count) {
		int columns, rows;
		compare_grid(v->contender_count, &columns, &rows);
		width = 190.0 * columns;
		height = (rows > 2 ? 195.0 : 230.0) * rows;
	}
	double scale = fmin(1, fmin(b.width / width, b.height / height));
	if (scale > 0.999)
		return (struct fit){b, b, 1};
	return (struct fit){b, {0, 0, b.width / scale, b.height / scale}, scale};
}

void fit_point(const struct fit *f, double *x, double *y)
{
	*x = f->inner.x + (*x - f->outer.x) / f->scale;
	*y = f->inner.y + (*y - f->outer.y) / f->scale;
}

void draw_fitted(struct canvas *c, const struct view *v, struct box b)
{
	if (v->second) {
		draw_pair(c, v, b);
		return;
	}
	struct fit fit = scene_fit(v, b);
	if (fit.scale < 1) {
		cairo_save(c->cr);
		cairo_translate(c->cr, b.x, b.y);
		cairo_scale(c->cr, fit.scale, fit.scale);
		c->pixel /= fit.scale;
	}
	if (v->state && v->contender_count)
		draw_compare(c, v, fit.inner);
	else
		scene_of(v)->draw(c, v, fit.inner, false);
	if (fit.scale < 1) {
		c->pixel *= fit.scale;
		cairo_restore(c->cr);
	}
}

void scene_draw_in(struct canvas *c, const struct view *v, struct box all)
{
	struct box b = frame_scene(v, all);
	if (!v->presenter)
		draw_heading(c, v, all);
	draw_banner(c, v, (struct box){b.x, b.y - banner_height(v), b.width, banner_height(v)});
	if (asking_hides(v->asking))
		draw_veil(c, b);
	else
		draw_fitted(c, v, b);
	struct box phases = frame_phases(v, all);
	if (v->state)
		draw_phases(c, v, phases);
	draw_caption(c, v, (struct box){b.x, phases.y + PHASES + 2, b.width, CAPTION});
}

void scene_draw(struct canvas *c, const struct view *v)
{
	double side = v->asking ? question_width(c->width) : 0;
	scene_draw_in(c, v, (struct box){0, 0, c->width - side, c->height});
	if (v->asking)
		draw_question(c, v->asking, (struct box){c->width - side, 0, side, c->height});
}
