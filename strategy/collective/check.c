#include "strategy/collective/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

/* An element of a rank's buffer. Bit r stands for the contribution of rank r, and SPOILED for a value that nobody may
 * read. */
#define SPOILED (UINT64_C(1) << CHECK_RANKS)

struct checking {
	const struct schedule *s;
	struct schedule_fault *why;
	const struct operation_row *operation;
	uint64_t *held, *before; /* [rank * elements + element]; before the round */
	struct round *rounds;    /* of the round at hand, by rank */
	int64_t *sent, *received;
};

__attribute__((format(printf, 3, 4))) static bool fault(struct checking *k, int rule, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	k->why->rule = rule;
	vsnprintf(k->why->words, sizeof k->why->words, format, args);
	va_end(args);
	return false;
}

/* ---- what the operation promises ---- */

static uint64_t at_first(const struct checking *k, int64_t rank, int64_t element)
{
	return schedule_holds(k->s, k->operation->before, rank, element) ? UINT64_C(1) << rank : SPOILED;
}

/* The contributions of all ranks, or of the one that had the element. 0: any of them. */
static uint64_t in_the_end(const struct checking *k, int64_t rank, int64_t element)
{
	uint64_t of = 0;
	for (int64_t i = 0; i < k->s->ranks; i++)
		if (schedule_holds(k->s, k->operation->before, i, element))
			of |= UINT64_C(1) << i;
	return schedule_holds(k->s, k->operation->after, rank, element) ? of : 0;
}

/* ---- a round ---- */

static bool stretch_is_there(struct checking *k, int64_t round, int64_t rank, const char *does, int64_t peer,
                             int64_t offset, int64_t count)
{
	int64_t n = k->s->ranks, elements = k->s->elements;
	if (peer < -1 || peer >= n || peer == rank)
		return fault(k, 2, "round %lld: rank %lld %s rank %lld, and there are ranks 0 to %lld beside it",
		             (long long)round + 1, (long long)rank, does, (long long)peer, (long long)n - 1);
	if (peer >= 0 && (offset < 0 || count < 0 || offset > elements || count > elements - offset))
		return fault(k, 2, "round %lld: rank %lld %s rank %lld elements %lld to %lld of %lld",
		             (long long)round + 1, (long long)rank, does, (long long)peer, (long long)offset,
		             (long long)(offset + count - 1), (long long)elements);
	return true;
}

static bool partner_agrees(struct checking *k, int64_t round, int64_t rank)
{
	const struct round *r = &k->rounds[rank];
	const struct round *to = r->send_to >= 0 ? &k->rounds[r->send_to] : NULL;
	if (to && to->receive_from != rank)
		return fault(k, 2, "round %lld: rank %lld sends to rank %lld, which receives from %lld (-1: nobody)",
		             (long long)round + 1, (long long)rank, (long long)r->send_to, (long long)to->receive_from);
	if (to && (to->receive_offset != r->send_offset || to->receive_count != r->send_count))
		return fault(k, 2,
		             "round %lld: rank %lld sends %lld elements from %lld on, and rank %lld expects %lld from "
		             "%lld on",
		             (long long)round + 1, (long long)rank, (long long)r->send_count, (long long)r->send_offset,
		             (long long)r->send_to, (long long)to->receive_count, (long long)to->receive_offset);
	if (r->receive_from >= 0 && k->rounds[r->receive_from].send_to != rank)
		return fault(k, 2, "round %lld: rank %lld receives from rank %lld, which sends to %lld (-1: nobody)",
		             (long long)round + 1, (long long)rank, (long long)r->receive_from,
		             (long long)k->rounds[r->receive_from].send_to);
	if (to && r->receive_from >= 0 && r->send_offset < r->receive_offset + r->receive_count &&
	    r->receive_offset < r->send_offset + r->send_count)
		return fault(k, 2, "round %lld: rank %lld sends and receives the same elements at once",
		             (long long)round + 1, (long long)rank);
	return true;
}

static bool rotates(struct checking *k, int64_t round, int64_t rank)
{
	const struct round *first = k->rounds, *r = &k->rounds[rank];
	bool same = r->send_count == first->send_count && (first->send_to < 0) == (r->send_to < 0);
	if (same && (r->send_to < 0 || r->send_to == (first->send_to + rank) % k->s->ranks))
		return true;
	return fault(k, 2,
	             "round %lld: it is said to rotate, and what rank %lld sends is not rank 0's, %lld ranks further",
	             (long long)round + 1, (long long)rank, (long long)rank);
}

static int lowest(uint64_t bits)
{
	int i = 0;
	while (!(bits >> i & 1))
		i++;
	return i;
}

static bool receive(struct checking *k, int64_t round, int64_t rank)
{
	const struct round *r = &k->rounds[rank];
	int64_t elements = k->s->elements;
	for (int64_t e = r->receive_offset; r->receive_from >= 0 && e < r->receive_offset + r->receive_count; e++) {
		uint64_t came = k->before[r->receive_from * elements + e], *has = &k->held[rank * elements + e];
		uint64_t both = came & *has & ~SPOILED;
		if (r->add && both)
			return fault(k, 5,
			             "round %lld: rank %lld adds what rank %lld sends to element %lld, and both have "
			             "the contribution of rank %d",
			             (long long)round + 1, (long long)rank, (long long)r->receive_from, (long long)e,
			             lowest(both));
		*has = r->add ? *has | came : came;
	}
	return true;
}

