/* The timeline: a lane for each queue of each rank; where computing stands still, and why. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/lane_spans.h"
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
		if (x + 3 + text_length(c, l->small, WEIGHT_PLAIN, word) <= l->plot.x + l->plot.width + 6)
			draw_text(c, x + 3, l->plot.y - 7, l->small, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, 0, "%s", word);
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
static void draw_gap_word(struct canvas *c, double size, const struct lane_gap *g, struct box b, colour ink)
{
	char whole[64] = "exposed", whom[48];
	const char *word = g->beside ? tr("beside operations") : g->exposed ? tr("exposed") : tr("bubble");
	double room = b.width - 12, middle = b.y + b.height / 2, x = b.x + b.width / 2;
	if (room < 3 * size) /* it is quicker than to measure what has no room anyway */
		return;
	if (g->waits)
		snprintf(whole, sizeof whole, tr("bubble: %s"),
		         wait_words(whom, sizeof whom, tr("waits for"), g->awaits));
	if (g->waits && text_length(c, size, WEIGHT_BOLD, whole) <= room)
		word = whole;
	double length = text_length(c, size, WEIGHT_BOLD, word);
	if (g->beside && length > room)
		length = text_length(c, size, WEIGHT_BOLD, word = tr("stack"));
	if (length > room)
		return;
	draw_fill(c, (struct box){x - length / 2 - 4, middle - size * 0.64, length + 8, size * 1.28}, c->theme->panel);
	draw_text(c, x, middle + size * 0.36, size, WEIGHT_BOLD, ink, ALIGN_CENTRE, 0, "%s", word);
}

enum gap_kind { GAP_WAITS, GAP_EXPOSED, GAP_BESIDE, GAP_KINDS };

static enum gap_kind kind_of(const struct lane_gap *g)
{
	return g->exposed ? GAP_EXPOSED : g->beside ? GAP_BESIDE : GAP_WAITS;
}

/* Bars of one kind are drawn as one path: there can be many. Boxes too small for the hatching are flat. */
static void draw_gaps_of(struct canvas *c, const struct lane_area *l, const struct lane *lane, struct box all,
                         enum gap_kind kind, bool flat)
{
	static const enum pattern patterns[] = {PATTERN_FALLING, PATTERN_RISING, PATTERN_DOTS};
	bool exposed = kind == GAP_EXPOSED;
	colour ink = exposed ? c->theme->warning : c->theme->soft;
	colour fill = exposed ? LANE_EXPOSED(c->theme) : LANE_WAITS(c->theme);
	struct box b;
	cairo_new_path(c->cr);
	for (size_t i = lane_find_gap(lane, l->from); i < lane->gap_count && lane->gaps[i].begin < l->to; i++)
		if (kind_of(&lane->gaps[i]) == kind && gap_box(c, l, &lane->gaps[i], all.y, all.height, &b) &&
		    pattern_is_too_dense(c, b) == flat)
			cairo_rectangle(c->cr, b.x, b.y, b.width, b.height);
	draw_tinted_path(c, all, fill, patterns[kind], exposed ? ink : colour_mix(c->theme->panel, ink, 0.6), flat);
	cairo_new_path(c->cr);
}

static void draw_gaps(struct canvas *c, const struct lane_area *l, const struct lane *lane, double y, double height)
{
	const struct theme *t = c->theme;
	struct box all = {l->plot.x, y, l->plot.width, height}, b;
	for (int i = 0; i < 2 * GAP_KINDS; i++)
		draw_gaps_of(c, l, lane, all, (enum gap_kind)(i % GAP_KINDS), i / GAP_KINDS);
	if (height < l->small + 4)
		return;
	for (size_t i = lane_find_gap(lane, l->from); i < lane->gap_count && lane->gaps[i].begin < l->to; i++)
		if (gap_box(c, l, &lane->gaps[i], y, height, &b))
			draw_gap_word(c, l->small, &lane->gaps[i], b, lane->gaps[i].exposed ? t->warning : t->soft);
}

