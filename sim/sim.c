#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/engine.h"
#include "sim/gathering.h"
#include "strategy/base/arena.h"
#include "strategy/base/keys.h"
#include "strategy/cluster/effective.h"
#include "strategy/plan/caching.h"
#include "strategy/strategies/alone.h"

enum status grain_parse(const char *text, enum grain *out)
{
	int place;
	enum status s = word_parse("operation|message", status_words("{grain}"), text, &place);
	*out = s ? GRAIN_OPERATION : (enum grain)place;
	return s;
}

const char *grain_name(enum grain g)
{
	return g == GRAIN_MESSAGE ? "message" : "operation";
}

/* ---- results ---- */

static void add_spans(const struct engine *e, int process, int64_t rank, struct trace *t)
{
	const struct process *p = &e->processes[process];
	for (int op = p->role->step.begin; op < p->role->step.end; op++) {
		if (op_class(p->role->ops[op].kind) == OP_CLASS_M)
			continue;
		trace_add_span(t, rank, op, *process_begin(p, op), *process_end(p, op));
		t->spans[t->span_count - 1].came = engine_came(e, process, op);
	}
}

static void fill_trace(const struct engine *e, struct trace *t)
{
	if (e->grain == GRAIN_OPERATION && e->plan->ranks <= SIM_TRACE_RANKS) {
		for (int64_t rank = 0; rank < e->plan->ranks; rank++)
			add_spans(e, rank_class_of(&e->classes, e->plan, e->c, rank), rank, t);
		return;
	}
	for (int i = 0; i < e->classes.count; i++)
		add_spans(e, i, e->classes.classes[i].rank, t);
}

static struct times slowest(const struct engine *e)
{
	struct times slowest = {0};
	for (int i = 0; i < e->classes.count; i++) {
		struct trace one = {.plan = e->plan}; /* all of them together may be too much for the memory */
		add_spans(e, i, e->classes.classes[i].rank, &one);
		struct times times = trace_slowest(&one);
		if (!i || times_are_slower(&times, &slowest))
			slowest = times;
		trace_release(&one);
	}
	return slowest;
}

static void consider(struct report_tightest *t, enum space space, wide needed, int64_t capacity)
{
	int64_t bytes = needed < INT64_MAX ? (int64_t)needed : INT64_MAX;
	if ((wide)bytes * (uint64_t)t->capacity_bytes > (wide)t->needed_bytes * (uint64_t)capacity ||
	    (!t->needed_bytes && !t->capacity_bytes))
		*t = (struct report_tightest){space, bytes, capacity};
}

/* The memory a rank of each role needs in each space, without libraries. */
struct needs {
	int64_t bytes[PLAN_ROLES][SPACE_COUNT];
};

/* A communicator of NCCL over the GPUs of a node: measured 544 and 688 MB (NVIDIA/nccl, issue 964). */
#define COMMUNICATOR INT64_C(688000000)
enum { FURTHER = 3 };

/* The libraries of a rank: context and first communicator, workspace, and what other software opens besides. */
static int64_t overhead_of(const struct engine *e)
{
	bool more = e->plan->software.does[SOFTWARE_GROUPS] == GROUPS_FOUR && e->plan->ranks > 1;
	return effective_overhead(e->c) + (more && e->c->kind == DEVICE_GPU ? FURTHER * COMMUNICATOR : 0);
}

static bool is_on_machine(const struct engine *e, const struct rank_class *a, int machine)
{
	return a->node / (int)e->classes.together == machine;
}

/* Every rank must fit on its device, and all ranks of a machine together in its memory and on its disk. */
static struct report_tightest find_tightest(const struct engine *e, const struct needs *n)
{
	const struct cluster *c = e->c;
	struct report_tightest t = {0};
	for (int machine = 0; machine * (int)e->classes.together < e->classes.node_count; machine++) {
		wide host = 0, disk = 0;
		for (int i = 0; i < e->classes.count; i++) {
			const struct rank_class *a = &e->classes.classes[i];
			const int64_t *bytes = n->bytes[a->role];
			if (!is_on_machine(e, a, machine))
				continue;
			wide device = (wide)bytes[SPACE_DEVICE] + (uint64_t)overhead_of(e);
			if (c->kind == DEVICE_GPU)
				consider(&t, SPACE_DEVICE, device, c->device_memory - c->device_spared);
			host += (uint64_t)a->copies * ((wide)bytes[SPACE_HOST] + (c->kind == DEVICE_CPU ? device : 0));
			disk += (wide)(uint64_t)a->copies * (uint64_t)bytes[SPACE_DISK];
		}
		consider(&t, SPACE_HOST, host, c->node_memory);
		consider(&t, SPACE_DISK, disk, c->disk.capacity);
	}
	return t;
}

