#include "tests/support/fake_nccl.h"

#include "real/communicator/nccl_functions.h"

static int64_t calls;

int64_t fake_nccl_calls(void)
{
	return calls;
}

#ifndef HAS_NCCL

bool fake_nccl(void)
{
	return false;
}

#else

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/elements.h"
#include "tests/support/fake_cuda_internal.h"

enum { MOST_RANKS = 16, FIRST_TAG = 1000 };
enum what { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, REDUCE, MESSAGES };

struct ncclComm {
	MPI_Comm members;
	int rank, ranks;
	int64_t captured;                   /* operations in graphs that are there */
	unsigned used, sent_to, heard_from; /* eagerly: bits of `what`, and of peers */
};

struct message {
	bool sends;
	void *at;
	size_t bytes;
	int peer;
};

struct operation_of_nccl {
	ncclComm_t comm;
	enum what what;
	const void *from;
	void *to;
	size_t count; /* of `to`, or all */
	ncclDataType_t type;
	bool maximum;
	int root, messages;
	struct message message[2 * MOST_RANKS];
};

static enum type type_of(ncclDataType_t t)
{
	return t == ncclFloat32 ? TYPE_FP32 : t == ncclBfloat16 ? TYPE_BF16 : TYPE_FP16;
}

static size_t bytes_of(ncclDataType_t t)
{
	switch (t) {
	case ncclUint8:
		return 1;
	case ncclBfloat16:
	case ncclFloat16:
		return 2;
	case ncclFloat32:
	case ncclInt32:
		return 4;
	default:
		return 8;
	}
}

/* ---- carrying out ---- */

static void *memory(size_t bytes)
{
	void *p = malloc(bytes + 1);
	if (!p)
		abort();
	return p;
}

/* Without spinning: tests share cores. */
static void wait_for(int count, MPI_Request *requests)
{
	const struct timespec shortly = {.tv_nsec = 20000};
	for (int done = 0; !done;) {
		MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
		if (!done)
			nanosleep(&shortly, NULL);
	}
}

/* Elements [first, first + count) of what all ranks gave, n each, in their order. */
static void reduce(const struct operation_of_nccl *o, const char *all, size_t n, size_t first)
{
	enum type t = type_of(o->type);
	for (size_t i = 0; i < o->count; i++) {
		float x = element_get(t, all, (int64_t)(first + i));
		for (int r = 1; r < o->comm->ranks; r++) {
			float y = element_get(t, all + (size_t)r * n * bytes_of(o->type), (int64_t)(first + i));
			x = !o->maximum ? x + y : y > x ? y : x;
		}
		element_set(t, o->to, (int64_t)i, x);
	}
}

static void run_collective(const struct operation_of_nccl *o)
{
	ncclComm_t c = o->comm;
	size_t n = o->what == REDUCE_SCATTER ? o->count * (size_t)c->ranks : o->count, bytes = n * bytes_of(o->type);
	char *own = memory(bytes), *all = memory(bytes * (size_t)c->ranks);
	memcpy(own, o->from, bytes);
	MPI_Request request;
	MPI_Iallgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, c->members, &request);
	wait_for(1, &request);
	if (o->what == ALL_GATHER)
		memcpy(o->to, all, bytes * (size_t)c->ranks);
	else if (o->what == BROADCAST)
		memcpy(o->to, all + (size_t)o->root * bytes, bytes);
	else if (o->what != REDUCE || c->rank == o->root)
		reduce(o, all, n, o->what == REDUCE_SCATTER ? (size_t)c->rank * o->count : 0);
	free(own);
	free(all);
}

static void run_messages(const struct operation_of_nccl *o)
{
	MPI_Request requests[2 * MOST_RANKS];
	for (int i = 0; i < o->messages; i++) {
		const struct message *m = &o->message[i];
		if (m->sends)
			MPI_Isend(m->at, (int)m->bytes, MPI_BYTE, m->peer, 0, o->comm->members, &requests[i]);
		else
			MPI_Irecv(m->at, (int)m->bytes, MPI_BYTE, m->peer, 0, o->comm->members, &requests[i]);
	}
	wait_for(o->messages, requests);
}

static void run(const void *arguments)
{
	const struct operation_of_nccl *o = arguments;
	calls++;
	if (o->what == MESSAGES)
		run_messages(o);
	else
		run_collective(o);
}

