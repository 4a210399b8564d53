/* Arrows from send to receive: from what made the values to what goes on with them. */
#include <math.h>
#include <stdlib.h>

#include "strategy/base/arena.h"

#include "viz/scene/lane_spans.h"

/* Nearer to each other two would be a blur, and nearer than that on average all of them. */
enum { ARROWS_APART = 8, ARROWS_MEAN = 14 };

/* The edge of a rank's compute lane that faces another lane; false: it is not in sight. */
static bool edge_of(const struct lane_area *l, int64_t rank, bool below, double *y)
{
	int lane = lane_area_of(l, rank, QUEUE_COMPUTE);
	if (lane < 0)
		return false;
	*y = lane_area_top(l, lane) + (below ? l->row - 1.5 : 1.5);
	return *y < l->plot.y + l->plot.height;
}

static bool is_shown(const struct lane_area *l, const struct collective *m)
{
	return m->kind == OP_SEND && m->rank && !m->control && m->came >= l->from && m->end <= l->to &&
	       m->rank[0] >= 0 && m->rank[1] >= 0;
}

static bool lay_arrow(const struct lane_area *l, const struct collective *m, struct lane_arrow *out)
{
	bool down = lane_area_of(l, m->rank[1], QUEUE_COMPUTE) > lane_area_of(l, m->rank[0], QUEUE_COMPUTE);
	*out = (struct lane_arrow){.message = m, .x0 = lane_area_x(l, m->came), .x1 = lane_area_x(l, m->end)};
	return edge_of(l, m->rank[0], down, &out->y0) && edge_of(l, m->rank[1], !down, &out->y1);
}

/* True if an arrow of the same two ranks is just before it. */
static bool is_crowded(const struct lane_arrow *arrows, int count, const struct lane_arrow *one)
{
	for (int i = count - 1; i >= 0; i--)
		if (arrows[i].y0 == one->y0 && arrows[i].y1 == one->y1)
			return fabs(one->x0 - arrows[i].x0) < ARROWS_APART;
	return false;
}

int lane_arrows_find(const struct lane_area *l, struct lane_arrow *out)
{
	const struct timeline *s = l->lanes->timeline;
	int count = 0, shown = 0;
	for (int i = 0; s && i < s->collective_count; i++)
		shown += is_shown(l, &s->collectives[i]);
	if (!shown || shown * ARROWS_MEAN > l->plot.width * (s->rank_count - 1))
		return 0;
	for (int i = 0; i < s->collective_count; i++)
		if (is_shown(l, &s->collectives[i]) && lay_arrow(l, &s->collectives[i], &out[count]) &&
		    !is_crowded(out, count, &out[count]))
			count++;
	return count;
}

void lane_arrows_draw(struct canvas *c, const struct lane_area *l)
{
	const struct timeline *s = l->lanes->timeline;
	if (!s || l->row < 14)
		return;
	struct lane_arrow *arrows = array_make((size_t)s->collective_count, sizeof *arrows);
	for (int i = 0, count = lane_arrows_find(l, arrows); i < count; i++) {
		const struct lane_arrow *a = &arrows[i];
		draw_line(c, a->x0, a->y0, a->x1, a->y1, c->theme->ink, 1.3);
		draw_arrow_head(c, a->x0, a->y0, a->x1, a->y1, fmin(8, l->row * 0.4), c->theme->ink);
	}
	free(arrows);
}
