/* Second attempt: what arrives in the second half is added as well. */
#include "strategy/collective/algorithms.h"
#include "strategy/step/hooks.h"

static int64_t direct_rounds(const struct schedule *s)
{
	return 2 * (s->ranks - 1);
}

static struct stretch chunk_of(const struct schedule *s, int64_t rank)
{
	return (struct stretch){rank * (s->elements / s->ranks), s->elements / s->ranks};
}

static void direct_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	int64_t n = s->ranks, k = round % (n - 1) + 1;
	int64_t to = (rank + k) % n, from = (rank + n - k) % n;
	if (round < n - 1) { /* everyone gets what others have of its own chunk */
		round_send(r, to, chunk_of(s, to));
		round_receive(r, from, chunk_of(s, rank), true);
	} else { /* everyone gives its own chunk, which is finished */
		round_send(r, to, chunk_of(s, rank));
		round_receive(r, from, chunk_of(s, from), true);
	}
}

static int64_t direct_sent(const struct schedule *s, int64_t rank)
{
	(void)rank;
	return direct_rounds(s) * (s->elements / s->ranks);
}

static struct amount direct_amount(const struct schedule *s)
{
	return times_slice(s, direct_rounds(s));
}

const struct algorithm direct_all_reduce = {
        .name = "direct",
        .description = "every rank deals with every other one, round by round",
        .operation = OPERATION_ALL_REDUCE,
        .shape = SHAPE_PAIRS,
        .slices = true,
        .symmetric = true,
        .rounds = direct_rounds,
        .round = direct_round,
        .sent = direct_sent,
        .received = direct_sent,
        .amount = direct_amount,
        .formula = "2 (n − 1)/n · S",
        .time = "2 (n − 1) · hop(S/n)",
};

/* DDP, with a key that may name it. */
const struct strategy strategy_mine = {
        .name = "mine",
        .what = "DDP whose all-reduce is direct",
        .keys = {{"algorithm", "direct|ring", "direct", "of the all-reduce"}},
        .pack = pack_buckets,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .hooks = {.prologue = broadcast_parameters},
};
