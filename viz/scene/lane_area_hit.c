/* The timeline under the mouse. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_area.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"

static void hit_span(struct hit *h, const struct lane_area *l, const struct lane *lane, const struct lane_span *s)
{
	h->op = s->op;
	op_explain(l->lanes->timeline, lane->rank, s->op, h->text, sizeof h->text);
}

/* "rank 3", "ranks 0–63"; returns whether it is several. */
static bool who(char *out, const struct lane_area *l, const struct lane *lane)
{
	lane_ranks(out, l->lanes, lane);
	char *rest = lane_ranks_rest(out);
	if (rest)
		*rest = 0;
	return rest != NULL;
}

/* A click on a fold selects its first operation. */
static void hit_fold(struct hit *h, const struct lane_area *l, const struct lane *lane, const struct lane_fold *f)
{
	h->op = lane->spans[f->first].op;
	char ranks[LANE_RANKS], text[192];
	who(ranks, l, lane);
	fold_explain(l->lanes->timeline, f, text, sizeof text);
	snprintf(h->text, sizeof h->text, tr("%s, on %.56s"), text, ranks);
}

/* A gap within a fold that is wide enough to be seen is drawn, and so it is hit. */
static bool is_gap(const struct lane_area *l, const struct lane *lane, int64_t time)
{
	size_t i = lane_find_gap(lane, time);
	return i < lane->gap_count && lane->gaps[i].begin <= time &&
	       (double)(lane->gaps[i].end - lane->gaps[i].begin) * lane_area_scale(l) >= 1.5;
}

static void hit_gap(struct hit *h, const struct lane_area *l, const struct lane *lane)
{
	size_t i = lane_find_gap(lane, h->time);
	const struct lane_gap *g = &lane->gaps[i];
	char time[WORD], whom[64], ranks[LANE_RANKS];
	if (i == lane->gap_count || g->begin > h->time)
		return;
	bool several = who(ranks, l, lane);
	snprintf(h->text, sizeof h->text,
	         tr(several ? "%.100s do not compute for %s: %s%s" : "%.100s does not compute for %s: %s%s"), ranks,
	         time_word(time, g->end - g->begin),
	         tr(g->beside    ? "what the stack takes beside operations"
	            : g->exposed ? "communication is exposed"
	                         : "a bubble"),
	         g->waits ? wait_words(whom, sizeof whom, tr(several ? ", they wait for" : ", it waits for"), g->awaits)
	                  : "");
}

static void hit_one(struct hit *h, const struct lane_area *l, double x, double y)
{
	int depth;
	if (!box_has(l->plot, x, y))
		return;
	h->time = lane_area_time(l, x);
	int number = lane_area_lane(l, y, &depth);
	if (number < 0)
		return;
	const struct lane *lane = &l->lanes->lanes[number];
	if (l->lanes->file) {
		foreign_hit(l, number, depth, h);
		return;
	}
	h->rank = lane->rank;
	int64_t span = lane_span_at(lane, h->time, depth);
	struct lane_piece piece;
	if (lane->pass_count && !is_gap(l, lane, h->time) && lane_piece_at(lane, lane_area_scale(l), h->time, &piece) &&
	    piece.fold)
		hit_fold(h, l, lane, piece.fold);
	else if (span >= 0)
		hit_span(h, l, lane, &lane->spans[span]);
	else
		hit_gap(h, l, lane);
}

void lane_area_hit(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y, struct hit *h)
{
	struct lane_area l[2];
	(void)c;
	if (!v->lanes || !v->lanes->lane_count)
		return;
	for (int i = 0, n = lane_areas_lay(l, v, b, small); i < n; i++)
		hit_one(h, &l[i], x, y);
}
