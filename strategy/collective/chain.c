/* The pipelined chain: the buffer goes from rank to rank in pieces, so that all links work at once.
 *
 * Broadcast of 4 pieces a b c d over 4 ranks from root 0 (with another root, v = rank - root mod n). What is sent:
 *
 *     round      0 → 1    1 → 2    2 → 3
 *     0          a
 *     1          b        a
 *     2          c        b        a
 *     3          d        c        b
 *     4                   d        c
 *     5                            d
 *
 * pieces + n - 2 rounds, and every rank but the last sends S: with many pieces the time nears that of sending S once.
 * Reduce runs from the far end of the chain to the root, each rank adding its own contribution to what it passes on:
 *
 *     round      3 → 2    2 → 1    1 → 0
 *     0          a3
 *     1          b3       a23
 *     2          c3       b23      a123
 *     …
 */
#include "strategy/collective/algorithms.h"

static int64_t pieces_of(const struct schedule *s)
{
	return s->pieces ? s->pieces : s->ranks;
}

/* How many links lie between the chain's source and this rank. */
static int64_t place_of(const struct schedule *s, int64_t rank)
{
	int64_t v = around(rank - s->root, s->ranks);
	return s->algorithm == SCHEDULE_CHAIN_REDUCE ? s->ranks - 1 - v : v;
}

static int64_t chain_rounds(const struct schedule *s)
{
	return pieces_of(s) + s->ranks - 2;
}

static void chain_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	bool reduce = s->algorithm == SCHEDULE_CHAIN_REDUCE;
	int64_t n = s->ranks, pieces = pieces_of(s), place = place_of(s, rank), onward = reduce ? -1 : 1;
	int64_t sent = round - place, received = sent + 1;

	if (place < n - 1 && sent >= 0 && sent < pieces)
		round_send(r, around(rank + onward, n), piece_of(s->elements, pieces, sent));
	if (place > 0 && received >= 0 && received < pieces)
		round_receive(r, around(rank - onward, n), piece_of(s->elements, pieces, received), reduce);
}

static int64_t chain_sent(const struct schedule *s, int64_t rank)
{
	return place_of(s, rank) < s->ranks - 1 ? s->elements : 0;
}

static int64_t chain_received(const struct schedule *s, int64_t rank)
{
	return place_of(s, rank) > 0 ? s->elements : 0;
}

static struct amount chain_amount(const struct schedule *s)
{
	return times_whole(s, s->ranks - 1);
}

#define CHAIN                                                                                                          \
	.name = "chain", .shape = SHAPE_CHAIN, .rounds = chain_rounds, .round = chain_round, .sent = chain_sent,       \
	.received = chain_received, .amount = chain_amount, .formula = "(n − 1) · S", .time = "2 (n − 1) · hop(S/n)"

const struct algorithm chain_broadcast = {
        CHAIN,
        .description = "a pipelined chain: root, root+1, …; the buffer in pieces (as NCCL's ring)",
        .operation = OPERATION_BROADCAST,
};

const struct algorithm chain_reduce = {
        CHAIN,
        .description = "a pipelined chain towards the root",
        .operation = OPERATION_REDUCE,
};
