/* The same place in two steps of one model. The first rank's kernels of the model, one by one, are in both,
 * and between two of these operations the share of the instants counts. What only one of them has, such as what is
 * computed again for checkpointing, lies between them:
 *
 *     ours    | forward a | forward b |             | backward b | backward a |
 *     other   | forward a | forward b | again a, b  | backward b | backward a |
 */
#include "viz/timeline/timeline.h"

/* A position of ours and the corresponding one. */
struct knot {
	size_t ours, theirs;
};

/* The step of the cursor in which an operation begins, on all ranks that begin it together. */
struct stride {
	size_t before, behind;
};

static bool is_of_the_model(const struct op *op)
{
	return op->kernel >= 0 && op->queue == QUEUE_COMPUTE && (op->pass == PASS_FORWARD || op->pass == PASS_BACKWARD);
}

static bool does_the_same(const struct op *a, const struct op *b)
{
	return a->kind == b->kind && a->pass == b->pass && a->kernel == b->kernel && a->micro == b->micro;
}

/* The first operation of the first rank that does the same; -1: there is none. */
static int twin_of(const struct timeline *s, const struct op *op)
{
	const struct role *role = timeline_role_of(s, 0);
	for (int i = role->step.begin; i < role->step.end; i++)
		if (does_the_same(&role->ops[i], op))
			return i;
	return -1;
}

/* False: it is not recorded. */
static bool find_stride(const struct timeline *s, int op, struct stride *out)
{
	size_t event = s->ranks[0].event[op - timeline_role_of(s, 0)->step.begin];
	if (event == SIZE_MAX)
		return false;
	size_t k = timeline_stop_of(s, STEP_SIZE_ROUND, timeline_position_of(s, event) - 1);
	*out = (struct stride){timeline_stop(s, STEP_SIZE_ROUND, k), timeline_stop(s, STEP_SIZE_ROUND, k + 1)};
	return true;
}

/* Finds the strides of an operation of ours in both steps; false: the other has none like it. */
static bool find_strides(const struct timeline *ours, int op, const struct timeline *other, struct stride *mine,
                         struct stride *theirs)
{
	const struct op *one = &timeline_role_of(ours, 0)->ops[op];
	if (!is_of_the_model(one) || twin_of(ours, one) != op)
		return false;
	int twin = twin_of(other, one);
	return twin >= 0 && find_stride(ours, op, mine) && find_stride(other, twin, theirs);
}

/* The operation behind the last that has begun at a position. */
static int next_op(const struct timeline *s, size_t position)
{
	const struct section *step = &timeline_role_of(s, 0)->step;
	size_t done = position ? s->instants[position - 1].end : 0;
	int next = step->begin;
	for (int i = step->begin; i < step->end; i++) {
		size_t event = s->ranks[0].event[i - step->begin];
		next = event != SIZE_MAX && event < done ? i + 1 : next;
	}
	return next;
}

static size_t between(const struct knot *a, const struct knot *b, size_t position)
{
	if (b->ours <= a->ours || b->theirs <= a->theirs)
		return a->theirs;
	return a->theirs + (position - a->ours) * (b->theirs - a->theirs) / (b->ours - a->ours);
}

/* The last place before a position at which both begin the same, and the next one. */
static void find_knots(const struct timeline *ours, size_t position, const struct timeline *other, struct knot *from,
                       struct knot *to)
{
	const struct section *step = &timeline_role_of(ours, 0)->step;
	struct stride mine, theirs;
	int next = next_op(ours, position), i;
	for (i = next - 1; i >= step->begin; i--)
		if (find_strides(ours, i, other, &mine, &theirs) && mine.behind <= position) {
			*from = (struct knot){mine.behind, theirs.behind};
			break;
		}
	for (i = i < step->begin ? step->begin : i + 1; i < step->end; i++)
		if (find_strides(ours, i, other, &mine, &theirs) && mine.behind > position) {
			*to = (struct knot){mine.before, theirs.before};
			if (position < mine.before)
				return;
			*from = *to;
			*to = (struct knot){mine.behind, theirs.behind};
			return;
		}
}

/* The position at which the first rank enters the update; 0: it never does. */
static size_t begin_of_update(const struct timeline *s)
{
	for (size_t k = s->stop_count[STEP_SIZE_PHASE]; k-- > 0;)
		if (s->phases[k].pass == PASS_UPDATE)
			return s->stops[STEP_SIZE_PHASE][k];
	return 0;
}

size_t timeline_same_place(const struct timeline *ours, size_t position, const struct timeline *other)
{
	struct knot from = {0, 0}, to = {ours->instant_count, other->instant_count},
	            update = {begin_of_update(ours), begin_of_update(other)};
	if (ours == other)
		return position;
	/* With another number of micro-batches, positions correspond by their share of the step. */
	if (!ours->rank_count || !other->rank_count ||
	    ours->plan->settings.accumulate != other->plan->settings.accumulate)
		return between(&from, &to, position);
	if (update.ours && update.theirs)
		*(position < update.ours ? &to : &from) = update;
	if (position < update.ours || !update.ours)
		find_knots(ours, position, other, &from, &to);
	return between(&from, &to, position);
}
