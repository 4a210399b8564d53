/* Turns measurements into the curves of a cluster, which have few points. */
#include <math.h>
#include <stdlib.h>

#include "real/calibrate/internal.h"
#include "strategy/base/arena.h"
#include "strategy/base/compare.h"

/* Two points closer than this factor say the same. */
static const double POINT_DISTANCE = 1.15;

/* Averages the times of the same work in several plans, which keep buffers elsewhere. All plans count alike. */
static struct rate middle(struct rate a, int64_t weight, struct rate b)
{
	int64_t x[] = {a.value, a.low, a.high}, y[] = {b.value, b.low, b.high};
	double w = (double)weight;
	for (int i = 0; i < 3; i++)
		x[i] = (int64_t)((w + 1) / (w / (double)x[i] + 1 / (double)y[i]));
	return rate_measured(x[0], x[1], x[2]);
}

void curve_points_add(struct curve_points *p, int kind, enum type type, int64_t work, struct rate rate)
{
	int same = 0;
	for (size_t i = 0; i < p->count; i++) {
		struct curve_point *q = &p->points[i];
		if (q->kind != kind || q->type != type)
			continue;
		if (q->work == work)
			q->rate = middle(q->rate, q->times++, rate);
		if (fabs(log((double)q->work / (double)work)) < log(POINT_DISTANCE))
			return;
		same++;
	}
	if (work <= 0 || same == CURVE_POINTS)
		return;
	p->points = array_reserve(p->points, p->count, &p->capacity, sizeof *p->points);
	p->points[p->count++] = (struct curve_point){kind, type, work, rate, 1};
}

static int by_kind_type_and_work(const void *a, const void *b)
{
	const struct curve_point *x = a, *y = b;
	return x->kind != y->kind   ? compare(x->kind, y->kind)
	       : x->type != y->type ? compare(x->type, y->type)
	                            : compare(x->work, y->work);
}

void curve_points_fill(const struct curve_points *p, struct cluster *c)
{
	qsort(p->points, p->count, sizeof *p->points, by_kind_type_and_work);
	for (size_t i = 0; i < p->count; i++) {
		/* by its name in a file, where `classifier`, an operation and a family, means the family */
		int key = compute_key_parse(compute_key_name(p->points[i].kind));
		struct curve *curve = &c->compute[key][p->points[i].type];
		if (!i || p->points[i].kind != p->points[i - 1].kind || p->points[i].type != p->points[i - 1].type)
			curve->count = 0;
		if (curve_add(curve, p->points[i].work, p->points[i].rate))
			abort(); /* ascending, and never more than fit */
	}
}

void curve_points_release(struct curve_points *p)
{
	free(p->points);
	*p = (struct curve_points){0};
}
