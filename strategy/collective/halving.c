/* Recursive halving (Thakur, Rabenseifner, Gropp 2005): a reduce-scatter in log2(n) rounds. On 4 ranks; a digit is a
 * rank whose contribution the slice holds, - is what the rank has given away:
 *
 *                rank 0               rank 1               rank 2               rank 3
 *                0    0    0    0     1    1    1    1     2    2    2    2     3    3    3    3
 *     halve: 0↔2, 1↔3; the lower rank keeps the lower half
 *                02   02   -    -     13   13   -    -     -    -    02   02    -    -    13   13
 *     halve: 0↔1, 2↔3
 *                all  -    -    -     -    all  -    -     -    -    all  -     -    -    -    all
 *
 * Every element is the same sum, (0+2)+(1+3): a binary tree whose leaves are the ranks, and whose first sums are of
 * ranks that differ in the highest bit. So does the first half of halving_doubling.c. A ring begins each slice's sum at
 * another rank.
 *
 * Numbers of ranks that are no power of two go round the ring.
 */
#include "strategy/collective/algorithms.h"

static bool halves(const struct schedule *s)
{
	return !(s->ranks & (s->ranks - 1));
}

static int64_t halving_rounds(const struct schedule *s)
{
	return halves(s) ? __builtin_ctzll((unsigned long long)s->ranks) : s->ranks - 1;
}

static void halving_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	if (!halves(s)) {
		ring_reduce_scatter.round(s, rank, round, r);
		return;
	}
	int64_t distance = s->ranks >> (round + 1), slice = s->elements / s->ranks, partner = rank ^ distance;
	struct stretch mine = {rank / distance * distance * slice, distance * slice};
	struct stretch theirs = {partner / distance * distance * slice, distance * slice};
	round_send(r, partner, theirs);
	round_receive(r, partner, mine, true);
}

static int64_t halving_sent(const struct schedule *s, int64_t rank)
{
	(void)rank;
	return s->elements / s->ranks * (s->ranks - 1);
}

static struct amount halving_amount(const struct schedule *s)
{
	return times_slice(s, s->ranks - 1);
}

const struct algorithm halving_reduce_scatter = {
        .name = "halving",
        .description = "recursive halving: a binary tree of sums; round the ring beside powers of two",
        .operation = OPERATION_REDUCE_SCATTER,
        .shape = SHAPE_PAIRS,
        .slices = true,
        .symmetric = true,
        .rounds = halving_rounds,
        .round = halving_round,
        .sent = halving_sent,
        .received = halving_sent,
        .amount = halving_amount,
        .formula = "(n − 1)/n · S",
        .time = "hop(S/2) + hop(S/4) + … + hop(S/n)",
        .time_uneven = "(n − 1) · hop(S/n)",
        .halves = halves,
};
