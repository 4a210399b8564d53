#include "strategy/step/stage.h"
#include "strategy/step/activations.h"
#include "strategy/step/groups.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/step/step.h"

enum status stage_mesh(struct plan *p, const struct choices *c)
{
	const struct model *m = p->model;
	int segments = stage_segments(m);
	(void)c;
	if (p->ranks > segments)
		return status_fail(
		        STATUS_INPUT,
		        "{strategy} %s: %lld ranks are %lld stages, and %s has %d segments to divide; use fewer "
		        "ranks, or a model with more layers",
		        p->strategy, (long long)p->ranks, (long long)p->ranks, m->name, segments);
	if (p->ranks > PLAN_ROLES)
		return status_fail(STATUS_INPUT, "{strategy} %s: %lld stages; there can be %d", p->strategy,
		                   (long long)p->ranks, PLAN_ROLES);
	p->axis_count = 0;
	plan_add_axis(p, "stage", p->ranks, false);
	p->stage_end = arena_alloc(&p->arena, (size_t)p->ranks * sizeof *p->stage_end);
	stage_split(m, (int)p->ranks, p->stage_end);
	return STATUS_OK;
}

/* ---- the order of work and of messages ---- */

/* A micro-batch's forward or backward on a stage. */
struct task {
	int micro;
	bool backward;
};

struct posting {
	int64_t ready; /* when it would be ready, if only computing took time */
	int from, to;
	struct task task; /* the one that made what is sent */
};

struct timetable {
	enum stage_order order;
	int stages, micros;
	int own; /* the stage that is compiled; postings are those that leave or reach it */
	/* For the forward pass [0] and the backward pass [1]: */
	int64_t *duration[2]; /* by stage: how long it computes */
	int64_t *end[2];      /* [stage · micros + micro]; -1: not yet */
	struct posting *postings;
	int count;
};

/* The n-th of 2 · micros tasks of a stage. */
static struct task task_at(const struct timetable *t, int stage, int n)
{
	int m = t->micros, warm = t->stages - 1 - stage;
	if (warm > m)
		warm = m;
	switch (t->order) {
	case STAGE_ONE_AT_A_TIME:
		return (struct task){n / 2, n % 2};
	case STAGE_GPIPE:
		return n < m ? (struct task){n, false} : (struct task){2 * m - 1 - n, true};
	case STAGE_1F1B:
		break;
	}
	if (n < warm)
		return (struct task){n, false};
	if (n < 2 * m - warm)
		return (n - warm) % 2 ? (struct task){(n - warm) / 2, true}
		                      : (struct task){warm + (n - warm) / 2, false};
	return (struct task){n - m, true};
}

static int64_t *end_of(const struct timetable *t, int stage, struct task task)
{
	return &t->end[task.backward][(size_t)stage * (size_t)t->micros + (size_t)task.micro];
}

/* When the input from another stage is there; -1: not known yet. */
static int64_t arrives(const struct timetable *t, int stage, struct task task)
{
	int from = task.backward ? stage + 1 : stage - 1;
	return from < 0 || from == t->stages ? 0 : *end_of(t, from, task);
}

static void post(struct timetable *t, int stage, struct task task, int64_t ready)
{
	int to = task.backward ? stage - 1 : stage + 1;
	if (to >= 0 && to < t->stages && (stage == t->own || to == t->own))
		t->postings[t->count++] = (struct posting){ready, stage, to, task};
}

/* Walks all stages at once: a task begins when the one before it on its stage is done and its input is there. */
static void run_timetable(struct timetable *t)
{
	int next[PLAN_ROLES] = {0};
	int64_t now[PLAN_ROLES] = {0};
	bool moved = true;
	while (moved) {
		moved = false;
		for (int i = 0; i < t->stages; i++)
			for (; next[i] < 2 * t->micros; next[i]++) {
				struct task task = task_at(t, i, next[i]);
				int64_t there = arrives(t, i, task);
				if (there < 0)
					break;
				now[i] = (there > now[i] ? there : now[i]) + t->duration[task.backward][i];
				*end_of(t, i, task) = now[i];
				post(t, i, task, now[i]);
				moved = true;
			}
	}
}

static int earlier(const void *a, const void *b)
{
	const struct posting *x = a, *y = b;
	if (x->ready != y->ready)
		return x->ready < y->ready ? -1 : 1;
	if (x->from != y->from)
		return x->from - y->from;
	return x->to - y->to;
}

