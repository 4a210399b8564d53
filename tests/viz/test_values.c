/* The numbers of chunks, as messages make them, against a plain computation of the whole collective; and at every
 * message against the contributions that it brings together. Chunks are single elements here, so that any message is
 * some of them.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "viz/timeline/values.h"

/* ---- schedules ---- */

static enum op_kind kind_of(enum operation o)
{
	static const enum op_kind kinds[OPERATION_COUNT] = {
	        [OPERATION_ALL_REDUCE] = OP_ALL_REDUCE, [OPERATION_REDUCE_SCATTER] = OP_REDUCE_SCATTER,
	        [OPERATION_ALL_GATHER] = OP_ALL_GATHER, [OPERATION_BROADCAST] = OP_BROADCAST,
	        [OPERATION_REDUCE] = OP_REDUCE,         [OPERATION_SCATTER] = OP_SCATTER,
	        [OPERATION_GATHER] = OP_GATHER,         [OPERATION_SUM] = OP_SUM};
	return kinds[o];
}

static struct collective c;
static uint64_t *held; /* [member * chunks + chunk] */

static void collective_open(enum schedule_algorithm a, int64_t ranks, int64_t root, bool maximum)
{
	int64_t elements = 2 * ranks * ranks;
	c = (struct collective){.kind = maximum ? OP_ALL_REDUCE_MAXIMUM : kind_of(schedule_row(a)->operation),
	                        .schedule = {a, ranks, root, elements, 0},
	                        .chunk_count = (int)elements,
	                        .shown = true};
	c.rank = calloc((size_t)ranks, sizeof *c.rank);
	c.cuts = calloc((size_t)elements + 1, sizeof *c.cuts);
	held = calloc((size_t)(ranks * elements), sizeof *held);
	for (int64_t i = 0; i < ranks; i++)
		c.rank[i] = i;
	for (int i = 0; i <= elements; i++)
		c.cuts[i] = i;
	for (int64_t i = 0; i < ranks * elements; i++)
		held[i] = state_initially(&c, i / elements, (int)(i % elements));
}

static void collective_close(void)
{
	free(c.rank);
	free(c.cuts);
	free(held);
}

/* Sums over the ranks in a set. */
static double together(uint64_t set, int chunk)
{
	double out = 0;
	for (int64_t rank = 0; rank < c.schedule.ranks; rank++)
		if (set >> rank & 1) {
			double one = value_initially(NULL, &c, rank, chunk);
			out = c.kind == OP_ALL_REDUCE_MAXIMUM ? fmax(out, one) : out + one;
		}
	return out;
}

static void carry(struct values *v, const struct event *e)
{
	values_carry(v, &c, e);
	for (int64_t i = e->offset; i < e->offset + e->count; i++) {
		uint64_t *to = &held[e->to_member * c.chunk_count + i], from = held[e->member * c.chunk_count + i];
		const struct exchange *x = &v->last[e->to_member * c.chunk_count + i];
		ck_assert_msg(from != 0, "a message of nothing");
		ck_assert(x->came == together(from, (int)i));
		if (e->add) {
			ck_assert_msg(!(*to & from), "a contribution is counted twice");
			ck_assert(x->had == together(*to, (int)i));
		}
		*to = e->add ? *to | from : from;
		ck_assert(x->has == together(*to, (int)i));
	}
}

static void carry_round(struct values *v, int64_t number)
{
	for (int64_t rank = 0; rank < c.schedule.ranks; rank++) {
		struct round r = schedule_round(&c.schedule, rank, number);
		if (r.send_to < 0)
			continue;
		carry(v, &(struct event){.kind = EVENT_MESSAGE,
		                         .member = (short)rank,
		                         .to_member = (short)r.send_to,
		                         .offset = r.send_offset,
		                         .count = r.send_count,
		                         .add = schedule_round(&c.schedule, r.send_to, number).add});
	}
}

/* The element that a place has in the end; NAN: it does not matter. */
static double wanted(int64_t member, int chunk)
{
	int64_t n = c.schedule.ranks, slice = c.chunk_count / n, owner = chunk / slice, root = c.schedule.root;
	double all = together((UINT64_C(1) << n) - 1, chunk);
	switch (c.kind) {
	case OP_REDUCE_SCATTER:
		return owner == member ? all : NAN;
	case OP_REDUCE:
		return member == root ? all : NAN;
	case OP_ALL_GATHER:
		return value_initially(NULL, &c, owner, chunk);
	case OP_GATHER:
		return member == root ? value_initially(NULL, &c, owner, chunk) : NAN;
	case OP_BROADCAST:
		return value_initially(NULL, &c, root, chunk);
	case OP_SCATTER:
		return owner == member ? value_initially(NULL, &c, root, chunk) : NAN;
	default:
		return all;
	}
}