static bool carry_out(struct checking *k, int64_t round)
{
	int64_t n = k->s->ranks;
	for (int64_t rank = 0; rank < n; rank++) {
		struct round r = k->rounds[rank] = schedule_round(k->s, rank, round);
		if (!stretch_is_there(k, round, rank, "sends to", r.send_to, r.send_offset, r.send_count) ||
		    !stretch_is_there(k, round, rank, "receives from", r.receive_from, r.receive_offset,
		                      r.receive_count))
			return false;
		k->sent[rank] += r.send_count;
		k->received[rank] += r.receive_count;
	}
	bool must_rotate = schedule_row(k->s->algorithm)->rotates;
	for (int64_t rank = 0; rank < n; rank++)
		if (!partner_agrees(k, round, rank) || (must_rotate && !rotates(k, round, rank)))
			return false;
	memcpy(k->before, k->held, (size_t)(n * k->s->elements) * sizeof *k->held);
	for (int64_t rank = 0; rank < n; rank++)
		if (!receive(k, round, rank))
			return false;
	return true;
}

/* ---- the end ---- */

static bool holds_what_it_should(struct checking *k)
{
	int64_t elements = k->s->elements;
	for (int64_t i = 0; i < k->s->ranks * elements; i++) {
		uint64_t want = in_the_end(k, i / elements, i % elements);
		if (!want || k->held[i] == want)
			continue;
		uint64_t lacks = want & ~k->held[i];
		if (lacks)
			return fault(k, 5,
			             "after the last round element %lld of rank %lld lacks the contribution of rank %d",
			             (long long)(i % elements), (long long)(i / elements), lowest(lacks));
		return fault(k, 5, "after the last round element %lld of rank %lld holds what does not belong there",
		             (long long)(i % elements), (long long)(i / elements));
	}
	return true;
}

static bool says_what_it_does(struct checking *k)
{
	const struct schedule *s = k->s;
	struct amount a = schedule_amount(s);
	int64_t all = 0;
	for (int64_t rank = 0; rank < s->ranks; rank++) {
		int64_t sent = schedule_sent(s, rank), received = schedule_received(s, rank);
		all += k->sent[rank];
		if (sent != k->sent[rank] || received != k->received[rank])
			return fault(k, 2,
			             "its rounds send %lld of %lld elements from rank %lld and bring it %lld; its "
			             "closed forms say %lld and %lld",
			             (long long)k->sent[rank], (long long)s->elements, (long long)rank,
			             (long long)k->received[rank], (long long)sent, (long long)received);
		if (schedule_row(s->algorithm)->symmetric && k->sent[rank] != k->sent[0])
			return fault(k, 2, "it is called symmetric, and rank %lld sends other than rank 0",
			             (long long)rank);
	}
	all = schedule_row(s->algorithm)->symmetric ? k->sent[0] : all;
	if (a.times * a.elements != all)
		return fault(k, 2, "its rounds send %lld elements; its amount says %lld · %lld", (long long)all,
		             (long long)a.times, (long long)a.elements);
	return true;
}

static bool check(struct checking *k)
{
	int64_t rounds = schedule_rounds(k->s), most = 64 * k->s->ranks;
	if (rounds < 1 || rounds > most)
		return fault(k, 2, "%lld rounds for %lld ranks: 1 to %lld can be", (long long)rounds,
		             (long long)k->s->ranks, (long long)most);
	for (int64_t i = 0; i < k->s->ranks * k->s->elements; i++)
		k->held[i] = at_first(k, i / k->s->elements, i % k->s->elements);
	for (int64_t round = 0; round < rounds; round++)
		if (!carry_out(k, round))
			return false;
	return holds_what_it_should(k) && says_what_it_does(k);
}

bool schedule_check(const struct schedule *s, struct schedule_fault *why)
{
	size_t ranks = (size_t)s->ranks, cells = ranks * (size_t)s->elements;
	uint64_t *cell = array_make(2 * cells, sizeof *cell);
	int64_t *count = array_make(2 * ranks, sizeof *count);
	struct round *rounds = array_make(ranks, sizeof *rounds);
	const struct operation_row *operation = operation_row(schedule_row(s->algorithm)->operation);
	struct checking k = {s, why, operation, cell, cell + cells, rounds, count, count + ranks};
	*why = (struct schedule_fault){0};
	bool right = check(&k);
	free(cell);
	free(count);
	free(rounds);
	return right;
}

bool schedule_check_own(enum schedule_algorithm a, int64_t ranks, int64_t root, struct schedule_fault *why)
{
	int64_t n = ranks < CHECK_RANKS ? ranks : CHECK_RANKS;
	struct schedule s = {a, n, root < n ? root : 0, 3 * n, 0};
	*why = (struct schedule_fault){0};
	return !schedule_is_own(a) || ranks < 2 || schedule_check(&s, why);
}
