/* The communicator that leaves collectives to the MPI library, for comparison. The library chooses the algorithm, its
 * scratch memory and the bytes it sends, and none of them can be seen from here.
 *
 * The non-blocking forms are polled, so that a wait leaves the core to the compute thread as the ring's does, and ends
 * when a peer is dead. With nothing to compute meanwhile, Open MPI 4.1's blocking all-reduce of 64 MiB takes half the
 * time of its non-blocking one; beside a compute thread on 2 cores the non-blocking one is the faster, and takes less
 * from the compute thread. Progress inside cannot be seen, so here the timeout bounds a whole collective.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "real/communicator/internal.h"
#include "strategy/base/arena.h"

struct library {
	struct communicator_base base; /* first */
	/* MPI adds neither bf16 nor fp16. Both travel as 16-bit integers, and the operation tells them apart. */
	MPI_Op add_bf16, add_fp16;
};

/* The elements of one call. */
struct elements {
	MPI_Datatype type;
	MPI_Op combine; /* MPI_OP_NULL: elements that are only moved */
	int64_t bytes;
};

/* One call moves at most so many elements: MPI counts with int. */
enum { CALL_ELEMENTS = 1 << 28 };

static void add_bf16(void *in, void *sum, int *n, MPI_Datatype *type)
{
	(void)type;
	elements_add(ELEMENT_BF16, *n, in, sum, sum);
}

static void add_fp16(void *in, void *sum, int *n, MPI_Datatype *type)
{
	(void)type;
	elements_add(ELEMENT_FP16, *n, in, sum, sum);
}

static struct elements elements_of(const struct communicator_base *b, enum type type)
{
	const struct library *l = (const struct library *)b;
	const struct elements by_type[] = {
	        [TYPE_FP32] = {MPI_FLOAT, MPI_SUM, sizeof(float)}, [TYPE_BF16] = {MPI_UINT16_T, l->add_bf16, 2},
	        [TYPE_FP16] = {MPI_UINT16_T, l->add_fp16, 2},      [TYPE_U8] = {MPI_UINT8_T, MPI_OP_NULL, 1},
	        [TYPE_I32] = {MPI_INT32_T, MPI_OP_NULL, 4},        [TYPE_I64] = {MPI_INT64_T, MPI_OP_NULL, 8}};
	return by_type[type];
}

/* The operations on a buffer of one kind. */
static int start_whole(struct communicator_base *b, enum operation o, const struct elements *e, void *at, int n,
                       int root, MPI_Request *request)
{
	switch (o) {
	case OPERATION_ALL_REDUCE:
	case OPERATION_SUM:
		return MPI_Iallreduce(MPI_IN_PLACE, at, n, e->type, e->combine, b->comm, request);
	case OPERATION_BROADCAST:
		return MPI_Ibcast(at, n, e->type, root, b->comm, request);
	case OPERATION_REDUCE:
		if (b->public.rank == root)
			return MPI_Ireduce(MPI_IN_PLACE, at, n, e->type, e->combine, root, b->comm, request);
		return MPI_Ireduce(at, NULL, n, e->type, e->combine, root, b->comm, request);
	default:
		abort();
	}
}

/* The operations between a whole buffer and slices of n elements. `in_place`: the part is the rank's slice of the
 * whole. */
static int start_slices(struct communicator_base *b, enum operation o, const struct elements *e, void *whole,
                        void *part, bool in_place, int n, int root, MPI_Request *request)
{
	bool at_root = b->public.rank == root;
	switch (o) {
	case OPERATION_REDUCE_SCATTER:
		/* MPI's in-place form leaves the sum in the first slice; run() then moves it */
		return MPI_Ireduce_scatter_block(in_place ? MPI_IN_PLACE : whole, in_place ? whole : part, n, e->type,
		                                 e->combine, b->comm, request);
	case OPERATION_ALL_GATHER:
		return MPI_Iallgather(in_place ? MPI_IN_PLACE : part, n, e->type, whole, n, e->type, b->comm, request);
	case OPERATION_SCATTER:
		return MPI_Iscatter(whole, n, e->type, at_root && in_place ? MPI_IN_PLACE : part, n, e->type, root,
		                    b->comm, request);
	case OPERATION_GATHER:
		return MPI_Igather(at_root && in_place ? MPI_IN_PLACE : part, n, e->type, whole, n, e->type, root,
		                   b->comm, request);
	default:
		abort();
	}
}

static enum status finish(struct communicator_base *b, int code, MPI_Request *request, enum operation o)
{
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, operation_name(o), -1);
	return communicator_wait(b, request, operation_name(o), -1);
}

static enum status run_whole(struct communicator_base *b, enum operation o, const struct collective *what,
                             struct traffic *traffic)
{
	struct elements e = elements_of(b, what->type);
	if (what->maximum)
		e.combine = MPI_MAX;
	char *at = what->whole;
	enum status s = STATUS_OK;
	for (int64_t left = what->elements; left > 0 && !s;) {
		int n = (int)(left < CALL_ELEMENTS ? left : CALL_ELEMENTS);
		MPI_Request request;
		int code = start_whole(b, o, &e, at, n, (int)what->root, &request);
		s = finish(b, code, &request, o);
		traffic->handed_bytes += n * e.bytes;
		at += n * e.bytes;
		left -= n;
	}
	return s;
}

static enum status run_slices(struct communicator_base *b, enum operation o, const struct collective *what,
                              struct traffic *traffic)
{
	int64_t n = what->elements / b->public.ranks;
	struct elements e = elements_of(b, what->type);
	char *whole = what->whole, *part = what->part;
	char *own = whole ? whole + n * e.bytes * b->public.rank : NULL;
	bool in_place = whole && part == own;
	MPI_Request request;
	enum status s;
	int code;
	if (n == 0)
		return STATUS_OK;
	if (n > INT_MAX)
		return status_fail(
		        STATUS_INPUT,
		        "communicator mpi: a %s with %lld elements per rank is above MPI's limit of %d; use ring",
		        operation_name(o), (long long)n, INT_MAX);
	code = start_slices(b, o, &e, whole, part, in_place, (int)n, (int)what->root, &request);
	s = finish(b, code, &request, o);
	traffic->handed_bytes = n * e.bytes * b->public.ranks;
	if (!s && operation_row(o)->adds && in_place && own != whole)
		memcpy(own, whole, (size_t)(n * e.bytes));
	return s;
}

static enum status mpi_run(struct communicator *c, const struct collective *what, struct traffic *traffic)
{
	struct communicator_base *b = base_of(c);
	enum operation o = schedule_row(what->algorithm)->operation;
	*traffic = (struct traffic){.counted = false};
	if (b->broken)
		return communicator_is_broken(b);
	return operation_has_slices(o) ? run_slices(b, o, what, traffic) : run_whole(b, o, what, traffic);
}

static void mpi_release(struct communicator *c)
{
	struct library *l = (struct library *)c;
	MPI_Op_free(&l->add_bf16);
	MPI_Op_free(&l->add_fp16);
	communicator_release(c);
}

static const struct communicator_ops mpi_ops = {
        .name = "mpi",
        .run = mpi_run,
        .sum = communicator_sum,
        .message = communicator_message,
        .spin = communicator_spin,
        .release = mpi_release,
};

struct communicator_base *communicator_mpi_new(void)
{
	struct library *l = array_make(1, sizeof *l);
	MPI_Op_create(add_bf16, 1, &l->add_bf16);
	MPI_Op_create(add_fp16, 1, &l->add_fp16);
	l->base.public.ops = &mpi_ops;
	return &l->base;
}
