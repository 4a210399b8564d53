/* Activation checkpointing, except for recomputing. strategy/plan/checkpoints.h says which values are kept
 * and which kernels run again, and execution.c when; the rest of the step reads those tables.
 *
 *     contiguous_memory_optimization     the checkpoints that this role's kernels make and read share one buffer, which
 *                                        lives from the first to the last of them. A checkpoint that goes to the next
 *                                        stage has a buffer of its own.
 *     synchronize_checkpoint_boundary    at the beginning of a segment, and of its recomputation, every queue waits for
 *                                        all others, as DeepSpeed synchronises the device there.
 *     partition_activations              checkpoints in slices, as in ZeRO (Rajbhandari et al. 2020, arXiv 1910.02054,
 *                                        section 6.1). The ranks of a tensor group hold the same block inputs. Each
 *                                        keeps a slice, and they are brought together before the block is recomputed:
 *
 *     forward     x ─► kernels of the block; copy of this rank's slice of x ─► part; x is freed
 *     backward    part ─ all-gather ─► x ─► the kernels once more, and backward
 *
 * so of a checkpoint 1/t stays on each of t ranks, for one all-gather more a block.
 */
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

/* ---- in one buffer ---- */

static bool in_block(const struct step *s, int value)
{
	return s->block.place && !s->evaluating && s->block.place[value] >= 0;
}

static bool is_read_after(const struct model *m, int value, int kernel)
{
	for (int i = kernel; i < m->kernel_count; i++) {
		struct kernel_reads reads = kernel_reads(&m->kernels[i], PASS_FORWARD);
		for (int r = 0; r < 4; r++)
			if (reads.value[r] == value)
				return true;
	}
	return false;
}

static void prepare_block(struct step *s)
{
	const struct model *m = s->model;
	struct arena *a = s->scratch;
	struct checkpoint_block *b = &s->block;
	if (!s->checkpointing.contiguous)
		return;
	b->place = arena_alloc(a, (size_t)m->value_count * sizeof *b->place);
	b->micro = arena_alloc(a, (size_t)s->settings->accumulate * sizeof *b->micro);
	for (int v = 0; v < m->value_count; v++) {
		int producer = m->values[v].producer;
		b->place[v] = -1;
		if (!s->checkpoints.checkpoint[v] || producer < s->kernel_begin || producer >= s->kernel_end ||
		    is_read_after(m, v, s->kernel_end) || step_value_room(s, v) != step_value_elements(s, v))
			continue;
		b->place[v] = b->elements;
		b->elements += step_value_elements(s, v);
		b->count++;
	}
}

bool checkpoint_place(struct step *s, int value)
{
	struct checkpoint_block *b = &s->block;
	if (s->recomputing || !in_block(s, value))
		return false;
	if (!b->micro[s->micro].left) {
		b->micro[s->micro].buffer = build_alloc(s->b, step_name(s, "checkpoints"), CATEGORY_ACTIVATIONS,
		                                        step_value_type(s, value), b->elements);
		b->micro[s->micro].left = b->count;
	}
	step_move_value(s, value, region_of(b->micro[s->micro].buffer, b->place[value], step_value_elements(s, value)));
	return true;
}

void checkpoint_leave(struct step *s, int value)
{
	if (!s->value[value].data.owned && in_block(s, value) && !--s->block.micro[s->micro].left)
		build_free(s->b, s->block.micro[s->micro].buffer);
}

/* ---- boundaries ---- */

static void pass_boundary(struct step *s, int launch)
{
	const struct launch *t = &s->execution.launches[launch], *before = launch ? t - 1 : NULL;
	int segment = s->checkpoints.segment[t->kernel];
	if (!s->checkpointing.synchronize || segment < 0 || t->pass == PASS_BACKWARD || s->evaluating ||
	    (before && before->pass == t->pass && s->checkpoints.segment[before->kernel] == segment))
		return;
	for (int of = 0; of < QUEUE_COUNT; of++)
		for (int on = 0; on < QUEUE_COUNT; on++)
			if (of != on)
				build_wait_all(s->b, (enum queue)of, (enum queue)on);
}

/* ---- in slices ---- */

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

static void prepare_slices(struct step *s)
{
	const struct model *m = s->model;
	const struct execution *e = &s->execution;
	if (!s->checkpointing.partition || s->ranks == 1)
		return;
	struct checkpoint_slices *p = arena_alloc(s->scratch, sizeof *p);
	p->list = arena_alloc(s->scratch, (size_t)m->value_count * sizeof *p->list);
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

/* ---- around each launch ---- */

static void prepare(struct step *s)
{
	prepare_block(s);
	prepare_slices(s);
}

static void before(struct step *s, int launch)
{
	struct checkpoint_slices *p = s->checkpoint_slices;
	pass_boundary(s, launch);
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

const struct keeper keeper_checkpointing = {prepare, before, after};
