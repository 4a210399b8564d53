/* Collectives as messages: each actor is one rank, and goes through the rounds of the schedule at its own pace.
 *
 *     rank 0   │ launch │ round 0: send ──────► │ round 1 …
 *     rank 1      │ launch │ round 0: receive   │ round 1 …
 *                          └ the message begins when both are in round 0: latency, then its bytes over the links
 */
#include "sim/engine.h"

static bool is_in_round(struct engine *e, int actor, int meeting, int64_t round)
{
	const struct attendance *at = attendance_in(e, actor, meeting);
	return at && at->round == round;
}

/* Begins the message if both ends are there. Actors are ranks here. */
static void try_message(struct engine *e, int meeting, int64_t round, int from, int to)
{
	if (!is_in_round(e, from, meeting, round) || !is_in_round(e, to, meeting, round))
		return;
	struct attendance *at = attendance_in(e, from, meeting);
	bool crosses = cost_crosses(e->c, from, to);
	at->message_begin = e->now;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_LATENCY, from, at->op, to}, cost_latency(e->c, crosses),
	            FIXED_ONE, FIXED_ONE, NULL, 0);
}

/* A round of the schedule as it concerns a rank: peers are ranks, not places in the group. */
static struct round round_of(struct engine *e, int actor, int op, int64_t number)
{
	const struct op *o = engine_op(e, actor, op);
	const struct rounds *rounds = &engine_event(e, engine_attendance(e, actor, op)->meeting)->rounds;
	int64_t rank = actor;
	if (op_is_message(o->kind)) {
		int64_t peer = op_peer(e->plan, o, rank);
		bool sends = o->kind == OP_SEND;
		return (struct round){.send_to = sends ? peer : -1,
		                      .receive_from = sends ? -1 : peer,
		                      .send_count = rounds->schedule.elements};
	}
	int64_t member = op_member(e->plan, o, rank);
	struct round r = schedule_round(&rounds->schedule, member, number);
	if (r.send_to >= 0)
		r.send_to = op_member_rank(e->plan, o, rank, r.send_to);
	if (r.receive_from >= 0)
		r.receive_from = op_member_rank(e->plan, o, rank, r.receive_from);
	return r;
}

/* Goes on to the first round from `round` on in which the rank has something to do, or leaves. */
static void enter_round(struct engine *e, int actor, int op, int64_t round)
{
	struct attendance *at = engine_attendance(e, actor, op);
	int64_t count = engine_event(e, at->meeting)->rounds.count;
	int meeting = at->meeting;
	for (; round < count; round++) {
		struct round r = round_of(e, actor, op, round);
		if (r.send_to < 0 && r.receive_from < 0)
			continue;
		at->round = round;
		at->now = r;
		at->pending = (r.send_to >= 0) + (r.receive_from >= 0);
		if (r.send_to >= 0)
			try_message(e, meeting, round, actor, (int)r.send_to);
		if (r.receive_from >= 0)
			try_message(e, meeting, round, (int)r.receive_from, actor);
		return;
	}
	meeting_leave(e, actor, op);
}

/* For a message: when the second of its ends has come. Both are launched by then. */
void message_join(struct engine *e, int actor, int op)
{
	const struct cost *cost = &engine_event(e, engine_attendance(e, actor, op)->meeting)->cost;
	e->measured = e->measured && cost->measured;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_LAUNCH, actor, op, 0}, e->c->collective_launch.value,
	            FIXED_ONE, FIXED_ONE, NULL, 0);
}

static int64_t message_bytes(struct engine *e, int from, int op)
{
	const struct attendance *at = engine_attendance(e, from, op);
	const struct rounds *rounds = &engine_event(e, at->meeting)->rounds;
	return at->now.send_count * rounds->element_bytes;
}

/* Over the sender's and the receiver's link, and the rails if it leaves the node. On CPUs the copying also takes cores:
 * a rank that sends and receives at the link's bandwidth takes collective_cores; and memory bandwidth: every byte is
 * read where it was and written where it goes. */
static void begin_transfer(struct engine *e, int from, int op, int to)
{
	const struct cluster *c = e->c;
	const struct actor *a = &e->actors[from], *b = &e->actors[to];
	const struct node_resources *here = &e->nodes[a->who->node], *there = &e->nodes[b->who->node];
	bool crosses = here != there;
	struct use uses[8];
	fixed weight = FIXED_ONE;
	int n = 0;

	uses[n++] = (struct use){a->link_out, FIXED_ONE};
	uses[n++] = (struct use){b->link_in, FIXED_ONE};
	if (crosses) {
		uses[n++] = (struct use){here->network_out, FIXED_ONE};
		uses[n++] = (struct use){there->network_in, FIXED_ONE};
	}
	if (c->kind == DEVICE_CPU) {
		uint64_t cores = (uint64_t)c->collective_cores.value;
		fixed at_each_end = fixed_over(fixed_ratio(cores, 2 * MILLION), cost_link_rate(c));
		if (at_each_end)
			weight = fixed_over(FIXED_ONE, (crosses ? 1 : 2) * at_each_end);
		uses[n++] = (struct use){here->cores, at_each_end};
		uses[n++] = (struct use){there->cores, at_each_end};
		uses[n++] = (struct use){here->memory, FIXED_ONE};
		uses[n++] = (struct use){there->memory, FIXED_ONE};
	}
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_TRANSFER, from, op, to}, message_bytes(e, from, op),
	            FLUID_NO_LIMIT, weight, uses, n);
}

static void message_arrived(struct engine *e, int actor, int meeting)
{
	struct attendance *at = attendance_in(e, actor, meeting);
	if (!--at->pending)
		enter_round(e, actor, at->op, at->round + 1);
}

static void end_transfer(struct engine *e, int from, int op, int to)
{
	int meeting = engine_attendance(e, from, op)->meeting;
	if (e->trace) {
		struct message m = {.from = from,
		                    .to = to,
		                    .bytes = message_bytes(e, from, op),
		                    .op = e->actors[from].program->begin + op,
		                    .begin = engine_attendance(e, from, op)->message_begin,
		                    .end = e->now};
		trace_add_message(e->trace, &m);
	}
	message_arrived(e, from, meeting);
	message_arrived(e, to, meeting);
}

void message_event(struct engine *e, struct activity_tag tag)
{
	const struct op *op = engine_op(e, tag.actor, tag.op);
	if (tag.kind == ACTIVITY_LAUNCH) {
		int peer = op_is_message(op->kind) ? (int)op_peer(e->plan, op, tag.actor) : -1;
		if (peer >= 0)
			enter_round(e, peer,
			            attendance_in(e, peer, engine_attendance(e, tag.actor, tag.op)->meeting)->op, 0);
		enter_round(e, tag.actor, tag.op, 0);
	} else if (tag.kind == ACTIVITY_LATENCY) {
		begin_transfer(e, tag.actor, tag.op, (int)tag.number);
	} else {
		end_transfer(e, tag.actor, tag.op, (int)tag.number);
	}
}