/* ---- putting on a stream ---- */

static bool is_connected(const struct operation_of_nccl *o)
{
	const struct ncclComm *c = o->comm;
	for (int i = 0; i < o->messages; i++)
		if (!((o->message[i].sends ? c->sent_to : c->heard_from) >> o->message[i].peer & 1))
			return false;
	return c->used >> o->what & 1;
}

static void connect_all(const struct operation_of_nccl *o)
{
	struct ncclComm *c = o->comm;
	for (int i = 0; i < o->messages; i++)
		*(o->message[i].sends ? &c->sent_to : &c->heard_from) |= 1U << o->message[i].peer;
	c->used |= 1U << o->what;
}

static ncclResult_t put(const struct operation_of_nccl *o, cudaStream_t stream)
{
	kernel_stream s = (kernel_stream)stream;
	if (s->capturing && !is_connected(o))
		return ncclInternalError;
	if (s->capturing)
		o->comm->captured++;
	else
		connect_all(o);
	return fake_push(fake_device, s, run, o, sizeof *o) ? ncclUnhandledCudaError : ncclSuccess;
}

static void graph_goes(const struct CUgraphExec_st *g)
{
	for (int64_t i = 0; i < g->items.count; i++)
		if (g->items.items[i].run == run)
			((const struct operation_of_nccl *)g->items.items[i].arguments)->comm->captured--;
}

static ncclResult_t put_collective(enum what what, const void *from, void *to, size_t count, ncclDataType_t type,
                                   ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	return put(&(struct operation_of_nccl){.comm = comm,
	                                       .what = what,
	                                       .from = from,
	                                       .to = to,
	                                       .count = count,
	                                       .type = type,
	                                       .maximum = op == ncclMax,
	                                       .root = root},
	           stream);
}

static ncclResult_t all_reduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream)
{
	return put_collective(ALL_REDUCE, from, to, count, type, op, 0, comm, stream);
}

static ncclResult_t reduce_scatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                   ncclComm_t comm, cudaStream_t stream)
{
	return put_collective(REDUCE_SCATTER, from, to, count, type, op, 0, comm, stream);
}

static ncclResult_t all_gather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                               cudaStream_t stream)
{
	return put_collective(ALL_GATHER, from, to, count, type, ncclSum, 0, comm, stream);
}

static ncclResult_t broadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                              cudaStream_t stream)
{
	return put_collective(BROADCAST, from, to, count, type, ncclSum, root, comm, stream);
}

static ncclResult_t reduce_to(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                              ncclComm_t comm, cudaStream_t stream)
{
	return put_collective(REDUCE, from, to, count, type, op, root, comm, stream);
}

/* ---- messages ---- */

static struct operation_of_nccl group;
static cudaStream_t group_stream;
static int depth;

static ncclResult_t add(bool sends, void *at, size_t bytes, int peer, ncclComm_t comm, cudaStream_t stream)
{
	struct message m = {sends, at, bytes, peer};
	bool another = group.messages && (comm != group.comm || stream != group_stream);
	if (another || group.messages == 2 * MOST_RANKS || (!depth && peer == comm->rank))
		return ncclInvalidUsage;
	if (!depth)
		return put(&(struct operation_of_nccl){.comm = comm, .what = MESSAGES, .messages = 1, .message = {m}},
		           stream);
	group.comm = comm;
	group_stream = stream;
	group.message[group.messages++] = m;
	return ncclSuccess;
}

static ncclResult_t send_to(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                            cudaStream_t stream)
{
	return add(true, (void *)(uintptr_t)from, count * bytes_of(type), peer, comm, stream);
}

static ncclResult_t receive(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	return add(false, to, count * bytes_of(type), peer, comm, stream);
}

static ncclResult_t group_start(void)
{
	if (!depth++)
		group = (struct operation_of_nccl){.what = MESSAGES};
	return ncclSuccess;
}

static ncclResult_t group_end(void)
{
	if (!depth)
		return ncclInvalidUsage;
	if (--depth || !group.messages)
		return ncclSuccess;
	struct operation_of_nccl all = group;
	group.messages = 0;
	return put(&all, group_stream);
}

/* ---- communicators ---- */

struct identity {
	int root, tag; /* in MPI_COMM_WORLD */
};

