/* Communication on a GPU's stream: staged through pinned memory, or NCCL's. */
#include <string.h>

#include "real/cuda/executor_internal.h"

/* ---- memory ---- */

static int64_t region_bytes(const struct cuda_executor *e, const struct region *r)
{
	if (r->buffer < 0)
		return 0;
	return region_elements(e->base.memory->plan, r) * type_bytes(e->base.role->buffers[r->buffer].type);
}

static int64_t aligned(int64_t bytes)
{
	return (bytes + LAYOUT_ALIGNMENT - 1) / LAYOUT_ALIGNMENT * LAYOUT_ALIGNMENT;
}

static bool is_alone(const struct cuda_executor *e, const struct op *op)
{
	return !op_is_message(op->kind) && op_members(e->base.memory->plan, op) == 1;
}

/* A sum of scalars may stand in host memory. */
static bool is_on_host(const struct cuda_executor *e, const struct op *op)
{
	return e->base.role->buffers[op_buffer(op)].space == SPACE_HOST;
}

bool cuda_communication_is_staged(const struct cuda_executor *e, const struct op *op)
{
	return !is_alone(e, op) && (!e->is_nccl || is_on_host(e, op));
}

/* The offset of an operand inside the other one; -1: it is elsewhere. In-place collectives have the part inside the
 * whole. */
static int64_t place_within(const struct cuda_executor *e, const struct region *in, const struct region *whole)
{
	const struct rank_memory *m = e->base.memory;
	int64_t at, n, begin, count;
	if (in->buffer < 0 || in->buffer != whole->buffer)
		return -1;
	region_resolve(m->plan, in, m->rank, &at, &n);
	region_resolve(m->plan, whole, m->rank, &begin, &count);
	return at >= begin && at + n <= begin + count ? at - begin : -1;
}

/* Gives every operand its place in the pinned memory, or -1 if it is absent. Returns the bytes that this takes. */
static int64_t place_operands(const struct cuda_executor *e, const struct op *op, int64_t at[3])
{
	int64_t used = 0;
	int operands = op_operand_count(op->kind), larger = 0;
	for (int i = 0; i < 3; i++)
		at[i] = -1;
	for (int i = 0; i < operands; i++)
		if (region_bytes(e, &op->operand[i]) > region_bytes(e, &op->operand[larger]))
			larger = i;
	for (int k = 0; k < operands; k++) {
		int i = k == 0 ? larger : k <= larger ? k - 1 : k; /* the larger one first, then the others */
		const struct region *r = &op->operand[i];
		int64_t inside = k && r->buffer >= 0 ? place_within(e, r, &op->operand[larger]) : -1;
		if (r->buffer < 0)
			continue;
		if (inside >= 0) {
			at[i] = at[larger] + inside * type_bytes(e->base.role->buffers[r->buffer].type);
			continue;
		}
		at[i] = used;
		used += aligned(region_bytes(e, r));
	}
	return used;
}

static bool is_staging(const struct op *op, int operand)
{
	return !strcmp(op_operand_name(op->kind, operand), "staging");
}

/* A thread of the driver counts what it has carried out, while this thread issues and counts more. */
static void count(struct executor *b, const struct op *op, const struct traffic *traffic)
{
	pthread_mutex_lock(&b->lock);
	executor_count(b, op, traffic);
	pthread_mutex_unlock(&b->lock);
}

/* NCCL and copies are handed the elements that the operation names. A control value counts as a double, which it is
 * elsewhere. */
static int64_t handed_bytes(const struct executor *b, const struct op *op)
{
	return op_schedule(b->memory->plan, op).elements * op_element_bytes(b->role, op);
}

/* ---- staged ---- */

static void communicate(void *context)
{
	struct host_job *job = context;
	struct executor *b = &job->executor->base;
	struct traffic traffic = {0};
	if (executor_stops(b))
		return;
	enum status s = executor_communicate(b, &b->role->ops[job->op], job->operand, &traffic);
	pthread_mutex_lock(&b->lock);
	executor_count(b, &b->role->ops[job->op], &traffic);
	executor_failed(b, s);
	pthread_mutex_unlock(&b->lock);
}

/* Copies operands out before the collective, and back in after it. Nothing reads the input that reduce-scatter has
 * spoiled. */
static int copy_operands(struct cuda_executor *e, const struct host_job *job, bool out, kernel_stream s)
{
	struct cuda_device *c = e->device;
	const struct op *op = &e->base.role->ops[job->op];
	int error = 0;
	for (int i = 0; i < op_operand_count(op->kind) && !error; i++) {
		char access = op_access(op, i);
		int64_t n, bytes = region_bytes(e, &op->operand[i]);
		bool spoiled = op->kind == OP_REDUCE_SCATTER && i == REDUCE_SCATTER_X;
		if (!bytes || is_staging(op, i) || access == (out ? 'w' : 'r') || (!out && spoiled))
			continue;
		void *there = rank_memory_region(&c->rank, &op->operand[i], &n), *here = job->operand[i];
		error = c->api->kernels.copy(c->context, s, out ? here : there, out ? there : here, (size_t)bytes);
	}
	return error;
}

static int issue_staged(struct cuda_executor *e, struct host_job *job, kernel_stream s)
{
	struct cuda_device *c = e->device;
	int error = copy_operands(e, job, true, s);
	if (!error)
		error = c->api->host_call(c->context, s, communicate, job);
	return error ? error : copy_operands(e, job, false, s);
}

/* ---- one rank ---- */

