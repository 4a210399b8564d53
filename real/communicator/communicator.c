#include "real/communicator/communicator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "real/communicator/internal.h"

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
	traffic->handed_bytes = n * (int64_t)sizeof *values;
	return s;
}
