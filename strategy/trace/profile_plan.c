/* Our own traces: what the operations of a plan's step are. */
#include <stdio.h>

#include "strategy/plan/operation.h"
#include "strategy/trace/profile.h"

static enum profile_kind kind_of_kernel(const struct plan *p, const struct op *op)
{
	static const enum profile_kind by_kernel[KERNEL_KINDS] = {
#define X(constant, name, divides, profile) [KERNEL_##constant] = PROFILE_##profile,
	        KERNEL_LIST(X)
#undef X
	};
	return op->kernel < 0 ? PROFILE_REST : by_kernel[p->model->kernels[op->kernel].kind];
}

static enum profile_kind kind_of_communication(const struct op *op)
{
	static const enum profile_kind by_operation[OPERATION_COUNT + 1] = {
	        [OPERATION_ALL_REDUCE] = PROFILE_ALL_REDUCE, [OPERATION_REDUCE_SCATTER] = PROFILE_REDUCE_SCATTER,
	        [OPERATION_ALL_GATHER] = PROFILE_ALL_GATHER, [OPERATION_BROADCAST] = PROFILE_BROADCAST,
	        [OPERATION_REDUCE] = PROFILE_REDUCE,         [OPERATION_GATHER] = PROFILE_GATHER,
	        [OPERATION_SCATTER] = PROFILE_SCATTER,       [OPERATION_SUM] = PROFILE_ALL_REDUCE,
	        [OPERATION_COUNT] = PROFILE_MESSAGE};
	return op->traffic == TRAFFIC_CONTROL ? PROFILE_CONTROL : by_operation[op_operation(op->kind)];
}

/* PROFILE_KINDS: an update on the host, which is no work of the device. */
static enum profile_kind kind_of(const struct plan *p, const struct role *r, const struct op *op)
{
	static const enum profile_kind by_transfer[TRANSFER_COUNT] = {[TRANSFER_DEVICE_TO_HOST] = PROFILE_TO_HOST,
	                                                              [TRANSFER_HOST_TO_DEVICE] = PROFILE_TO_DEVICE,
	                                                              [TRANSFER_DISK_READ] = PROFILE_DISK,
	                                                              [TRANSFER_DISK_WRITE] = PROFILE_DISK};
	enum transfer_kind transfer = op_transfer(r, op);
	if (op_class(op->kind) == OP_CLASS_C)
		return kind_of_communication(op);
	if (transfer != TRANSFER_COUNT)
		return by_transfer[transfer];
	return op->queue == QUEUE_COMPUTE ? kind_of_kernel(p, op) : PROFILE_KINDS;
}

static enum profile_phase phase_of(enum pass pass)
{
	static const enum profile_phase by_pass[PASS_COUNT] = {[PASS_NONE] = PROFILE_BESIDE,
	                                                       [PASS_FORWARD] = PROFILE_FORWARD,
	                                                       [PASS_RECOMPUTE] = PROFILE_BACKWARD,
	                                                       [PASS_BACKWARD] = PROFILE_BACKWARD,
	                                                       [PASS_UPDATE] = PROFILE_UPDATE};
	return by_pass[pass];
}

static void add_span(struct profile_work *w, const struct plan *p, const struct role *r, const struct span *s)
{
	const struct op *op = &r->ops[s->op];
	enum profile_kind kind = op_class(op->kind) == OP_CLASS_M ? PROFILE_KINDS : kind_of(p, r, op);
	if (kind == PROFILE_KINDS)
		return;
	bool communicates = op_class(op->kind) == OP_CLASS_C;
	*ARRAY_ADD(w->items, w->item_count, w->item_capacity) =
	        (struct profile_item){.begin = communicates ? s->came : s->begin,
	                              .end = s->end,
	                              .bytes = communicates ? op_payload_bytes(r, op) : op_transfer_bytes(p, r, op),
	                              .kind = kind,
	                              .phase = phase_of(op->pass),
	                              .calls = true};
}

/* The spans from `at` on that are one rank's. Ranks end together: with the last. */
static size_t add_rank(struct profile *p, const struct trace *t, size_t at, int64_t end, const char *name)
{
	int64_t rank = t->spans[at].rank;
	struct profile_work w = {0};
	const struct role *role = plan_role_of(t->plan, rank);
	*ARRAY_ADD(w.windows, w.window_count, w.window_capacity) = (struct profile_window){.end = end};
	for (; at < t->span_count && t->spans[at].rank == rank; at++)
		add_span(&w, t->plan, role, &t->spans[at]);
	profile_add_rank(p, &w,
	                 (struct profile_rank){.rank = rank,
	                                       .file = name,
	                                       .device = arena_print(&p->arena, "rank %lld", (long long)rank)});
	profile_work_release(&w);
	return at;
}

void profile_add_plan(struct profile *p, const struct trace *t, const char *name)
{
	int64_t end = 0;
	for (size_t i = 0; i < t->span_count; i++)
		end = t->spans[i].end > end ? t->spans[i].end : end;
	for (size_t at = 0; at < t->span_count;)
		at = add_rank(p, t, at, end, name);
	p->world = t->plan->ranks > p->world ? t->plan->ranks : p->world;
}
