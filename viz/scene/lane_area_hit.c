/* The timeline under the mouse. */
#include <inttypes.h>
#include <stdio.h>

#include "viz/scene/lane_area.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"

static void hit_span(struct hit *h, const struct lane_area *l, const struct lane *lane, const struct lane_span *s)
{
	h->op = s->op;
	op_explain(l->lanes->timeline, lane->rank, s->op, h->text, sizeof h->text);
}

static void hit_gap(struct hit *h, const struct lane *lane)
{
	size_t i = lane_find_gap(lane, h->time);
	const struct lane_gap *g = &lane->gaps[i];
	char time[WORD], whom[64];
	if (i == lane->gap_count || g->begin > h->time)
		return;
	snprintf(h->text, sizeof h->text, "rank %" PRId64 " does not compute for %s: %s%s", lane->rank,
	         time_word(time, g->end - g->begin), g->exposed ? "communication is exposed" : "a bubble",
	         g->waits ? wait_words(whom, sizeof whom, ", it waits for", g->awaits) : "");
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
	if (span >= 0)
		hit_span(h, l, lane, &lane->spans[span]);
	else
		hit_gap(h, lane);
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