static int64_t most_on_machine(const struct engine *e)
{
	int64_t most = 0, here = 0;
	for (int node = 0; node < e->classes.node_count; node++) {
		here = (node % e->classes.together ? here : 0) + e->classes.node_ranks[node];
		most = here > most ? here : most;
	}
	return most;
}

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A plan made as other software's says what is allocated, and from that follows what its caching allocator holds. */
static bool follows_allocator(const struct engine *e)
{
	return e->plan->software.does[SOFTWARE_ALLOCATOR] == ALLOCATOR_CACHING;
}

static int64_t cached(const struct engine *e, const struct role *r)
{
	int64_t room = e->c->kind == DEVICE_GPU ? e->c->device_memory - overhead_of(e) : 0;
	return caching_reserved(r, room > 0 ? room : 0);
}

static void report_stack_memory(const struct engine *e, const struct role *r, struct report_memory *m)
{
	const struct cluster *c = e->c;
	if (follows_allocator(e)) {
		m->allocated_bytes = effective_allocated_as(c, m->peak_bytes, m->at_peak[CATEGORY_ACTIVATIONS]);
		m->reserved_bytes = effective_reserved_as(c, m->allocated_bytes, cached(e, r) - m->peak_bytes);
		m->cached = true;
		return;
	}
	if (!cluster_has_stack(c))
		return;
	m->allocated_bytes = effective_allocated(c, m->peak_bytes, m->at_peak[CATEGORY_ACTIVATIONS]);
	m->reserved_bytes = effective_reserved(c, m->allocated_bytes);
}

/* A stack's allocator may hold less than the plan lays out; the layout then counts. */
static int64_t held(const struct engine *e, const struct role *r, enum space space, int64_t laid_out)
{
	struct memory_use use;
	int64_t *activations = &use.at_peak[CATEGORY_ACTIVATIONS];
	if (!cluster_has_stack(e->c) || space != SPACE_DEVICE)
		return follows_allocator(e) && space == SPACE_DEVICE ? cached(e, r) : laid_out;
	plan_peak(r, space, &use);
	if (follows_allocator(e))
		return effective_reserved_as(e->c, effective_allocated_as(e->c, use.peak_bytes, *activations),
		                             cached(e, r) - use.peak_bytes);
	return longer(laid_out, effective_reserved(e->c, effective_allocated(e->c, use.peak_bytes, *activations)));
}

/* Fills what needs no clock: names, memory, and which memory is fullest. */
static void report_memory(const struct engine *e, struct report *out)
{
	struct needs n;
	report_from_plan(out, e->plan);
	snprintf(out->cluster, sizeof out->cluster, "%s", e->c->name);
	snprintf(out->stack, sizeof out->stack, "%s", e->c->stack.name);
	for (int i = 0; i < out->role_count; i++) {
		out->roles[i].memory[SPACE_DEVICE].overhead_bytes = overhead_of(e);
		out->roles[i].memory[SPACE_DEVICE].workspace_bytes = effective_overhead(e->c) - e->c->overhead.value;
		out->roles[i].memory[SPACE_DEVICE].overhead_assumed = !e->c->overhead.measured;
		struct report_memory *m = out->roles[i].memory;
		report_stack_memory(e, &e->plan->roles[i], &m[SPACE_DEVICE]);
		for (int space = 0; space < SPACE_COUNT; space++)
			n.bytes[i][space] = longer(m[space].reserved_bytes, m[space].arena_bytes);
		if (follows_allocator(e))
			n.bytes[i][SPACE_DEVICE] = m[SPACE_DEVICE].reserved_bytes;
	}
	out->machine_ranks = most_on_machine(e);
	out->tightest = find_tightest(e, &n);
	out->fits = out->tightest.needed_bytes <= out->tightest.capacity_bytes;
}

