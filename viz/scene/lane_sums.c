/* The sums at the right of the lanes: of each rank the time in sight that it computes, that its communication is
 * exposed, and that it stands still for another reason. */
#include <math.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_spans.h"
#include "viz/timeline/measure.h"

enum spent { SPENT_COMPUTING, SPENT_EXPOSED, SPENT_IDLE, SPENTS };

static const char *const names[SPENTS] = {"compute", "exposed", "bubble"};

static int64_t time_of(const struct measured *m, enum spent part)
{
	return part == SPENT_COMPUTING ? m->compute : part == SPENT_EXPOSED ? m->exposed : m->bubble;
}

static double share_of(const struct measured *m, enum spent part)
{
	return m->length ? (double)time_of(m, part) / (double)m->length : 0;
}

/* Another program's GPU is idle: nobody knows for what. */
static const char *name_of(const struct lane_area *l, enum spent part)
{
	return part == SPENT_IDLE && l->lanes->file ? tr("idle") : names[part];
}

/* Drawn like the lanes, but computing has one colour for all passes. */
static void draw_part(struct canvas *c, struct box b, enum spent part)
{
	const struct theme *t = c->theme;
	if (b.width <= 0)
		return;
	if (part == SPENT_COMPUTING) {
		draw_fill(c, b, colour_mix(t->panel, t->ink, 0.55));
		return;
	}
	cairo_new_path(c->cr);
	cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	draw_tinted_path(c, b, part == SPENT_EXPOSED ? LANE_EXPOSED(t) : LANE_WAITS(t),
	                 part == SPENT_EXPOSED ? PATTERN_RISING : PATTERN_FALLING,
	                 part == SPENT_EXPOSED ? t->warning : colour_mix(t->panel, t->soft, 0.6),
	                 pattern_is_too_dense(c, b));
	cairo_new_path(c->cr);
}

static void draw_bar(struct canvas *c, const struct measured *m, struct box b)
{
	double x = b.x;
	for (int k = 0; k < SPENTS; k++) {
		double width = b.width * share_of(m, (enum spent)k);
		draw_part(c, (struct box){x, b.y, width, b.height}, (enum spent)k);
		x += width;
	}
	if (b.height > 5)
		draw_frame(c, b, c->theme->outline, 0.6);
}

static double text_size(const struct canvas *c, const struct lane_area *l)
{
	return fmax(l->small, c->least);
}

/* "compute   3.1 ms   62.1 %"; without the time where there is no room. */
static void draw_line_of(struct canvas *c, const struct lane_area *l, const struct measured *m, enum spent part,
                         double x, double y, double width)
{
	const struct theme *t = c->theme;
	double size = text_size(c, l), right = x + width - text_length(c, size, WEIGHT_BOLD, "100.0 %") - 5;
	char time[WORD] = "0";
	if (time_of(m, part))
		time_word(time, time_of(m, part));
	double left = x + 13 + text_length(c, size, WEIGHT_PLAIN, name_of(l, part)) + 4;
	colour ink = part == SPENT_EXPOSED && share_of(m, part) >= 0.005 ? t->warning : t->ink;
	draw_part(c, (struct box){x, y - size * 0.8, 9, size * 0.8}, part);
	draw_text(c, x + 13, y, size, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0, "%s", name_of(l, part));
	if (right - left >= text_length(c, size, WEIGHT_PLAIN, time))
		draw_text(c, right, y, size, WEIGHT_PLAIN, ink, ALIGN_RIGHT, 0, "%s", time);
	draw_text(c, x + width, y, size, WEIGHT_BOLD, ink, ALIGN_RIGHT, 0, "%.1f %%", 100 * share_of(m, part));
}

/* Writes "62.1 · 30.2 · 7.7 %", without tenths if there is no room for them. */
static void draw_shares(struct canvas *c, const struct lane_area *l, const struct measured *m, double right, double y,
                        double room)
{
	char words[64];
	for (int tenths = 1; tenths >= 0; tenths--) {
		snprintf(words, sizeof words, "%.*f · %.*f · %.*f %%", tenths, 100 * share_of(m, SPENT_COMPUTING),
		         tenths, 100 * share_of(m, SPENT_EXPOSED), tenths, 100 * share_of(m, SPENT_IDLE));
		if (text_length(c, l->small, WEIGHT_BOLD, words) <= room)
			break;
	}
	draw_fitting(c, right, y, l->small, 8, WEIGHT_BOLD, c->theme->ink, ALIGN_RIGHT, room, words);
}

/* Three lines below a bar, or without it; one line beside it; or the bar alone. */
static void draw_cell(struct canvas *c, const struct lane_area *l, const struct measured *m, struct box b)
{
	double line = text_size(c, l) + 3, bar = fmin(9, b.height - 3 * line - 4), y = b.y + 2;
	if (b.height < line) {
		draw_bar(c, m, (struct box){b.x, b.y + 0.5, b.width, fmax(b.height - 1, 1)});
		return;
	}
	if (b.height < 3 * line) {
		draw_bar(c, m, (struct box){b.x, y, b.width * 0.36, fmin(b.height - 4, 12)});
		draw_shares(c, l, m, b.x + b.width, y + l->small * 0.92, b.width * 0.62);
		return;
	}
	if (bar >= 4) {
		draw_bar(c, m, (struct box){b.x, y, b.width, bar});
		y += bar + 2;
	}
	for (int k = 0; k < SPENTS; k++)
		draw_line_of(c, l, m, (enum spent)k, b.x, y + line * (k + 1) - 4, b.width);
}

/* Says of what the percentages are shares and, if cells have one line, what its figures are. */
static void draw_head(struct canvas *c, const struct lane_area *l, struct box b, int64_t length, bool brief)
{
	char time[WORD];
	bool whole = l->from <= 0 && l->to >= l->lanes->end;
	draw_text(c, b.x + b.width, l->box.y + (brief ? 12 : 17), l->small, WEIGHT_BOLD, c->theme->ink, ALIGN_RIGHT,
	          b.width, whole ? "of %s" : "of %s in sight", time_word(time, length));
	if (brief)
		draw_text(c, b.x + b.width, l->box.y + 24, l->small - 1, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT,
		          b.width, "compute · exposed · %s", tr(name_of(l, SPENT_IDLE)));
}

void lane_sums_draw(struct canvas *c, const struct lane_area *l)
{
	double y = l->plot.y, line = text_size(c, l) + 3, lowest = 1e9, bottom = l->plot.y + l->plot.height;
	struct box b = {l->plot.x + l->plot.width + 10, 0, l->sums - 12, 0};
	int64_t length = 0;
	for (int i = l->first, n, last = lane_area_last(l); i <= last; i += n) {
		int head = i;
		while (!measure_begins(l->lanes, head))
			head--;
		b.y = y;
		b.height = 0;
		n = head + measure_lanes(l->lanes, head) - i;
		for (int k = i; k < i + n; k++)
			b.height += l->row * l->lanes->lanes[k].depth;
		y += b.height;
		b.height = fmin(b.height, bottom - b.y);
		if (!measure_has(l->lanes, head) || b.height <= 0)
			continue;
		lowest = fmin(lowest, b.height);
		struct measured m = measure_times(l->lanes, head, l->from, l->to);
		draw_cell(c, l, &m, b);
		length = m.length;
	}
	if (lowest < 1e9)
		draw_head(c, l, b, length, lowest < 3 * line);
}