static void check_schedule(enum schedule_algorithm a, int64_t ranks, int64_t root, bool maximum)
{
	struct values v;
	int checked = 0;
	collective_open(a, ranks, root, maximum);
	ck_assert(values_shown(NULL, &c));
	values_init(&v, NULL, &c);
	for (int64_t round = 0; round < schedule_rounds(&c.schedule); round++)
		carry_round(&v, round);
	for (int64_t member = 0; member < ranks; member++)
		for (int i = 0; i < c.chunk_count; i++) {
			double w = wanted(member, i), now = v.now[member * c.chunk_count + i];
			checked += !isnan(w);
			ck_assert_msg(isnan(w) || now == w,
			              "%s %s on %d ranks: rank %d has %g of element %d instead of %g",
			              schedule_row(a)->name, operation_name(schedule_row(a)->operation), (int)ranks,
			              (int)member, now, i, w);
		}
	ck_assert_int_ge(checked, c.chunk_count);
	values_release(&v);
	collective_close();
}

START_LOOP_TEST(numbers_are_those_of_the_whole_collective, 0, SCHEDULE_COUNT)
{
	for (int64_t ranks = 2; ranks <= VALUES_RANKS; ranks++)
		for (int64_t root = 0; root < (operation_has_root(schedule_row(_i)->operation) ? ranks : 1); root++)
			check_schedule((enum schedule_algorithm)_i, ranks, root, false);
	if (schedule_row(_i)->operation == OPERATION_ALL_REDUCE)
		for (int64_t ranks = 2; ranks <= VALUES_RANKS; ranks++)
			check_schedule((enum schedule_algorithm)_i, ranks, 0, true);
}

START_TEST(ranks_of_a_group_begin_with_different_digits)
{
	collective_open(SCHEDULE_RING_ALL_REDUCE, VALUES_RANKS, 0, false);
	for (int chunk = 0; chunk < c.chunk_count; chunk++) {
		bool seen[10] = {false};
		for (int64_t rank = 0; rank < VALUES_RANKS; rank++) {
			int digit = (int)value_initially(NULL, &c, rank, chunk);
			ck_assert(digit >= 1 && digit <= 9 && !seen[digit]);
			seen[digit] = true;
		}
	}
	collective_close();
}

/* ---- a step ---- */

static int check_group(const struct state *st, const struct state_group *g)
{
	const struct collective *one = &st->timeline->collectives[g->collective];
	struct values v;
	int there = 0;
	values_make(&v, st, g);
	for (int64_t k = 0; k < one->schedule.ranks * one->chunk_count; k++) {
		int chunk = (int)(k % one->chunk_count);
		double sum = 0, most = 0;
		for (int64_t m = 0; m < one->schedule.ranks; m++)
			if (g->held[k] >> one->rank[m] & 1) {
				sum += value_initially(st->timeline, one, m, chunk);
				most = fmax(most, value_initially(st->timeline, one, m, chunk));
			}
		ck_assert_int_eq(!g->held[k], isnan(v.now[k]));
		ck_assert(!g->held[k] || v.now[k] == (one->kind == OP_ALL_REDUCE_MAXIMUM ? most : sum));
		there += g->held[k] != 0;
	}
	values_release(&v);
	return there;
}

static const char *const steps[] = {
        "mlp:sizes=12-16-8-4 ddp ranks=4",
        "mlp:sizes=12-16-8-4 zero3 ranks=3",
        "mlp:sizes=12-16-8-4 ddp:algorithm=halving-doubling ranks=8",
        "gpt:layers=2,width=16,heads=2,context=8,vocabulary=24 tensor ranks=2",
};

/* The state keeps bits of contributions: both say the same, at every stop. */
START_LOOP_TEST(numbers_are_the_contributions_of_the_state, 0, COUNT(steps))
{
	const struct timeline *s = &viewed_plan(steps[_i])->shown.timeline;
	struct state st = {0};
	int checked = 0;
	for (size_t p = 0;; p = timeline_next(s, STEP_SIZE_MESSAGE, p)) {
		state_make(&st, s, STEP_SIZE_MESSAGE, p);
		for (int i = 0; i < st.group_count; i++)
			checked += check_group(&st, &st.groups[i]);
		if (p == s->instant_count)
			break;
	}
	ck_assert_int_gt(checked, 100);
	state_release(&st);
}

/* ---- words ---- */

START_TEST(sums_in_words)
{
	char text[EXCHANGE_WORD];
	ck_assert_str_eq(exchange_word(text, &(struct exchange){3, 5, 8, true, false}), "3 + 5 = 8");
	ck_assert_str_eq(exchange_word(text, &(struct exchange){3, 5, 5, true, true}), "max(3, 5) = 5");
	ck_assert_str_eq(exchange_word(text, &(struct exchange){3, 8, 8, false, false}), "8");
	ck_assert_str_eq(exchange_word(text, &(struct exchange){0.5, -0.2, 0.3, true, false}), "0.5 − 0.2 = 0.3");
	ck_assert_str_eq(value_word(text, 0.0123456), "0.0123");
	ck_assert_str_eq(value_word(text, -1.234e-7), "-1.23e-7");
	ck_assert_str_eq(value_word(text, 4.5e20), "4.5e20");
}

SUITE("values", 60)
