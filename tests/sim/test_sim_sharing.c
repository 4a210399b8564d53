/* The simulator's foundations: the event queue, and the sharing of resources. */
#include "sim/fluid.h"
#include "sim/heap.h"
#include "tests/support/suite.h"

/* ---- the event queue ---- */

START_TEST(test_heap_order)
{
	struct heap h = {0};
	int64_t time;
	heap_set(&h, 5, 30);
	heap_set(&h, 1, 20);
	heap_set(&h, 9, 20); /* equal: after 1, which came first */
	heap_set(&h, 2, 10);
	heap_set(&h, 0, 20);
	heap_set(&h, 2, 40); /* moves back */
	heap_set(&h, 5, 5);  /* and forward */
	heap_set(&h, 1, 20); /* stays where it is */
	heap_remove(&h, 7);  /* is not in it */
	static const int what[] = {5, 1, 9, 0, 2};
	static const int64_t when[] = {5, 20, 20, 20, 40};
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(heap_pop(&h, &time), what[i]);
		ck_assert_int_eq(time, when[i]);
	}
	ck_assert_int_eq(heap_pop(&h, &time), -1);
	heap_release(&h);
}

static uint64_t random_state = 1;
static int random_below(int n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((random_state >> 33) % (uint64_t)n);
}

/* Against a plain list. */
START_TEST(test_heap_random)
{
	enum { EVENTS = 50 };
	struct heap h = {0};
	struct {
		int64_t time;
		uint64_t number;
		bool in;
	} list[EVENTS] = {{0}};
	uint64_t number = 0;
	for (int turn = 0; turn < 20000; turn++) {
		int what = random_below(EVENTS);
		int64_t time = random_below(30);
		switch (random_below(3)) {
		case 0:
			heap_set(&h, what, time);
			if (!list[what].in || list[what].time != time)
				list[what].number = number++;
			list[what].time = time;
			list[what].in = true;
			break;
		case 1:
			heap_remove(&h, what);
			list[what].in = false;
			break;
		default: {
			int first = -1;
			for (int i = 0; i < EVENTS; i++)
				if (list[i].in &&
				    (first < 0 || list[i].time < list[first].time ||
				     (list[i].time == list[first].time && list[i].number < list[first].number)))
					first = i;
			int got = heap_pop(&h, &time);
			if (got != first || (first >= 0 && time != list[first].time))
				ck_abort_msg("event %d instead of %d", got, first);
			if (first >= 0)
				list[first].in = false;
		}
		}
	}
	heap_release(&h);
}

/* ---- sharing ---- */

static int begin_flow(struct fluid *f, int name, int64_t work, fixed limit, int first, int second)
{
	struct use uses[2] = {{first, FIXED_ONE}, {second, FIXED_ONE}};
	return fluid_begin(f, (struct activity_tag){0, name, 0, 0}, work, limit, FIXED_ONE, uses, second < 0 ? 1 : 2);
}

static void expect_end(struct fluid *f, int name, int64_t when)
{
	int64_t now = -1;
	int id = fluid_next(f, &now);
	ck_assert_int_ge(id, 0);
	ck_assert_int_eq(fluid_activity(f, id)->tag.process, name);
	ck_assert_int_eq(now, when);
	fluid_end(f, id);
}

START_TEST(test_fluid_link)
{
	struct fluid f = {0};
	int link = fluid_add_resource(&f, 10 * FIXED_ONE); /* 10 bytes/ns */
	begin_flow(&f, 1, 100, FLUID_NO_LIMIT, link, -1);
	begin_flow(&f, 2, 300, FLUID_NO_LIMIT, link, -1);
	expect_end(&f, 1, 20); /* at 5 each */
	expect_end(&f, 2, 40); /* 200 left, alone at 10 */
	int64_t now;
	ck_assert_int_eq(fluid_next(&f, &now), -1);
	fluid_release(&f);
}

/* Max-min: flow 3 crosses both links and gets half of the narrow one; flow 2 gets the rest of the wide one.
 *     narrow 4: flows 1, 3     wide 10: flows 2, 3      rates 2, 8, 2 */
