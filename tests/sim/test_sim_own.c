/* An algorithm of the user's own has two rounds for each rank: as many as there are, its cost is found. */
#include "strategy/collective/algorithms.h"
#include "tests/sim/sim_fixture.h"
#include "tests/support/suite.h"

static int64_t rounds(const struct schedule *s)
{
	return 2 * (s->ranks - 1);
}

/* Every rank sends a slice to the next, as in a ring. */
static void next(const struct schedule *s, int64_t rank, int64_t number, struct round *r)
{
	int64_t slice = s->elements / s->ranks;
	round_send(r, around(rank + 1, s->ranks), (struct stretch){rank * slice, slice});
	round_receive(r, around(rank - 1, s->ranks), (struct stretch){around(rank - 1, s->ranks) * slice, slice},
	              number < s->ranks - 1);
}

static int64_t sent(const struct schedule *s, int64_t rank)
{
	(void)rank;
	return rounds(s) * (s->elements / s->ranks);
}

static struct amount amount(const struct schedule *s)
{
	return times_slice(s, rounds(s));
}

static const struct algorithm own = {
        .name = "own",
        .description = "as many rounds as a ring, each of them looked at",
        .operation = OPERATION_ALL_REDUCE,
        .shape = SHAPE_PAIRS,
        .slices = true,
        .symmetric = true,
        .rounds = rounds,
        .round = next,
        .sent = sent,
        .received = sent,
        .amount = amount,
        .formula = "2 (n - 1)/n S",
};

/* In place of the library's empty list. */
const struct algorithm *const own_algorithms[] = {&own, NULL};

START_TEST(test_rounds_for_each_rank)
{
	static const int64_t ranks[] = {3, 64, 65, 66, 300};
	open_gpus("512", "0", "0", "");
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
		int64_t n = ranks[i];
		/* a slice of 40 kB at 10 bytes/ns, and 1 us */
		ck_assert_int_eq(
		        collective_time((enum schedule_algorithm)SCHEDULE_COUNT, n, 0, 10000 * n, GRAIN_OPERATION),
		        2 * (n - 1) * (1000 + 4000));
	}
}

int main(void)
{
	return suite_run("sim_own", 60);
}
