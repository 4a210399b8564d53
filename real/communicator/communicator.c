/* The parts of the table of functions that are the same in both communicators. */
#include <stdlib.h>

#include "real/communicator/internal.h"

void communicator_release(struct communicator *c)
{
	struct communicator_base *b = base_of(c);
	/* freeing is collective: with a dead peer it would wait for ever */
	if (b->comm != MPI_COMM_NULL && !b->broken)
		MPI_Comm_free(&b->comm);
	free(b);
}

void communicator_hurry(struct communicator *c, bool hurry)
{
	atomic_store_explicit(&base_of(c)->hurry, hurry, memory_order_relaxed);
}

enum operation operation_of(enum schedule_algorithm a)
{
	switch (a) {
	case SCHEDULE_RING_ALL_REDUCE:
	case SCHEDULE_HALVING_DOUBLING_ALL_REDUCE:
		return OPERATION_ALL_REDUCE;
	case SCHEDULE_RING_REDUCE_SCATTER:
		return OPERATION_REDUCE_SCATTER;
	case SCHEDULE_RING_ALL_GATHER:
		return OPERATION_ALL_GATHER;
	case SCHEDULE_TREE_BROADCAST:
	case SCHEDULE_STAR_BROADCAST:
	case SCHEDULE_CHAIN_BROADCAST:
		return OPERATION_BROADCAST;
	case SCHEDULE_TREE_REDUCE:
	case SCHEDULE_STAR_REDUCE:
	case SCHEDULE_CHAIN_REDUCE:
		return OPERATION_REDUCE;
	case SCHEDULE_STAR_SCATTER:
		return OPERATION_SCATTER;
	case SCHEDULE_STAR_GATHER:
		return OPERATION_GATHER;
	case SCHEDULE_COUNT:
		break;
	}
	abort();
}

const char *operation_name(enum operation o)
{
	static const char *const names[] = {
	        [OPERATION_ALL_REDUCE] = "all-reduce", [OPERATION_REDUCE_SCATTER] = "reduce-scatter",
	        [OPERATION_ALL_GATHER] = "all-gather", [OPERATION_BROADCAST] = "broadcast",
	        [OPERATION_REDUCE] = "reduce",         [OPERATION_SCATTER] = "scatter",
	        [OPERATION_GATHER] = "gather",
	};
	return names[o];
}

static enum status send_doubles(struct communicator_base *b, const double *values, int n, int to, struct traffic *t)
{
	MPI_Request request;
	int code = MPI_Isend(values, n, MPI_DOUBLE, to, TAG_SUM, b->comm, &request);
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, "sum", to);
	t->sent_bytes += n * (int64_t)sizeof *values;
	return communicator_wait(b, &request, "sum", to);
}

static enum status receive_doubles(struct communicator_base *b, double *values, int n, int from, struct traffic *t)
{
	MPI_Request request;
	int code = MPI_Irecv(values, n, MPI_DOUBLE, from, TAG_SUM, b->comm, &request);
	enum status s;
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, "sum", from);
	s = communicator_wait(b, &request, "sum", from);
	if (!s)
		t->received_bytes += n * (int64_t)sizeof *values;
	return s;
}

/* Rank 0 adds 1, 2, … in this order and sends everyone the result: one order, so the same bits everywhere. */
static enum status sum_few(struct communicator_base *b, double *values, int n, struct traffic *t)
{
	double incoming[64];
	int ranks = b->public.ranks;
	enum status s = STATUS_OK;
	if (b->public.rank != 0) {
		s = send_doubles(b, values, n, 0, t);
		return s ? s : receive_doubles(b, values, n, 0, t);
	}
	for (int r = 1; r < ranks && !s; r++) {
		s = receive_doubles(b, incoming, n, r, t);
		for (int i = 0; i < n && !s; i++)
			values[i] += incoming[i];
	}
	for (int r = 1; r < ranks && !s; r++)
		s = send_doubles(b, values, n, r, t);
	return s;
}

enum status communicator_sum(struct communicator *c, double *values, int n, struct traffic *traffic)
{
	struct communicator_base *b = base_of(c);
	enum status s = STATUS_OK;
	*traffic = (struct traffic){.counted = true};
	if (b->broken)
		return communicator_is_broken(b);
	for (int i = 0; i < n && !s; i += 64)
		s = sum_few(b, values + i, n - i < 64 ? n - i : 64, traffic);
	return s;
}
