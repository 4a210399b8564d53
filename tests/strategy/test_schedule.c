/* Collective schedules: carried out with symbols instead of numbers, for 1 to 17 ranks.
 *
 * Every rank's buffer holds, for each element, how often each rank's contribution is in it; one more column counts
 * what was in a buffer that nobody may read. So a contribution that is lost, doubled or taken from a spoiled place
 * shows.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/collective/check.h"
#include "strategy/collective/schedule.h"
#include "tests/support/suite.h"

/* Like ck_assert, without the note to the runner at each success: these are asked millions of times. */
#define HOLDS(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("%s does not hold: %s, %ld ranks, root %ld, %ld elements, %ld pieces",            \
			             #condition, schedule_row(s->algorithm)->description, (long)s->ranks,              \
			             (long)s->root, (long)s->elements, (long)s->pieces);                               \
	} while (0)

enum { RANKS_MAX = 17, SPOILED = RANKS_MAX, COLUMNS = RANKS_MAX + 1 };

static enum operation kind_of(enum schedule_algorithm a)
{
	enum operation o = schedule_row(a)->operation;
	return o == OPERATION_SUM ? OPERATION_ALL_REDUCE : o;
}

/* one element of one rank */
struct cell {
	unsigned char times[COLUMNS];
};

static struct cell *cell_at(struct cell *cells, const struct schedule *s, int64_t rank, int64_t element)
{
	return &cells[rank * s->elements + element];
}

static int64_t owner(const struct schedule *s, int64_t element)
{
	return element / (s->elements / s->ranks);
}

/* The rank whose contribution is in the element before the collective, or SPOILED. */
static int64_t before(const struct schedule *s, int64_t rank, int64_t element)
{
	switch (kind_of(s->algorithm)) {
	case OPERATION_ALL_REDUCE:
	case OPERATION_REDUCE_SCATTER:
	case OPERATION_REDUCE:
		return rank;
	case OPERATION_ALL_GATHER:
	case OPERATION_GATHER:
		return owner(s, element) == rank ? rank : SPOILED;
	case OPERATION_BROADCAST:
	case OPERATION_SCATTER:
		return rank == s->root ? rank : SPOILED;
	default:
		abort();
	}
}

/* Checks one element after the collective: contributions of all, of one, or whatever. */
static void check_after(const struct schedule *s, int64_t rank, int64_t element, const struct cell *c)
{
	enum operation kind = kind_of(s->algorithm);
	bool all = kind == OPERATION_ALL_REDUCE || (kind == OPERATION_REDUCE_SCATTER && owner(s, element) == rank) ||
	           (kind == OPERATION_REDUCE && rank == s->root);
	int64_t one = -1;
	if (kind == OPERATION_ALL_GATHER || (kind == OPERATION_GATHER && rank == s->root))
		one = owner(s, element);
	if (kind == OPERATION_BROADCAST || (kind == OPERATION_SCATTER && owner(s, element) == rank))
		one = s->root;
	if (!all && one < 0)
		return;
	for (int64_t column = 0; column < COLUMNS; column++) {
		int expected = all ? column < s->ranks : column == one;
		HOLDS(c->times[column] == expected);
	}
}

static void check_stretch(const struct schedule *s, int64_t peer, int64_t rank, int64_t offset, int64_t count)
{
	if (peer == -1) {
		HOLDS(count == 0);
		return;
	}
	HOLDS(peer >= 0);
	HOLDS(peer < s->ranks);
	HOLDS(peer != rank);
	HOLDS(count > 0);
	HOLDS(offset >= 0);
	HOLDS(offset + count <= s->elements);
}

/* A message is named by both its ends, with one size and one place. */
static void check_partners(const struct schedule *s, const struct round *rounds)
{
	for (int64_t rank = 0; rank < s->ranks; rank++) {
		const struct round *r = &rounds[rank];
		check_stretch(s, r->send_to, rank, r->send_offset, r->send_count);
		check_stretch(s, r->receive_from, rank, r->receive_offset, r->receive_count);
		if (r->send_to >= 0) {
			const struct round *to = &rounds[r->send_to];
			HOLDS(to->receive_from == rank);
			HOLDS(to->receive_offset == r->send_offset);
			HOLDS(to->receive_count == r->send_count);
		}
		if (r->receive_from >= 0)
			HOLDS(rounds[r->receive_from].send_to == rank);
		/* what is sent and what is received in one round are apart: an executor may do both at once */
		if (r->send_to >= 0 && r->receive_from >= 0)
			HOLDS(r->send_offset + r->send_count <= r->receive_offset ||
			      r->receive_offset + r->receive_count <= r->send_offset);
	}
}

