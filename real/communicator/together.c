/* Ranks tell each other things outside of steps: bytes, in MPI's non-blocking calls, polled with the communicator's
 * patience, so that a rank that is gone is noticed while saving, tracing and reporting too. */
#include <limits.h>

#include "real/communicator/internal.h"

static enum status finish(struct communicator_base *b, int code, MPI_Request *request, const struct exchange *x)
{
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, x->what, -1);
	return x->others_write ? communicator_wait_to_meet(b, request, x->what, -1)
	                       : communicator_wait(b, request, x->what, -1);
}

static enum status check(struct communicator_base *b, const struct exchange *x, int64_t bytes)
{
	if (b->broken)
		return communicator_is_broken(b);
	return bytes <= INT_MAX
	               ? STATUS_OK
	               : status_fail(STATUS_RUN, "%s: %lld bytes are above MPI's limit", x->what, (long long)bytes);
}

enum status communicator_tell_all(struct communicator *c, const struct exchange *x, const void *mine, int64_t bytes,
                                  void *all)
{
	struct communicator_base *b = base_of(c);
	MPI_Request request;
	TRY(check(b, x, bytes * b->public.ranks));
	int code = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, b->comm, &request);
	return finish(b, code, &request, x);
}

enum status communicator_tell_first(struct communicator *c, const struct exchange *x, const void *mine, int bytes,
                                    void *all, const int *counts, const int *places)
{
	struct communicator_base *b = base_of(c);
	MPI_Request request;
	TRY(check(b, x, bytes));
	int code = MPI_Igatherv(mine, bytes, MPI_BYTE, all, counts, places, MPI_BYTE, 0, b->comm, &request);
	return finish(b, code, &request, x);
}

enum status communicator_hear(struct communicator *c, const struct exchange *x, void *at, int64_t bytes, int from)
{
	struct communicator_base *b = base_of(c);
	MPI_Request request;
	TRY(check(b, x, bytes));
	int code = MPI_Ibcast(at, (int)bytes, MPI_BYTE, from, b->comm, &request);
	return finish(b, code, &request, x);
}
