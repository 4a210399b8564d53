/* Activations in host memory: what backward will read leaves when the last forward kernel has read it, and comes back
 * before it is needed, one run of a unit's kernels ahead.
 *
 *     compute          │ forward 0 │ forward 1 │ forward 2 │ backward 2 │ backward 1 │ backward 0 │
 *     device-to-host               │ of 0      │ of 1      │
 *     host-to-device                                       │ of 1       │ of 0       │
 *
 * A *run* is a row of launches of one unit. A device keeps the activations of two runs while a third is made: before a
 * run's are freed, the compute queue waits until they have left. The values that the first backward run reads stay
 * where they are. All that the forward pass keeps is treated so: all that kernels saved; with activation checkpointing
 * the checkpoints, since the rest has gone. A stage of a pipeline does so with every micro-batch that is under way,
 * each of which keeps its last run here.
 */
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

struct host_values {
	int *run;                    /* by launch: its run */
	int run_count, forward_runs; /* the runs of the forward pass come first */
	int *last;                   /* by value: the last forward launch that makes or reads it */
	int *wanted;                 /* by value: the first backward run that reads it; -1: none does */
	/* Indexed by micro-batch under way (in_flight of them) and by value: */
	int in_flight;
	int *host; /* its buffer on the host; -1: it is not there */
	int *copy; /* the copy that is under way, or done; -1 */
	struct {
		int buffer, copy;
	} * sent; /* values of the run before, which are freed when they have left */
	int sent_count;
};

/* The place of a value of the micro-batch at hand. Stages have several micro-batches under way, other strategies one.
 */
static int at(const struct step *s, int value)
{
	return (s->host_values->in_flight > 1 ? s->micro * s->model->value_count : 0) + value;
}

static void note_use(struct host_values *a, const struct execution *e, int launch, int value)
{
	if (value >= 0 && launch < e->forward)
		a->last[value] = launch;
	else if (value >= 0 && a->wanted[value] < 0)
		a->wanted[value] = a->run[launch];
}

/* Notes the values that a launch reads, and in the forward pass those that it makes. */
static void note_uses(struct host_values *a, const struct execution *e, const struct model *m, int launch)
{
	const struct launch *l = &e->launches[launch];
	const struct kernel *k = &m->kernels[l->kernel];
	struct kernel_reads reads = kernel_reads(k, l->pass);
	for (int r = 0; r < 4; r++)
		note_use(a, e, launch, reads.value[r]);
	note_use(a, e, launch, k->saved); /* a synchronised norm reads its statistics when it is recomputed */
	if (l->pass == PASS_FORWARD)
		note_use(a, e, launch, k->kind == KERNEL_CLASSIFIER ? m->target : k->y);
}

/* True if any activations leave the device: all of them with --offload activations, checkpoints with cpu_checkpointing.
 */
static bool any_leave(const struct settings *t, const struct checkpointing *c)
{
	return t->offload.activations || c->cpu;
}

enum status host_values_check(const struct settings *t, const struct checkpointing *c)
{
	if (!any_leave(t, c) || (!c->contiguous && !c->partition))
		return STATUS_OK;
	return status_fail(
	        STATUS_INPUT,
	        "{activation_checkpointing}: %s=yes keeps checkpoints %son the device; leave it out, or leave out %s",
	        c->contiguous ? "contiguous_memory_optimization" : "partition_activations",
	        c->contiguous ? "in one block " : "",
	        c->cpu ? "cpu_checkpointing" : status_words("{offload} activations"));
}

static void prepare(struct step *s)
{
	const struct model *m = s->model;
	const struct execution *e = &s->execution;
	if (!any_leave(s->settings, &s->checkpointing))
		return;
	struct host_values *a = arena_alloc(s->scratch, sizeof *a);
	int in_flight = s->strategy->stages ? (int)s->settings->accumulate : 1;
	*a = (struct host_values){.run = step_numbers(s, e->count),
	                          .last = step_numbers(s, m->value_count),
	                          .wanted = step_numbers(s, m->value_count),
	                          .in_flight = in_flight,
	                          .host = step_numbers(s, in_flight * m->value_count),
	                          .copy = step_numbers(s, in_flight * m->value_count)};
	a->sent = arena_alloc(s->scratch, ((size_t)m->value_count + 1) * sizeof *a->sent);
	for (int i = 0; i < e->count; i++) {
		int unit = m->kernels[e->launches[i].kernel].unit;
		if (!i || i == e->forward || m->kernels[e->launches[i - 1].kernel].unit != unit)
			a->run_count++;
		a->run[i] = a->run_count - 1;
		if (i < e->forward)
			a->forward_runs = a->run_count;
		note_uses(a, e, m, i);
	}
	s->host_values = a;
}

