#include "sim/engine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "strategy/base/arena.h"

/* Messages, and operations of all ranks, that a simulation by messages may come to: some minutes. */
#define MESSAGES_MOST (INT64_C(1) << 28)

static void *make(size_t count, size_t bytes)
{
	void *p = calloc(count + 1, bytes);
	if (!p)
		abort();
	return p;
}

/* ---- setting up ---- */

static enum status check_messages(const struct engine *e)
{
	const struct plan *plan = e->plan;
	wide messages = 0;
	if (e->grain == GRAIN_OPERATION)
		return STATUS_OK;
	for (size_t i = 0; i < e->event_count; i++)
		messages += (wide)e->events[i].rounds.count * (uint64_t)plan->ranks;
	for (int i = 0; i < plan->role_count; i++)
		messages += (wide)(uint64_t)plan->roles[i].ranks * (wide)(uint64_t)e->programs[i].count;
	if (messages > (wide)MESSAGES_MOST)
		return status_fail(STATUS_INPUT,
		                   "{grain} message: over 2^28 messages with %" PRId64 " ranks; use {grain} operation",
		                   plan->ranks);
	return STATUS_OK;
}

static void make_actor(struct engine *e, struct actor *a, const struct population_actor *who)
{
	size_t count;
	a->who = who;
	a->program = &e->programs[who->role];
	count = (size_t)a->program->count;
	a->waits = make(count, sizeof *a->waits);
	a->begin = make(count, sizeof *a->begin);
	a->end = make(count, sizeof *a->end);
	for (size_t i = 0; i < count; i++) {
		a->waits[i] = a->program->waits[i];
		a->begin[i] = a->end[i] = -1;
	}
	a->device = a->link_out = a->link_in = -1;
	if (e->c->kind == DEVICE_GPU)
		a->device = fluid_add_resource(&e->fluid, FIXED_ONE);
	if (e->grain == GRAIN_MESSAGE) {
		a->link_out = fluid_add_resource(&e->fluid, cost_link_rate(e->c));
		a->link_in = fluid_add_resource(&e->fluid, cost_link_rate(e->c));
	}
	for (int q = 0; q < QUEUE_COUNT; q++)
		a->at[q] = (struct attendance){.meeting = -1, .op = -1, .hold = -1, .round = -1};
	e->left += a->program->count;
}

static void make_nodes(struct engine *e)
{
	const struct cluster *c = e->c;
	e->nodes = make((size_t)e->people.node_count, sizeof *e->nodes);
	for (int i = 0; i < e->people.node_count; i++) {
		struct node_resources *n = &e->nodes[i];
		n->cores = fluid_add_resource(&e->fluid, fixed_ratio((uint64_t)c->cores, 1));
		n->memory = fluid_add_resource(&e->fluid, fixed_rate(c->node_bandwidth.value));
		n->network_out = n->network_in = n->disk_read = n->disk_write = -1;
		if (c->disk.read.value) {
			n->disk_read = fluid_add_resource(&e->fluid, fixed_rate(c->disk.read.value));
			n->disk_write = fluid_add_resource(&e->fluid, fixed_rate(c->disk.write.value));
		}
		if (e->grain == GRAIN_MESSAGE && c->network.bandwidth.value) {
			n->network_out = fluid_add_resource(&e->fluid, cost_network_rate(c));
			n->network_in = fluid_add_resource(&e->fluid, cost_network_rate(c));
		}
	}
}

enum status engine_init(struct engine *e, const struct plan *plan, const struct cluster *c, enum grain grain,
                        struct trace *trace)
{
	*e = (struct engine){.plan = plan, .c = c, .grain = grain, .trace = trace, .measured = true};
	enum status s;
	for (int i = 0; i < plan->role_count; i++)
		if ((s = program_make(&e->programs[i], plan, &plan->roles[i], c)))
			return s;
	if ((s = events_make(e)) || (s = check_messages(e)))
		return s;
	if (grain == GRAIN_MESSAGE)
		population_ranks(&e->people, plan, c);
	else
		population_classes(&e->people, plan, c);
	make_nodes(e);
	e->actors = make((size_t)e->people.actor_count, sizeof *e->actors);
	for (int i = 0; i < e->people.actor_count; i++)
		make_actor(e, &e->actors[i], &e->people.actors[i]);
	return meetings_make(e);
}

void engine_release(struct engine *e)
{
	for (int i = 0; e->actors && i < e->people.actor_count; i++) {
		free(e->actors[i].waits);
		free(e->actors[i].begin);
		free(e->actors[i].end);
	}
	for (int i = 0; i < PLAN_ROLES; i++)
		program_release(&e->programs[i]);
	free(e->actors);
	events_release(e);
	free(e->nodes);
	free(e->ready);
	population_release(&e->people);
	cost_cache_release(&e->cache);
	fluid_release(&e->fluid);
	*e = (struct engine){0};
}

/* ---- walking ---- */

static void make_ready(struct engine *e, int actor, int op)
{
	if (e->ready_begin == e->ready_count)
		e->ready_begin = e->ready_count = 0;
	e->ready = array_reserve(e->ready, e->ready_count, &e->ready_capacity, sizeof *e->ready);
	e->ready[e->ready_count++] = (struct ready){actor, op};
}

