/* Finds out when the last member of each collective came. Until then the others waited, and nothing was communicated.
 * No rank can tell from its own spans, so after every step all ranks tell each other when they came, on one clock, and
 * trace_meet() works out the rest. That costs a few bytes for each operation, between steps, where nothing is measured.
 */
#include <mpi.h>
#include <stdlib.h>

#include "real/rank/executor.h"
#include "real/train/internal.h"

/* ---- one clock ---- */

enum { PINGS = 16 };

/* Rank 0 read its clock during the round trip, so the middle of the shortest one is off by at most half of it. */
static int64_t ask_for_time(MPI_Comm all, int64_t (*now)(void))
{
	int64_t shortest = INT64_MAX, offset = 0;
	for (int i = 0; i < PINGS; i++) {
		int64_t there, sent = now();
		MPI_Send(&sent, 1, MPI_INT64_T, 0, 0, all);
		MPI_Recv(&there, 1, MPI_INT64_T, 0, 0, all, MPI_STATUS_IGNORE);
		int64_t trip = now() - sent;
		if (trip < shortest) {
			shortest = trip;
			offset = there - (sent + trip / 2);
		}
	}
	return offset;
}

static void tell_time(MPI_Comm all, int rank, int64_t (*now)(void))
{
	for (int i = 0; i < PINGS; i++) {
		int64_t time;
		MPI_Recv(&time, 1, MPI_INT64_T, rank, 0, all, MPI_STATUS_IGNORE);
		time = now();
		MPI_Send(&time, 1, MPI_INT64_T, rank, 0, all);
	}
}

int64_t clocks_align(const void *mpi_communicator, int64_t (*now)(void))
{
	MPI_Comm all = *(const MPI_Comm *)mpi_communicator;
	int rank, ranks;
	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &ranks);
	if (rank)
		return ask_for_time(all, now);
	for (int i = 1; i < ranks; i++)
		tell_time(all, i, now);
	return 0;
}

/* ---- a step ---- */

enum { NEVER = -1 }; /* came to an operation that took no time */

static bool communicates(const struct role *r, int op)
{
	return op_class(r->ops[op].kind) == OP_CLASS_C;
}

static void arrivals_open(struct arrivals *m, const struct plan *p)
{
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		int64_t count = 0;
		for (int op = r->step.begin; op < r->step.end; op++)
			count += communicates(r, op);
		m->most = count > m->most ? count : m->most;
	}
	m->mine = array_make((size_t)m->most, sizeof *m->mine);
	m->all = array_make((size_t)m->most * (size_t)p->ranks, sizeof *m->all);
	trace_open(&m->trace, p, "", true);
	m->opened = true;
}

void arrivals_release(struct arrivals *m)
{
	free(m->mine);
	free(m->all);
	trace_release(&m->trace);
	*m = (struct arrivals){0};
}

static void write_down(struct training *t, int64_t started)
{
	const struct role *r = plan_role_of(&t->plan, t->rank);
	int64_t *next = t->arrivals.mine, begin, end;
	for (int op = r->step.begin; op < r->step.end; op++) {
		if (!communicates(r, op))
			continue;
		executor_span(t->device.executor, op, &begin, &end);
		*next++ = begin < 0 ? NEVER : started + begin;
	}
}

/* Numbers of 64 bits travel as pairs of 32, which an all-gather moves as they are. */
static enum status tell_all(struct training *t)
{
	struct arrivals *m = &t->arrivals;
	struct traffic traffic;
	struct collective c = {.algorithm = SCHEDULE_RING_ALL_GATHER,
	                       .elements = 2 * m->most * t->ranks,
	                       .type = TYPE_FP32,
	                       .whole = m->all,
	                       .part = m->mine};
	return t->communicator->ops->run(t->communicator, &c, &traffic);
}

/* When others ended is not known, and does not matter. */
static void read_all(struct arrivals *m, const struct plan *p)
{
	m->trace.span_count = 0;
	for (int64_t rank = 0; rank < p->ranks; rank++) {
		const struct role *r = plan_role_of(p, rank);
		const int64_t *next = m->all + rank * m->most;
		for (int op = r->step.begin; op < r->step.end; op++)
			if (communicates(r, op) && *next++ != NEVER)
				trace_add_span(&m->trace, rank, op, next[-1], INT64_MAX);
	}
	trace_meet(&m->trace);
}

enum status training_meet(struct training *t)
{
	struct arrivals *m = &t->arrivals;
	if (t->ranks == 1)
		return STATUS_OK;
	if (!m->opened)
		arrivals_open(m, &t->plan);
	if (!m->most)
		return STATUS_OK;
	int64_t started = executor_started(t->device.executor) + m->clock;
	write_down(t, started);
	TRY(tell_all(t));
	read_all(m, &t->plan);
	for (size_t i = 0; i < m->trace.span_count; i++)
		if (m->trace.spans[i].rank == t->rank)
			executor_meet(t->device.executor, m->trace.spans[i].op, m->trace.spans[i].came - started);
	return STATUS_OK;
}