static void measure_stages(struct timetable *t, const struct model *m, const int *end)
{
	for (int i = 0, k = 0; i < t->stages; i++) {
		t->duration[0][i] = t->duration[1][i] = 1; /* so that every result is later than its input */
		for (; k < end[i]; k++) {
			t->duration[0][i] += kernel_flops(m, &m->kernels[k], PASS_FORWARD, 1);
			t->duration[1][i] += kernel_flops(m, &m->kernels[k], PASS_BACKWARD, 1);
		}
	}
}

static void timetable_make(struct timetable *t, struct arena *a, const struct step *s, enum stage_order order)
{
	size_t stages = (size_t)s->stages, cells = stages * (size_t)s->settings->accumulate;
	*t = (struct timetable){
	        .order = order, .stages = s->stages, .micros = (int)s->settings->accumulate, .own = s->stage};
	for (int i = 0; i < 2; i++) {
		t->duration[i] = arena_alloc(a, stages * sizeof *t->duration[i]);
		t->end[i] = arena_alloc(a, cells * sizeof *t->end[i]);
		memset(t->end[i], -1, cells * sizeof *t->end[i]);
	}
	/* Activations and gradients, that come and that go. */
	t->postings = arena_alloc(a, 4 * (size_t)s->settings->accumulate * sizeof *t->postings);
	measure_stages(t, s->model, s->plan->stage_end);
	run_timetable(t);
	qsort(t->postings, (size_t)t->count, sizeof *t->postings, earlier);
}

/* ---- micro-batches that are under way ---- */

/* The values of one micro-batch. */
struct slot {
	struct value_state *value;
	int *kept;
	int received; /* the message that its next task waits for */
};

struct flight {
	struct slot **slot; /* by micro-batch; NULL: not under way */
	struct slot **spare;
	int spares;
};

static struct slot *new_slot(struct step *s)
{
	struct arena *a = s->scratch;
	struct slot *slot = arena_alloc(a, sizeof *slot);
	slot->value = arena_alloc(a, (size_t)s->model->value_count * sizeof *slot->value);
	for (int i = 0; i < s->model->value_count; i++)
		slot->value[i].data = slot->value[i].gradient = not_held();
	slot->kept = step_numbers(s, s->model->kernel_count);
	return slot;
}

/* Makes this the step's micro-batch from here on. */
static struct slot *take_up(struct step *s, struct flight *f, int micro)
{
	struct slot *slot = f->slot[micro];
	if (!slot)
		slot = f->slot[micro] = f->spares ? f->spare[--f->spares] : new_slot(s);
	s->micro = micro;
	s->last_micro = micro + 1 == s->settings->accumulate;
	s->value = slot->value;
	s->kept = slot->kept;
	return slot;
}

static void done_with(struct flight *f, int micro)
{
	f->spare[f->spares++] = f->slot[micro];
	f->slot[micro] = NULL;
}

/* ---- messages ---- */

/* The value that crosses from one stage to the next: made before kernel `end`, and read from there on. */
static int boundary(const struct model *m, int end)
{
	int found = -1;
	for (int i = end; i < m->kernel_count; i++) {
		struct kernel_reads reads = kernel_reads(&m->kernels[i], PASS_FORWARD);
		for (int r = 0; r < 4; r++) {
			int v = reads.value[r];
			if (v < 0 || m->values[v].producer < 0 || m->values[v].producer >= end || v == found)
				continue;
			if (found >= 0)
				abort(); /* units are a chain in every model */
			found = v;
		}
	}
	return found;
}

static void find_boundaries(struct step *s)
{
	s->enters = boundary(s->model, s->kernel_begin);
	s->leaves = boundary(s->model, s->kernel_end);
}

/* peer: the other stage's number, less this one's. */
static struct op *message(struct step *s, enum op_kind kind, int peer, bool backward, struct region what)
{
	struct op *op = build_op(s->b, kind, QUEUE_COMMUNICATION);
	op->traffic = backward ? TRAFFIC_ACTIVATION_GRADIENTS : TRAFFIC_ACTIVATIONS;
	op->pass = backward ? PASS_BACKWARD : PASS_FORWARD;
	op->micro = s->micro;
	op->neighbour = peer > 0 ? NEIGHBOUR_BEHIND : NEIGHBOUR_BEFORE;
	op->payload = what.count;
	op->operand[SEND_X] = what;
	return op;
}

