#include "real/communicator/nccl.h"
#include "real/communicator/nccl_functions.h"

#ifndef HAS_NCCL

/* nccl_check fails first, so nothing calls the others. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum status nccl_check(void)
{
	return status_fail(
	        STATUS_INPUT,
	        "{comm} nccl: this program was built without NCCL (no nccl.h of 2.18 or newer); use {comm} ring or "
	        "mpi");
}

#define ABSENT(name, ...)                                                                                              \
	enum status name(__VA_ARGS__)                                                                                  \
	{                                                                                                              \
		return nccl_check();                                                                                   \
	}
ABSENT(nccl_open, struct nccl **out, struct communicator *members)
ABSENT(nccl_split, struct nccl **out, struct nccl *of, int colour, int place)
ABSENT(nccl_run, struct nccl *n, const struct collective *what, kernel_stream stream)
ABSENT(nccl_sum, struct nccl *n, float *values, int64_t count, kernel_stream stream)
ABSENT(nccl_message, struct nccl *n, const struct point_to_point *what, kernel_stream stream)
ABSENT(nccl_watch, struct nccl *n)

void nccl_close(struct nccl *n, bool abort)
{
}

#else

#include <dlfcn.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#include "real/communicator/internal.h"
#include "strategy/base/arena.h"

static struct nccl_functions library; /* GetUniqueId is NULL: not opened */

void nccl_use(const struct nccl_functions *functions)
{
	library = functions ? *functions : (struct nccl_functions){.GetUniqueId = NULL};
}

struct nccl {
	ncclComm_t comm;
	int rank, ranks;
};