static bool fits_by(const struct engine *e, enum layout_bound bound)
{
	struct needs n;
	for (int i = 0; i < e->plan->role_count; i++)
		for (int space = 0; space < SPACE_COUNT; space++)
			n.bytes[i][space] = held(e, &e->plan->roles[i], (enum space)space,
			                         layout_arena_bytes(&e->plan->roles[i], (enum space)space, bound));
	const struct report_tightest t = find_tightest(e, &n);
	return t.needed_bytes <= t.capacity_bytes;
}

bool sim_fits(const struct plan *plan, const struct cluster *c)
{
	struct engine e = {.plan = plan, .c = c};
	rank_classes_make(&e.classes, plan, c);
	bool fits = fits_by(&e, LAYOUT_LEAST) && (fits_by(&e, LAYOUT_MOST) || fits_by(&e, LAYOUT_EXACT));
	rank_classes_release(&e.classes);
	return fits;
}

void sim_memory(const struct plan *plan, const struct cluster *c, struct report *out)
{
	struct engine e = {.plan = plan, .c = c};
	rank_classes_make(&e.classes, plan, c);
	report_memory(&e, out);
	rank_classes_release(&e.classes);
}

/* ---- the stack's range ---- */

static void name_basis(const struct stack *s, bool outside, struct report *out)
{
	const char *unseen = outside ? ", outside of what it was fitted on" : "";
	if (stack_is_class(s))
		snprintf(out->basis, sizeof out->basis, "class %s on %s%s", s->class, s->card,
		         s->by_default ? ", as no stack was named" : "");
	else
		snprintf(out->basis, sizeof out->basis, "stack %s, fitted on %lld run%s%s", s->name,
		         (long long)s->value[STACK_FIT_ROWS], s->value[STACK_FIT_ROWS] == 1 ? "" : "s", unseen);
}

/* The band around a step; a collective alone is none. */
static void report_range(const struct engine *e, struct report *out)
{
	const struct settings *t = &e->plan->settings;
	const struct stack *s = &e->c->stack;
	if (!cluster_has_stack(e->c) || plan_is_alone(e->plan))
		return;
	struct effective_range range =
	        effective_range(s, model_width(e->plan->model), e->plan->ranks, t->micro_batch * out->sequence,
	                        report_waiting(out->time.exposed, out->time.step));
	name_basis(s, range.outside, out);
	out->range_low = time_clamp((wide)out->time.step * (uint64_t)range.low / MILLION);
	out->range_high = time_clamp((wide)out->time.step * (uint64_t)range.high / MILLION);
}

struct simulation {
	struct engine e;
	struct times slowest;
	int64_t gathering_ns;
};

enum status simulation_run(struct simulation **out, const struct plan *plan, const struct cluster *c, enum grain grain,
                           struct trace *trace)
{
	struct simulation *x = *out = array_make(1, sizeof *x);
	if (trace)
		trace_open(trace, plan, c->name, false);
	enum status s = engine_init(&x->e, plan, c, grain, trace);
	if (s || (s = engine_run(&x->e)))
		return s;
	x->slowest = slowest(&x->e);
	if (trace)
		fill_trace(&x->e, trace);
	return gathering_time(plan, c, &x->gathering_ns);
}

void simulation_report(const struct simulation *x, struct report *out)
{
	const struct engine *e = &x->e;
	report_memory(e, out);
	snprintf(out->grain, sizeof out->grain, "%s", grain_name(e->grain));
	out->time = x->slowest;
	report_range(e, out);
	report_set_speed(out, (double)cluster_peak(e->c, out->precision).value);
	out->rates_measured = e->measured;
	out->gathering_ns = x->gathering_ns;
}

void simulation_release(struct simulation *x)
{
	if (x)
		engine_release(&x->e);
	free(x);
}

enum status sim_run(const struct plan *plan, const struct cluster *c, enum grain grain, struct trace *trace,
                    struct report *out)
{
	struct simulation *x;
	enum status s = simulation_run(&x, plan, c, grain, trace);
	if (!s)
		simulation_report(x, out);
	simulation_release(x);
	return s;
}

enum status sim_time(const struct plan *plan, const struct cluster *c, int64_t *step, int64_t *exposed)
{
	struct engine e;
	enum status s = engine_init(&e, plan, c, GRAIN_OPERATION, NULL);
	if (!s)
		s = engine_run(&e);
	if (!s)
		*step = slowest(&e).step;
	if (!s && exposed)
		*exposed = slowest(&e).exposed;
	engine_release(&e);
	return s;
}
