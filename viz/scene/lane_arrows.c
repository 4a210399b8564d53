/* Arrows from send to receive: from what made the values to what goes on with them. */
#include <math.h>

#include "viz/scene/lane_spans.h"

/* Nearer to each other they would be a blur. */
enum { ARROWS_APART = 8 };

/* The edge of a rank's compute lane that faces another lane; false: it is not in sight. */
static bool edge_of(const struct lane_area *l, int64_t rank, bool below, double *y)
{
	int lane = lane_area_of(l, rank, QUEUE_COMPUTE);
	if (lane < 0)
		return false;
	*y = lane_area_top(l, lane) + (below ? l->row - 1.5 : 1.5);
	return *y < l->plot.y + l->plot.height;
}

static void draw_arrow(struct canvas *c, const struct lane_area *l, const struct collective *m)
{
	const struct theme *t = c->theme;
	double x0 = lane_area_x(l, m->came), x1 = lane_area_x(l, m->end), y0, y1;
	bool down = lane_area_of(l, m->rank[1], QUEUE_COMPUTE) > lane_area_of(l, m->rank[0], QUEUE_COMPUTE);
	if (!edge_of(l, m->rank[0], down, &y0) || !edge_of(l, m->rank[1], !down, &y1))
		return;
	draw_line(c, x0, y0, x1, y1, t->ink, 1.3);
	draw_arrow_head(c, x0, y0, x1, y1, fmin(8, l->row * 0.4), t->ink);
}

static bool is_shown(const struct lane_area *l, const struct collective *m)
{
	return m->kind == OP_SEND && m->rank && !m->control && m->came >= l->from && m->end <= l->to &&
	       m->rank[0] >= 0 && m->rank[1] >= 0;
}

/* Of those that a rank sends to another, one after the other. */
static void draw_arrows_of(struct canvas *c, const struct lane_area *l, int index, int64_t to)
{
	const struct timeline *s = l->lanes->timeline;
	double last = -1e9;
	for (int i = 0; i < s->collective_count; i++) {
		const struct collective *m = &s->collectives[i];
		if (!is_shown(l, m) || m->rank[0] != s->ranks[index].rank || m->rank[1] != to)
			continue;
		double x = lane_area_x(l, m->came);
		if (x - last < ARROWS_APART)
			continue;
		draw_arrow(c, l, m);
		last = x;
	}
}

void lane_arrows_draw(struct canvas *c, const struct lane_area *l)
{
	const struct timeline *s = l->lanes->timeline;
	bool any = false;
	if (!s || l->row < 14)
		return;
	for (int i = 0; i < s->collective_count && !any; i++)
		any = is_shown(l, &s->collectives[i]);
	for (int index = 0; any && index < s->rank_count; index++)
		for (int by = -1; by <= 1; by += 2)
			if (index + by >= 0 && index + by < s->rank_count)
				draw_arrows_of(c, l, index, s->ranks[index + by].rank);
}