static ncclResult_t get_id(ncclUniqueId *id)
{
	static int tag = FIRST_TAG;
	struct identity own = {.tag = tag++};
	MPI_Comm_rank(MPI_COMM_WORLD, &own.root);
	memcpy(id, &own, sizeof own);
	return ncclSuccess;
}

/* The members' ranks in the world: the first member collects them and tells all. */
static void find_members(const struct identity *id, int ranks, int rank, int world[MOST_RANKS])
{
	int own[2] = {rank};
	MPI_Comm_rank(MPI_COMM_WORLD, &own[1]);
	world[rank] = own[1];
	if (rank) {
		MPI_Send(own, 2, MPI_INT, id->root, id->tag, MPI_COMM_WORLD);
		MPI_Recv(world, ranks, MPI_INT, id->root, id->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	for (int i = 1; i < ranks; i++) {
		MPI_Recv(own, 2, MPI_INT, MPI_ANY_SOURCE, id->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		world[own[0]] = own[1];
	}
	for (int i = 1; i < ranks; i++)
		MPI_Send(world, ranks, MPI_INT, world[i], id->tag, MPI_COMM_WORLD);
}

static ncclResult_t init_rank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank)
{
	struct identity from;
	int world[MOST_RANKS];
	MPI_Group everyone, members;
	struct ncclComm *c = calloc(1, sizeof *c);
	if (!c || ranks > MOST_RANKS)
		abort();
	memcpy(&from, &id, sizeof from);
	find_members(&from, ranks, rank, world);
	*c = (struct ncclComm){.rank = rank, .ranks = ranks};
	MPI_Comm_group(MPI_COMM_WORLD, &everyone);
	MPI_Group_incl(everyone, ranks, world, &members);
	MPI_Comm_create_group(MPI_COMM_WORLD, members, from.tag, &c->members);
	MPI_Group_free(&everyone);
	MPI_Group_free(&members);
	*out = c;
	return ncclSuccess;
}

static ncclResult_t split(ncclComm_t of, int colour, int key, ncclComm_t *out, ncclConfig_t *config)
{
	MPI_Comm members;
	if (!config->splitShare)
		return ncclInvalidUsage;
	*out = NULL;
	MPI_Comm_split(of->members, colour == NCCL_SPLIT_NOCOLOR ? MPI_UNDEFINED : colour, key, &members);
	if (members == MPI_COMM_NULL)
		return ncclSuccess;
	struct ncclComm *c = calloc(1, sizeof *c);
	if (!c)
		abort();
	c->members = members;
	MPI_Comm_rank(members, &c->rank);
	MPI_Comm_size(members, &c->ranks);
	*out = c;
	return ncclSuccess;
}

static ncclResult_t count_members(const ncclComm_t comm, int *ranks)
{
	*ranks = comm->ranks;
	return ncclSuccess;
}

static ncclResult_t destroy(ncclComm_t comm)
{
	if (comm->captured) {
		fprintf(stderr, "fatal: the fake NCCL: a communicator would wait for ever for its graphs\n");
		abort();
	}
	MPI_Comm_free(&comm->members);
	free(comm);
	return ncclSuccess;
}

static ncclResult_t async_error(ncclComm_t comm, ncclResult_t *error)
{
	(void)comm;
	*error = ncclSuccess;
	return ncclSuccess;
}

static const char *error_string(ncclResult_t error)
{
	return error == ncclInternalError  ? "would connect in a capture"
	       : error == ncclInvalidUsage ? "invalid usage"
	                                   : "unhandled cuda error";
}

bool fake_nccl(void)
{
	static const struct nccl_functions functions = {.GetUniqueId = get_id,
	                                                .CommInitRank = init_rank,
	                                                .CommSplit = split,
	                                                .CommCount = count_members,
	                                                .CommDestroy = destroy,
	                                                .CommAbort = destroy,
	                                                .CommGetAsyncError = async_error,
	                                                .GetErrorString = error_string,
	                                                .AllReduce = all_reduce,
	                                                .ReduceScatter = reduce_scatter,
	                                                .AllGather = all_gather,
	                                                .Broadcast = broadcast,
	                                                .Reduce = reduce_to,
	                                                .Send = send_to,
	                                                .Recv = receive,
	                                                .GroupStart = group_start,
	                                                .GroupEnd = group_end};
	nccl_use(&functions);
	fake_graph_goes = graph_goes;
	return true;
}

#endif
