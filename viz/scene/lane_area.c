#include "viz/scene/lane_area.h"

#include <math.h>

void lane_area_range(const struct view *v, int64_t *from, int64_t *to)
{
	int64_t end = v->lanes ? v->lanes->end : 1;
	if (v->other && v->other->end > end)
		end = v->other->end;
	*from = v->from;
	*to = v->to;
	if (*from >= *to) {
		*from = 0;
		*to = end;
	}
	if (*to <= *from)
		*to = *from + 1;
}

static int first_of_rank(const struct lanes *lanes, int64_t rank)
{
	for (int i = 0; i < lanes->lane_count; i++)
		if (lanes->lanes[i].rank == rank)
			return i;
	return 0;
}

/* So that a lane is in sight, and as much as there is room for above it. */
static int first_showing(const struct lane_area *l, int64_t lane)
{
	double height = 0;
	int first = (int)lane;
	while (first > 0 && (height += l->row * l->lanes->lanes[first].depth) <= l->plot.height)
		first--;
	return height > l->plot.height && first < lane ? first + 1 : first;
}

void lane_area_lay(struct lane_area *l, const struct view *v, const struct lanes *lanes, struct box b)
{
	int rows = 0;
	*l = (struct lane_area){.lanes = lanes, .box = b, .current = true};
	lane_area_range(v, &l->from, &l->to);
	l->names = lanes->timeline ? 158 : fmin(300, b.width * 0.26);
	l->plot = (struct box){b.x + l->names, b.y + 28, b.width - l->names - 10, b.height - 36};
	if (lanes->timeline && lanes->timeline->bubble.stages)
		l->plot.height -= 14; /* below it stands how large the bubble is */
	l->plot.width = fmax(l->plot.width, 1);
	l->plot.height = fmax(l->plot.height, 1);
	for (int i = 0; i < lanes->lane_count; i++)
		rows += lanes->lanes[i].depth;
	double fits = l->plot.height / (rows ? rows : 1), least = lanes->timeline && lanes->lane_count <= 130 ? 3 : 13;
	l->row = fmax(least, fmin(64, fits));
	l->scrolls = fits < least;
	if (!l->scrolls)
		return;
	l->plot.height = fmax(1, l->plot.height - 14); /* below it stands which lanes these are */
	l->first = v->first_lane;
	if (l->first < 0) /* nobody has scrolled: at the rank that one looks at */
		l->first = lanes->timeline ? first_of_rank(lanes, v->focus_rank)
		                           : first_showing(l, v->selected_rank < 0 ? 0 : v->selected_rank);
	l->first = l->first < lanes->lane_count ? l->first : lanes->lane_count - 1;
	/* No emptiness behind the last. */
	double below = 0;
	for (int i = lanes->lane_count - 1; i >= 0; i--) {
		below += l->row * lanes->lanes[i].depth;
		if (below > l->plot.height) {
			l->first = l->first > i + 1 && i + 1 < lanes->lane_count ? i + 1 : l->first;
			break;
		}
	}
	while (lanes->timeline && l->first > 0 && l->first + 1 < lanes->lane_count &&
	       lanes->lanes[l->first].rank == lanes->lanes[l->first - 1].rank)
		l->first++; /* whole ranks */
}

int lane_areas_lay(struct lane_area l[2], const struct view *v, struct box b, bool small)
{
	if (!v->other || small) {
		lane_area_lay(&l[0], v, v->lanes, b);
		return 1;
	}
	double height = fmax(1, (b.height - LANE_AREAS_GAP) / 2);
	bool first = !v->lanes->timeline->trace->measured;
	for (int i = 0; i < 2; i++) {
		const struct lanes *lanes = (i == 0) == first ? v->lanes : v->other;
		lane_area_lay(&l[i], v, lanes, (struct box){b.x, b.y + (height + LANE_AREAS_GAP) * i, b.width, height});
		l[i].current = lanes == v->lanes;
	}
	l[1].other = l[0].lanes;
	return 2;
}

int lane_area_last(const struct lane_area *l)
{
	double y = l->plot.y;
	int i = l->first;
	if (!l->lanes->lane_count)
		return -1;
	while (i + 1 < l->lanes->lane_count &&
	       (y += l->row * l->lanes->lanes[i].depth) < l->plot.y + l->plot.height - 2)
		i++;
	/* A plan's lanes: whole ranks, if there is room for one. */
	const struct lane *lanes = l->lanes->lanes;
	bool cut = l->lanes->timeline && i + 1 < l->lanes->lane_count && lanes[i + 1].rank == lanes[i].rank;
	int whole = i;
	while (cut && whole > l->first && lanes[whole].rank == lanes[i].rank)
		whole--;
	return lanes[whole].rank == lanes[i].rank ? i : whole;
}

double lane_area_x(const struct lane_area *l, int64_t time)
{
	return l->plot.x + l->plot.width * ((double)(time - l->from) / (double)(l->to - l->from));
}

int64_t lane_area_time(const struct lane_area *l, double x)
{
	return l->from + (int64_t)((x - l->plot.x) / l->plot.width * (double)(l->to - l->from));
}

double lane_area_y(const struct lane_area *l, int64_t rank, enum queue queue)
{
	double y = l->plot.y;
	for (int i = l->first, last = lane_area_last(l); i <= last; i++) {
		const struct lane *lane = &l->lanes->lanes[i];
		if (lane->rank == rank && lane->queue == queue)
			return y < l->plot.y + l->plot.height ? y + l->row / 2 : -1;
		y += l->row * lane->depth;
	}
	return -1;
}

int lane_area_lane(const struct lane_area *l, double y, int *depth)
{
	double top = l->plot.y;
	for (int i = l->first, last = lane_area_last(l); i <= last; i++) {
		double height = l->row * l->lanes->lanes[i].depth;
		if (y >= top && y < top + height && y < l->plot.y + l->plot.height) {
			*depth = (int)((y - top) / l->row);
			return i;
		}
		top += height;
	}
	return -1;
}
