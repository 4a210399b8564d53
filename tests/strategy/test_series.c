/* Figures of a long run in memory that does not grow. */
#include <math.h>

#include "strategy/base/series.h"
#include "strategy/trace/curves.h"
#include "tests/support/suite.h"

enum { ROOM = 8 };

/* Everything up to the room; from there on evenly, and never more. */
START_TEST(all_of_a_short_run)
{
	struct series s;
	series_begin(&s, sizeof(double), ROOM);
	for (int64_t step = 0; step < 1000; step++) {
		double value = (double)(step * step);
		series_add(&s, step, &value);
		const double *items = s.items;
		ck_assert_int_le(s.count, ROOM);
		ck_assert(step >= ROOM ? s.count >= ROOM / 2 : s.count == step + 1 && s.every == 1);
		for (int64_t i = 0; i < s.count; i++)
			ck_assert(items[i] == (double)(i * s.every * i * s.every));
		ck_assert_int_eq(s.count, step / s.every + 1);
	}
	series_release(&s);
	series_release(NULL);
}

/* A curve has its last point too, and none that is not finite. */
START_TEST(a_curve_ends_where_the_run_does)
{
	struct curves c;
	struct curve_point p = {0};
	struct curve_range range;
	curves_begin(&c);
	ck_assert(!curves_range(&c, &range) && !curves_training(&c, 0, &p));
	for (int64_t step = 1; step <= 10007; step++)
		curves_add(&c, step, step == 5 ? (double)NAN : 2.0 / (double)step, step % 100 ? (double)NAN : 3);
	int64_t n = 0, last = 0;
	for (; curves_training(&c, n, &p); n++) {
		ck_assert(p.step > last && p.step != 5 && p.loss == 2.0 / (double)p.step);
		last = p.step;
	}
	ck_assert(last == 10007 && n > 1000 && n < 5000);
	for (n = 0; curves_validation(&c, n, &p); n++)
		ck_assert(p.step == 100 * (n + 1) && p.loss == 3);
	ck_assert_int_eq(n, 100);
	ck_assert(curves_range(&c, &range) && range.first == 1 && range.last == 10007 && range.high == 3);
	ck_assert(range.low == 2.0 / 10007);
	curves_release(&c);
	curves_release(NULL);
}

SUITE("series", 0)
