/* One collective alone: every name that there is ends with what its operation promises, sends what its closed form
 * says, and takes the time of the simulator; and what cannot be is refused.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "strategy/strategies/alone.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"
#include "viz/scene/scene.h"
#include "viz/timeline/values.h"

struct opened {
	struct alone what;
	struct model model;
	struct plan plan;
	struct trace trace;
	const struct report *report;
	struct timeline timeline;
};

static void open_alone(struct opened *a, const char *name, int64_t ranks, int64_t bytes)
{
	static const struct limits none = {0};
	*a = (struct opened){.trace = {0}};
	ck_assert_msg(!alone_find("test", name, &a->what), "%s", status_message());
	ck_assert_msg(!alone_open(&a->plan, &a->model, &a->what, ranks, bytes), "%s", status_message());
	a->report = report_simulated_on(&a->plan, "laptop", GRAIN_MESSAGE, &a->trace);
	ck_assert_msg(!timeline_open(&a->timeline, &a->trace, &none), "%s", status_message());
}

static void close_alone(struct opened *a)
{
	timeline_release(&a->timeline);
	trace_release(&a->trace);
	plan_release(&a->plan);
	model_release(&a->model);
}

/* The numbers after the last message of the last collective. */
static void last_values(const struct opened *a, struct values *v)
{
	const struct timeline *s = &a->timeline;
	int last = s->collective_count - 1;
	const struct collective *c = &s->collectives[last];
	values_init(v, s, c);
	for (int round = 0; round < c->rounds; round++)
		for (size_t i = c->first_event; i < c->end_event; i++)
			if (s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == last &&
			    s->events[i].round == round)
				values_carry(v, c, &s->events[i]);
}

/* The number that a rank must have in a chunk; NAN: any. */
static double wanted(const struct opened *a, int64_t rank, int chunk)
{
	const struct timeline *s = &a->timeline;
	const struct collective *first = &s->collectives[0];
	double sum = 0;
	for (int64_t m = 0; m < a->plan.ranks; m++)
		sum += value_initially(s, first, m, chunk);
	switch (a->what.operation) {
	case OPERATION_ALL_REDUCE:
	case OPERATION_SUM:
		return sum;
	case OPERATION_REDUCE_SCATTER:
		return rank == chunk ? sum : NAN;
	case OPERATION_REDUCE:
		return rank == 0 ? sum : NAN;
	case OPERATION_ALL_GATHER:
		return value_initially(s, first, chunk, chunk);
	case OPERATION_GATHER:
		return rank == 0 ? value_initially(s, first, chunk, chunk) : NAN;
	case OPERATION_BROADCAST:
		return value_initially(s, first, 0, chunk);
	case OPERATION_SCATTER:
		return rank == chunk ? value_initially(s, first, 0, chunk) : NAN;
	case OPERATION_COUNT:
		break;
	}
	return NAN;
}

static void check_one(const char *name, int64_t ranks, int64_t bytes)
{
	struct opened a;
	struct values v;
	open_alone(&a, name, ranks, bytes);
	last_values(&a, &v);
	int checked = 0;
	for (int64_t rank = 0; rank < ranks; rank++)
		for (int k = 0; k < v.chunks; k++) {
			double should = wanted(&a, rank, k), is = v.now[rank * v.chunks + k];
			if (isnan(should))
				continue;
			ck_assert_msg(is == should, "%s, %d ranks: rank %d has %g in chunk %d, wanted %g", name,
			              (int)ranks, (int)rank, is, k, should);
			checked++;
		}
	ck_assert_int_gt(checked, 0);
	ck_assert_int_eq(a.timeline.collective_count, a.what.parts);
	ck_assert_int_eq(a.timeline.step_ns, a.report->time.step);
	for (int i = 0; i < a.what.parts; i++) {
		const struct collective *c = &a.timeline.collectives[i];
		struct formula f;
		ledger_formula(c, &f);
		ck_assert_int_eq(f.bytes * (f.of_one ? ranks : 1), c->sent_bytes);
	}
	values_release(&v);
	close_alone(&a);
}

START_TEST(each_comes_to_what_it_promises)
{
	static const int64_t ranks[] = {2, 3, 5, 8};
	struct alone one;
	int count = 0;
	for (int i = 0; alone_at(i, &one); i++, count++)
		for (int k = 0; k < COUNT(ranks); k++)
			check_one(one.name, ranks[k], one.operation == OPERATION_SUM ? 8 : 52 * ranks[k]);
	ck_assert_int_eq(count, SCHEDULE_COUNT + 3);
}

/* Nothing comes before it: its first round is the first thing that takes time. */
START_TEST(nothing_comes_before)
{
	struct opened a;
	open_alone(&a, "ring-all-reduce", 5, 40);
	ck_assert_int_eq(a.timeline.collectives[0].begin, 0);
	ck_assert_int_eq(a.timeline.collectives[0].end, a.timeline.step_ns);
	ck_assert_int_eq((int64_t)a.timeline.stop_count[STEP_SIZE_ROUND], 11);
	ck_assert(plan_is_alone(&a.plan));
	close_alone(&a);
}

static void ck_refused(const char *name, int64_t ranks, int64_t bytes, const char *why)
{
	struct alone what;
	struct plan p;
	struct model m;
	enum status s = alone_find("test", name, &what);
	if (!s)
		s = alone_open(&p, &m, &what, ranks, bytes);
	ck_assert_int_eq(s, STATUS_INPUT);
	ck_assert_msg(strstr(status_message(), why), "%s, wanted %s", status_message(), why);
}

START_TEST(bad_input_is_refused)
{
	ck_refused("ring-all-reduce", 1, 40, "at least 2 ranks");
	ck_refused("ring-all-reduce", 0, 40, "at least 2 ranks");
	ck_refused("ring-all-reduce", 16385, 40, "at most 16384");
	ck_refused("ring-all-reduce", 4, 0, "not empty");
	ck_refused("ring-all-reduce", 4, 42, "a multiple of 4");
	ck_refused("ring-all-reduce", 4, ALONE_BYTES + 4, "at most 1 PB");
	ck_refused("tree-sum", 4, 20, "up to 4 numbers");
	ck_refused("ring-all-redue", 4, 40, "did you mean ring-all-reduce?");
	ck_refused("", 4, 40, "unknown collective");
}

SUITE("alone", 60)
