/* The solution of the exercise of lesson 19: the ring, the other way round. */
#include "strategy/collective/algorithms.h"
#include "strategy/step/hooks.h"

static int64_t backwards_rounds(const struct schedule *s)
{
	return 2 * (s->ranks - 1);
}

static struct stretch chunk_of(const struct schedule *s, int64_t k)
{
	int64_t slice = s->elements / s->ranks;
	return (struct stretch){k % s->ranks * slice, slice};
}

static void backwards_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	int64_t n = s->ranks, k = round % (n - 1);
	bool first = round < n - 1;
	int64_t sent = first ? rank + 1 + k : rank + k;
	round_send(r, (rank + n - 1) % n, chunk_of(s, sent));
	round_receive(r, (rank + 1) % n, chunk_of(s, sent + 1), first);
}

static int64_t backwards_sent(const struct schedule *s, int64_t rank)
{
	(void)rank;
	return backwards_rounds(s) * (s->elements / s->ranks);
}

static struct amount backwards_amount(const struct schedule *s)
{
	return times_slice(s, backwards_rounds(s));
}

const struct algorithm backwards_all_reduce = {
        .name = "backwards",
        .description = "every rank deals with every other one, round by round",
        .operation = OPERATION_ALL_REDUCE,
        .shape = SHAPE_PAIRS,
        .slices = true,
        .symmetric = true,
        .rounds = backwards_rounds,
        .round = backwards_round,
        .sent = backwards_sent,
        .received = backwards_sent,
        .amount = backwards_amount,
        .formula = "2 (n − 1)/n · S",
        .time = "2 (n − 1) · hop(S/n)",
};