/* The part is the whole, and may be the same memory. */
static int issue_alone(struct cuda_executor *e, const struct op *op, kernel_stream s)
{
	struct cuda_device *c = e->device;
	struct traffic none = {.handed_bytes = handed_bytes(&e->base, op), .counted = true};
	bool gathers = operation_row(op_operation(op->kind))->before == EXTENT_SLICE;
	const struct region *whole = op_region(op, PART_WHOLE), *share = op_region(op, PART_SHARE);
	const struct region *from = gathers ? share : whole, *to = gathers ? whole : share;
	int64_t n;
	count(&e->base, op, &none);
	void *x = share ? rank_memory_region(&c->rank, from, &n) : NULL;
	void *y = share ? rank_memory_region(&c->rank, to, &n) : NULL;
	return x && y && x != y ? c->api->kernels.copy(c->context, s, y, x, (size_t)region_bytes(e, from)) : 0;
}

/* ---- NCCL ---- */

static struct nccl *nccl_members(struct cuda_executor *e, const struct op *op)
{
	const struct group_of_ranks *g = op_is_message(op->kind) ? NULL : executor_group(&e->base, op);
	return g ? g->library : e->nccl;
}

static enum status issue_nccl(struct cuda_executor *e, const struct op *op, kernel_stream s)
{
	struct executor *b = &e->base;
	struct traffic traffic = {.handed_bytes = handed_bytes(b, op), .counted = false};
	int64_t n[3] = {0};
	void *operand[3] = {NULL, NULL, NULL};
	for (int i = 0; i < op_operand_count(op->kind); i++)
		operand[i] = rank_memory_region(b->memory, &op->operand[i], &n[i]);
	if (op_is_message(op->kind)) {
		struct point_to_point m = executor_message(b, op, operand[SEND_X]);
		traffic.counted = true; /* a message has the same bytes in any library */
		*(m.sends ? &traffic.sent_bytes : &traffic.received_bytes) = m.bytes;
		count(b, op, &traffic);
		return nccl_message(e->nccl, &m, s);
	}
	count(b, op, &traffic);
	if (op->kind == OP_SUM)
		return nccl_sum(nccl_members(e, op), operand[SUM_X], n[SUM_X], s);
	struct collective c = executor_collective(b, op, operand);
	return nccl_run(nccl_members(e, op), &c, s);
}

enum status cuda_communication_watch(struct cuda_executor *e)
{
	enum status s = e->nccl ? nccl_watch(e->nccl) : STATUS_OK;
	for (int i = 0; i < e->base.group_count && !s; i++)
		if (e->base.groups[i].library)
			s = nccl_watch(e->base.groups[i].library);
	e->nccl_failed |= s != STATUS_OK;
	return s;
}

/* ---- both ---- */

enum status cuda_communication_issue(struct executor *base, int number)
{
	struct cuda_executor *e = (struct cuda_executor *)base;
	const struct op *op = &base->role->ops[number];
	kernel_stream s = e->stream[op->queue];
	int error;
	if (is_alone(e, op))
		error = issue_alone(e, op, s);
	else if (is_on_host(e, op))
		error = e->device->api->host_call(e->device->context, s, communicate, &e->jobs[number]);
	else if (e->is_nccl)
		return issue_nccl(e, op, s);
	else
		error = issue_staged(e, &e->jobs[number], s);
	return cuda_device_error(e->device, error, op_name(op->kind));
}

/* The first pass over the program finds how much pinned memory it takes, the second places the operands in it. */
static enum status open_staging(struct cuda_executor *e)
{
	const struct role *r = e->base.role;
	int64_t at[3], n;
	for (int i = 0; i < r->op_count && !e->is_nccl; i++) {
		int64_t bytes = op_class(r->ops[i].kind) == OP_CLASS_C ? place_operands(e, &r->ops[i], at) : 0;
		if (bytes > e->pinned_bytes)
			e->pinned_bytes = bytes;
	}
	if (e->pinned_bytes) {
		int error =
		        e->device->api->allocate_host(e->device->context, (size_t)e->pinned_bytes, (void **)&e->pinned);
		if (error)
			return cuda_device_error(e->device, error, "no pinned memory for {comm} ring or mpi");
	}
	for (int i = 0; i < r->op_count; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_C)
			continue;
		if (is_on_host(e, op)) {
			e->jobs[i].operand[SUM_X] = rank_memory_region(e->base.memory, &op->operand[SUM_X], &n);
		} else if (!e->is_nccl) {
			place_operands(e, op, at);
			for (int k = 0; k < 3; k++)
				e->jobs[i].operand[k] = at[k] < 0 ? NULL : e->pinned + at[k];
		}
	}
	return STATUS_OK;
}

enum status cuda_communication_open(struct cuda_executor *e)
{
	enum status s = STATUS_OK;
	if (!e->base.communicator)
		return STATUS_OK;
	if ((s = executor_open_groups(&e->base)) || (s = open_staging(e)) || !e->is_nccl)
		return s;
	cuda_overhead_begin(e->device);
	s = nccl_open(&e->nccl, e->base.communicator);
	for (int i = 0; i < e->base.group_count && !s; i++) {
		struct group_of_ranks *g = &e->base.groups[i];
		struct nccl *group = NULL;
		bool alone = !g->communicator || g->communicator->ranks == 1;
		s = nccl_split(&group, e->nccl, alone ? -1 : g->colour, g->place);
		g->library = group;
	}
	cuda_overhead_end(e->device, OVERHEAD_NCCL);
	return s;
}

void cuda_communication_close(struct cuda_executor *e)
{
	for (int i = 0; i < e->base.group_count; i++)
		nccl_close(e->base.groups[i].library, e->nccl_failed);
	nccl_close(e->nccl, e->nccl_failed);
	e->device->api->release_host(e->device->context, e->pinned);
}
