#include "viz/scene/lane_area.h"

#include <math.h>
#include <string.h>

void lane_area_range(const struct view *v, int64_t *from, int64_t *to)
{
	int64_t end = v->lanes ? v->lanes->end : 1;
	if (v->other && v->other->end > end)
		end = v->other->end;
	end = v->end > end ? v->end : end;
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
		if (lane_has_rank(lanes, &lanes->lanes[i], rank))
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

static int rows_of(const struct lanes *lanes)
{
	int rows = 0;
	for (int i = 0; i < lanes->lane_count; i++)
		rows += lanes->lanes[i].depth;
	return rows;
}

/* Up to so many equal ranks are drawn each, if their names fit beside them. */
enum { RANKS_APART = 8, LEAST_ROW = 18 };

const struct lanes *lane_area_lanes(const struct lanes *lanes, double height)
{
	bool apart =
	        lanes->timeline && lanes->timeline->rank_count <= RANKS_APART && height >= LEAST_ROW * rows_of(lanes);
	return lanes->folded && !apart ? lanes->folded : lanes;
}

/* The first lane in sight, where there is no room for all: no emptiness behind the last, and whole ranks. */
static void find_first(struct lane_area *l, const struct view *v)
{
	const struct lanes *lanes = l->lanes;
	l->first = v->first_lane;
	if (l->first < 0) /* nobody has scrolled: at the rank that one looks at */
		l->first = lanes->timeline ? first_of_rank(lanes, v->focus_rank)
		                           : first_showing(l, v->selected_rank < 0 ? 0 : v->selected_rank);
	l->first = l->first < lanes->lane_count ? l->first : lanes->lane_count - 1;
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
		l->first++;
}

/* The sums are for a picture with room for their figures beside the lanes. */
static double sums_width(const struct view *v, const struct lanes *lanes, double width)
{
	enum { LEAST_WIDTH = 760 };
	bool any = lanes->timeline ? lanes->timeline->rank_count > 0 : lanes->gpus.count > 0;
	return any && width >= LEAST_WIDTH ? (v->presenter ? 222 : 192) : 0;
}

static void lay(struct lane_area *l, const struct view *v, const struct lanes *lanes, struct box b, bool legend,
                bool sums)
{
	double line = v->presenter ? 16 : 14;
	*l = (struct lane_area){.box = b, .current = true, .legend = legend && lanes->timeline};
	l->small = v->presenter ? 13 : 11; /* of 720, times what a presenter enlarges: 2 % */
	l->body = v->presenter ? 14.5 : 12;
	lane_area_range(v, &l->from, &l->to);
	l->names = lanes->timeline ? (v->presenter ? 180 : 158) : fmin(300, b.width * 0.26);
	l->sums = sums ? sums_width(v, lanes, b.width) : 0;
	l->plot = (struct box){b.x + l->names, b.y + 28, b.width - l->names - l->sums - 10, b.height - 36};
	l->plot.height -= l->legend ? lane_legend_height(v) : 0;
	if (lanes->timeline && lanes->timeline->bubble.stages)
		l->plot.height -= line; /* below it stands how large the bubble is */
	l->plot.width = fmax(l->plot.width, 1);
	l->plot.height = fmax(l->plot.height, 1);
	l->lanes = lane_area_lanes(lanes, l->plot.height);
	int rows = rows_of(l->lanes);
	double fits = l->plot.height / (rows ? rows : 1);
	double least = lanes->timeline && l->lanes->lane_count <= 130 ? 3 : 13;
	l->row = fmax(least, fmin(l->lanes->is_folded || rows < 4 ? 110 : 64, fits));
	l->scrolls = fits < least;
	if (!l->scrolls)
		return;
	l->plot.height = fmax(1, l->plot.height - line); /* below it stands which lanes these are */
	find_first(l, v);
}

void lane_area_lay(struct lane_area *l, const struct view *v, const struct lanes *lanes, struct box b, bool legend)
{
	lay(l, v, lanes, b, legend, true);
}

int lane_areas_lay(struct lane_area l[2], const struct view *v, struct box b, bool small)
{
	b.height = fmax(1, b.height - lane_cards_box(v, b, small).height);
	if (!v->other || small) {
		lay(&l[0], v, v->lanes, b, true, !small);
		return 1;
	}
	double height = fmax(1, (b.height - LANE_AREAS_GAP) / 2);
	bool first = !v->lanes->timeline->trace->measured;
	for (int i = 0; i < 2; i++) {
		const struct lanes *lanes = (i == 0) == first ? v->lanes : v->other;
		lane_area_lay(&l[i], v, lanes, (struct box){b.x, b.y + (height + LANE_AREAS_GAP) * i, b.width, height},
		              i == 1);
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

double lane_area_scale(const struct lane_area *l)
{
	return l->plot.width / (double)(l->to - l->from);
}

int lane_area_of(const struct lane_area *l, int64_t rank, enum queue queue)
{
	for (int i = l->first, last = lane_area_last(l); i <= last; i++) {
		const struct lane *lane = &l->lanes->lanes[i];
		if (lane->queue == queue &&
		    (lane->rank == rank || (lane_is_folded(l->lanes, lane) && lane_has_rank(l->lanes, lane, rank))))
			return i;
	}
	return -1;
}

double lane_area_top(const struct lane_area *l, int number)
{
	double y = l->plot.y;
	for (int i = l->first; i < number; i++)
		y += l->row * l->lanes->lanes[i].depth;
	return y;
}

double lane_area_y(const struct lane_area *l, int64_t rank, enum queue queue)
{
	int lane = lane_area_of(l, rank, queue);
	double y = lane < 0 ? 0 : lane_area_top(l, lane);
	return lane >= 0 && y < l->plot.y + l->plot.height ? y + l->row / 2 : -1;
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
