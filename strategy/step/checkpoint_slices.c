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
	int count;
	struct kept_slice {
		int value;
		int last, first; /* the last forward launch that reads it, and the first after the forward pass */
		int part;        /* the buffer of this rank's slice, while it is kept */
	} * list;
};

/* True if every rank of a tensor group holds the whole checkpoint. */
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
	if (c->contiguous)
		return status_fail(STATUS_INPUT,
		                   "{activation_checkpointing}: with partition_activations=yes each checkpoint has a "
		                   "place of its own; leave out contiguous_memory_optimization");
	for (int v = 0; v < slice->value_count; v++)
		if (slice->values[v].sequence_parallel)
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

/* For each value, the last launch of [begin, end) that reads it, or the first; -1 if none does. */
static int *find_reader(struct step *s, int begin, int end, bool last)
{
	const struct model *m = s->model;
	int *found = step_numbers(s, m->value_count);
	for (int i = begin; i < end; i++) {
		const struct launch *l = &s->execution.launches[i];
		struct kernel_reads reads = kernel_reads(&m->kernels[l->kernel], l->pass);
		for (int r = 0; r < 4; r++)
			if (reads.value[r] >= 0 && (last || found[reads.value[r]] < 0))
				found[reads.value[r]] = i;
	}
	return found;
}

static void prepare(struct step *s)
{
	const struct model *m = s->model;
	const struct execution *e = &s->execution;
	if (!s->checkpointing.partition || s->ranks == 1)
		return;
	struct checkpoint_slices *p = arena_alloc(&s->b->plan->arena, sizeof *p);
	p->list = arena_alloc(&s->b->plan->arena, (size_t)m->value_count * sizeof *p->list);
	const int *last = find_reader(s, 0, e->forward, true), *first = find_reader(s, e->forward, e->count, false);
	for (int v = 0; v < m->value_count; v++)
		if (is_shared(s, v) && last[v] >= 0 && first[v] >= 0)
			p->list[p->count++] = (struct kept_slice){v, last[v], first[v], -1};
	s->checkpoint_slices = p;
}

static void keep_slice(struct step *s, struct kept_slice *kept)
{
	struct held *value = &s->value[kept->value].data;
	struct region whole = value->at;
	kept->part = build_alloc(s->b, step_name(s, "part.%s", s->model->values[kept->value].name),
	                         CATEGORY_ACTIVATIONS, step_value_type(s, kept->value), whole.count / s->ranks);
	struct op *op = build_op(s->b, OP_COPY, QUEUE_COMPUTE);
	op->micro = s->micro;
	op->pass = PASS_FORWARD;
	op->operand[COPY_X] = region_slice(whole.buffer, plan_all_axes(s->plan), whole.offset, whole.count);
	op->operand[COPY_Y] = region_whole(s->b, kept->part);
	build_free(s->b, whole.buffer);
	*value = not_held();
}

static void gather_whole(struct step *s, const struct kept_slice *kept)
{
	s->recomputing = true; /* a second copy, with a name of its own */
	step_alloc_value(s, kept->value);
	s->recomputing = false;
	sliced_exchange(s, false, PASS_RECOMPUTE, region_whole(s->b, kept->part), s->value[kept->value].data.at);
	build_free(s->b, kept->part);
}

static void before(struct step *s, int launch)
{
	struct checkpoint_slices *p = s->checkpoint_slices;
	for (int i = 0; p && !s->evaluating && i < p->count; i++)
		if (p->list[i].first == launch)
			gather_whole(s, &p->list[i]);
}

static void after(struct step *s, int launch)
{
	struct checkpoint_slices *p = s->checkpoint_slices;
	for (int i = 0; p && !s->evaluating && i < p->count; i++)
		if (p->list[i].last == launch)
			keep_slice(s, &p->list[i]);
}

const struct keeper keeper_checkpoint_slices = {prepare, before, after};