/* Gradients come from the next stage, activations from the one before. */
static int receive(struct step *s, bool backward)
{
	int value = backward ? s->leaves : s->enters;
	if (backward)
		step_alloc_gradient(s, value);
	else
		step_alloc_value(s, value);
	return build_number(s->b, message(s, OP_RECEIVE, backward ? 1 : -1, backward,
	                                  backward ? s->value[value].gradient.at : s->value[value].data.at));
}

static void send(struct step *s, bool backward)
{
	int value = backward ? s->enters : s->leaves;
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	message(s, OP_SEND, backward ? -1 : 1, backward,
	        backward ? s->value[value].gradient.at : s->value[value].data.at);
	if (backward)
		step_free_gradient(s, value);
	else
		step_value_used(s, value);
}

/* ---- one stage's program ---- */

struct program {
	struct step *s;
	struct timetable table;
	struct flight flight;
	int next; /* posting */
};

/* Issues this stage's messages in order, up to the one that carries the result of `task` on stage `from`. That message
 * may have been issued already, on the way to a later one. */
static void issue_until(struct program *p, struct task task, int from)
{
	struct step *s = p->s;
	int last = p->next;
	while (last < p->table.count) {
		const struct posting *m = &p->table.postings[last];
		if (m->from == from && m->task.micro == task.micro && m->task.backward == task.backward)
			break;
		last++;
	}
	for (; last < p->table.count && p->next <= last; p->next++) {
		const struct posting *m = &p->table.postings[p->next];
		struct slot *slot = take_up(s, &p->flight, m->task.micro);
		if (m->to == s->stage)
			slot->received = receive(s, m->task.backward);
		else
			send(s, m->task.backward);
	}
}

static void forward(struct step *s)
{
	step_begin_micro(s);
	if (s->stage + 1 < s->stages)
		s->value[s->leaves].readers++; /* the message reads it */
	step_run(s, 0, s->execution.forward);
}

/* On a stage, a tensor's gradient is complete when the stage's own kernels have added to it. */
static void backward(struct step *s)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = s->kernel_begin; i < s->kernel_end; i++) {
			const int tensors[] = {s->model->kernels[i].weight, s->model->kernels[i].bias};
			for (int k = 0; k < 2; k++)
				if (tensors[k] >= 0)
					s->tensor[tensors[k]].uses_left = pass ? s->tensor[tensors[k]].uses_left + 1 : 0;
		}
	for (int g = 0; g < s->plan->group_count; g++)
		s->group[g].tensors_left = s->plan->groups[g].tensor_count;
	step_run(s, s->execution.forward, s->execution.count);
}

static void run_task(struct program *p, struct task task)
{
	struct step *s = p->s;
	int before = task.backward ? s->stage + 1 : s->stage - 1, after = task.backward ? s->stage - 1 : s->stage + 1;
	bool receives = before >= 0 && before < s->stages, sends = after >= 0 && after < s->stages;
	if (receives)
		issue_until(p, task, before);
	struct slot *slot = take_up(s, &p->flight, task.micro);
	if (receives)
		build_wait(s->b, QUEUE_COMPUTE, slot->received);
	/* GPipe's last backward is that of its first micro-batch. */
	s->last_micro = task.micro == task_at(&p->table, s->stage, 2 * p->table.micros - 1).micro;
	if (task.backward)
		backward(s);
	else
		forward(s);
	if (sends)
		issue_until(p, task, s->stage);
	if (task.backward)
		done_with(&p->flight, task.micro);
}

void stage_micros(struct step *s, enum stage_order order)
{
	struct arena scratch = {0}; /* every stage makes a timetable of all stages, and none is kept */
	size_t micros = (size_t)s->settings->accumulate;
	struct program p = {.s = s};
	find_boundaries(s);
	timetable_make(&p.table, &scratch, s, order);
	p.flight.slot = arena_alloc(&scratch, micros * sizeof(struct slot *));
	p.flight.spare = arena_alloc(&scratch, micros * sizeof(struct slot *));
	for (int n = 0; n < 2 * p.table.micros; n++)
		run_task(&p, task_at(&p.table, s->stage, n));
	arena_release(&scratch);
	s->micro = -1;
	reduce_tied(s);
	s->hooks.end_backward(s);
}

void stage_evaluate(struct step *s)
{
	find_boundaries(s);
	int received = s->stage ? receive(s, false) : -1;
	build_wait(s->b, QUEUE_COMPUTE, received);
	forward(s);
	if (s->stage + 1 < s->stages)
		send(s, false);
}