START_TEST(test_fluid_max_min)
{
	struct fluid f = {0};
	int narrow = fluid_add_resource(&f, 4 * FIXED_ONE), wide_link = fluid_add_resource(&f, 10 * FIXED_ONE);
	begin_flow(&f, 1, 2000, FLUID_NO_LIMIT, narrow, -1);
	begin_flow(&f, 2, 800, FLUID_NO_LIMIT, wide_link, -1);
	begin_flow(&f, 3, 400, FLUID_NO_LIMIT, narrow, wide_link);
	expect_end(&f, 2, 100);
	expect_end(&f, 3, 200);
	expect_end(&f, 1, 600); /* 1600 left at 4 */
	fluid_release(&f);
}

/* A flow with a limit of its own leaves the rest to the others. */
START_TEST(test_fluid_limit)
{
	struct fluid f = {0};
	int link = fluid_add_resource(&f, 10 * FIXED_ONE);
	begin_flow(&f, 1, 100, FIXED_ONE, link, -1);      /* at 1 */
	begin_flow(&f, 2, 900, FLUID_NO_LIMIT, link, -1); /* at 9 */
	expect_end(&f, 1, 100);
	expect_end(&f, 2, 100);
	fluid_release(&f);
}

START_TEST(test_fluid_oversubscribed)
{
	struct fluid f = {0};
	int cores = fluid_add_resource(&f, 2 * FIXED_ONE);
	for (int i = 0; i < 4; i++)
		begin_flow(&f, i, 1000, FIXED_ONE, cores, -1);
	for (int i = 0; i < 4; i++)
		expect_end(&f, i, 2000);
	begin_flow(&f, 7, 1000, FIXED_ONE, cores, -1); /* alone: at its limit, not at 2 */
	expect_end(&f, 7, 3000);
	fluid_release(&f);
}

/* A resource that is held without end slows the others down until it is let go. */
START_TEST(test_fluid_hold)
{
	struct fluid f = {0};
	int device = fluid_add_resource(&f, FIXED_ONE);
	struct use quarter = {device, FIXED_ONE / 4};
	int hold = fluid_begin(&f, (struct activity_tag){0}, FLUID_WITHOUT_END, FIXED_ONE, 4 * FIXED_ONE, &quarter, 1);
	begin_flow(&f, 1, 300, FIXED_ONE, device, -1);
	fluid_begin(&f, (struct activity_tag){0, 2, 0, 0}, 100, FIXED_ONE, FIXED_ONE, NULL, 0);
	expect_end(&f, 2, 100);
	fluid_end(&f, hold);
	expect_end(&f, 1, 325); /* 75 of 300 in the first 100 */
	fluid_release(&f);
}

/* Sharing that keeps the rates that stay, beside sharing everything anew: the same ends, in the same order. Many flows
 * are alike, as kernels on shared cores are; some have limits, or narrow links. */
START_TEST(test_fluid_keeps_rates)
{
	enum { FLOWS = 3000, UNDER_WAY = 12, LINKS = 3 };
	struct fluid f[2] = {{0}};
	int kept = 0, names = 0;
	for (int i = 0; i < 2 * LINKS; i++)
		fluid_add_resource(&f[i / LINKS], (i % LINKS ? 40 : 10) * FIXED_ONE);
	for (int ended = 0; ended < FLOWS; ended++) {
		int wanted = UNDER_WAY - (random_below(20) ? 0 : random_below(4));
		for (; names - ended < wanted; names++) {
			bool alike = random_below(60) > 0;
			int64_t work = 100 + random_below(1000);
			fixed limit = alike ? FIXED_ONE : (fixed)(1 + random_below(3)) * FIXED_ONE / 4;
			int link = alike ? 0 : random_below(LINKS);
			for (int k = 0; k < 2; k++)
				begin_flow(&f[k], names, work, limit, link, alike ? 1 : -1);
		}
		int64_t now[2];
		bool was_even = f[0].was_even;
		uint64_t stamp = f[0].stamp;
		f[1].was_even = false;
		int id = fluid_next(&f[0], &now[0]), anew = fluid_next(&f[1], &now[1]);
		ck_assert(id == anew && now[0] == now[1]);
		kept += was_even && f[0].stamp == stamp;
		for (int k = 0; k < 2; k++)
			fluid_end(&f[k], id);
	}
	ck_assert_int_gt(kept, FLOWS / 4);
	fluid_release(&f[0]);
	fluid_release(&f[1]);
}

SUITE("sim sharing", 120)