void engine_finish(struct engine *e, int actor, int op)
{
	struct actor *a = &e->actors[actor];
	const struct program *p = a->program;
	a->end[op] = e->now;
	e->left--;
	for (int i = p->first_follower[op]; i < p->first_follower[op + 1]; i++)
		if (!--a->waits[p->followers[i]])
			make_ready(e, actor, p->followers[i]);
}

/* What a kernel takes of its device or its node while it runs at full speed. */
static void begin_kernel(struct engine *e, int actor, int op)
{
	const struct cluster *c = e->c;
	const struct actor *a = &e->actors[actor];
	const struct cost *cost = &a->program->cost[op];
	const struct node_resources *node = &e->nodes[a->who->node];
	enum queue queue = engine_op(e, actor, op)->queue;
	uint64_t copies = (uint64_t)a->who->copies;
	int64_t ns = time_clamp((wide)cost->ns * (uint64_t)a->who->factor / MILLION);
	struct use uses[3];
	int n = 0;
	bool disk = queue == QUEUE_DISK;
	bool copy = queue == QUEUE_HOST_TO_DEVICE || queue == QUEUE_DEVICE_TO_HOST || disk;
	fixed bytes = ns ? fixed_clamp(((wide)cost->bytes << 32) * copies / (uint64_t)ns) : 0;

	if (c->kind == DEVICE_GPU && queue == QUEUE_HOST_COMPUTE)
		uses[n++] = (struct use){node->cores, fixed_ratio((uint64_t)c->cores * copies, (uint64_t)c->devices)};
	else if (c->kind == DEVICE_GPU && !copy)
		uses[n++] = (struct use){a->device, FIXED_ONE};
	else if (c->kind == DEVICE_CPU && !disk) /* a copy is one core's work */
		uses[n++] = (struct use){node->cores, fixed_ratio((copy ? 1 : (uint64_t)c->threads) * copies, 1)};
	if (c->kind == DEVICE_CPU || copy || queue == QUEUE_HOST_COMPUTE)
		uses[n++] = (struct use){node->memory, bytes};
	if (disk)
		uses[n++] = (struct use){op_transfer(a->program->role, engine_op(e, actor, op)) == TRANSFER_DISK_READ
		                                 ? node->disk_read
		                                 : node->disk_write,
		                         bytes};
	e->measured = e->measured && cost->measured;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_OPERATION, actor, op, 0}, ns, FIXED_ONE, FIXED_ONE, uses,
	            n);
}

static void begin(struct engine *e, int actor, int op)
{
	e->actors[actor].begin[op] = e->now;
	switch (op_class(engine_op(e, actor, op)->kind)) {
	case OP_CLASS_M: /* a position in the order of issue, not work */
		engine_finish(e, actor, op);
		return;
	case OP_CLASS_K:
	case OP_CLASS_V:
		begin_kernel(e, actor, op);
		return;
	case OP_CLASS_C:
		break;
	}
	if (e->plan->ranks == 1)
		engine_finish(e, actor, op);
	else
		meeting_arrive(e, actor, op);
}

static void begin_all_ready(struct engine *e)
{
	while (e->ready_begin < e->ready_count) {
		struct ready r = e->ready[e->ready_begin++];
		begin(e, r.actor, r.op);
	}
}

static void handle(struct engine *e, int id)
{
	struct activity_tag tag = fluid_activity(&e->fluid, id)->tag;
	fluid_end(&e->fluid, id);
	switch ((enum activity_kind)tag.kind) {
	case ACTIVITY_OPERATION:
		engine_finish(e, tag.actor, tag.op);
		break;
	case ACTIVITY_MEETING:
		meeting_done(e, tag.op);
		break;
	case ACTIVITY_LAUNCH:
	case ACTIVITY_LATENCY:
	case ACTIVITY_TRANSFER:
		message_event(e, tag);
		break;
	case ACTIVITY_HOLD: /* has no end of its own */
		abort();
	}
}

static enum status stands_still(const struct engine *e)
{
	char what[128];
	for (int i = 0; i < e->people.actor_count; i++)
		for (int op = 0; op < e->actors[i].program->count; op++)
			if (e->actors[i].end[op] < 0) {
				op_describe(e->plan, engine_op(e, i, op), what, sizeof what);
				return status_fail(STATUS_REFUSED,
				                   "the plan stands still: rank %" PRId64 " waits at %s",
				                   e->actors[i].who->rank, what);
			}
	return status_fail(STATUS_REFUSED, "the plan stands still");
}

enum status engine_run(struct engine *e)
{
	for (int i = 0; i < e->people.actor_count; i++)
		for (int op = 0; op < e->actors[i].program->count; op++)
			if (!e->actors[i].waits[op])
				make_ready(e, i, op);
	begin_all_ready(e);
	for (int id; (id = fluid_next(&e->fluid, &e->now)) >= 0;) {
		if (e->now >= TIME_MOST)
			return status_fail(STATUS_INPUT, "{cluster} %s: the step takes longer than 73 years",
			                   e->c->name);
		handle(e, id);
		begin_all_ready(e);
	}
	return e->left ? stands_still(e) : STATUS_OK;
}
