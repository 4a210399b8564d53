/* Communication for executors: the ranks that an operation runs over, and the bytes that it moves. */
#include <string.h>

#include "real/rank/executor_internal.h"

struct group_of_ranks *executor_group(struct executor *e, const struct op *op)
{
	for (int i = 0; i < e->group_count; i++)
		if (e->groups[i].axes == op_axes(e->memory->plan, op) && e->groups[i].ends == op->ends_only)
			return &e->groups[i];
	return NULL;
}

struct communicator *executor_members(struct executor *e, const struct op *op)
{
	const struct group_of_ranks *g = executor_group(e, op);
	return g ? g->communicator : e->communicator;
}

static bool is_of_all(const struct plan *p, const struct op *op)
{
	return op_class(op->kind) != OP_CLASS_C || op_is_message(op->kind) ||
	       (!op->ends_only && op_axes(p, op) == plan_all_axes(p));
}

/* Every rank opens the groups of all roles, in the plan's order, because splitting is collective. */
enum status executor_open_groups(struct executor *e)
{
	const struct plan *p = e->memory->plan;
	int64_t rank = e->memory->rank;
	enum status s = STATUS_OK;
	for (int r = 0; r < p->role_count; r++)
		for (int i = 0; i < p->roles[r].op_count && !s; i++) {
			const struct op *op = &p->roles[r].ops[i];
			if (is_of_all(p, op) || executor_group(e, op))
				continue;
			struct group_of_ranks *g = &e->groups[e->group_count++];
			*g = (struct group_of_ranks){.axes = op_axes(p, op), .ends = op->ends_only};
			g->place = (int)op_member(p, op, rank);
			g->colour = g->place < 0 ? -1 : (int)plan_place(p, plan_all_axes(p) & ~g->axes, rank);
			s = communicator_split(&g->communicator, e->communicator, g->colour, g->place);
		}
	return s;
}

void executor_spin(struct executor *e, bool yes)
{
	if (e->communicator)
		e->communicator->ops->spin(e->communicator, yes);
	for (int i = 0; i < e->group_count; i++)
		if (e->groups[i].communicator)
			e->groups[i].communicator->ops->spin(e->groups[i].communicator, yes);
}

static void *memory_of(const struct op *op, void *const operand[], enum part part)
{
	int i = op_find(op->kind, part);
	return i < 0 ? NULL : operand[i];
}

struct collective executor_collective(const struct executor *e, const struct op *op, void *const operand[3])
{
	return (struct collective){.algorithm = op->algorithm,
	                           .root = op->root,
	                           .elements = op_schedule(e->memory->plan, op).elements,
	                           .type = e->role->buffers[op_buffer(op)].type,
	                           .whole = memory_of(op, operand, PART_WHOLE),
	                           .part = memory_of(op, operand, PART_SHARE),
	                           .maximum = op->kind == OP_ALL_REDUCE_MAXIMUM,
	                           .staging = memory_of(op, operand, PART_STAGING)};
}

/* Scalars travel as doubles and come back in their own type. */
enum status executor_sum(struct executor *e, const struct op *op, float *x, int64_t n, struct traffic *traffic)
{
	double values[64];
	if (n > 64)
		return status_fail(STATUS_INPUT, "sum: more than 64 control values");
	for (int64_t i = 0; i < n; i++)
		values[i] = x[i];
	struct communicator *c = executor_members(e, op);
	enum status s = c->ops->sum(c, values, (int)n, traffic);
	for (int64_t i = 0; i < n && !s; i++)
		x[i] = (float)values[i];
	traffic->counted = true;
	return s;
}

/* The elements of an operand that a call used. Staging is lent whole, even if a communicator needs little of it. */
static int64_t elements_used(const struct executor *e, const struct op *op, int operand, int64_t handed)
{
	const struct plan *p = e->memory->plan;
	if (op->operand[operand].buffer < 0)
		return 0;
	if (!strcmp(op_operand_name(op->kind, operand), "staging"))
		return region_elements(p, &op->operand[operand]);
	return op_part(op->kind, operand) == PART_SHARE ? handed / op_members(p, op) : handed;
}

/* The payload is what the communicator worked on, less the plan's padding. */
void executor_count(struct executor *e, const struct op *op, const struct traffic *traffic)
{
	struct traffic_count *t = &e->traffic[op->traffic];
	int64_t element = op_element_bytes(e->role, op), handed = traffic->handed_bytes / element;
	int64_t padding = op_schedule(e->memory->plan, op).elements - op->payload;
	t->calls++;
	t->payload_bytes += traffic->handed_bytes - padding * element;
	if (traffic->staging_bytes > t->staging_bytes)
		t->staging_bytes = traffic->staging_bytes;
	t->sent_bytes += traffic->sent_bytes;
	t->received_bytes += traffic->received_bytes;
	t->counted &= traffic->counted;
	for (int i = 0; i < op_operand_count(op->kind); i++)
		rank_memory_touch(e->memory, op, i, elements_used(e, op, i, handed));
}
