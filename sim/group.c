/* Communication as one operation: it moves data when every process of the group has arrived, takes its time, and ends
 * for all of them at once. */
#include <stdlib.h>

#include "sim/engine.h"
#include "strategy/base/arena.h"

static int64_t members_of(const struct engine *e, int group)
{
	const struct rendezvous *v = &e->rendezvous;
	return instance_members(v, &v->instances[e->groups[group].instance]);
}

/* Returns how many ranks of the group are on one node of each kind. The caller frees it. */
static uint64_t *members_by_node(struct engine *e, int group)
{
	uint64_t *members = array_make((size_t)e->classes.node_count, sizeof *members);
	for (int i = 0; i < e->classes.count; i++)
		if (participation_in(e, i, group))
			members[e->processes[i].who->node] += (uint64_t)e->processes[i].who->copies;
	return members;
}

/* One activity stands for all members. On CPUs it takes cores and memory bandwidth on every kind of node, and is as
 * slow as the slowest. */
static void begin_collective(struct engine *e, int group)
{
	const struct cluster *c = e->c;
	const struct cost *cost = &engine_instance(e, group)->cost;
	uint64_t cores = (uint64_t)c->collective_cores.value, *here = members_by_node(e, group);
	struct use *uses = array_make((size_t)e->classes.node_count * 2, sizeof *uses);
	int n = 0;
	for (int i = 0; c->kind == DEVICE_CPU && cost->ns && i < e->classes.node_count; i++) {
		/* each byte is read once and written once, on the node of its rank */
		wide bytes = (wide)cost->bytes * 2 * here[i] / (uint64_t)members_of(e, group);
		if (!here[i])
			continue;
		uses[n++] = (struct use){e->nodes[i].cores, fixed_ratio(cores * here[i], MILLION)};
		uses[n++] = (struct use){e->nodes[i].memory, fixed_clamp((bytes << 32) / (uint64_t)cost->ns)};
	}
	fixed weight = cores ? fixed_ratio(MILLION, cores) : FIXED_ONE;
	e->measured = e->measured && cost->measured;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_COLLECTIVE, -1, -1, group}, cost->ns, FIXED_ONE, weight,
	            uses, n);
	free(uses);
	free(here);
}

/* A collective's kernel occupies its share of the device from now on, whether the others have arrived or not. Its
 * weight makes it the equal of a kernel, so that it gets all of its share. */
static int hold_device(struct engine *e, int process)
{
	uint64_t share = (uint64_t)e->c->collective_share.value;
	if (e->c->kind != DEVICE_GPU || !share)
		return -1;
	struct use use = {e->processes[process].device, fixed_ratio(share, MILLION)};
	e->measured = e->measured && e->c->collective_share.measured;
	return fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_HOLD, process, -1, 0}, FLUID_WITHOUT_END,
	                   FIXED_ONE, fixed_ratio(MILLION, share), &use, 1);
}

/* Both ends of a message have arrived: what they waited until now was not communication. */
static void begin_message(struct engine *e, int group)
{
	for (int i = 0; i < e->classes.count; i++) {
		struct participation *at = participation_in(e, i, group);
		if (!at)
			continue;
		*process_begin(&e->processes[i], at->op) = e->now;
		at->hold = hold_device(e, i);
	}
}

void group_arrive(struct engine *e, int process, int op)
{
	int group = group_of(e, process, op);
	bool message = op_is_message(engine_op(e, process, op)->kind);
	struct simulated_group *g = &e->groups[group];
	struct participation *at = engine_participation(e, process, op);
	*at = (struct participation){.group = group, .op = op, .hold = -1, .round = -1};
	bool all = ++g->arrived == g->wanted;
	if (all)
		g->came = e->now;
	if (!message)
		at->hold = hold_device(e, process);
	else if (all)
		begin_message(e, group);
	if (e->grain == GRAIN_MESSAGE && (!message || all))
		message_join(e, process, op);
	else if (e->grain == GRAIN_OPERATION && all)
		begin_collective(e, group);
}

void group_leave(struct engine *e, int process, int op)
{
	struct participation *at = engine_participation(e, process, op);
	if (at->hold >= 0)
		fluid_end(&e->fluid, at->hold);
	*at = NO_PARTICIPATION;
	engine_finish(e, process, op);
}

void group_done(struct engine *e, int group)
{
	for (int i = 0; i < e->classes.count; i++) {
		const struct participation *at = participation_in(e, i, group);
		if (at)
			group_leave(e, i, at->op);
	}
}
