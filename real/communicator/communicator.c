#include "real/communicator/communicator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "real/communicator/internal.h"

enum { MOST_VALUES = 64 }; /* of a sum, at a time */

static enum status read_timeout(int64_t *ns)
{
	const char *text = getenv("SHARDLAB_COMM_TIMEOUT_S");
	char *end;
	double seconds;
	*ns = (int64_t)120 * 1000000000;
	if (!text)
		return STATUS_OK;
	errno = 0;
	seconds = strtod(text, &end);
	if (end == text || *end || errno || !(seconds > 0 && seconds <= 1e8))
		return status_fail(STATUS_INPUT, "SHARDLAB_COMM_TIMEOUT_S=%s: give a number of seconds above 0", text);
	*ns = (int64_t)(seconds * 1e9);
	return STATUS_OK;
}

/* `code` is what MPI said when it made `comm`. */
static enum status make(struct communicator **out, const char *name, int64_t timeout_ns, int code, MPI_Comm comm)
{
	struct communicator_base *b = strcmp(name, "ring") == 0 ? communicator_ring_new() : communicator_mpi_new();
	if (!b)
		return status_fail(STATUS_MEMORY, "out of memory for a communicator");
	b->timeout_ns = timeout_ns;
	atomic_init(&b->hurry, false);
	b->comm = comm;
	/* by default MPI ends the process at an error, without a line that says which collective and which rank */
	if (code == MPI_SUCCESS)
		code = MPI_Comm_set_errhandler(b->comm, MPI_ERRORS_RETURN);
	if (code == MPI_SUCCESS)
		code = MPI_Comm_rank(b->comm, &b->public.rank);
	if (code == MPI_SUCCESS)
		code = MPI_Comm_size(b->comm, &b->public.ranks);
	if (code != MPI_SUCCESS) {
		enum status s = communicator_mpi_failed(b, code, "opening the communicator", -1);
		b->public.ops->release(&b->public);
		return s;
	}
	*out = &b->public;
	return STATUS_OK;
}

enum status communicator_open(struct communicator **out, const char *name, void *mpi_communicator)
{
	int initialized = 0, level = MPI_THREAD_SINGLE;
	MPI_Comm comm = MPI_COMM_NULL;
	int64_t timeout_ns;
	enum status s = read_timeout(&timeout_ns);
	*out = NULL;
	if (s)
		return s;
	if (strcmp(name, "ring") != 0 && strcmp(name, "mpi") != 0)
		return status_fail(STATUS_INPUT, "no communicator is called `%s` here: take ring or mpi", name);
	MPI_Initialized(&initialized);
	if (initialized)
		MPI_Query_thread(&level);
	if (level < MPI_THREAD_SERIALIZED)
		return status_fail(STATUS_INPUT,
		                   "the communicator `%s` needs MPI initialized with MPI_THREAD_SERIALIZED; %s", name,
		                   initialized ? "this MPI gives less" : "MPI is not initialized");
	int code = MPI_Comm_dup(*(MPI_Comm *)mpi_communicator, &comm);
	return make(out, name, timeout_ns, code, comm);
}

enum status communicator_split(struct communicator **out, struct communicator *c, int colour, int place)
{
	struct communicator_base *b = base_of(c);
	MPI_Comm comm = MPI_COMM_NULL;
	*out = NULL;
	if (b->broken)
		return communicator_is_broken(b);
	int code = MPI_Comm_split(b->comm, colour < 0 ? MPI_UNDEFINED : colour, place, &comm);
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, "splitting the communicator", -1);
	return comm == MPI_COMM_NULL ? STATUS_OK : make(out, c->ops->name, b->timeout_ns, code, comm);
}

void communicator_close(struct communicator *c)
{
	if (c)
		c->ops->release(c);
}

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
	enum status s = communicator_wait(b, &request, "sum", peer);
	if (s)
		return s;
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
	return s;
}
