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
 */
#include "strategy/collective/algorithms.h"

static int bits(int64_t v) /* how many bits v has; 0 for 0 */
{
	int b = 0;
	while (v >> b)
		b++;
	return b;
}

int64_t tree_rounds(const struct schedule *s)
{
	return bits(s->ranks - 1);
}

void tree_round(const struct schedule *s, int64_t rank, int64_t round, struct round *r)
{
	bool reduce = s->algorithm == SCHEDULE_TREE_REDUCE;
	int64_t n = s->ranks, v = around(rank - s->root, n);
	int64_t reach = (int64_t)1 << (reduce ? tree_rounds(s) - 1 - round : round);
	bool parent = v < reach && v + reach < n, child = v >= reach && v < 2 * reach;
	struct stretch all = {0, s->elements};

	if (!parent && !child)
		return;
	int64_t partner = around(rank + (parent ? reach : -reach), n);
	if (parent == reduce)
		round_receive(r, partner, all, reduce);
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

int64_t tree_sent(const struct schedule *s, int64_t rank)
{
	return s->elements * (s->algorithm == SCHEDULE_TREE_REDUCE ? parents(s, rank) : children(s, rank));
}

int64_t tree_received(const struct schedule *s, int64_t rank)
{
	return s->elements * (s->algorithm == SCHEDULE_TREE_REDUCE ? children(s, rank) : parents(s, rank));
}