/* Frames where the other trace has the same operations. */
static void draw_difference(struct canvas *c, const struct lane_area *l, const struct lane *lane,
                            const struct lanes *other, double y, double height)
{
	const struct theme *t = c->theme;
	for (int k = 0; k < other->lane_count; k++) {
		const struct lane *o = &other->lanes[k];
		if (!lane_has_rank(other, o, lane->rank) || o->queue != lane->queue)
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

/* Ranks whose name is too long to stand beside the lane's: "ranks 0–1023:", and below it "the same". */
static void draw_long_name(struct canvas *c, const struct lane_area *l, const char *ranks, double y, double size)
{
	char part[LANE_RANKS + 2], *rest;
	snprintf(part, sizeof part, "%s", ranks);
	rest = lane_ranks_rest(part);
	if (rest)
		memcpy(rest, ":", 2);
	draw_fitting(c, l->box.x + 2, y - size * 0.25, size, 9, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, l->names - 6,
	             part);
	bool brief = text_length(c, 9, WEIGHT_BOLD, "the same") > l->names * 0.44;
	if (rest)
		draw_fitting(c, l->box.x + 2, y + size * 1.05, size, 9, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT,
		             l->names * 0.44, brief ? "same" : "the same");
}

/* The ranks at the first of their lanes, unless those above are too near; and what the lane is, if there is room. */
static void draw_names(struct canvas *c, const struct lane_area *l, const struct lane *lane, double y, bool head,
                       double *named)
{
	const struct theme *t = c->theme;
	char ranks[LANE_RANKS];
	double size = fmax(l->small - 1, fmin(l->body, l->row * 0.62 + 2)), middle = y + l->row / 2;
	lane_ranks(ranks, l->lanes, lane);
	bool wide = head && l->lanes->timeline && text_length(c, size, WEIGHT_BOLD, ranks) > l->names * 0.44;
	bool lines = wide && l->row >= 2.2 * size;
	if (l->row >= size - 1 && (!wide || lines))
		draw_text(c, l->plot.x - 8, middle + size * (lines ? 1.05 : 0.36), size, WEIGHT_PLAIN, t->soft,
		          ALIGN_RIGHT, head ? l->names * 0.52 : l->names - 14, "%s", lane->name);
	if (!head || y - *named < size)
		return;
	*named = y;
	if (lines)
		draw_long_name(c, l, ranks, middle, size);
	else
		draw_fitting(c, l->box.x + 2, middle + size * 0.36, size, 9, WEIGHT_BOLD, t->ink, ALIGN_LEFT,
		             wide || l->row < size - 1 ? l->names - 6 : l->names * 0.44, ranks);
}

static void draw_lanes(struct canvas *c, const struct view *v, const struct lane_area *l)
{
	double y = l->plot.y, named = -100;
	char last[96] = "";
	struct bar_row row = {0};
	cairo_save(c->cr);
	cairo_rectangle(c->cr, l->box.x, l->box.y, l->box.width, l->plot.y + l->plot.height - l->box.y);
	cairo_clip(c->cr);
	for (int i = l->first, end = lane_area_last(l) + 1; i < end; i++) {
		const struct lane *lane = &l->lanes->lanes[i];
		if (lane->kind != LANE_SPANS) {
			foreign_lane_draw(c, l, lane, y);
			y += l->row;
			continue;
		}
		bool head = !l->lanes->file && strcmp(last, lane->process) != 0;
		snprintf(last, sizeof last, "%s", lane->process);
		if (head && i > l->first && l->row > 5)
			draw_line(c, l->box.x, y, l->plot.x + l->plot.width, y, c->theme->line, 1);
		draw_names(c, l, lane, y, head, &named);
		draw_gaps(c, l, lane, y, l->row);
		for (int d = 0; d < lane->depth; d++, y += l->row) {
			lane_spans_draw(c, v, l, lane, y, l->row, d, &row);
			if (v->search && l->current)
				lane_found_draw(c, v->search, l, lane, y, l->row, d);
		}
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

/* Says which lanes are drawn, unless all are. */
static void draw_extent(struct canvas *c, const struct lane_area *l)
{
	const struct lanes *all = l->lanes;
	int last = lane_area_last(l);
	char text[160];
	if (!l->scrolls)
		return;
	bool ranks = all->timeline != NULL;
	snprintf(text, sizeof text,
	         tr(ranks ? "ranks %" PRId64 "–%" PRId64 " of %d are drawn"
	                  : "rows %" PRId64 "–%" PRId64 " of %d are drawn"),
	         number_of(all, l->first), number_of(all, last), ranks ? all->timeline->rank_count : all->lane_count);
	size_t at = strlen(text);
	if (l->first > 0)
		at += (size_t)snprintf(
		        text + at, sizeof text - at,
		        tr(ranks ? " · ranks %" PRId64 "–%" PRId64 " above" : " · rows %" PRId64 "–%" PRId64 " above"),
		        number_of(all, 0), number_of(all, l->first - 1));
	if (last + 1 < all->lane_count)
		snprintf(text + at, sizeof text - at,
		         tr(ranks ? " · ranks %" PRId64 "–%" PRId64 " below" : " · rows %" PRId64 "–%" PRId64 " below"),
		         number_of(all, last + 1), number_of(all, all->lane_count - 1));
	draw_text(c, l->plot.x, l->plot.y + l->plot.height + l->small + 2, l->small, WEIGHT_BOLD, c->theme->soft,
	          ALIGN_LEFT, l->plot.width, "%s", text);
}

/* A pipeline's bubble in closed form, beside that of its ranks. The room below the names is free for what is longer. */
static void draw_bubble(struct canvas *c, const struct view *v, const struct lane_area *l)
{
	char text[192];
	enum brevity brevity = BREVITY_NONE;
	double left = l->box.x + 10, room = l->plot.x + l->plot.width - left;
	if (is_veiled(v) || !l->lanes->timeline || !l->lanes->timeline->bubble.stages)
		return;
	while (bubble_words(l->lanes->timeline, brevity, text, sizeof text) && brevity < BREVITY_MOST &&
	       text_length(c, l->small, WEIGHT_BOLD, text) > room)
		brevity++;
	double x = text_length(c, l->small, WEIGHT_BOLD, text) > l->plot.width ? left : l->plot.x;
	draw_text(c, x, l->plot.y + l->plot.height + (l->scrolls ? 2.4 : 1.2) * l->small, l->small, WEIGHT_BOLD,
	          c->theme->soft, ALIGN_LEFT, l->plot.x + l->plot.width - x, "%s", text);
}

static void draw_one(struct canvas *c, const struct view *v, struct lane_area *l, const char *title)
{
	const struct theme *t = c->theme;
	draw_card(c, l->box, t->panel, t->line, 1);
	draw_text(c, l->box.x + 10, l->box.y + 17, fmax(13, l->small), WEIGHT_BOLD, t->ink, ALIGN_LEFT, l->names - 6,
	          "%s", title);
	draw_axis(c, l);
	draw_lanes(c, v, l);
	if (l->sums > 0 && !is_veiled(v))
		lane_sums_draw(c, l);
	lane_range_draw(c, v, l);
	draw_extent(c, l);
	draw_bubble(c, v, l);
	if (l->legend)
		lane_legend_draw(c, l, l->box.y + l->box.height - 8);
	lane_arrows_draw(c, l);
	if (l->current && l->lanes->file)
		foreign_draw_selected(c, v, l);
	else if (l->current)
		lane_waits_draw(c, v, l);
	int64_t now = v->state ? v->state->time : v->cursor;
	if (is_veiled(v) && now < l->to) {
		double x = fmax(lane_area_x(l, now), l->plot.x);
		draw_veil(c, (struct box){x, l->plot.y, l->plot.x + l->plot.width - x + 1, l->plot.height});
	}
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
	int areas = lane_areas_lay(l, v, b, small);
	struct box cards = lane_cards_box(v, b, small);
	if (cards.height > 0)
		lane_cards_draw(c, v, &l[areas == 2 && l[1].current], cards, small);
	if (areas == 1) {
		draw_one(c, v, &l[0],
		         v->state && v->state->timeline->trace->measured ? tr("measured")
		         : v->state                                      ? tr("simulated")
		                                                         : tr("trace"));
		return;
	}
	char predicted[WORD], real[WORD];
	int64_t simulated = l[0].lanes->end, measured = l[1].lanes->end;
	draw_one(c, v, &l[0], tr("simulated"));
	draw_one(c, v, &l[1], tr("measured"));
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
