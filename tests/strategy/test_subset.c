/* Some of the numbers from 0, in two bits each. */
#include "strategy/base/subset.h"
#include "tests/support/suite.h"

START_LOOP_TEST(each_has_its_place, 1, 70)
{
	enum { NUMBERS = 500 };
	struct subset s;
	int place = 0;
	subset_init(&s, NUMBERS);
	for (int i = 0; i < NUMBERS; i += _i)
		subset_add(&s, i);
	for (int i = 0; i < NUMBERS; i++)
		ck_assert_int_eq(subset_place(&s, i), i % _i ? -1 : place++);
	ck_assert_int_eq(s.count, place);
	subset_release(&s);
	subset_release(NULL);
	subset_init(&s, 0);
	subset_release(&s);
}

SUITE("subset", 0)
