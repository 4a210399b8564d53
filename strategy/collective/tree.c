/* The binomial tree: in each round, every rank that has the buffer sends it to one that has not.
 *
 * Broadcast on 5 ranks from root 0 (with another root, read the numbers as rank - root mod n); * has the buffer:
 *
 *     round      0   1   2   3   4
 *     0          *─► .   .   .   .        0 → 1
 *     1          *───────►.               0 → 2
 *                    *───────►.           1 → 3
 *     2          *───────────────►.       0 → 4     (5, 6, 7 do not exist: 1, 2, 3 are done)
 *     end        *   *   *   *   *
 *
 * In round t rank v < 2^t sends to v + 2^t: ⌈log2 n⌉ rounds, each of the whole buffer. Reduce is the same tree run
 * backwards; the digits say whose contributions the receiver then holds:
 *
 *     0          4 → 0 (04)
 *     1          2 → 0 (024)    3 → 1 (13)
 *     2          1 → 0 (01234)
 *
 * A sum is a reduce to rank 0, then a broadcast from it: 2·⌈log2 n⌉ rounds, and everyone gets the same bits.
 */
#include "strategy/collective/algorithms.h"

static int bits(int64_t v) /* how many bits v has; 0 for 0 */
{
	int b = 0;
	while (v >> b)
		b++;
	return b;
}

static int64_t levels(const struct schedule *s)
{
	return bits(s->ranks - 1);
}

/* Tells whether the round goes towards the root, and how far its messages reach. */
static bool goes_up(const struct schedule *s, int64_t round, int64_t *reach)
{
	bool sum = s->algorithm == SCHEDULE_TREE_SUM;
	bool up = s->algorithm == SCHEDULE_TREE_REDUCE || (sum && round < levels(s));
	*reach = (int64_t)1 << (up ? levels(s) - 1 - round : sum ? round - levels(s) : round);
	return up;
}

static int64_t tree_rounds(const struct schedule *s)
{
	return levels(s) * (s->algorithm == SCHEDULE_TREE_SUM ? 2 : 1);
}

static void tree_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	int64_t n = s->ranks, v = around(rank - s->root, n), reach;
	bool up = goes_up(s, round, &reach);
	bool parent = v < reach && v + reach < n, child = v >= reach && v < 2 * reach;
	struct stretch all = {0, s->elements};

	if (!parent && !child)
		return;
	int64_t partner = around(rank + (parent ? reach : -reach), n);
	if (parent == up)
		round_receive(r, partner, all, up);
	else
		round_send(r, partner, all);
}

/* v has a child in each round t with 2^t > v, so t ≥ bits(v), and 2^t < n - v. */
static int64_t children(const struct schedule *s, int64_t rank)
{
	int64_t v = around(rank - s->root, s->ranks);
	int64_t c = bits(s->ranks - v - 1) - bits(v);
	return c > 0 ? c : 0;
}

static int64_t parents(const struct schedule *s, int64_t rank)
{
	return rank == s->root ? 0 : 1;
}

static int64_t tree_sent(const struct schedule *s, int64_t rank)
{
	int64_t up = s->algorithm == SCHEDULE_TREE_BROADCAST ? 0 : parents(s, rank);
	int64_t down = s->algorithm == SCHEDULE_TREE_REDUCE ? 0 : children(s, rank);
	return s->elements * (up + down);
}

static int64_t tree_received(const struct schedule *s, int64_t rank)
{
	int64_t up = s->algorithm == SCHEDULE_TREE_BROADCAST ? 0 : children(s, rank);
	int64_t down = s->algorithm == SCHEDULE_TREE_REDUCE ? 0 : parents(s, rank);
	return s->elements * (up + down);
}

static struct amount tree_amount(const struct schedule *s)
{
	return times_whole(s, (s->algorithm == SCHEDULE_TREE_SUM ? 2 : 1) * (s->ranks - 1));
}

/* Only the ranks nearest to the root move in the rounds nearest to it. */
static int64_t tree_senders(const struct schedule *s, int64_t round)
{
	int64_t reach;
	goes_up(s, round, &reach);
	return 2 * reach < s->ranks ? 2 * reach : s->ranks;
}

#define TREE                                                                                                           \
	.name = "tree", .shape = SHAPE_TREE, .rounds = tree_rounds, .round = tree_round, .sent = tree_sent,            \
	.received = tree_received, .amount = tree_amount, .senders = tree_senders

const struct algorithm tree_broadcast = {
        TREE,
        .description = "binomial tree from the root",
        .operation = OPERATION_BROADCAST,
        .formula = "(n − 1) · S",
        .time = "⌈log₂ n⌉ · hop(S)",
};

const struct algorithm tree_reduce = {
        TREE,
        .description = "binomial tree to the root",
        .operation = OPERATION_REDUCE,
        .formula = "(n − 1) · S",
        .time = "⌈log₂ n⌉ · hop(S)",
};

const struct algorithm tree_sum = {
        TREE,
        .description = "binomial tree to rank 0 and back",
        .operation = OPERATION_SUM,
        .formula = "2 (n − 1) · S",
};
