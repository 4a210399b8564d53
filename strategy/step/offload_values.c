/* Activations in host memory: what backward will read leaves when the last forward kernel has read it, and comes back
 * before it is needed, one run of a unit's kernels ahead.
 *
 *     compute          │ forward 0 │ forward 1 │ forward 2 │ backward 2 │ backward 1 │ backward 0 │
 *     device-to-host               │ of 0      │ of 1      │
 *     host-to-device                                       │ of 1       │ of 0       │
 *
 * A device keeps the activations of two runs while a third is made: before a run's are given up, the compute queue
 * waits until they have left. What the first backward run reads stays where it is. Whatever the forward pass keeps is
 * treated so: all that kernels saved; with activation checkpointing the checkpoints, since the rest has gone. A stage
 * of a pipeline does so with every micro-batch that is under way, each of which keeps its last run here.
 */
#include "strategy/step/step.h"

struct away {
	int *run;                    /* by turn: which run of one unit's turns it belongs to */
	int run_count, forward_runs; /* the first so many are the forward pass */
	int *last;                   /* by value: the last forward turn that makes or reads it */
	int *wanted;                 /* by value: the first backward run that reads it; -1: none does */
	/* By micro-batch that is under way (in_flight of them) and value: */
	int in_flight;
	int *host; /* its buffer on the host; -1: it is not there */
	int *copy; /* the copy that is under way, or done; -1 */
	struct {
		int buffer, copy;
	} * leaving; /* of the run before: freed when they have left */
	int leaving_count;
};

/* Of the micro-batch at hand. Stages have several under way at once; else there is one. */
static int at(const struct step *s, int value)
{
	return (s->away->in_flight > 1 ? s->micro * s->model->value_count : 0) + value;
}

bool offload_values(const struct step *s)
{
	return s->settings->offload.activations || s->checkpointing.cpu;
}

/* Values that a turn reads, or in the forward pass makes; -1: none. */
enum { TOUCHED = 6 };
static void touched_by(const struct model *m, const struct turn *t, int values[TOUCHED])
{
	const struct kernel *k = &m->kernels[t->kernel];
	bool backward = t->pass == PASS_BACKWARD, forward = t->pass == PASS_FORWARD;
	values[0] = !backward || kernel_backward_reads_x(k) ? k->x : -1;
	values[1] = backward ? -1 : k->residual;
	values[2] = k->second;
	values[3] = forward || (backward && kernel_backward_reads_y(k)) ? k->y : -1;
	values[4] = k->saved; /* a synchronised norm reads it to be made again */
	values[5] = forward && k->kind == KERNEL_CLASSIFIER ? m->target : -1;
}

void offload_values_prepare(struct step *s)
{
	const struct model *m = s->model;
	const struct turns *t = &s->turns;
	if (!offload_values(s))
		return;
	struct away *a = arena_alloc(&s->b->plan->arena, sizeof *a);
	int in_flight = s->strategy->stages ? (int)s->settings->accumulate : 1;
	*a = (struct away){.run = step_numbers(s, t->count),
	                   .last = step_numbers(s, m->value_count),
	                   .wanted = step_numbers(s, m->value_count),
	                   .in_flight = in_flight,
	                   .host = step_numbers(s, in_flight * m->value_count),
	                   .copy = step_numbers(s, in_flight * m->value_count)};
	a->leaving = arena_alloc(&s->b->plan->arena, ((size_t)m->value_count + 1) * sizeof *a->leaving);
	for (int i = 0; i < t->count; i++) {
		int values[TOUCHED], unit = m->kernels[t->list[i].kernel].unit;
		if (!i || i == t->forward || m->kernels[t->list[i - 1].kernel].unit != unit)
			a->run_count++;
		a->run[i] = a->run_count - 1;
		if (i < t->forward)
			a->forward_runs = a->run_count;
		touched_by(m, &t->list[i], values);
		for (int k = 0; k < TOUCHED; k++) {
			if (values[k] < 0)
				continue;
			if (i < t->forward)
				a->last[values[k]] = i;
			else if (a->wanted[values[k]] < 0)
				a->wanted[values[k]] = a->run[i];
		}
	}
	s->away = a;
}

