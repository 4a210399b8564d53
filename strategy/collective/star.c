/* The star: the root deals with each of the others in turn, root+1 first; what a naive data-parallel loop does.
 *
 * On 4 ranks with root 0, a b c d the slices of the root's buffer:
 *
 *     round      broadcast           scatter          reduce                        gather
 *     0          0 ─abcd─► 1         0 ─b─► 1         1 ─► 0, which has 0+1         1 ─b─► 0
 *     1          0 ─abcd─► 2         0 ─c─► 2         2 ─► 0, which has 0+1+2       2 ─c─► 0
 *     2          0 ─abcd─► 3         0 ─d─► 3         3 ─► 0, which has 0+1+2+3     3 ─d─► 0
 *
 * n-1 rounds, and all bytes pass the root's link: (n-1)·S of broadcast and reduce, (n-1)/n·S of scatter and gather.
 */
#include "strategy/collective/algorithms.h"

static bool to_root(const struct schedule *s)
{
	return s->algorithm == SCHEDULE_STAR_REDUCE || s->algorithm == SCHEDULE_STAR_GATHER;
}

static bool whole(const struct schedule *s)
{
	return s->algorithm == SCHEDULE_STAR_BROADCAST || s->algorithm == SCHEDULE_STAR_REDUCE;
}

static int64_t star_rounds(const struct schedule *s)
{
	return s->ranks - 1;
}

static void star_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	int64_t n = s->ranks, slice = s->elements / n, other = around(s->root + 1 + round - n, n);
	struct stretch what = whole(s) ? (struct stretch){0, s->elements} : (struct stretch){slice * other, slice};
	int64_t from = to_root(s) ? other : s->root, to = to_root(s) ? s->root : other;

	if (rank == from)
		round_send(r, to, what);
	if (rank == to)
		round_receive(r, from, what, s->algorithm == SCHEDULE_STAR_REDUCE);
}

static int64_t at_root(const struct schedule *s)
{
	return (s->ranks - 1) * (whole(s) ? s->elements : s->elements / s->ranks);
}

static int64_t at_other(const struct schedule *s)
{
	return whole(s) ? s->elements : s->elements / s->ranks;
}

static int64_t star_sent(const struct schedule *s, int64_t rank)
{
	if (rank == s->root)
		return to_root(s) ? 0 : at_root(s);
	return to_root(s) ? at_other(s) : 0;
}

static int64_t star_received(const struct schedule *s, int64_t rank)
{
	if (rank == s->root)
		return to_root(s) ? at_root(s) : 0;
	return to_root(s) ? 0 : at_other(s);
}

static struct amount star_amount(const struct schedule *s)
{
	return (struct amount){s->ranks - 1, at_other(s)};
}

#define STAR                                                                                                           \
	.name = "star", .shape = SHAPE_STAR, .rounds = star_rounds, .round = star_round, .sent = star_sent,            \
	.received = star_received, .amount = star_amount

const struct algorithm star_broadcast = {
        STAR,
        .description = "the root sends to each of the others in turn",
        .operation = OPERATION_BROADCAST,
        .formula = "(n − 1) · S",
        .time = "(n − 1) · hop(S)",
};

const struct algorithm star_reduce = {
        STAR,
        .description = "the root receives from each of the others in turn",
        .operation = OPERATION_REDUCE,
        .formula = "(n − 1) · S",
        .time = "(n − 1) · hop(S)",
};

const struct algorithm star_scatter = {
        STAR,
        .description = "the root sends slice r to rank r, in turn",
        .operation = OPERATION_SCATTER,
        .slices = true,
        .formula = "(n − 1)/n · S",
};

const struct algorithm star_gather = {
        STAR,
        .description = "the root receives slice r of rank r, in turn",
        .operation = OPERATION_GATHER,
        .slices = true,
        .formula = "(n − 1)/n · S",
};
