#include "sim/engine.h"
#include "sim/symmetry.h"

#include <inttypes.h>
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/work.h"
#include "strategy/cluster/effective.h"
#include "strategy/strategies/alone.h"

/* The most messages and operations, of all ranks together, that a simulation by messages may have: some minutes. */
#define MESSAGES_MOST (INT64_C(1) << 28)

static int step_length(const struct role *r)
{
	return r->step.end - r->step.begin;
}

/* ---- setting up ---- */

static enum status check_messages(const struct engine *e)
{
	const struct plan *plan = e->plan;
	wide messages = 0;
	if (e->grain == GRAIN_OPERATION)
		return STATUS_OK;
	for (int i = 0; i < e->rendezvous.instance_count; i++)
		messages += (wide)e->instances[i].rounds * (uint64_t)(symmetry_holds(e, i) ? e->shift : plan->ranks);
	for (int i = 0; i < plan->role_count; i++)
		messages += (wide)(uint64_t)plan->roles[i].ranks * (wide)(uint64_t)step_length(&plan->roles[i]);
	if (messages > (wide)MESSAGES_MOST)
		return status_fail(STATUS_INPUT,
		                   "{grain} message: over 2^28 messages with %" PRId64 " ranks; use {grain} operation",
		                   plan->ranks);
	return STATUS_OK;
}

static bool costs_are_equal(const struct cost *a, const struct cost *b)
{
	return a->ns == b->ns && a->bytes == b->bytes && a->measured == b->measured;
}

/* The kernels of a micro-batch cost what those of the one before did, so a look at the latest finds nearly all. */
void timed_set_cost(struct timed *t, int place, const struct cost *cost)
{
	enum { LATEST = 64 };
	size_t i = t->cost_count;
	while (i && t->cost_count - i < LATEST && !costs_are_equal(&t->costs[i - 1], cost))
		i--;
	if (!i || !costs_are_equal(&t->costs[i - 1], cost)) {
		*ARRAY_ADD(t->costs, t->cost_count, t->cost_capacity) = *cost;
		i = t->cost_count;
	}
	t->cost[place] = (int)i - 1;
}

static void make_places(struct timed *t, const struct role *r)
{
	subset_init(&t->timed, step_length(r));
	for (int i = 0; i < step_length(r); i++)
		if (op_class(r->ops[r->step.begin + i].kind) != OP_CLASS_M)
			subset_add(&t->timed, i);
}

/* The costs of a role's kernels and vector operations; its communication belongs to instances. */
static enum status make_costs(void *engine, int role)
{
	struct engine *e = engine;
	const struct role *r = &e->plan->roles[role];
	struct timed *t = &e->timed[role];
	struct cost cost;
	make_places(t, r);
	t->cost = array_make((size_t)t->timed.count, sizeof *t->cost);
	for (int op = r->step.begin; op < r->step.end; op++) {
		if (op_class(r->ops[op].kind) != OP_CLASS_K && op_class(r->ops[op].kind) != OP_CLASS_V)
			continue;
		TRY(cost_kernel(e->c, e->plan, r, &r->ops[op], &cost));
		timed_set_cost(t, subset_place(&t->timed, op - r->step.begin), &cost);
	}
	return STATUS_OK;
}

static void make_process(struct engine *e, struct process *p, const struct rank_class *who)
{
	p->who = who;
	p->role = &e->plan->roles[who->role];
	walk_begin(&p->walk, p->role, SECTION_STEP);
	const struct timed *t = &e->timed[who->role];
	p->timed = &t->timed;
	p->begin = array_make((size_t)t->timed.count, sizeof *p->begin);
	p->end = array_make((size_t)t->timed.count, sizeof *p->end);
	for (int i = 0; i < t->timed.count; i++)
		p->begin[i] = p->end[i] = -1;
	p->device = p->link_out = p->link_in = -1;
	if (e->c->kind == DEVICE_GPU)
		p->device = fluid_add_resource(&e->fluid, FIXED_ONE);
	if (e->grain == GRAIN_MESSAGE) {
		p->link_out = fluid_add_resource(&e->fluid, cost_link_rate(e->c));
		p->link_in = fluid_add_resource(&e->fluid, cost_link_rate(e->c));
	}
	for (int q = 0; q < QUEUE_COUNT; q++)
		p->at[q] = NO_PARTICIPATION;
}

