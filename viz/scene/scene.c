/* The frame around a scene: heading above, phases of the step and the caption below. */
#include "viz/scene/pair.h"
#include "viz/scene/scene_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"

enum { MARGIN = 20, HEADING = 44, PHASES = 30 };

/* In the presenter the names of the phases are as large as other text. */
static double phases_height(const struct view *v, struct box all)
{
	return v->presenter ? PHASES - 10 + fmax(10, frame_least(v, all)) : PHASES;
}

struct box frame_scene(const struct view *v, struct box all)
{
	double width = fmax(all.width - 2 * MARGIN, 1), banner = banner_height(v, width, frame_least(v, all)),
	       top = (v->presenter ? 8 : HEADING) + banner, bottom = phases_height(v, all) + caption_height(v, all);
	return (struct box){all.x + MARGIN, all.y + top, width, fmax(all.height - top - bottom, 1)};
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
		draw_fitting(c, all.x + MARGIN, all.y + 29, 16, 12, WEIGHT_BOLD, t->ink, ALIGN_LEFT, room, v->heading);
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
	double label_end = 0, size = fmax(v->presenter ? 13 : 10, c->least);
	double top = b.y + b.height - 18;
	for (size_t k = 0; k + 1 < s->stop_count[STEP_SIZE_PHASE]; k++) {
		size_t from = s->stops[STEP_SIZE_PHASE][k], to = s->stops[STEP_SIZE_PHASE][k + 1];
		enum pass pass = s->phases[k].pass;
		if (is_veiled(v) && from >= v->state->position)
			break;
		struct box part = {b.x + b.width * (double)from / count, top, b.width * (double)(to - from) / count,
		                   height};
		colour fill = pass == PASS_NONE ? t->empty : pass_colour(pass);
		draw_fill(c, part, colour_mix(fill, t->ground, v->state->position > from ? 0.25 : 0.72));
		draw_line(c, part.x, part.y, part.x, part.y + height, t->line, 1);
		if (pass == PASS_NONE || pass == last)
			continue;
		double length = text_length(c, size, WEIGHT_PLAIN, tr(pass_name(pass))),
		       left = fmin(part.x + 2, b.x + b.width - length);
		if (left < label_end)
			continue;
		draw_text(c, left, top - 4, size, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0, "%s", tr(pass_name(pass)));
		label_end = left + length + 0.6 * size;
		last = pass;
	}
	draw_frame(c, (struct box){b.x, top, b.width, height}, t->line, 1);
	for (int i = 0; i < s->highlight_count; i++) {
		double x = b.x + b.width * (double)s->highlights[i].position / count;
		bool bad = s->highlights[i].kind == HIGHLIGHT_OVERFLOW;
		if (is_veiled(v) && s->highlights[i].position > v->state->position)
			break;
		draw_line(c, x, top + 13, x, top + 16, bad ? t->warning : t->soft, 1.5);
	}
	double x = b.x + b.width * (double)v->state->position / count;
	draw_line(c, x, top - 3, x, top + height + 3, t->ink, 2.5);
}

/* ---- the whole ---- */

struct box frame_phases(const struct view *v, struct box all)
{
	struct box b = frame_scene(v, all);
	return (struct box){b.x, b.y + b.height, b.width, phases_height(v, all)};
}

/* ---- scenes that need more room than there is ---- */

static double scale_of(double width, double height, struct box b)
{
	return fmin(1, fmin(b.width / width, b.height / height));
}

static double scale_of_row(const struct view *v, const struct scene_row *row, struct box b)
{
	double part = v->presenter && row->elastic ? 0.55 : 1;
	return scale_of(part * row->width, part * row->height, b);
}

static double scale_of_compare(int contenders, struct box b)
{
	int columns, rows;
	compare_grid(contenders, b.width, &columns, &rows);
	return scale_of(190.0 * columns, (rows > 2 ? 195.0 : 230.0) * rows, b);
}

struct fit scene_fit(const struct view *v, struct box b)
{
	static const double much = 0.8;
	const struct scene_row *row = scene_of(v);
	bool compares = v->state && v->contender_count;
	double scale = compares ? scale_of_compare(v->contender_count, b) : scale_of_row(v, row, b);
	if (!compares && v->state && row->narrow && scale < much && scale_of_row(v, row->narrow, b) > scale) {
		row = row->narrow;
		scale = scale_of_row(v, row, b);
	}
	if (scale > 0.999)
		return (struct fit){b, b, 1, row};
	return (struct fit){b, {0, 0, b.width / scale, b.height / scale}, scale, row};
}

void fit_point(const struct fit *f, double *x, double *y)
{
	*x = f->inner.x + (*x - f->outer.x) / f->scale;
	*y = f->inner.y + (*y - f->outer.y) / f->scale;
}

void draw_fitted(struct canvas *c, const struct view *v, struct box b)
{
	if (asking_hides(v->asking)) {
		draw_veil(c, b);
		return;
	}
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
		c->least /= fit.scale;
	}
	if (v->state && v->contender_count)
		draw_compare(c, v, fit.inner);
	else
		fit.row->draw(c, v, fit.inner, false);
	if (fit.scale < 1) {
		c->pixel *= fit.scale;
		c->least *= fit.scale;
		cairo_restore(c->cr);
	}
}

void scene_draw_in(struct canvas *c, const struct view *v, struct box all)
{
	struct box b = frame_scene(v, all);
	c->least = frame_least(v, all);
	if (!v->presenter)
		draw_heading(c, v, all);
	double banner = banner_height(v, b.width, c->least);
	draw_banner(c, v, (struct box){b.x, b.y - banner, b.width, banner});
	draw_fitted(c, v, b);
	struct box phases = frame_phases(v, all);
	if (v->state)
		draw_phases(c, v, phases);
	draw_caption(c, v, (struct box){b.x, phases.y + phases.height + 2, b.width, caption_height(v, all)});
}

void scene_draw_asking(struct canvas *c, const struct view *v, struct box all)
{
	double side = v->asking ? question_width(all.width) : 0;
	scene_draw_in(c, v, (struct box){all.x, all.y, all.width - side, all.height});
	if (v->asking)
		draw_question(c, v->asking, (struct box){all.x + all.width - side, all.y, side, all.height});
}
