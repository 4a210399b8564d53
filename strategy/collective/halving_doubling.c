/* Recursive halving, then doubling (Rabenseifner 2004): the bytes of the ring in 2·log2(n) rounds.
 *
 * p is the largest power of two that is not above n. The n-p ranks from p on fold their buffers into ranks 0 … n-p-1,
 * wait, and get the result at the end. On 5 ranks, so p = 4; a digit is a rank whose contribution the stretch holds,
 * quarters of the buffer side by side, - is what the rank has given away:
 *
 *                rank 0               rank 1               rank 2               rank 3               rank 4
 *                0    0    0    0     1    1    1    1     2    2    2    2     3    3    3    3     4    4    4    4
 *     fold: 4 sends all to 0
 *                04   04   04   04    1    1    1    1     2    2    2    2     3    3    3    3     -    -    -    -
 *     halve: 0↔2, 1↔3; the lower rank keeps the lower half
 *                024  024  -    -     13   13   -    -     -    -    024  024   -    -    13   13
 *     halve: 0↔1, 2↔3
 *                all  -    -    -     -    all  -    -     -    -    all  -     -    -    -    all
 *     double: 0↔1, 2↔3; each sends all that it has
 *                all  all  -    -     all  all  -    -     -    -    all  all   -    -    all  all
 *     double: 0↔2, 1↔3
 *                all  all  all  all   all  all  all  all   all  all  all  all   all  all  all  all   -    -    -    -
 *     unfold: 0 sends all to 4
 *
 * The number of elements is a multiple of n and not of p: a stretch is cut at half its count, rounded down. Partners
 * share the bits that chose the earlier halves, so they cut the same stretch at the same place.
 * Cost besides rounds: a rank below p moves 2(p-1)/p·S, one that has another folded into it S more each way.
 */
#include "strategy/collective/algorithms.h"

static int steps_of(int64_t n) /* log2 of p */
{
	int steps = 0;
	while (n >> (steps + 1))
		steps++;
	return steps;
}

/* The stretch that `rank` still works on after `cuts` of `steps` halvings. */
static struct stretch halved(const struct schedule *s, int64_t rank, int steps, int cuts)
{
	struct stretch all = {0, s->elements};
	for (int i = 1; i <= cuts; i++) {
		int64_t low = all.count / 2;
		if (rank >> (steps - i) & 1) {
			all.offset += low;
			all.count -= low;
		} else {
			all.count = low;
		}
	}
	return all;
}

static int64_t halving_doubling_rounds(const struct schedule *s)
{
	int steps = steps_of(s->ranks);
	return 2 * steps + (s->ranks > (int64_t)1 << steps ? 2 : 0);
}

static void halving_doubling_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	int steps = steps_of(s->ranks);
	int64_t p = (int64_t)1 << steps;
	bool folds = s->ranks > p;
	struct stretch all = {0, s->elements};
	bool first = folds && round == 0, last = folds && round == halving_doubling_rounds(s) - 1;

	if (first || last) {
		bool give = (rank >= p) == first; /* the folded ranks give first, and are given last */
		int64_t partner = rank >= p ? rank - p : rank + p;
		if (partner >= s->ranks)
			return;
		if (give)
			round_send(r, partner, all);
		else
			round_receive(r, partner, all, first);
		return;
	}
	if (rank >= p)
		return;

	int64_t step = round - (folds ? 1 : 0);
	bool halve = step < steps;
	int cuts = (int)(halve ? step + 1 : 2 * steps - step);
	int64_t partner = rank ^ ((int64_t)1 << (steps - cuts));
	struct stretch mine = halved(s, rank, steps, cuts), theirs = halved(s, partner, steps, cuts);
	round_send(r, partner, halve ? theirs : mine);
	round_receive(r, partner, halve ? mine : theirs, halve);
}

/* Halving sends what it gives up, in all everything but the last stretch; doubling sends each stretch that it kept.
 * Receiving is the other way round, so one sum serves both. */
static int64_t kept(const struct schedule *s, int64_t rank, int steps)
{
	int64_t sum = 0;
	for (int cuts = 1; cuts <= steps; cuts++)
		sum += halved(s, rank, steps, cuts).count;
	return sum;
}

static int64_t halving_doubling_sent(const struct schedule *s, int64_t rank)
{
	int steps = steps_of(s->ranks);
	int64_t p = (int64_t)1 << steps;
	if (rank >= p)
		return s->elements;
	return s->elements - halved(s, rank, steps, steps).count + kept(s, rank, steps) +
	       (rank + p < s->ranks ? s->elements : 0);
}

/* 2(p-1) in the rounds of the ranks below p, 2(n-p) to fold and unfold the others. */
static struct amount halving_doubling_amount(const struct schedule *s)
{
	return times_whole(s, 2 * (s->ranks - 1));
}

static bool always_halves(const struct schedule *s)
{
	(void)s;
	return true;
}

const struct algorithm halving_doubling_all_reduce = {
        .name = "halving-doubling",
        .description =
                "recursive halving, then doubling (Rabenseifner); ranks beyond a power of two fold into others first",
        .operation = OPERATION_ALL_REDUCE,
        .shape = SHAPE_PAIRS,
        .rounds = halving_doubling_rounds,
        .round = halving_doubling_round,
        .sent = halving_doubling_sent,
        .received = halving_doubling_sent,
        .amount = halving_doubling_amount,
        .formula = "2 (n − 1) · S",
        .time = "2 (hop(S/2) + hop(S/4) + … + hop(S/p))",
        .time_uneven = "2 (hop(S/2) + hop(S/4) + … + hop(S/p)) + 2 hop(S)",
        .halves = always_halves,
};