static void make_nodes(struct engine *e)
{
	const struct cluster *c = e->c;
	e->nodes = array_make((size_t)e->classes.node_count, sizeof *e->nodes);
	for (int i = 0; i < e->classes.node_count; i++) {
		struct node_resources *n = &e->nodes[i];
		int first = i - i % (int)e->classes.together; /* of the machine, whose cores and memory these are */
		n->cores = first < i ? e->nodes[first].cores
		                     : fluid_add_resource(&e->fluid, fixed_ratio((uint64_t)c->cores, 1));
		n->memory = first < i ? e->nodes[first].memory
		                      : fluid_add_resource(&e->fluid, fixed_rate(c->node_bandwidth.value));
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
	TRY(work_run(make_costs, e, plan->role_count, plan_operations(plan)));
	TRY(instances_make(e));
	e->shift = symmetry_shift(e);
	TRY(check_messages(e));
	if (grain == GRAIN_MESSAGE)
		rank_classes_each(&e->classes, plan, c, e->shift);
	else
		rank_classes_make(&e->classes, plan, c);
	make_nodes(e);
	e->processes = array_make((size_t)e->classes.count, sizeof *e->processes);
	for (int i = 0; i < e->classes.count; i++)
		make_process(e, &e->processes[i], &e->classes.classes[i]);
	return groups_make(e);
}

void engine_release(struct engine *e)
{
	for (int i = 0; e->processes && i < e->classes.count; i++) {
		walk_release(&e->processes[i].walk);
		free(e->processes[i].begin);
		free(e->processes[i].end);
	}
	for (int i = 0; i < PLAN_ROLES; i++) {
		subset_release(&e->timed[i].timed);
		free(e->timed[i].costs);
		free(e->timed[i].cost);
	}
	free(e->processes);
	instances_release(e);
	free(e->nodes);
	free(e->ready);
	rank_classes_release(&e->classes);
	cost_cache_release(&e->cache);
	fluid_release(&e->fluid);
	*e = (struct engine){0};
}

/* ---- running ---- */

/* Adds the heads of queues that can begin now and have not begun. */
static void add_ready(struct engine *e, int process)
{
	const struct process *p = &e->processes[process];
	for (int q = 0; q < QUEUE_COUNT; q++) {
		int op = p->walk.head[q];
		if (!walk_is_ready(&p->walk, q) || *process_begin(p, op) >= 0)
			continue;
		*process_begin(p, op) = e->now;
		if (e->ready_begin == e->ready_count)
			e->ready_begin = e->ready_count = 0;
		e->ready = array_reserve(e->ready, e->ready_count, &e->ready_capacity, sizeof *e->ready);
		e->ready[e->ready_count++] = (struct ready){process, op};
	}
}

void engine_finish(struct engine *e, int process, int op)
{
	struct process *p = &e->processes[process];
	*process_end(p, op) = e->now;
	walk_finish(&p->walk, (int)p->role->ops[op].queue);
	add_ready(e, process);
}

/* A kernel begins, and takes its part of its device or its node. */
static void begin_kernel(struct engine *e, int process, int op)
{
	const struct cluster *c = e->c;
	const struct process *p = &e->processes[process];
	const struct timed *t = &e->timed[p->who->role];
	const struct cost *cost = &t->costs[t->cost[subset_place(p->timed, op - p->role->step.begin)]];
	const struct node_resources *node = &e->nodes[p->who->node];
	enum queue queue = engine_op(e, process, op)->queue;
	uint64_t copies = (uint64_t)p->who->copies;
	int64_t ns = time_clamp((wide)cost->ns * (uint64_t)p->who->factor / MILLION);
	struct use uses[3];
	int n = 0;
	bool disk = queue == QUEUE_DISK;
	bool copy = queue == QUEUE_HOST_TO_DEVICE || queue == QUEUE_DEVICE_TO_HOST || disk;
	fixed bytes = ns ? fixed_clamp(((wide)cost->bytes << 32) * copies / (uint64_t)ns) : 0;

	if (c->kind == DEVICE_GPU && queue == QUEUE_HOST_COMPUTE)
		uses[n++] = (struct use){node->cores, fixed_ratio((uint64_t)c->cores * copies, (uint64_t)c->devices)};
	else if (c->kind == DEVICE_GPU && !copy)
		uses[n++] = (struct use){p->device, FIXED_ONE};
	else if (c->kind == DEVICE_CPU && !disk) /* a copy is one core's work */
		uses[n++] = (struct use){node->cores, fixed_ratio((copy ? 1 : (uint64_t)c->threads) * copies, 1)};
	if (c->kind == DEVICE_CPU || copy || queue == QUEUE_HOST_COMPUTE)
		uses[n++] = (struct use){node->memory, bytes};
	if (disk)
		uses[n++] = (struct use){op_transfer(p->role, engine_op(e, process, op)) == TRANSFER_DISK_READ
		                                 ? node->disk_read
		                                 : node->disk_write,
		                         bytes};
	e->measured = e->measured && cost->measured;
	fluid_begin(&e->fluid, (struct activity_tag){ACTIVITY_OPERATION, process, op, 0}, ns, FIXED_ONE, FIXED_ONE,
	            uses, n);
}

static void begin(struct engine *e, int process, int op)
{
	if (op_class(engine_op(e, process, op)->kind) != OP_CLASS_C)
		begin_kernel(e, process, op);
	else if (e->plan->ranks == 1)
		engine_finish(e, process, op);
	else
		group_arrive(e, process, op);
}

static void begin_all_ready(struct engine *e)
{
	while (e->ready_begin < e->ready_count) {
		struct ready r = e->ready[e->ready_begin];
		symmetry_begin(e, r.process, r.op);
		e->ready_begin++;
		begin(e, r.process, r.op);
	}
}

static void handle(struct engine *e, int id)
{
	struct activity_tag tag = fluid_activity(&e->fluid, id)->tag;
	fluid_end(&e->fluid, id);
	switch ((enum activity_kind)tag.kind) {
	case ACTIVITY_OPERATION:
		engine_finish(e, tag.process, tag.op);
		break;
	case ACTIVITY_COLLECTIVE:
		group_done(e, (int)tag.number);
		break;
	case ACTIVITY_LAUNCH:
	case ACTIVITY_LATENCY:
	case ACTIVITY_TRANSFER:
		message_activity_done(e, tag);
		break;
	case ACTIVITY_HOLD: /* has no end of its own */
		abort();
	}
}

static enum status check_end(const struct engine *e)
{
	char what[128];
	for (int i = 0; i < e->classes.count; i++) {
		const struct process *p = &e->processes[i];
		int first = p->walk.end;
		for (int q = 0; q < QUEUE_COUNT; q++)
			first = p->walk.head[q] < first ? p->walk.head[q] : first;
		if (first == p->walk.end)
			continue;
		op_describe(e->plan, &p->role->ops[first], what, sizeof what);
		return status_fail(STATUS_REFUSED, "the plan deadlocks: rank %" PRId64 " waits at %s", p->who->rank,
		                   what);
	}
	return STATUS_OK;
}

/* A step's constant time passes before its first operation; a collective alone is no step and has none. */
static int64_t start_of(const struct engine *e)
{
	return plan_is_alone(e->plan) ? 0 : effective_constant(e->c, e->plan->settings.accumulate);
}

enum status engine_run(struct engine *e)
{
	e->now = e->fluid.now = start_of(e);
	for (int i = 0; i < e->classes.count; i++)
		add_ready(e, i);
	begin_all_ready(e);
	for (int id; (id = fluid_next(&e->fluid, &e->now)) >= 0;) {
		if (e->now >= TIME_MOST)
			return status_fail(STATUS_INPUT, "{cluster} %s: the step takes longer than 73 years",
			                   e->c->name);
		handle(e, id);
		begin_all_ready(e);
	}
	return check_end(e);
}
