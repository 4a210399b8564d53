/* Collectives as one operation: all come, then it takes its time, then all go. */
#include "sim/engine.h"

#include <stdlib.h>

static int64_t members_of(const struct engine *e, const struct event *event)
{
	return op_is_message(event->op->kind) ? 2 : op_members(e->plan, event->op);
}

/* One activity for all members. On CPUs it takes cores and memory on every kind of node, and is as slow as the slowest.
 */
static void begin_meeting(struct engine *e, int meeting)
{
	const struct cluster *c = e->c;
	const struct event *event = engine_event(e, meeting);
	const struct cost *cost = &event->cost;
	uint64_t cores = (uint64_t)c->collective_cores.value, members = (uint64_t)members_of(e, event);
	struct use *uses = calloc((size_t)e->people.node_count * 2 + 1, sizeof *uses);
	uint64_t *here = calloc((size_t)e->people.node_count + 1, sizeof *here);
	int n = 0;
	if (!uses || !here)
		abort();
	for (int i = 0; i < e->people.actor_count; i++)
		if (attendance_in(e, i, meeting))
			here[e->actors[i].who->node] += (uint64_t)e->actors[i].who->copies;
	for (int i = 0; c->kind == DEVICE_CPU && cost->ns && i < e->people.node_count; i++) {
		/* each byte is read once and written once, on the node that has the rank */
		wide bytes = (wide)cost->bytes * 2 * here[i] / members;
		if (!here[i])
			continue;
		uses[n++] = (struct use){e->nodes[i].cores, fixed_ratio(cores * here[i], MILLION)};
		uses[n++] = (struct use){e->nodes[i].memory, fixed_clamp((bytes << 32) / (uint64_t)cost->ns)};
	}
	fixed weight = cores ? fixed_ratio(MILLION, cores) : FIXED_ONE;
	e->measured = e->measured && cost->measured;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_MEETING, -1, meeting, 0}, cost->ns, FIXED_ONE, weight,
	            uses, n);
	free(uses);
	free(here);
}

/* A collective's kernel sits on its part of the device from now on, whether the others have come or not. Its weight
 * makes it the equal of a kernel, so that it gets all of its part. */
static int hold_device(struct engine *e, int actor)
{
	uint64_t share = (uint64_t)e->c->collective_share.value;
	if (e->c->kind != DEVICE_GPU || !share)
		return -1;
	struct use use = {e->actors[actor].device, fixed_ratio(share, MILLION)};
	e->measured = e->measured && e->c->collective_share.measured;
	return fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_HOLD, actor, -1, 0}, FLUID_WITHOUT_END, FIXED_ONE,
	                   fixed_ratio(MILLION, share), &use, 1);
}

/* The two ends of a message have come: what they waited until now was not communication. */
static void meet(struct engine *e, int meeting)
{
	for (int i = 0; i < e->people.actor_count; i++) {
		struct attendance *at = attendance_in(e, i, meeting);
		if (!at)
			continue;
		e->actors[i].begin[at->op] = e->now;
		at->hold = hold_device(e, i);
	}
}

void meeting_arrive(struct engine *e, int actor, int op)
{
	int meeting = meeting_of(e, actor, op);
	bool message = op_is_message(engine_op(e, actor, op)->kind);
	struct meeting *m = &e->meetings[meeting];
	struct attendance *at = engine_attendance(e, actor, op);
	*at = (struct attendance){.meeting = meeting, .op = op, .hold = -1, .round = -1};
	m->arrived++;
	if (!message)
		at->hold = hold_device(e, actor);
	if (message && m->arrived == m->wanted)
		meet(e, meeting);
	if (e->grain == GRAIN_MESSAGE && (!message || m->arrived == m->wanted))
		message_join(e, actor, op);
	else if (e->grain == GRAIN_OPERATION && m->arrived == m->wanted)
		begin_meeting(e, meeting);
}

void meeting_leave(struct engine *e, int actor, int op)
{
	struct attendance *at = engine_attendance(e, actor, op);
	if (at->hold >= 0)
		fluid_end(&e->fluid, at->hold);
	*at = (struct attendance){.meeting = -1, .op = -1, .hold = -1, .round = -1};
	engine_finish(e, actor, op);
}

void meeting_done(struct engine *e, int meeting)
{
	for (int i = 0; i < e->people.actor_count; i++) {
		const struct attendance *at = attendance_in(e, i, meeting);
		if (at)
			meeting_leave(e, i, at->op);
	}
}