/* Frees the values that were sent a run ago, once they are on the host. */
static void free_sent(struct step *s)
{
	struct host_values *a = s->host_values;
	for (int i = 0; i < a->sent_count; i++)
		build_wait(s->b, QUEUE_COMPUTE, a->sent[i].copy);
	for (int i = 0; i < a->sent_count; i++)
		build_free(s->b, a->sent[i].buffer);
	a->sent_count = 0;
}

static int copy_value(struct step *s, int value, struct region from, struct region to)
{
	int copy = build_copy(s->b, from, to), producer = s->model->values[value].producer;
	s->b->role->ops[copy].micro = s->micro;
	s->b->role->ops[copy].unit =
	        s->model->kernels[producer < 0 ? 0 : producer].unit; /* the input belongs to the first */
	return copy;
}

static void send_value(struct step *s, int value)
{
	struct host_values *a = s->host_values;
	a->host[at(s, value)] =
	        build_alloc_in(s->b, SPACE_HOST, step_name(s, "away.%s", s->model->values[value].name),
	                       CATEGORY_ACTIVATIONS, step_value_type(s, value), step_value_elements(s, value));
	build_wait_all(s->b, QUEUE_DEVICE_TO_HOST, QUEUE_COMPUTE);
	a->copy[at(s, value)] =
	        copy_value(s, value, s->value[value].data.at, region_whole(s->b, a->host[at(s, value)]));
	a->sent[a->sent_count].buffer = s->value[value].data.at.buffer;
	a->sent[a->sent_count++].copy = a->copy[at(s, value)];
	s->value[value].data = not_held();
}

static void fetch_value(struct step *s, int value)
{
	struct host_values *a = s->host_values;
	int buffer = build_alloc(s->b, step_name(s, "back.%s", s->model->values[value].name), CATEGORY_ACTIVATIONS,
	                         step_value_type(s, value), step_value_elements(s, value));
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE);
	build_wait(s->b, QUEUE_HOST_TO_DEVICE, a->copy[at(s, value)]);
	a->copy[at(s, value)] =
	        copy_value(s, value, region_whole(s->b, a->host[at(s, value)]), region_whole(s->b, buffer));
	build_free(s->b, a->host[at(s, value)]);
	a->host[at(s, value)] = -1;
	step_place_value(s, value, region_whole(s->b, buffer));
}

static void fetch_run(struct step *s, int run)
{
	for (int v = 0; v < s->model->value_count; v++)
		if (s->host_values->wanted[v] == run && s->host_values->host[at(s, v)] >= 0)
			fetch_value(s, v);
}

/* Fetches the values that two runs will read: the one that begins here, and the next. */
static void before(struct step *s, int launch)
{
	struct host_values *a = s->host_values;
	int run = a && !s->evaluating ? a->run[launch] : -1;
	if (run < 0 || launch < s->execution.forward || a->run[launch - 1] == run)
		return;
	if (run == a->forward_runs)
		free_sent(s);
	fetch_run(s, run);
	fetch_run(s, run + 1);
	for (int v = 0; v < s->model->value_count; v++)
		if (a->wanted[v] == run)
			build_wait(s->b, QUEUE_COMPUTE, a->copy[at(s, v)]);
}

static bool leaves(const struct step *s, int value)
{
	return s->settings->offload.activations || s->checkpoints.checkpoint[value];
}

/* Sends the values that the run which ends here leaves to the backward pass. */
static void after(struct step *s, int launch)
{
	struct host_values *a = s->host_values;
	bool run_ends =
	        a && !s->evaluating && launch + 1 < s->execution.forward && a->run[launch + 1] != a->run[launch];
	if (!run_ends)
		return;
	free_sent(s);
	for (int v = 0; v < s->model->value_count; v++)
		if (s->value[v].data.at.buffer >= 0 && s->value[v].data.owned && a->last[v] <= launch &&
		    a->wanted[v] > a->forward_runs && leaves(s, v))
			send_value(s, v);
}

const struct keeper keeper_host_values = {prepare, before, after};
