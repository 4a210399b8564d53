#include "sim/symmetry.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/memory.h"

bool symmetry_holds(const struct engine *e, int instance)
{
	return schedule_row(e->instances[instance].schedule.algorithm)->rotates;
}

static bool is_of_all(const struct engine *e, const struct instance *x)
{
	return !op_is_message(instance_op(&e->rendezvous, x)->kind) && !x->missing &&
	       instance_members(&e->rendezvous, x) == e->plan->ranks;
}

static bool nodes_are_alike(const struct engine *e)
{
	const struct cluster *c = e->c;
	return c->kind == DEVICE_GPU && e->plan->role_count == 1 && !c->slow_count && c->devices;
}

int64_t symmetry_shift(const struct engine *e)
{
	int64_t ranks = e->plan->ranks, shift = e->c->devices == 1 ? 2 : e->c->devices;
	if (e->grain == GRAIN_OPERATION || e->trace || !nodes_are_alike(e) || ranks % shift || ranks <= shift)
		return ranks;
	for (int i = 0; i < e->rendezvous.instance_count; i++)
		if (!is_of_all(e, &e->rendezvous.instances[i]))
			return ranks;
	return shift;
}

/* ---- every rank for itself ---- */

/* A message also uses resources of its other end, which belong to that rank. */
static int ahead(const void *context, int id, int resource)
{
	const struct engine *e = context;
	struct activity_tag tag = fluid_activity(&e->fluid, id)->tag;
	if (tag.kind != ACTIVITY_TRANSFER)
		return 0;
	const struct participation *at = &e->processes[tag.process].at[engine_op(e, tag.process, tag.op)->queue];
	const struct process *to = &e->processes[tag.number];
	bool entered = resource == to->link_in || resource == e->nodes[to->who->node].network_in;
	return entered ? (int)(at->now.send_to / e->shift) : 0;
}

static void *grown(void *list, size_t count, size_t copies, size_t size)
{
	char *all = realloc(list, (count * copies + 1) * size);
	if (!all)
		memory_exhausted();
	for (size_t k = 1; k < copies; k++)
		memcpy(all + k * count * size, all, count * size);
	return all;
}

static void *copied(const void *list, size_t size)
{
	void *copy = malloc(size + 1);
	if (!copy)
		memory_exhausted();
	return memcpy(copy, list, size);
}

static int64_t moved(int64_t rank, int64_t by, int64_t ranks)
{
	return rank < 0 ? rank : (rank + by) % ranks;
}

/* numbers: of the activities of its copy. */
static void move_process(const struct engine *e, struct process *p, int k, int resources, const int *numbers)
{
	size_t ops = (size_t)(p->role->step.end - p->role->step.begin);
	size_t places = (size_t)e->timed[p->role - e->plan->roles].timed.count;
	p->begin = copied(p->begin, places * sizeof *p->begin);
	p->end = copied(p->end, places * sizeof *p->end);
	p->walk.done = copied(p->walk.done, ops * sizeof *p->walk.done);
	p->device += k * resources;
	p->link_out += k * resources;
	p->link_in += k * resources;
	for (int q = 0; q < QUEUE_COUNT; q++) {
		struct participation *at = &p->at[q];
		at->hold = at->hold < 0 ? -1 : numbers[at->hold];
		at->now.send_to = moved(at->now.send_to, k * e->shift, e->plan->ranks);
		at->now.receive_from = moved(at->now.receive_from, k * e->shift, e->plan->ranks);
	}
}

static void move_node(struct node_resources *n, int by)
{
	int *const all[] = {&n->cores, &n->memory, &n->network_out, &n->network_in, &n->disk_read, &n->disk_write};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		*all[i] += *all[i] < 0 ? 0 : by;
}

/* A tag names processes, and of a message the one at its other end. */
static void move_tags(struct engine *e, int copies, size_t count, const int *numbers)
{
	for (size_t i = 0; i < (size_t)copies * count; i++) {
		if (numbers[i] < 0)
			continue;
		struct activity_tag *tag = &e->fluid.activities[numbers[i]].tag;
		int from = tag->process;
		tag->process += (int)(i / count) * (int)e->shift;
		if (tag->kind == ACTIVITY_LATENCY || tag->kind == ACTIVITY_TRANSFER)
			tag->number = e->processes[tag->process].at[engine_op(e, from, tag->op)->queue].now.send_to;
	}
}

static void make_processes(struct engine *e, int copies, int resources, size_t count, const int *numbers)
{
	int nodes = e->classes.node_count;
	e->processes = grown(e->processes, (size_t)e->shift, (size_t)copies, sizeof *e->processes);
	e->nodes = grown(e->nodes, (size_t)nodes, (size_t)copies, sizeof *e->nodes);
	rank_classes_release(&e->classes);
	rank_classes_each(&e->classes, e->plan, e->c, e->plan->ranks);
	for (int i = nodes; i < copies * nodes; i++)
		move_node(&e->nodes[i], i / nodes * resources);
	for (int i = 0; i < e->classes.count; i++) {
		int k = i / (int)e->shift;
		if (k)
			move_process(e, &e->processes[i], k, resources, numbers + (size_t)k * count);
		e->processes[i].who = &e->classes.classes[i];
	}
}

static void make_ready(struct engine *e, int copies)
{
	for (size_t i = e->ready_begin, end = e->ready_count; i < end; i++)
		for (int k = 1; k < copies; k++) {
			struct ready r = e->ready[i];
			r.process += k * (int)e->shift;
			e->ready = array_reserve(e->ready, e->ready_count, &e->ready_capacity, sizeof *e->ready);
			e->ready[e->ready_count++] = r;
		}
}

static void break_symmetry(struct engine *e)
{
	int copies = (int)(e->plan->ranks / e->shift), resources = (int)e->fluid.resource_count;
	size_t count = e->fluid.activity_count;
	int *numbers = fluid_multiply(&e->fluid, copies, ahead, e);
	make_processes(e, copies, resources, count, numbers);
	move_tags(e, copies, count, numbers);
	make_ready(e, copies);
	for (int i = 0; i < e->rendezvous.instance_count; i++) { /* each has one group */
		e->groups[i].arrived *= copies;
		e->groups[i].wanted *= copies;
	}
	e->shift = e->plan->ranks;
	free(numbers);
}

void symmetry_begin(struct engine *e, int process, int op)
{
	if (e->shift == e->plan->ranks || op_class(engine_op(e, process, op)->kind) != OP_CLASS_C)
		return;
	if (!symmetry_holds(e, rendezvous_number(&e->rendezvous, e->processes[process].role, op)))
		break_symmetry(e);
}