static void receive(const struct schedule *s, struct cell *cells, const struct cell *sent, int64_t rank,
                    const struct round *r)
{
	for (int64_t e = r->receive_offset; e < r->receive_offset + r->receive_count; e++) {
		struct cell *mine = cell_at(cells, s, rank, e);
		const struct cell *theirs = &sent[r->receive_from * s->elements + e];
		if (!r->add)
			*mine = *theirs;
		else
			for (int column = 0; column < COLUMNS; column++)
				mine->times[column] = (unsigned char)(mine->times[column] + theirs->times[column]);
	}
}

static void check_schedule(const struct schedule *s)
{
	size_t bytes = (size_t)(s->ranks * s->elements + 1) * sizeof(struct cell);
	struct cell *cells = calloc(1, bytes), *sent = calloc(1, bytes);
	int64_t sum_sent[RANKS_MAX] = {0}, sum_received[RANKS_MAX] = {0};
	ck_assert(cells && sent);
	for (int64_t rank = 0; rank < s->ranks; rank++)
		for (int64_t e = 0; e < s->elements; e++)
			cell_at(cells, s, rank, e)->times[before(s, rank, e)] = 1;

	for (int64_t round = 0; round < schedule_rounds(s); round++) {
		struct round rounds[RANKS_MAX];
		for (int64_t rank = 0; rank < s->ranks; rank++)
			rounds[rank] = schedule_round(s, rank, round);
		check_partners(s, rounds);
		memcpy(sent, cells, bytes);
		for (int64_t rank = 0; rank < s->ranks; rank++) {
			sum_sent[rank] += rounds[rank].send_count;
			sum_received[rank] += rounds[rank].receive_count;
			if (rounds[rank].receive_from >= 0)
				receive(s, cells, sent, rank, &rounds[rank]);
		}
	}

	for (int64_t rank = 0; rank < s->ranks; rank++) {
		for (int64_t e = 0; e < s->elements; e++)
			check_after(s, rank, e, cell_at(cells, s, rank, e));
		HOLDS(schedule_sent(s, rank) == sum_sent[rank]);
		HOLDS(schedule_received(s, rank) == sum_received[rank]);
	}
	free(cells);
	free(sent);
}

START_LOOP_TEST(test_results, 0, SCHEDULE_COUNT)
{
	enum schedule_algorithm a = (enum schedule_algorithm)_i;
	bool chain = a == SCHEDULE_CHAIN_BROADCAST || a == SCHEDULE_CHAIN_REDUCE;
	static const int64_t pieces[] = {0, 1, 2, 3, 7, 40};
	for (int64_t n = 1; n <= RANKS_MAX; n++)
		for (int64_t root = 0; root < (operation_has_root(kind_of(a)) ? n : 1); root++)
			for (int64_t slice = 0; slice <= 3; slice++)
				for (int p = 0; p < (chain ? 6 : 1); p++) {
					struct schedule s = {a, n, root, n * slice, pieces[p]};
					check_schedule(&s);
				}
}

/* The check that one's own algorithms get says nothing against those of the tree. */
START_LOOP_TEST(test_check, 0, SCHEDULE_COUNT)
{
	enum schedule_algorithm a = (enum schedule_algorithm)_i;
	static const int64_t ranks[] = {2, 3, 4, 5, 6, 7, 8, 12, 16, 17, CHECK_RANKS};
	for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
		int64_t n = ranks[i], root = operation_has_root(schedule_row(a)->operation) ? n - 1 : 0;
		struct schedule s = {a, n, root, 3 * n, 0};
		struct schedule_fault why;
		ck_assert_msg(schedule_check(&s, &why), "%s of %s, %ld ranks: %s", schedule_row(a)->name,
		              operation_name(schedule_row(a)->operation), (long)n, why.words);
		ck_assert_int_eq(why.rule, 0);
		ck_assert(schedule_check_own(a, n, root, &why));
	}
	ck_assert_int_eq(schedule_count(), SCHEDULE_COUNT);
}

