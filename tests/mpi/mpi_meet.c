/* When the last member of a collective had come, as ranks tell each other after a step; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_meet
 *
 * The executor is a stand-in whose spans are made up, so that every time is known to the nanosecond.
 */
#include <mpi.h>
#include <stdlib.h>

#include "real/rank/executor_internal.h"
#include "real/train/internal.h"
#include "strategy/base/clock.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"

/* ---- clocks ---- */

enum { OFF_BY_S = 10 };

static int64_t wrong_clock(void)
{
	return clock_ns() + (int64_t)rank_number * OFF_BY_S * 1000000000;
}

/* A round trip takes less than a second, however busy the machine is, and the clocks are ten apart. */
static void clocks_agree(void)
{
	MPI_Comm world = MPI_COMM_WORLD;
	double error = (double)(clocks_align(&world, wrong_clock) + (int64_t)rank_number * OFF_BY_S * 1000000000);
	ranks_check(error > -5e8 && error < 5e8, "the clock is off by %g s", error * 1e-9);
	ranks_check(rank_number || error == 0, "rank 0 has the clock, and corrects it by %g ns", error);
}

/* ---- a step ---- */

static bool communicates(const struct role *r, int op)
{
	return op_class(r->ops[op].kind) == OP_CLASS_C;
}

/* When a rank's section began, and when it came to an operation since then: another is last at each. */
static int64_t began(int64_t rank)
{
	return 1000000 + 300 * (rank % 3);
}

static int64_t came_to(int64_t rank, int op)
{
	return 1000 * op + 70 * ((rank * 5 + op) % ranks_count);
}

enum { LASTS = 2000 };

static int64_t expected(const struct plan *p, const struct op *op, int number)
{
	int64_t latest = 0;
	for (int64_t i = 0; i < op_members(p, op); i++) {
		int64_t rank = op_member_rank(p, op, rank_number, i);
		int64_t at = began(rank) + came_to(rank, number) - began(rank_number);
		latest = at > latest ? at : latest;
	}
	return latest;
}

static struct op_span *make_spans(const struct role *r, int never)
{
	struct op_span *span = calloc((size_t)r->op_count, sizeof *span);
	for (int op = 0; span && op < r->op_count; op++) {
		int64_t begin = came_to(rank_number, op);
		span[op] = op == never ? (struct op_span){-1, -1, -1} : (struct op_span){begin, begin + LASTS, -1};
	}
	return span;
}

static void try_plan(const char *strategy, const char *communicator)
{
	struct settings q = settings_of("mlp:sizes=8-12-8-4 %s ranks=%d", strategy, ranks_count);
	struct made m;
	struct training t = {.rank = rank_number, .ranks = ranks_count, .mpi = true};
	MPI_Comm world = MPI_COMM_WORLD;
	int never = -1, seen = 0;
	ranks_check(!made_open(&m, &q) && !communicator_open(&t.communicator, communicator, &world), "%s: %s", strategy,
	            status_message());
	const struct role *r = plan_role_of(&m.plan, rank_number);
	for (int op = r->step.end - 1; op >= r->step.begin; op--)
		never = communicates(r, op) ? op : never;
	struct executor e = {.role = r, .span = make_spans(r, never), .started = began(rank_number)};
	t.plan = m.plan;
	t.device.executor = &e;
	for (int step = 0; step < 2; step++) {
		enum status s = training_meet(&t);
		ranks_check(!s, "%s: %s", strategy, status_message());
	}
	for (int op = r->step.begin; op < r->step.end; op++) {
		int64_t is = executor_came(&e, op), own = e.span[op].begin;
		int64_t wanted = communicates(r, op) && op != never ? expected(&m.plan, &r->ops[op], op) : own;
		ranks_check(is == wanted, "%s, %s: operation %d: came at %d, not %d", strategy, communicator, op,
		            (int)is, (int)wanted);
		seen += is > own;
	}
	ranks_check(seen || ranks_count == 1 || rank_number, "%s: rank 0 waits for nobody", strategy);
	arrivals_release(&t.arrivals);
	communicator_close(t.communicator);
	free(e.span);
	made_release(&m);
}

int main(int argc, char **argv)
{
	ranks_init(&argc, &argv);
	clocks_agree();
	try_plan("ddp", "ring");
	try_plan("ddp", "mpi");
	try_plan("zero3", "ring");
	if (ranks_count % 2 == 0)
		try_plan("hybrid:shard=2", "ring");
	return ranks_finish("mpi_meet");
}
