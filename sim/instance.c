/* The collectives and messages of the step: what each costs, and the groups that carry it out.
 *
 * At the grain of messages every group of an instance is simulated. At the grain of operations ranks that are alike are
 * one process, so groups that are alike are simulated as one: one for each kind of node if they lie inside nodes, else
 * one for all.
 */
#include <stdlib.h>

#include "strategy/base/arena.h"

#include "sim/engine.h"

static const struct op *op_of(const struct engine *e, const struct instance *x)
{
	return instance_op(&e->rendezvous, x);
}

enum status instances_make(struct engine *e)
{
	const struct rendezvous *v = &e->rendezvous;
	enum status s = STATUS_OK;
	if (e->plan->ranks == 1)
		return STATUS_OK;
	rendezvous_init(&e->rendezvous, e->plan, SECTION_STEP);
	e->instances = array_make((size_t)v->instance_count, sizeof *e->instances);
	for (int i = 0; i < v->instance_count && !s; i++) {
		struct simulated_instance *x = &e->instances[i];
		const struct role *r = participant_role(v, v->instances[i].participants);
		const struct op *op = op_of(e, &v->instances[i]);
		x->schedule = op_schedule(e->plan, op);
		x->rounds = schedule_rounds(&x->schedule);
		x->element_bytes = op_element_bytes(r, op);
		s = op_is_message(op->kind) ? cost_message(e->c, e->plan, r, op, &x->cost)
		                            : cost_collective(&e->cache, e->c, e->plan, r, op, &x->cost);
	}
	return s;
}

/* ---- groups ---- */

/* Every group lies on one node. */
static bool is_inside_nodes(const struct engine *e, const struct op *op)
{
	int64_t size = 1;
	unsigned axes = op_axes(e->plan, op);
	if (op_is_message(op->kind) || op->ends_only)
		return false;
	for (int i = e->plan->axis_count - 1; i >= 0 && axes >> i & 1; i--) {
		size *= e->plan->axes[i].size;
		axes &= ~(1u << i);
	}
	return !axes && e->classes.per_node % size == 0;
}

static int64_t count_groups(const struct engine *e, int instance)
{
	if (e->grain == GRAIN_MESSAGE)
		return instance_groups(&e->rendezvous, &e->rendezvous.instances[instance]);
	return e->instances[instance].inside_nodes ? e->classes.node_count : 1;
}

static int64_t place_of_group(const struct engine *e, int instance, const struct rank_class *who)
{
	if (e->grain == GRAIN_MESSAGE)
		return instance_group(&e->rendezvous, &e->rendezvous.instances[instance], who->rank);
	return e->instances[instance].inside_nodes ? who->node : 0;
}

int group_of(const struct engine *e, int process, int op)
{
	const struct process *p = &e->processes[process];
	int number = rendezvous_number(&e->rendezvous, p->role, op);
	return e->instances[number].first_group + (int)place_of_group(e, number, p->who);
}

int64_t engine_came(const struct engine *e, int process, int op)
{
	const struct process *p = &e->processes[process];
	if (e->plan->ranks == 1 || rendezvous_number(&e->rendezvous, p->role, op) < 0)
		return *process_begin(p, op);
	/* Message by message a rank may be done before the last has come. */
	int64_t came = e->groups[group_of(e, process, op)].came;
	return came < *process_end(p, op) ? came : *process_end(p, op);
}

static void count_wanted(struct engine *e)
{
	for (int i = 0; i < e->classes.count; i++) {
		const struct role *r = e->processes[i].role;
		for (int op = r->step.begin; op < r->step.end; op++)
			if (op_class(r->ops[op].kind) == OP_CLASS_C)
				e->groups[group_of(e, i, op)].wanted++;
	}
}

enum status groups_make(struct engine *e)
{
	const struct rendezvous *v = &e->rendezvous;
	int64_t count = 0;
	for (int i = 0; i < v->instance_count; i++) {
		e->instances[i].first_group = (int)count;
		e->instances[i].inside_nodes = is_inside_nodes(e, op_of(e, &v->instances[i]));
		count += count_groups(e, i);
		if (count > INT32_MAX / 2)
			return status_fail(STATUS_INPUT,
			                   "{grain} message: over 2^30 collectives; use {grain} operation");
	}
	e->groups = array_make((size_t)count, sizeof *e->groups);
	for (int i = 0, g = 0; i < v->instance_count; i++)
		for (int64_t k = count_groups(e, i); k > 0; k--) /* a missing role never arrives */
			e->groups[g++] = (struct simulated_group){.instance = i, .wanted = v->instances[i].missing};
	if (count)
		count_wanted(e);
	return STATUS_OK;
}

void instances_release(struct engine *e)
{
	rendezvous_release(&e->rendezvous);
	free(e->instances);
	free(e->groups);
}