START_LOOP_TEST(test_one_rank_has_no_rounds, 0, SCHEDULE_COUNT)
{
	struct schedule s = {(enum schedule_algorithm)_i, 1, 0, 12, 0};
	ck_assert_int_eq(schedule_rounds(&s), 0);
	ck_assert_int_eq(schedule_sent(&s, 0), 0);
	ck_assert_int_eq(schedule_received(&s, 0), 0);
}

/* The formulas of the literature, written out here and not taken from the code. */
START_TEST(test_closed_forms)
{
	for (int64_t n = 2; n <= 64; n++) {
		int64_t elements = 1000 * n, log_up = 0, log_down = 0;
		while (((int64_t)1 << log_up) < n)
			log_up++;
		while (((int64_t)2 << log_down) <= n)
			log_down++;
		struct schedule s = {SCHEDULE_RING_ALL_REDUCE, n, 0, elements, 0};
		ck_assert_int_eq(schedule_rounds(&s), 2 * (n - 1));
		ck_assert_int_eq(schedule_sent(&s, n - 1), 2 * (n - 1) * elements / n);
		s.algorithm = SCHEDULE_RING_REDUCE_SCATTER;
		ck_assert_int_eq(schedule_rounds(&s), n - 1);
		ck_assert_int_eq(schedule_sent(&s, 0), (n - 1) * elements / n);
		s.algorithm = SCHEDULE_RING_ALL_GATHER;
		ck_assert_int_eq(schedule_rounds(&s), n - 1);
		ck_assert_int_eq(schedule_received(&s, 0), (n - 1) * elements / n);
		s.algorithm = SCHEDULE_TREE_BROADCAST;
		ck_assert_int_eq(schedule_rounds(&s), log_up);
		ck_assert_int_eq(schedule_sent(&s, 0), log_up * elements);
		s.algorithm = SCHEDULE_TREE_SUM;
		ck_assert_int_eq(schedule_rounds(&s), 2 * log_up);
		ck_assert_int_eq(schedule_received(&s, 0), log_up * elements);
		s.algorithm = SCHEDULE_STAR_SCATTER;
		ck_assert_int_eq(schedule_sent(&s, 0), (n - 1) * elements / n);
		s.algorithm = SCHEDULE_STAR_REDUCE;
		ck_assert_int_eq(schedule_received(&s, 0), (n - 1) * elements);
		s.algorithm = SCHEDULE_CHAIN_BROADCAST;
		s.pieces = 50;
		ck_assert_int_eq(schedule_rounds(&s), n + 48);
		s.algorithm = SCHEDULE_HALVING_DOUBLING_ALL_REDUCE;
		ck_assert_int_eq(schedule_rounds(&s), 2 * log_down + (log_up > log_down ? 2 : 0));
		if (log_up == log_down)
			for (int64_t rank = 0; rank < n; rank++) {
				struct schedule even = {s.algorithm, n, 0, 64 * n, 0};
				ck_assert_int_eq(schedule_sent(&even, rank), 2 * (n - 1) * 64);
			}
	}
}

static bool take(const char **c, const char *what)
{
	size_t length = strlen(what);
	if (strncmp(*c, what, length) != 0)
		return false;
	*c += length;
	return true;
}

/* The value of a sum of products such as "2 (n − 1)/n · S". */
static int64_t evaluate(const char *formula, int64_t n, int64_t elements)
{
	int64_t sum = 0, value = 1, p = 1;
	while (2 * p <= n)
		p *= 2;
	for (const char *c = formula; *c;) {
		if (take(&c, "(n − 1)/n · S"))
			value *= (n - 1) * (elements / n);
		else if (take(&c, "(n − p)/n · S"))
			value *= (n - p) * (elements / n);
		else if (take(&c, "(n − 1) · S"))
			value *= (n - 1) * elements;
		else if (take(&c, "2 "))
			value *= 2;
		else if (take(&c, " + ")) {
			sum += value;
			value = 1;
		} else
			ck_abort_msg("the formula '%s' has what the test does not know: '%s'", formula, c);
	}
	return sum + value;
}