/* What left a run ago is on the host now, and given up here. */
static void give_up(struct step *s)
{
	struct away *a = s->away;
	for (int i = 0; i < a->leaving_count; i++)
		build_wait(s->b, QUEUE_COMPUTE, a->leaving[i].copy);
	for (int i = 0; i < a->leaving_count; i++)
		build_free(s->b, a->leaving[i].buffer);
	a->leaving_count = 0;
}

static int copy_value(struct step *s, int value, struct region from, struct region to)
{
	int copy = build_copy(s->b, from, to), producer = s->model->values[value].producer;
	s->b->role->ops[copy].micro = s->micro;
	s->b->role->ops[copy].unit = s->model->kernels[producer < 0 ? 0 : producer].unit; /* the input: of the first */
	return copy;
}

static void send_value(struct step *s, int value)
{
	struct away *a = s->away;
	a->host[at(s, value)] =
	        build_alloc_in(s->b, SPACE_HOST, step_name(s, "away.%s", s->model->values[value].name),
	                       CATEGORY_ACTIVATIONS, step_value_type(s, value), step_value_elements(s, value));
	build_wait_all(s->b, QUEUE_DEVICE_TO_HOST, QUEUE_COMPUTE);
	a->copy[at(s, value)] = copy_value(s, value, s->value[value], region_whole(s->b, a->host[at(s, value)]));
	a->leaving[a->leaving_count].buffer = s->value[value].buffer;
	a->leaving[a->leaving_count++].copy = a->copy[at(s, value)];
	s->value[value] = region_none();
	s->value_owned[value] = false;
}

static void fetch_value(struct step *s, int value)
{
	struct away *a = s->away;
	int buffer = build_alloc(s->b, step_name(s, "back.%s", s->model->values[value].name), CATEGORY_ACTIVATIONS,
	                         step_value_type(s, value), step_value_elements(s, value));
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE);
	build_wait(s->b, QUEUE_HOST_TO_DEVICE, a->copy[at(s, value)]);
	a->copy[at(s, value)] =
	        copy_value(s, value, region_whole(s->b, a->host[at(s, value)]), region_whole(s->b, buffer));
	build_free(s->b, a->host[at(s, value)]);
	a->host[at(s, value)] = -1;
	s->value[value] = region_whole(s->b, buffer);
	s->value_owned[value] = true;
}

static void fetch_run(struct step *s, int run)
{
	for (int v = 0; v < s->model->value_count; v++)
		if (s->away->wanted[v] == run && s->away->host[at(s, v)] >= 0)
			fetch_value(s, v);
}

void offload_values_before(struct step *s, int turn)
{
	struct away *a = s->away;
	int run = a && !s->evaluating ? a->run[turn] : -1;
	if (run < 0 || turn < s->turns.forward || a->run[turn - 1] == run)
		return;
	if (run == a->forward_runs)
		give_up(s);
	fetch_run(s, run);
	fetch_run(s, run + 1);
	for (int v = 0; v < s->model->value_count; v++)
		if (a->wanted[v] == run)
			build_wait(s->b, QUEUE_COMPUTE, a->copy[at(s, v)]);
}

/* With cpu_checkpointing checkpoints leave, and nothing else does. */
static bool leaves(const struct step *s, int value)
{
	return s->settings->offload.activations || s->checkpoints.checkpoint[value];
}

void offload_values_after(struct step *s, int turn)
{
	struct away *a = s->away;
	bool run_ends = a && !s->evaluating && turn + 1 < s->turns.forward && a->run[turn + 1] != a->run[turn];
	if (!run_ends)
		return;
	give_up(s);
	for (int v = 0; v < s->model->value_count; v++)
		if (s->value[v].buffer >= 0 && s->value_owned[v] && a->last[v] <= turn &&
		    a->wanted[v] > a->forward_runs && leaves(s, v))
			send_value(s, v);
}
