/* Collective schedules: each is carried out by the check that a user's own algorithms get, for 2 to 17 ranks, and said
 * in closed forms. */
#include <string.h>

#include "strategy/collective/check.h"
#include "strategy/collective/schedule.h"
#include "tests/support/suite.h"

enum { RANKS_MAX = 17 };

static void check(enum schedule_algorithm a, int64_t ranks, int64_t root, int64_t slice, int64_t pieces)
{
	struct schedule s = {a, ranks, root, slice * ranks, pieces};
	struct schedule_fault why;
	ck_assert_msg(schedule_check(&s, &why), "%s of %s, %ld ranks, root %ld, slices of %ld, %ld pieces: %s",
	              schedule_row(a)->name, operation_name(schedule_row(a)->operation), (long)ranks, (long)root,
	              (long)slice, (long)pieces, why.words);
	ck_assert_int_eq(why.rule, 0);
}

START_LOOP_TEST(test_results, 0, SCHEDULE_COUNT)
{
	enum schedule_algorithm a = (enum schedule_algorithm)_i;
	bool chain = a == SCHEDULE_CHAIN_BROADCAST || a == SCHEDULE_CHAIN_REDUCE;
	bool rooted = operation_has_root(schedule_row(a)->operation);
	static const int64_t pieces[] = {0, 1, 2, 3, 7, 40};
	for (int64_t n = 2; n <= RANKS_MAX; n++)
		for (int64_t root = 0; root < (rooted ? n : 1); root++)
			for (int64_t slice = 0; slice <= 3; slice++)
				for (int p = 0; p < (chain ? 6 : 1); p++)
					check(a, n, root, slice, pieces[p]);
	check(a, CHECK_RANKS, rooted ? CHECK_RANKS - 1 : 0, 3, 0);
}

START_TEST(the_trees_own_pass_without_a_check)
{
	struct schedule_fault why;
	for (int a = 0; a < SCHEDULE_COUNT; a++)
		ck_assert(schedule_check_own((enum schedule_algorithm)a, 2, 0, &why));
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

static void check_stretch(const struct schedule *s, int64_t peer, int64_t rank, int64_t offset, int64_t count)
{
	ck_assert(peer >= -1 && peer < s->ranks && peer != rank);
	ck_assert(peer >= 0 ? count > 0 : count == 0);
	ck_assert(peer < 0 || (offset >= 0 && offset + count <= s->elements));
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
