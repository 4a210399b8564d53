#include "viz/timeline.h"

#include <math.h>

void timeline_range(const struct view *v, int64_t *from, int64_t *to)
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

void timeline_lay(struct timeline *l, const struct view *v, const struct lanes *lanes, struct box b)
{
	int rows = 0;
	*l = (struct timeline){.lanes = lanes, .box = b, .current = true};
	timeline_range(v, &l->from, &l->to);
	l->names = lanes->score ? 158 : fmin(300, b.width * 0.26);
	l->plot = (struct box){b.x + l->names, b.y + 26, b.width - l->names - 10, b.height - 34};
	l->plot.width = fmax(l->plot.width, 1);
	l->plot.height = fmax(l->plot.height, 1);
	for (int i = 0; i < lanes->lane_count; i++)
		rows += lanes->lanes[i].depth;
	double fits = l->plot.height / (rows ? rows : 1), least = lanes->score && lanes->lane_count <= 130 ? 3 : 13;
	l->row = fmax(least, fmin(64, fits));
	l->first = fits >= least ? 0 : v->first_lane;
	if (l->first >= lanes->lane_count)
		l->first = lanes->lane_count - 1;
	if (l->first < 0)
		l->first = 0;
}

double timeline_x(const struct timeline *l, int64_t time)
{
	return l->plot.x + l->plot.width * ((double)(time - l->from) / (double)(l->to - l->from));
}

int64_t timeline_time(const struct timeline *l, double x)
{
	return l->from + (int64_t)((x - l->plot.x) / l->plot.width * (double)(l->to - l->from));
}

double timeline_y(const struct timeline *l, int64_t rank, enum queue queue)
{
	double y = l->plot.y;
	for (int i = l->first; i < l->lanes->lane_count; i++) {
		const struct lane *lane = &l->lanes->lanes[i];
		if (lane->rank == rank && lane->queue == queue)
			return y < l->plot.y + l->plot.height ? y + l->row / 2 : -1;
		y += l->row * lane->depth;
	}
	return -1;
}

int timeline_lane(const struct timeline *l, double y, int *depth)
{
	double top = l->plot.y;
	for (int i = l->first; i < l->lanes->lane_count; i++) {
		double height = l->row * l->lanes->lanes[i].depth;
		if (y >= top && y < top + height && y < l->plot.y + l->plot.height) {
			*depth = (int)((y - top) / l->row);
			return i;
		}
		top += height;
	}
	return -1;
}
