/* All-reduce without neighbours: in round k every rank sends to the rank that is k places further.
 *
 * On 3 ranks; a digit is a rank whose contribution the chunk holds, what is sent is in brackets:
 *
 *               rank 0              rank 1              rank 2
 *     chunk     0    1    2         0    1    2         0    1    2
 *     round 0   0   [0]   0         1    1   [1]       [2]   2    2      chunk r+1 to rank r+1, added
 *     round 1   02   0   [0]       [1]   01   1         2   [2]   12     chunk r+2 to rank r+2, added
 *               012  -    -         -    012  -         -    -    012    rank r has the sum of chunk r
 *     round 2  [all] -    -         -   [all] -         -    -   [all]   its chunk to rank r+1, copied
 *     round 3  [all] -   all       all [all]  -         -   all [all]    its chunk to rank r+2, copied
 */
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
		round_receive(r, from, chunk_of(s, from), false);
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
