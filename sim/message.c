/* Communication as messages: each process is one rank, or one of each `shift` (symmetry.h), and goes through the rounds
 * of the schedule at its own pace.
 *
 *     rank 0   │ launch │ round 0: send ──────► │ round 1 …
 *     rank 1      │ launch │ round 0: receive   │ round 1 …
 *                          └ the message begins when both are in round 0: latency, then its bytes over the links
 */
#include "sim/engine.h"

static bool is_in_round(struct engine *e, int process, int group, int64_t round)
{
	const struct participation *at = participation_in(e, process, group);
	return at && at->round == round;
}

static int process_of(const struct engine *e, int64_t rank)
{
	return (int)(rank % e->shift);
}

/* Begins the message if both of its ends, two processes, are in the round. */
static void try_message(struct engine *e, int group, int64_t round, int from, int to)
{
	if (!is_in_round(e, from, group, round) || !is_in_round(e, to, group, round))
		return;
	struct participation *at = participation_in(e, from, group);
	bool crosses = cost_crosses(e->c, from, at->now.send_to);
	at->message_begin = e->now;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_LATENCY, from, at->op, to}, cost_latency(e->c, crosses),
	            FIXED_ONE, FIXED_ONE, NULL, 0);
}

/* A round of the schedule as a rank carries it out: its peers are ranks, not places in the group. */
static struct round round_of(const struct engine *e, int process, int group, int64_t number)
{
	const struct rendezvous *v = &e->rendezvous;
	const struct instance *x = &v->instances[e->groups[group].instance];
	int64_t rank = process;
	struct round r = schedule_round(&engine_instance(e, group)->schedule, instance_member(v, x, rank), number);
	if (r.send_to >= 0)
		r.send_to = instance_rank(v, x, rank, r.send_to);
	if (r.receive_from >= 0)
		r.receive_from = instance_rank(v, x, rank, r.receive_from);
	return r;
}

/* Goes on to the first round from `round` on in which the rank has something to do, or leaves. */
static void enter_round(struct engine *e, int process, int op, int64_t round)
{
	struct participation *at = engine_participation(e, process, op);
	int group = at->group;
	int64_t count = engine_instance(e, group)->rounds;
	for (; round < count; round++) {
		struct round r = round_of(e, process, group, round);
		if (r.send_to < 0 && r.receive_from < 0)
			continue;
		at->round = round;
		at->now = r;
		at->pending = (r.send_to >= 0) + (r.receive_from >= 0);
		if (r.send_to >= 0)
			try_message(e, group, round, process, process_of(e, r.send_to));
		if (r.receive_from >= 0)
			try_message(e, group, round, process_of(e, r.receive_from), process);
		return;
	}
	group_leave(e, process, op);
}

/* Launches a rank's part in a collective; or a message for both of its ends, when the second has arrived. */
void message_join(struct engine *e, int process, int op)
{
	const struct cost *cost = &engine_instance(e, engine_participation(e, process, op)->group)->cost;
	e->measured = e->measured && cost->measured;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_LAUNCH, process, op, 0}, e->c->collective_launch.value,
	            FIXED_ONE, FIXED_ONE, NULL, 0);
}

static int64_t message_bytes(struct engine *e, int from, int op)
{
	const struct participation *at = engine_participation(e, from, op);
	return at->now.send_count * engine_instance(e, at->group)->element_bytes;
}

/* A message goes over the sender's and the receiver's link, and over the rails if it leaves the node. On CPUs the
 * copying also takes cores (a rank that sends and receives at the link's bandwidth takes collective_cores) and memory
 * bandwidth (every byte is read where it was and written where it goes). */
static void begin_transfer(struct engine *e, int from, int op, int to)
{
	const struct cluster *c = e->c;
	const struct process *a = &e->processes[from], *b = &e->processes[to];
	const struct node_resources *here = &e->nodes[a->who->node], *there = &e->nodes[b->who->node];
	bool crosses = cost_crosses(c, from, engine_participation(e, from, op)->now.send_to);
	struct use uses[8];
	fixed weight = FIXED_ONE;
	int n = 0;

	uses[n++] = (struct use){a->link_out, FIXED_ONE};
	uses[n++] = (struct use){b->link_in, FIXED_ONE};
	if (crosses) {
		bool adds = engine_participation(e, to, op)->now.add;
		fixed slower = adds ? fixed_over(cost_network_rate(c), cost_network_sum_rate(c)) : FIXED_ONE;
		uses[n++] = (struct use){here->network_out, slower};
		uses[n++] = (struct use){there->network_in, slower};
	}
	if (c->kind == DEVICE_CPU) {
		uint64_t cores = (uint64_t)c->collective_cores.value;
		fixed at_each_end = fixed_over(fixed_ratio(cores, 2 * MILLION), cost_link_rate(c));
		if (at_each_end)
			weight = fixed_over(FIXED_ONE, (here->cores == there->cores ? 2 : 1) * at_each_end);
		uses[n++] = (struct use){here->cores, at_each_end};
		uses[n++] = (struct use){there->cores, at_each_end};
		uses[n++] = (struct use){here->memory, FIXED_ONE};
		uses[n++] = (struct use){there->memory, FIXED_ONE};
	}
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_TRANSFER, from, op, to}, message_bytes(e, from, op),
	            FLUID_NO_LIMIT, weight, uses, n);
}

static void message_arrived(struct engine *e, int process, int group)
{
	struct participation *at = participation_in(e, process, group);
	if (!--at->pending)
		enter_round(e, process, at->op, at->round + 1);
}

static void end_transfer(struct engine *e, int from, int op, int to)
{
	int group = engine_participation(e, from, op)->group;
	if (e->trace) {
		struct message m = {.from = from,
		                    .to = to,
		                    .bytes = message_bytes(e, from, op),
		                    .op = op,
		                    .begin = engine_participation(e, from, op)->message_begin,
		                    .end = e->now};
		trace_add_message(e->trace, &m);
	}
	message_arrived(e, from, group);
	message_arrived(e, to, group);
}

void message_activity_done(struct engine *e, struct activity_tag tag)
{
	const struct op *op = engine_op(e, tag.process, tag.op);
	if (tag.kind == ACTIVITY_LAUNCH) {
		if (op_is_message(op->kind)) {
			int peer = (int)op_peer(e->plan, op, tag.process);
			int group = engine_participation(e, tag.process, tag.op)->group;
			enter_round(e, peer, participation_in(e, peer, group)->op, 0);
		}
		enter_round(e, tag.process, tag.op, 0);
	} else if (tag.kind == ACTIVITY_LATENCY) {
		begin_transfer(e, tag.process, tag.op, (int)tag.number);
	} else {
		end_transfer(e, tag.process, tag.op, (int)tag.number);
	}
}
