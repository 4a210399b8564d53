#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "real/communicator/internal.h"
#include "real/communicator/kind.h"

enum status communicator_read_timeout(int64_t *ns)
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
	struct communicator_base *b =
	        communicator_kind(name)->library ? communicator_mpi_new() : communicator_ring_new();
	if (!b)
		return status_fail(STATUS_MEMORY, "out of memory for a communicator");
	b->timeout_ns = timeout_ns;
	atomic_init(&b->spin, false);
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
	enum status s = communicator_read_timeout(&timeout_ns);
	*out = NULL;
	if (s)
		return s;
	const struct communicator_kind *kind = communicator_kind(name);
	if (!kind || kind->device)
		return status_fail(STATUS_INPUT, "no communicator is called `%s`; use ring or mpi", name);
	MPI_Initialized(&initialized);
	if (initialized)
		MPI_Query_thread(&level);
	if (level < MPI_THREAD_SERIALIZED)
		return status_fail(STATUS_INPUT,
		                   "the communicator `%s` needs MPI initialized with MPI_THREAD_SERIALIZED; %s", name,
		                   initialized ? "this MPI gives less" : "MPI is not initialized");
	if ((s = communicator_deadline("opening the communicator")))
		return s;
	int code = MPI_Comm_dup(*(MPI_Comm *)mpi_communicator, &comm);
	communicator_deadline_end();
	return make(out, name, timeout_ns, code, comm);
}

enum status communicator_split(struct communicator **out, struct communicator *c, int colour, int place)
{
	struct communicator_base *b = base_of(c);
	MPI_Comm comm = MPI_COMM_NULL;
	*out = NULL;
	if (b->broken)
		return communicator_is_broken(b);
	TRY(communicator_deadline("parting the ranks"));
	int code = MPI_Comm_split(b->comm, colour < 0 ? MPI_UNDEFINED : colour, place, &comm);
	communicator_deadline_end();
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, "splitting the communicator", -1);
	return comm == MPI_COMM_NULL ? STATUS_OK : make(out, c->ops->name, b->timeout_ns, code, comm);
}

void communicator_close(struct communicator *c)
{
	if (c)
		c->ops->release(c);
}
