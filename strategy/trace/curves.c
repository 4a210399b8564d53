#include "strategy/trace/curves.h"

#include <math.h>

enum { KEPT = 4096 };

void curves_begin(struct curves *c)
{
	*c = (struct curves){0};
	series_begin(&c->training, sizeof(struct curve_point), KEPT);
	series_begin(&c->validation, sizeof(struct curve_point), KEPT);
}

void curves_release(struct curves *c)
{
	if (!c)
		return;
	series_release(&c->training);
	series_release(&c->validation);
}

static void add(struct series *s, int64_t *added, struct curve_point *last, struct curve_point point)
{
	if (!isfinite(point.loss))
		return;
	series_add(s, (*added)++, &point);
	*last = point;
}

void curves_add(struct curves *c, int64_t step, double loss, double validation_loss)
{
	add(&c->training, &c->added, &c->last, (struct curve_point){step, loss});
	add(&c->validation, &c->validated, &c->last_validated, (struct curve_point){step, validation_loss});
}

static bool point_of(const struct series *s, const struct curve_point *last, int64_t i, struct curve_point *out)
{
	const struct curve_point *points = s->items;
	if (i < s->count) {
		*out = points[i];
		return true;
	}
	*out = *last;
	return i == s->count && i > 0 && points[i - 1].step < last->step;
}

bool curves_training(const struct curves *c, int64_t i, struct curve_point *out)
{
	return point_of(&c->training, &c->last, i, out);
}

bool curves_validation(const struct curves *c, int64_t i, struct curve_point *out)
{
	return point_of(&c->validation, &c->last_validated, i, out);
}

static void widen(struct curve_range *r, struct curve_point p)
{
	r->first = p.step < r->first ? p.step : r->first;
	r->last = p.step > r->last ? p.step : r->last;
	r->low = fmin(r->low, p.loss);
	r->high = fmax(r->high, p.loss);
}

bool curves_range(const struct curves *c, struct curve_range *out)
{
	struct curve_point p;
	*out = (struct curve_range){INT64_MAX, INT64_MIN, INFINITY, -INFINITY};
	for (int64_t i = 0; curves_training(c, i, &p); i++)
		widen(out, p);
	for (int64_t i = 0; curves_validation(c, i, &p); i++)
		widen(out, p);
	if (out->first > out->last)
		return false;
	if (!(out->high > out->low)) { /* all losses are the same */
		out->low -= 0.5;
		out->high += 0.5;
	}
	return true;
}
