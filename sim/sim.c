#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "sim/engine.h"

static const char *const grain_names[] = {"operation", "message"};

const char *grain_name(enum grain g)
{
	return grain_names[g];
}

enum status grain_parse(const char *text, enum grain *out)
{
	for (int g = GRAIN_OPERATION; g <= GRAIN_MESSAGE; g++)
		if (!strcmp(text, grain_names[g])) {
			*out = (enum grain)g;
			return STATUS_OK;
		}
	return status_fail(STATUS_INPUT, "{grain}: '%.40s' is neither operation nor message", text);
}

/* ---- results ---- */

static void add_spans(const struct actor *a, int64_t rank, struct trace *t)
{
	const struct program *p = a->program;
	for (int i = 0; i < p->count; i++)
		if (op_class(p->role->ops[p->begin + i].kind) != OP_CLASS_M)
			trace_add_span(t, rank, p->begin + i, a->begin[i], a->end[i]);
}

static void fill_trace(const struct engine *e, struct trace *t)
{
	if (e->grain == GRAIN_OPERATION && e->plan->ranks <= SIM_TRACE_RANKS) {
		for (int64_t rank = 0; rank < e->plan->ranks; rank++)
			add_spans(&e->actors[population_actor_of(&e->people, e->plan, e->c, rank)], rank, t);
		return;
	}
	for (int i = 0; i < e->people.actor_count; i++)
		add_spans(&e->actors[i], e->people.actors[i].rank, t);
}

static int64_t end_of(const struct actor *a)
{
	int64_t end = 0;
	for (int i = 0; i < a->program->count; i++)
		end = a->end[i] > end ? a->end[i] : end;
	return end;
}

/* Of the rank that ends last; among equals the one that computes most, for which the others wait. */
static struct times slowest(const struct engine *e)
{
	struct times best = {0};
	int64_t best_end = -1;
	for (int i = 0; i < e->people.actor_count; i++) {
		int64_t end = end_of(&e->actors[i]);
		if (end < best_end)
			continue;
		struct trace one = {.plan = e->plan};
		add_spans(&e->actors[i], e->people.actors[i].rank, &one);
		struct times t = trace_times(&one, e->people.actors[i].rank, end);
		trace_release(&one);
		if (end > best_end || t.compute > best.compute)
			best = t;
		best_end = end;
	}
	return best;
}

static void consider(struct report_tightest *t, enum space space, wide needed, int64_t capacity)
{
	int64_t bytes = needed < INT64_MAX ? (int64_t)needed : INT64_MAX;
	if ((wide)bytes * (uint64_t)t->capacity_bytes > (wide)t->needed_bytes * (uint64_t)capacity ||
	    (!t->needed_bytes && !t->capacity_bytes))
		*t = (struct report_tightest){space, bytes, capacity};
}

/* Every rank on its device, and all ranks of every node in the node's memory and on its disk. */
static struct report_tightest find_tightest(const struct engine *e, const struct report *r)
{
	const struct cluster *c = e->c;
	struct report_tightest t = {0};
	for (int node = 0; node < e->people.node_count; node++) {
		wide host = 0, disk = 0;
		for (int i = 0; i < e->people.actor_count; i++) {
			const struct population_actor *a = &e->people.actors[i];
			const struct report_memory *m = r->roles[a->role].memory;
			if (a->node != node)
				continue;
			wide device = (wide)m[SPACE_DEVICE].arena_bytes + (uint64_t)m[SPACE_DEVICE].overhead_bytes;
			if (c->kind == DEVICE_GPU)
				consider(&t, SPACE_DEVICE, device, c->device_memory);
			host += (uint64_t)a->copies *
			        ((wide)m[SPACE_HOST].arena_bytes + (c->kind == DEVICE_CPU ? device : 0));
			disk += (wide)(uint64_t)a->copies * (uint64_t)m[SPACE_DISK].arena_bytes;
		}
		consider(&t, SPACE_HOST, host, c->node_memory);
		consider(&t, SPACE_DISK, disk, c->disk.capacity);
	}
	return t;
}

enum status sim_run(const struct plan *plan, const struct cluster *c, enum grain grain, struct trace *trace,
                    struct report *out)
{
	struct engine e;
	if (trace)
		trace_open(trace, plan, c->name, false);
	enum status s = engine_init(&e, plan, c, grain, trace);
	if (!s)
		s = engine_run(&e);
	if (!s) {
		report_from_plan(out, plan);
		snprintf(out->cluster, sizeof out->cluster, "%s", c->name);
		for (int i = 0; i < out->role_count; i++) {
			out->roles[i].memory[SPACE_DEVICE].overhead_bytes = c->overhead.value;
			out->roles[i].memory[SPACE_DEVICE].overhead_assumed = !c->overhead.measured;
		}
		out->time = slowest(&e);
		out->rates_measured = e.measured;
		out->tightest = find_tightest(&e, out);
		out->fits = out->tightest.needed_bytes <= out->tightest.capacity_bytes;
		if (trace)
			fill_trace(&e, trace);
	}
	engine_release(&e);
	return s;
}
