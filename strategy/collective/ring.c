/* The ring: rank r sends to r+1 and receives from r-1, one slice a round.
 *
 * Reduce-scatter on 4 ranks. A digit is a rank whose contribution the partial sum holds; the slice that is sent is in
 * brackets. Slice k starts at rank k+1, so that after n-1 rounds its sum arrives at rank k.
 *
 *             rank 0                   rank 1                   rank 2                   rank 3
 *     slice   0    1    2    3         0    1    2    3         0    1    2    3         0    1    2    3
 *     round 0 0    0    0   [0]       [1]   1    1    1         2   [2]   2    2         3    3   [3]   3
 *     round 1 0    0   [30]  -         -    1    1   [01]      [12]  -    2    2         3   [23]  -    3
 *     round 2 0   [230] -    -         -    1   [301] -         -    -    2   [012]     [123]  -    -    3
 *     end     0123 -    -    -         -    0123 -    -         -    -    0123 -         -    -    -    0123
 *
 * (- is a partial sum that has been passed on; nobody reads it again.)
 *
 * All-gather then sends slice r from rank r, and in each round passes on what came in the round before:
 *
 *     round 0 [0]  .    .    .         .   [1]   .    .         .    .   [2]   .         .    .    .   [3]
 *     round 1  0   .    .   [3]       [0]   1    .    .         .   [1]   2    .         .    .   [2]   3
 *     round 2  0   .   [2]   3         0    1    .   [3]       [0]   1    2    .         .   [1]   2    3
 *     end      0   1    2    3         0    1    2    3         0    1    2    3         0    1    2    3
 *
 * All-reduce is the one after the other: 2(n-1) rounds of S/n, and each rank sends 2(n-1)/n·S, which no algorithm
 * without help from the network can better (Patarasuk and Yuan, 2009).
 */
#include "strategy/collective/algorithms.h"

static int64_t ring_rounds(const struct schedule *s)
{
	return s->algorithm == SCHEDULE_RING_ALL_REDUCE ? 2 * (s->ranks - 1) : s->ranks - 1;
}

static void ring_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	int64_t n = s->ranks, slice = s->elements / n;
	bool gather = s->algorithm == SCHEDULE_RING_ALL_GATHER;
	int64_t sent;
	if (s->algorithm == SCHEDULE_RING_ALL_REDUCE && round >= n - 1) {
		gather = true;
		round -= n - 1;
	}
	/* The left neighbour sends the slice before ours: its rank is one less. */
	sent = around(gather ? rank - round : rank - 1 - round, n);
	round_send(r, around(rank + 1, n), (struct stretch){slice * sent, slice});
	round_receive(r, around(rank - 1, n), (struct stretch){slice * around(sent - 1, n), slice}, !gather);
}

static int64_t ring_sent(const struct schedule *s, int64_t rank)
{
	(void)rank;
	return ring_rounds(s) * (s->elements / s->ranks);
}

static struct amount ring_amount(const struct schedule *s)
{
	return times_slice(s, ring_rounds(s));
}

static int64_t ring_half(const struct schedule *s)
{
	return s->ranks - 1;
}

#define RING                                                                                                           \
	.name = "ring", .shape = SHAPE_RING, .slices = true, .symmetric = true, .rotates = true,                       \
	.rounds = ring_rounds, .round = ring_round, .sent = ring_sent, .received = ring_sent, .amount = ring_amount

const struct algorithm ring_all_reduce = {
        RING,
        .description = "reduce-scatter, then all-gather, each n-1 rounds round the ring",
        .operation = OPERATION_ALL_REDUCE,
        .half = ring_half,
        .formula = "2 (n − 1)/n · S",
        .time = "2 (n − 1) · hop(S/n)",
};

const struct algorithm ring_reduce_scatter = {
        RING,
        .description = "n-1 rounds; every rank passes on the partial sum of one slice",
        .operation = OPERATION_REDUCE_SCATTER,
        .formula = "(n − 1)/n · S",
};

const struct algorithm ring_all_gather = {
        RING,
        .description = "n-1 rounds; every rank passes on the slice that it got last",
        .operation = OPERATION_ALL_GATHER,
        .formula = "(n − 1)/n · S",
};
