/* Functions that both communicators share. */
#include <stdlib.h>

#include "real/communicator/internal.h"

enum { MOST_VALUES = 64 }; /* of a sum, at a time */

void communicator_release(struct communicator *c)
{
	struct communicator_base *b = base_of(c);
	/* freeing is collective: with a dead peer it would wait for ever */
	if (b->comm != MPI_COMM_NULL && !b->broken)
		MPI_Comm_free(&b->comm);
	free(b);
}

void communicator_spin(struct communicator *c, bool spin)
{
	atomic_store_explicit(&base_of(c)->spin, spin, memory_order_relaxed);
}

/* A rank's part of one round. A sum sends or receives in a round, never both. */
static enum status sum_round(struct communicator_base *b, const struct round *r, double *values, struct traffic *t)
{
	double incoming[MOST_VALUES];
	bool sends = r->send_to >= 0;
	int n = (int)(sends ? r->send_count : r->receive_count), peer = (int)(sends ? r->send_to : r->receive_from);
	MPI_Request request;
	if (peer < 0)
		return STATUS_OK;
	int code = sends ? MPI_Isend(values, n, MPI_DOUBLE, peer, TAG_SUM, b->comm, &request)
	                 : MPI_Irecv(incoming, n, MPI_DOUBLE, peer, TAG_SUM, b->comm, &request);
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, "sum", peer);
	TRY(communicator_wait(b, &request, "sum", peer));
	*(sends ? &t->sent_bytes : &t->received_bytes) += n * (int64_t)sizeof *values;
	for (int i = 0; i < n && !sends; i++)
		values[i] = r->add ? values[i] + incoming[i] : incoming[i];
	return STATUS_OK;
}

static enum status sum_few(struct communicator_base *b, double *values, int n, struct traffic *t)
{
	const struct schedule schedule = {schedule_first(OPERATION_SUM), b->public.ranks, 0, n, 0};
	enum status s = STATUS_OK;
	for (int64_t i = 0; i < schedule_rounds(&schedule) && !s; i++) {
		struct round r = schedule_round(&schedule, b->public.rank, i);
		s = sum_round(b, &r, values, t);
	}
	return s;
}

enum status communicator_sum(struct communicator *c, double *values, int n, struct traffic *traffic)
{
	struct communicator_base *b = base_of(c);
	enum status s = STATUS_OK;
	*traffic = (struct traffic){.counted = true};
	if (b->broken)
		return communicator_is_broken(b);
	for (int i = 0; i < n && !s; i += MOST_VALUES)
		s = sum_few(b, values + i, n - i < MOST_VALUES ? n - i : MOST_VALUES, traffic);
	traffic->handed_bytes = n * (int64_t)sizeof *values;
	return s;
}