/* A row's bytes, as numbers and as text, and its senders are those of its rounds. */
START_LOOP_TEST(test_rows, 0, SCHEDULE_COUNT)
{
	const struct algorithm *row = schedule_row((enum schedule_algorithm)_i);
	for (int64_t n = 2; n <= RANKS_MAX; n++) {
		struct schedule s = {(enum schedule_algorithm)_i, n, operation_has_root(row->operation) ? n / 2 : 0,
		                     8 * n, 0};
		struct amount amount = schedule_amount(&s);
		int64_t all = 0, most = 0, least = INT64_MAX;
		for (int64_t rank = 0; rank < n; rank++) {
			int64_t sent = schedule_sent(&s, rank), received = schedule_received(&s, rank);
			all += sent;
			most = sent > most ? sent : received > most ? received : most;
			least = sent < least ? sent : received < least ? received : least;
		}
		ck_assert_int_eq(amount.times * amount.elements, row->symmetric ? most : all);
		ck_assert_int_eq(evaluate(row->formula, n, s.elements), amount.times * amount.elements);
		ck_assert(!row->symmetric || most == least);
		for (int64_t round = 0; round < schedule_rounds(&s); round++) {
			int64_t senders = row->senders ? row->senders(&s, round) : n;
			for (int64_t v = senders; v < n; v++)
				ck_assert_int_eq(schedule_round(&s, (s.root + v) % n, round).send_to, -1);
			struct round root = schedule_round(&s, s.root, round);
			if (row->shape == SHAPE_PAIRS || row->shape == SHAPE_TREE)
				ck_assert(root.send_to >= 0 || root.receive_from >= 0);
		}
	}
	struct schedule alone = {(enum schedule_algorithm)_i, 1, 0, 12, 0};
	ck_assert_int_eq(schedule_amount(&alone).times, 0);
}

/* Buffers of a size where a product of two counts would not fit in 64 bits, on many ranks. */
START_LOOP_TEST(test_large, 0, SCHEDULE_COUNT)
{
	struct schedule s = {(enum schedule_algorithm)_i, 16381, 5, 16381 * ((int64_t)1 << 44), 100003};
	int64_t ranks[] = {0, 1, 4, 5, 6, 8191, 8192, 16380};
	for (int i = 0; i < 8; i++) {
		int64_t sent = 0, received = 0;
		/* the star's root moves 2^72 elements here, which no count can say */
		if (strcmp(schedule_row(s.algorithm)->name, "star") == 0 && ranks[i] == s.root)
			continue;
		for (int64_t round = 0; round < schedule_rounds(&s); round++) {
			struct round r = schedule_round(&s, ranks[i], round);
			check_stretch(&s, r.send_to, ranks[i], r.send_offset, r.send_count);
			check_stretch(&s, r.receive_from, ranks[i], r.receive_offset, r.receive_count);
			if (r.send_to >= 0)
				ck_assert_int_eq(schedule_round(&s, r.send_to, round).receive_from, ranks[i]);
			sent += r.send_count;
			received += r.receive_count;
		}
		ck_assert_int_eq(sent, schedule_sent(&s, ranks[i]));
		ck_assert_int_eq(received, schedule_received(&s, ranks[i]));
	}
}

START_TEST(test_names)
{
	ck_assert_str_eq(schedule_row(SCHEDULE_RING_ALL_REDUCE)->name, "ring");
	ck_assert_str_eq(schedule_row(SCHEDULE_HALVING_DOUBLING_ALL_REDUCE)->name, "halving-doubling");
	ck_assert_str_eq(schedule_row(SCHEDULE_STAR_GATHER)->name, "star");
	for (int a = 0; a < SCHEDULE_COUNT; a++)
		ck_assert(strlen(schedule_row((enum schedule_algorithm)a)->description) > 10);
	for (int a = 0; a < SCHEDULE_COUNT; a++) {
		const struct algorithm *row = schedule_row((enum schedule_algorithm)a);
		enum schedule_algorithm found = SCHEDULE_COUNT;
		ck_assert(schedule_find(row->operation, row->name, &found));
		ck_assert_int_eq(found, a);
	}
	enum schedule_algorithm none = SCHEDULE_COUNT;
	ck_assert(!schedule_find(OPERATION_SCATTER, "ring", &none) && none == SCHEDULE_COUNT);
	ck_assert_int_eq(schedule_first(OPERATION_ALL_REDUCE), SCHEDULE_RING_ALL_REDUCE);
}

SUITE("schedule", 120)
