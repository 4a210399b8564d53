/* Checkpoints in slices (partition_activations, as in ZeRO: Rajbhandari et al. 2020, arXiv 1910.02054, section 6.1).
 * The ranks of a tensor group hold the same block inputs. Each keeps a slice, and they are brought together again
 * before the block is recomputed:
 *
 *     forward     x ─► kernels of the block; copy of this rank's slice of x ─► part; x is freed
 *     backward    part ─ all-gather ─► x ─► the kernels once more, and backward
 *
 * so of a checkpoint 1/t stays on each of t ranks, for one all-gather more a block.
 */
#include "strategy/step/step.h"

struct checkpoint_slices {
	int *last;           /* by value: the last forward launch that reads it; -1: it stays whole */
	int *first;          /* by value: the first backward launch that reads it */
	int *kept;           /* by value: this rank's slice, while it is kept; -1 */
	int *slice, *gather; /* by launch: the first value that is sliced after it, or gathered before it; -1 */
	int *next_slice, *next_gather; /* by value: the next of the same launch */
};

/* Does it stand whole on every rank of a tensor group? */
static bool is_shared(const struct step *s, int value)
{
	return s->checkpoints.checkpoint[value] && !s->model->values[value].sliced;
}

enum status checkpoint_slices_check(const struct strategy *g, const struct model *slice, const struct checkpointing *c,
                                    const struct settings *settings)
{
	if (!c->partition)
		return STATUS_OK;
	if (!g->slices)
		return status_fail(
		        STATUS_INPUT,
		        "{activation_checkpointing}: partition_activations=yes has effect where ranks hold the "
		        "same activations: with {strategy} tensor, and not with %s; leave it out",
		        g->name);
	if (c->contiguous || c->cpu || settings->offload.activations)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing}: with partition_activations=yes checkpoints stay on the "
		                   "device, each in a place of its own; leave out %s",
		                   c->contiguous ? "contiguous_memory_optimization"
		                   : c->cpu      ? "cpu_checkpointing"
		                                 : status_words("{offload} activations"));
	for (int v = 0; v < slice->value_count; v++)
		if (slice->values[v].spread)
			return status_fail(STATUS_INPUT,
			                   "{activation_checkpointing}: partition_activations=yes: with sequence=yes "
			                   "checkpoints are a rank's own rows already; leave it out");
	struct arena arena = {0};
	struct checkpoints made;
	enum status s = STATUS_OK;
	checkpoints_make(&made, &arena, slice, c, 0, slice->kernel_count);
	for (int v = 0; v < slice->value_count && !s; v++)
		if (made.checkpoint[v] && !slice->values[v].sliced &&
		    value_elements(&slice->values[v], settings->micro_batch) % settings->ranks)
			s = status_fail(
			        STATUS_INPUT,
			        "{activation_checkpointing}: partition_activations=yes: %s does not divide by %lld "
			        "ranks; choose {ranks} that divides it, or leave it out",
			        slice->values[v].name, (long long)settings->ranks);
	arena_release(&arena);
	return s;
}

static void chain(int *head, int *next, int value)
{
	next[value] = *head;
	*head = value;
}

static void prepare(struct step *s)
{
	const struct model *m = s->model;
	const struct execution *t = &s->execution;
	if (!s->checkpointing.partition || s->ranks == 1)
		return;
	struct checkpoint_slices *p = arena_alloc(&s->b->plan->arena, sizeof *p);
	*p = (struct checkpoint_slices){.last = step_numbers(s, m->value_count),
	                                .first = step_numbers(s, m->value_count),
	                                .kept = step_numbers(s, m->value_count),
	                                .slice = step_numbers(s, t->count),
	                                .gather = step_numbers(s, t->count),
	                                .next_slice = step_numbers(s, m->value_count),
	                                .next_gather = step_numbers(s, m->value_count)};
	for (int i = 0; i < t->count; i++) {
		const struct kernel *k = &m->kernels[t->launches[i].kernel];
		bool backward = t->launches[i].pass == PASS_BACKWARD;
		int reads[3] = {!backward || kernel_backward_reads_x(k) ? k->x : -1, backward ? -1 : k->residual,
		                k->second};
		for (int r = 0; r < 3; r++) {
			int v = reads[r];
			if (v < 0 || !is_shared(s, v))
				continue;
			if (i < t->forward)
				p->last[v] = i;
			else if (p->first[v] < 0)
				p->first[v] = i;
		}
	}
	for (int v = 0; v < m->value_count; v++)
		if (p->last[v] >= 0 && p->first[v] >= 0) {
			chain(&p->slice[p->last[v]], p->next_slice, v);
			chain(&p->gather[p->first[v]], p->next_gather, v);
		}
	s->checkpoint_slices = p;
}

static void keep_slice(struct step *s, int value)
{
	const struct plan *p = s->plan;
	struct region whole = s->value[value].at;
	int part = build_alloc(s->b, step_name(s, "part.%s", s->model->values[value].name), CATEGORY_ACTIVATIONS,
	                       step_value_type(s, value), whole.count / s->ranks);
	struct op *op = build_op(s->b, OP_COPY, QUEUE_COMPUTE);
	op->micro = s->micro;
	op->pass = PASS_FORWARD;
	op->operand[COPY_X] = region_slice(whole.buffer, plan_all_axes(p), whole.offset, whole.count);
	op->operand[COPY_Y] = region_whole(s->b, part);
	build_free(s->b, whole.buffer);
	s->checkpoint_slices->kept[value] = part;
	s->value[value].at = region_none();
	s->value[value].owned = false;
}

static void gather_whole(struct step *s, int value)
{
	int part = s->checkpoint_slices->kept[value];
	step_alloc_value(s, value);
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_ALL_GATHER, SCHEDULE_RING_ALL_GATHER, TRAFFIC_ALL_GATHER, -1);
	op->pass = PASS_RECOMPUTE;
	op->payload = s->value[value].at.count;
	op->operand[ALL_GATHER_X] = region_whole(s->b, part);
	op->operand[ALL_GATHER_Y] = s->value[value].at;
	build_wait(s->b, QUEUE_COMPUTE, build_number(s->b, op));
	build_free(s->b, part);
	s->checkpoint_slices->kept[value] = -1;
}

static void before(struct step *s, int launch)
{
	if (!s->checkpoint_slices || s->evaluating)
		return;
	s->recomputing = true; /* a second copy, with a name of its own */
	for (int v = s->checkpoint_slices->gather[launch]; v >= 0; v = s->checkpoint_slices->next_gather[v])
		gather_whole(s, v);
	s->recomputing = false;
}

static void after(struct step *s, int launch)
{
	if (!s->checkpoint_slices || s->evaluating)
		return;
	for (int v = s->checkpoint_slices->slice[launch]; v >= 0; v = s->checkpoint_slices->next_slice[v])
		keep_slice(s, v);
}

const struct keeper keeper_checkpoint_slices = {prepare, before, after};
