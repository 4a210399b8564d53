/* Events: what of different ranks' programs is one collective, or one message.
 *
 *     stage 0   send ─ all_reduce ─ sum          the n-th of a channel is one event for all who take part in it:
 *     stage 1   receive ─ sum                    channel 0 → 1, channel ends of stage, channel all
 *     stage 2   all_reduce ─ sum
 *
 * An event is as many meetings as it has groups. At the grain of messages every group is one. At the grain of
 * operations ranks that are alike are one actor, and so are groups: those inside a node meet node by node, others all
 * together.
 */
#include "sim/engine.h"

#include <stdlib.h>

#include "strategy/base/arena.h"

static int role_number(const struct engine *e, const struct role *r)
{
	return (int)(r - e->plan->roles);
}

/* The role that sends a message of this role; -1: it is no message, or its peer is not there. */
static int sender_of(const struct engine *e, const struct role *r, const struct op *op)
{
	if (op->kind == OP_SEND)
		return role_number(e, r);
	if (op->kind != OP_RECEIVE)
		return -1;
	int64_t peer = op_peer(e->plan, op, r->first_rank);
	return peer < 0 ? -1 : role_number(e, plan_role_of(e->plan, peer));
}

/* The other end of what this role sends is not said by the axes alone: -1 and +1 are two channels. */
static struct channel *find_channel(struct engine *e, const struct role *r, const struct op *op)
{
	int sender = sender_of(e, r, op),
	    towards = op_is_message(op->kind) ? op->shift * (op->kind == OP_SEND ? 1 : -1) : 0;
	unsigned axes = op_axes(e->plan, op) << 1 | (towards > 0);
	for (size_t i = 0; i < e->channel_count; i++)
		if (e->channels[i].axes == axes && e->channels[i].ends == op->ends && e->channels[i].sender == sender)
			return &e->channels[i];
	e->channels = array_reserve(e->channels, e->channel_count, &e->channel_capacity, sizeof *e->channels);
	e->channels[e->channel_count] = (struct channel){.axes = axes, .ends = op->ends, .sender = sender};
	return &e->channels[e->channel_count++];
}

static enum status add_event(struct engine *e, struct channel *channel, const struct role *r, const struct op *op)
{
	struct event event = {.role = r, .op = op, .rounds = cost_rounds(e->plan, r, op)};
	event.sender = channel->sender < 0 ? NULL : &e->plan->roles[channel->sender];
	enum status s = op_is_message(op->kind) ? cost_message(e->c, e->plan, r, op, &event.cost)
	                                        : cost_collective(&e->cache, e->c, e->plan, r, op, &event.cost);
	channel->events = array_reserve(channel->events, channel->count, &channel->capacity, sizeof *channel->events);
	channel->events[channel->count++] = (int)e->event_count;
	e->events = array_reserve(e->events, e->event_count, &e->event_capacity, sizeof *e->events);
	e->events[e->event_count++] = event;
	return s;
}

enum status events_make(struct engine *e)
{
	enum status s = STATUS_OK;
	if (e->plan->ranks == 1)
		return STATUS_OK;
	for (int i = 0; i < e->plan->role_count && !s; i++) {
		struct program *p = &e->programs[i];
		size_t *next = NULL, capacity = 0;
		for (int k = 0; k < p->count && !s; k++) {
			const struct op *op = &p->role->ops[p->begin + k];
			if (op_class(op->kind) != OP_CLASS_C)
				continue;
			struct channel *channel = find_channel(e, p->role, op);
			size_t number = (size_t)(channel - e->channels), had = capacity;
			next = array_reserve(next, number, &capacity, sizeof *next);
			for (; had < capacity; had++)
				next[had] = 0;
			if (next[number] == channel->count)
				s = add_event(e, channel, p->role, op);
			if (!s)
				p->event[k] = channel->events[next[number]++];
		}
		free(next);
	}
	return s;
}

/* ---- meetings ---- */

/* Every group of the event is on one node. */
static bool is_inside_nodes(const struct engine *e, const struct op *op)
{
	int64_t size = 1;
	unsigned axes = op_axes(e->plan, op);
	if (op_is_message(op->kind) || op->ends)
		return false;
	for (int i = e->plan->axis_count - 1; i >= 0 && axes >> i & 1; i--) {
		size *= e->plan->axes[i].size;
		axes &= ~(1u << i);
	}
	return !axes && e->people.per_node % size == 0;
}

static int64_t meetings_of(const struct engine *e, const struct event *event)
{
	if (e->grain == GRAIN_OPERATION)
		return is_inside_nodes(e, event->op) ? e->people.node_count : 1;
	return op_is_message(event->op->kind) ? event->sender->ranks
	                                      : e->plan->ranks / plan_along(e->plan, op_axes(e->plan, event->op));
}

/* Which of the event's meetings an actor comes to. */
static int64_t group_of(const struct engine *e, const struct event *event, int actor, const struct op *op)
{
	const struct population_actor *who = e->actors[actor].who;
	if (e->grain == GRAIN_OPERATION)
		return is_inside_nodes(e, event->op) ? who->node : 0;
	if (op->kind == OP_RECEIVE)
		return op_peer(e->plan, op, who->rank) - event->sender->first_rank;
	if (op->kind == OP_SEND)
		return who->rank - event->sender->first_rank;
	return plan_place(e->plan, plan_all_axes(e->plan) & ~op_axes(e->plan, op), who->rank);
}

int meeting_of(const struct engine *e, int actor, int op)
{
	const struct event *event = &e->events[e->actors[actor].program->event[op]];
	return event->first_meeting + (int)group_of(e, event, actor, engine_op(e, actor, op));
}

enum status meetings_make(struct engine *e)
{
	int64_t count = 0;
	for (size_t i = 0; i < e->event_count; i++) {
		e->events[i].first_meeting = (int)count;
		count += meetings_of(e, &e->events[i]);
		if (count > INT32_MAX / 2)
			return status_fail(STATUS_INPUT,
			                   "{grain} message: over 2^30 collectives; use {grain} operation");
	}
	e->meetings = calloc((size_t)count + 1, sizeof *e->meetings);
	if (!e->meetings)
		abort();
	for (size_t i = 0; i < e->event_count; i++)
		for (int64_t k = 0; k < meetings_of(e, &e->events[i]); k++)
			e->meetings[e->events[i].first_meeting + k].event = (int)i;
	for (int i = 0; i < e->people.actor_count; i++)
		for (int k = 0; k < e->actors[i].program->count; k++)
			if (e->actors[i].program->event[k] >= 0)
				e->meetings[meeting_of(e, i, k)].wanted++;
	return STATUS_OK;
}

void events_release(struct engine *e)
{
	for (size_t i = 0; i < e->channel_count; i++)
		free(e->channels[i].events);
	free(e->channels);
	free(e->events);
	free(e->meetings);
}