enum status nccl_check(void)
{
	struct nccl_functions found;
	if (library.GetUniqueId)
		return STATUS_OK;
	void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return status_fail(STATUS_INPUT,
		                   "{comm} nccl: NCCL is missing (%.300s); install libnccl2, or use {comm} ring or mpi",
		                   dlerror());
		/* ISO C converts no object pointer to a function's */
#define X(name)                                                                                                        \
	void *symbol_##name = dlsym(handle, "nccl" #name);                                                             \
	memcpy(&found.name, &symbol_##name, sizeof found.name);                                                        \
	if (!symbol_##name) {                                                                                          \
		dlclose(handle);                                                                                       \
		return status_fail(STATUS_INPUT,                                                                       \
		                   "{comm} nccl: this NCCL has no nccl" #name "; install a newer libnccl2");           \
	}
	NCCL_FUNCTION_LIST(X)
#undef X
	library = found;
	return STATUS_OK;
}

static enum status failed(const struct nccl *n, ncclResult_t r, const char *what)
{
	if (r == ncclSuccess || r == ncclInProgress)
		return STATUS_OK;
	return status_fail(STATUS_RUN, "NCCL, rank %d of %d: %s: %s", n->rank, n->ranks, what,
	                   library.GetErrorString(r));
}

/* Sends the first rank's id to all, through MPI. A broadcast moves a multiple of ranks. */
static enum status share_id(struct communicator *members, ncclUniqueId *id)
{
	struct traffic traffic;
	int64_t bytes = ((int64_t)sizeof *id + members->ranks - 1) / members->ranks * members->ranks;
	unsigned char *whole = array_make(2, (size_t)bytes); /* the second half: staging */
	memcpy(whole, id, sizeof *id);
	enum status s = members->ops->run(members,
	                                  &(struct collective){.algorithm = SCHEDULE_TREE_BROADCAST,
	                                                       .elements = bytes,
	                                                       .whole = whole,
	                                                       .staging = whole + bytes,
	                                                       .type = TYPE_U8},
	                                  &traffic);
	memcpy(id, whole, sizeof *id);
	free(whole);
	return s;
}

enum status nccl_open(struct nccl **out, struct communicator *members)
{
	ncclUniqueId id = {{0}};
	enum status s = nccl_check();
	*out = NULL;
	if (s)
		return s;
	struct nccl *n = array_make(1, sizeof *n);
	n->rank = members->rank;
	n->ranks = members->ranks;
	if (!n->rank)
		s = failed(n, library.GetUniqueId(&id), "making an id");
	if (!s)
		s = share_id(members, &id);
	if (!s)
		s = failed(n, library.CommInitRank(&n->comm, n->ranks, id, n->rank), "joining the others");
	if (s)
		free(n);
	else
		*out = n;
	return s;
}

enum status nccl_split(struct nccl **out, struct nccl *of, int colour, int place)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	struct nccl *n = array_make(1, sizeof *n);
	*out = NULL;
	config.splitShare = 1;
	ncclResult_t r =
	        library.CommSplit(of->comm, colour < 0 ? NCCL_SPLIT_NOCOLOR : colour, place, &n->comm, &config);
	n->rank = place;
	if (r == ncclSuccess && n->comm)
		r = library.CommCount(n->comm, &n->ranks);
	enum status s = failed(of, r, "splitting off a group");
	if (n->comm)
		*out = n;
	else
		free(n);
	return s;
}

void nccl_close(struct nccl *n, bool abort)
{
	if (!n)
		return;
	if (n->comm)
		(void)(abort ? library.CommAbort : library.CommDestroy)(n->comm);
	free(n);
}

enum status nccl_watch(struct nccl *n)
{
	ncclResult_t under_way = ncclSuccess;
	ncclResult_t asked = library.CommGetAsyncError(n->comm, &under_way);
	return failed(n, asked != ncclSuccess ? asked : under_way, "an operation under way failed (has a peer died?)");
}

/* ---- what is put on the stream ---- */

static const ncclDataType_t types[] = {[TYPE_FP32] = ncclFloat32, [TYPE_BF16] = ncclBfloat16, [TYPE_FP16] = ncclFloat16,
                                       [TYPE_I32] = ncclInt32,    [TYPE_I64] = ncclInt64,     [TYPE_U8] = ncclUint8};

/* Between the root's whole and everyone's slices: a group of messages, the root's own slice copied as one to itself. */
static ncclResult_t run_star(struct nccl *n, const struct collective *w, bool gathers, cudaStream_t stream)
{
	size_t count = (size_t)(w->elements / n->ranks), bytes = count * (size_t)type_bytes(w->type);
	ncclDataType_t type = types[w->type];
	char *whole = w->whole;
	ncclResult_t r = library.GroupStart();
	for (int i = 0; i < n->ranks && n->rank == (int)w->root && r == ncclSuccess; i++) {
		char *slice = whole + (size_t)i * bytes;
		if (i == n->rank && slice == (char *)w->part)
			continue;
		r = gathers ? library.Recv(slice, count, type, i, n->comm, stream)
		            : library.Send(slice, count, type, i, n->comm, stream);
	}
	bool in_place = n->rank == (int)w->root && whole + (size_t)n->rank * bytes == (char *)w->part;
	if (r == ncclSuccess && !in_place)
		r = gathers ? library.Send(w->part, count, type, (int)w->root, n->comm, stream)
		            : library.Recv(w->part, count, type, (int)w->root, n->comm, stream);
	ncclResult_t ended = library.GroupEnd();
	return r == ncclSuccess ? ended : r;
}

enum status nccl_run(struct nccl *n, const struct collective *w, kernel_stream s)
{
	cudaStream_t stream = (cudaStream_t)s;
	enum operation o = schedule_row(w->algorithm)->operation;
	size_t all = (size_t)w->elements, part = (size_t)(w->elements / n->ranks);
	ncclDataType_t type = types[w->type];
	int root = (int)w->root;
	ncclResult_t r = ncclSuccess;
	switch (o) {
	case OPERATION_ALL_REDUCE:
	case OPERATION_SUM:
		r = library.AllReduce(w->whole, w->whole, all, type, w->maximum ? ncclMax : ncclSum, n->comm, stream);
		break;
	case OPERATION_REDUCE_SCATTER:
		r = library.ReduceScatter(w->whole, w->part, part, type, ncclSum, n->comm, stream);
		break;
	case OPERATION_ALL_GATHER:
		r = library.AllGather(w->part, w->whole, part, type, n->comm, stream);
		break;
	case OPERATION_BROADCAST:
		r = library.Broadcast(w->whole, w->whole, all, type, root, n->comm, stream);
		break;
	case OPERATION_REDUCE:
		r = library.Reduce(w->whole, w->whole, all, type, ncclSum, root, n->comm, stream);
		break;
	case OPERATION_SCATTER:
		r = run_star(n, w, false, stream);
		break;
	case OPERATION_GATHER:
		r = run_star(n, w, true, stream);
		break;
	case OPERATION_COUNT:
		break;
	}
	return failed(n, r, operation_name(o));
}

enum status nccl_sum(struct nccl *n, float *values, int64_t count, kernel_stream stream)
{
	return failed(
	        n,
	        library.AllReduce(values, values, (size_t)count, ncclFloat32, ncclSum, n->comm, (cudaStream_t)stream),
	        "sum");
}

enum status nccl_message(struct nccl *n, const struct point_to_point *m, kernel_stream s)
{
	cudaStream_t stream = (cudaStream_t)s;
	size_t bytes = (size_t)m->bytes;
	return failed(n,
	              m->sends ? library.Send(m->at, bytes, ncclUint8, m->peer, n->comm, stream)
	                       : library.Recv(m->at, bytes, ncclUint8, m->peer, n->comm, stream),
	              m->sends ? "send" : "receive");
}

#endif
