#include "viz/timeline/speed.h"

#include <string.h>

/* ---- of bytes over time ---- */

double speed_bus_factor(enum operation o, int64_t ranks)
{
	double others = ranks > 0 ? (double)(ranks - 1) / (double)ranks : 0;
	if (operation_sums_everywhere(o))
		return 2 * others;
	return operation_has_slices(o) ? others : 1;
}

static bool divide(struct speed *s, double factor)
{
	if (s->payload_bytes <= 0 || s->moves <= 0)
		return false;
	s->algorithm = (double)s->payload_bytes / ((double)s->moves * 1e-9);
	s->bus = s->algorithm * factor;
	return true;
}

/* ---- of a plan ---- */

/* Ranks of different nodes meet over the network, and the last step to a rank is the link inside its node. */
static void find_link(const struct timeline *s, const struct collective *c, struct speed *out)
{
	const struct limits *l = &s->limits;
	int64_t node = l->node_ranks, n = c->schedule.ranks;
	bool crosses = node && (c->rank ? false : n > node);
	for (int64_t i = 1; node && c->rank && i < n; i++)
		crosses |= c->rank[i] / node != c->rank[0] / node;
	int64_t rails = l->rails > 1 ? l->rails : 1;
	double network = (double)l->network * (double)rails, link = (double)l->link;
	bool slower = crosses && network <= link;
	out->link = slower ? network : link;
	out->link_name = slower ? "network" : "link";
	out->parts = slower ? rails : 1;
}

static bool speed_of_copy(const struct timeline *s, const struct role *role, const struct op *op, struct speed *out)
{
	static const char *const names[TRANSFER_COUNT] = {"host link", "host link", "disk", "disk"};
	const struct limits *l = &s->limits;
	enum transfer_kind kind = op_transfer(role, op);
	if (kind == TRANSFER_COUNT)
		return false;
	const int64_t rates[TRANSFER_COUNT] = {l->host_link, l->host_link, l->disk_read, l->disk_write};
	out->payload_bytes = out->wire_bytes = op_transfer_bytes(s->plan, role, op);
	out->ranks = 1;
	out->link = (double)rates[kind];
	out->link_name = names[kind];
	return divide(out, 1);
}

bool speed_of_op(const struct timeline *s, int index, int op, struct speed *out)
{
	const struct role *role = timeline_role_of(s, index);
	const struct op *one = &role->ops[op];
	*out = (struct speed){.wire_bytes = -1, .parts = 1, .assumed = s->trace->measured && !s->limits.measured_rates};
	if (op < role->step.begin || op >= role->step.end || s->ranks[index].begin[op - role->step.begin] < 0)
		return false;
	struct wait w = timeline_wait(s, index, op);
	out->waits = w.end - w.begin;
	out->moves = s->ranks[index].end[op - role->step.begin] - w.end;
	if (op_class(one->kind) != OP_CLASS_C)
		return speed_of_copy(s, role, one, out);
	int number = timeline_collective_of(s, index, op);
	if (number < 0)
		return false;
	const struct collective *c = &s->collectives[number];
	out->payload_bytes = op_payload_bytes(role, one);
	out->wire_bytes = one->kind == OP_RECEIVE ? op_received_bytes(s->plan, role, one, s->ranks[index].rank)
	                                          : op_sent_bytes(s->plan, role, one, s->ranks[index].rank);
	out->ranks = c->schedule.ranks;
	find_link(s, c, out);
	enum operation o = op_operation(one->kind);
	return out->ranks > 1 && divide(out, o == OPERATION_COUNT ? 1 : speed_bus_factor(o, out->ranks));
}

/* ---- of another program ---- */

/* A rank keeps 1/n of an all-to-all, as of an all-gather. */
static enum operation operation_of(const char *name)
{
	static const enum operation operations[GPU_COLLECTIVES + 1] = {
	        [GPU_ALL_REDUCE] = OPERATION_ALL_REDUCE, [GPU_REDUCE_SCATTER] = OPERATION_REDUCE_SCATTER,
	        [GPU_ALL_GATHER] = OPERATION_ALL_GATHER, [GPU_ALL_TO_ALL] = OPERATION_ALL_GATHER,
	        [GPU_GATHER] = OPERATION_GATHER,         [GPU_SCATTER] = OPERATION_SCATTER,
	        [GPU_BROADCAST] = OPERATION_BROADCAST,   [GPU_REDUCE] = OPERATION_REDUCE,
	        [GPU_MESSAGE] = OPERATION_COUNT,         [GPU_COLLECTIVES] = OPERATION_COUNT};
	return operations[gpu_collective_of(name)];
}

static bool is_message(const char *collective)
{
	return collective && (!strcmp(collective, "send") || !strcmp(collective, "recv"));
}

/* 0: not known. */
static double factor_of_span(const struct foreign_span *s)
{
	enum operation o = operation_of(s->collective ? s->collective : s->name);
	if (is_message(s->collective))
		return 1;
	return o == OPERATION_COUNT ? 0 : speed_bus_factor(o, s->ranks);
}

bool speed_of_span(const struct trace_file *f, size_t span, struct speed *out)
{
	const struct foreign_span *s = &f->spans[span];
	const char *what;
	bool moves = gpu_kind_of_span(f, s, &what) == GPU_COMMUNICATION, copy = !strcmp(what, "copy");
	*out = (struct speed){
	        .payload_bytes = s->bytes, .wire_bytes = -1, .moves = s->end - s->begin, .ranks = copy ? 1 : s->ranks};
	return moves && divide(out, copy ? 1 : factor_of_span(s));
}
