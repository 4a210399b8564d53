/* Rules 5 and 6 for vector operations: initial state, the optimizer, and what is shown at the end. */
#include "strategy/plan/verify/meaning.h"

/* A step counter; zeros are one that was never advanced. */
static enum status read_counter(const struct at *a, int operand, int advanced)
{
	const struct meaning *what = meaning_at(a, operand);
	if ((what->kind == MEANING_ZERO && !advanced) || (what->kind == MEANING_COUNTER && what->version == advanced))
		return STATUS_OK;
	return refuse_found(a, 6, operand, " must be the step counter, advanced %d times", advanced);
}

static enum status initialize(const struct at *a)
{
	const struct plan *p = a->p;
	struct meaning made = {.kind = MEANING_WEIGHTS, .index = a->op->group};
	made.shard = op_shard_axes(p, a->op) | a->op->operand[INITIALIZE_WEIGHTS].slice;
	if (plan_along(p, made.shard) == 1)
		made.shard = 0;
	return write_group(a, INITIALIZE_WEIGHTS, &made, false);
}

static enum status load(const struct at *a)
{
	const struct model *m = a->p->model;
	enum status s = read_counter(a, LOAD_STEP, a->ip->reads);
	for (int i = 0; i < LOAD_STEP && !s; i++)
		if (a->op->operand[i].buffer >= 0)
			write_meaning(a, i,
			              (struct meaning){.kind = MEANING_VALUE,
			                               .index = i == LOAD_TARGETS ? m->target : m->input,
			                               .micro = a->op->micro,
			                               .all_ranks = a->op->all_ranks,
			                               .origin = a->op->operand[i].offset});
	return s;
}

/* y += x, of gradients: their contributions must not overlap. */
static enum status add(const struct at *a)
{
	struct meaning x, y;
	TRY(read_group(a, ADD_X, 5, &x));
	TRY(read_group(a, ADD_Y, 5, &y));
	bool sums = (x.kind == MEANING_GRADIENT || x.kind == MEANING_ZERO) &&
	            (y.kind == MEANING_GRADIENT || y.kind == MEANING_ZERO);
	if (!sums || (x.index >= 0 && y.index >= 0 && (x.index != y.index || x.shard != y.shard)))
		return refuse_at(a, 5, ADD_X, " and y must be gradients of the same part of one group");
	if (x.index < 0 || y.index < 0)
		return x.index < 0 ? STATUS_OK : write_group(a, ADD_Y, &x, false);
	if (x.scaled != y.scaled)
		return refuse_at(a, 5, ADD_X, " and y carry different loss scales");
	if (x.version != y.version)
		return refuse_at(a, 6, ADD_X, " and y are gradients of different steps");
	y.sum = sum_merge(&a->memory->sums, x.sum, y.sum);
	if (y.sum < 0)
		return refuse_at(a, 5, ADD_X, " holds contributions that y has already, or has in part");
	return write_group(a, ADD_Y, &y, true);
}

/* This rank's slice of a value that is the same on all ranks of those axes. */
static bool slice_value(const struct at *a)
{
	const struct plan *p = a->p;
	struct region whole = a->op->operand[COPY_X];
	unsigned axes = whole.slice;
	whole.slice = 0;
	struct meaning what = *meaning_in(a, &whole);
	if (what.kind != MEANING_VALUE || !axes || axes & plan_data_axes(p) || a->op->operand[COPY_Y].slice)
		return false;
	const struct value *v = &p->model->values[what.index];
	if (what.form != FORM_WHOLE || what.shard || what.all_ranks || v->sliced || v->sequence_parallel ||
	    what.origin != whole.offset || whole.count != value_elements(v, p->settings.micro_batch))
		return false;
	what.shard = axes;
	what.origin = a->op->operand[COPY_Y].offset;
	write_meaning(a, COPY_Y, what);
	return true;
}

static enum status copy(const struct at *a)
{
	struct memory *m = a->memory;
	int number = memory_get(m, a->role, &a->op->operand[COPY_X]);
	if (number >= 0 && !a->op->operand[COPY_Y].slice && !a->op->operand[COPY_X].slice) {
		struct meaning what = *meaning_of(m, number);
		if (meaning_has_places(what.kind))
			what.origin += a->op->operand[COPY_Y].offset - a->op->operand[COPY_X].offset;
		write_meaning(a, COPY_Y, what);
		return STATUS_OK;
	}
	if (slice_value(a))
		return STATUS_OK;
	struct meaning x;
	enum status s = read_group(a, COPY_X, 7, &x);
	return s ? s : write_group(a, COPY_Y, &x, false);
}

/* Adds what is found in a group's gradients to what was found in other groups. */
static enum status squares(const struct at *a)
{
	struct meaning x;
	TRY(read_gradient_complete(a, SQUARES_X, &x));
	struct meaning now = {.kind = MEANING_NORM, .scaled = x.scaled};
	unsigned same = plan_all_axes(a->p) & ~(x.shard | group_slice_axes(a->p, x.index));
	return write_sum(a, SQUARES_NORM, now, "the squares of the groups", "", x.index, 0, 1, same);
}

/* One rank alone may speak for all where it has the whole gradients: among several, each knows of itself only, and the
 * flag is the same on all of them when they have heard of each other. */
static enum status overflow(const struct at *a)
{
	struct meaning x, now = {.kind = MEANING_OVERFLOW};
	enum status s = read_gradient_complete(a, OVERFLOW_X, &x);
	unsigned same = !x.shard && a->r->ranks == 1 ? plan_all_axes(a->p) : 0;
	return s ? s : write_sum(a, OVERFLOW_OVERFLOW, now, "the overflows of the groups", "", x.index, 0, 1, same);
}

/* The norm of gradients with this loss scale, or whether one of them overflowed: over all groups and all ranks. */
static enum status read_over_groups(const struct at *a, int operand, enum meaning_kind kind, int scaled)
{
	const struct meaning *x = meaning_at(a, operand);
	if (x->kind == kind && x->scaled == scaled &&
	    sum_is_complete(&a->memory->sums, x->sum, a->p->group_count, plan_all_axes(a->p)))
		return STATUS_OK;
	if (kind == MEANING_NORM)
		return refuse_found(a, 5, operand,
		                    " must be the squares of all groups, each once, over all ranks (add up every "
		                    "group, and sum over ranks that hold slices)");
	return refuse_found(a, 6, operand,
	                    " must say of all groups, each once, and of all ranks, whether the update is skipped "
	                    "(look at every group, and sum over the ranks)");
}

/* Moments and master weights are of the same part, as old as the parameters. Moments begin as zeros. */
static enum status read_optimizer_state(const struct at *a, int operand, enum meaning_kind kind,
                                        const struct meaning *parameters)
{
	struct meaning x;
	TRY(read_group(a, operand, 6, &x));
	bool fresh = x.kind == MEANING_ZERO && kind != MEANING_WEIGHTS && a->ip->reads == 0;
	bool right = x.kind == kind && x.index == parameters->index && x.shard == parameters->shard &&
	             x.version == a->ip->reads;
	if (fresh || right)
		return STATUS_OK;
	return refuse_found(a, 6, operand, " must be of the same part of %s as the parameters, version %d",
	                    a->p->groups[parameters->index].name, a->ip->reads);
}

/* The operand of an update that is this part; -1: it is absent. */
static int operand_of(const struct at *a, enum part part)
{
	int operand = op_find(a->op->kind, part);
	return operand >= 0 && a->op->operand[operand].buffer >= 0 ? operand : -1;
}

/* Checks the factor of an update's gradients, and whether the update happens. A loss scale is taken out again here, and
 * nowhere else.
 */
static enum status read_range(const struct at *a, int scaled)
{
	int norm = operand_of(a, PART_NORM), scaler = operand_of(a, PART_SCALER);
	int flag = operand_of(a, PART_OVERFLOW), gradients = operand_of(a, PART_GRADIENTS);
	if (norm >= 0)
		TRY(read_over_groups(a, norm, MEANING_NORM, scaled));
	if (scaler >= 0)
		TRY(read_scaler(a, scaler));
	if (scaled != (scaler >= 0 ? a->ip->step : 0))
		return refuse_at(a, 5, gradients,
		                 " carries the loss scale of step %d (0: none), and the update takes out that of "
		                 "operand scaler; scale in the classifier what the update unscales, by one scaler",
		                 scaled);
	return flag >= 0 ? read_over_groups(a, flag, MEANING_OVERFLOW, 0) : STATUS_OK;
}

/* Checks the state that an update keeps beside the parameters. */
static const struct {
	enum part part;
	enum meaning_kind kind;
} states[] = {{PART_FIRST_MOMENT, MEANING_FIRST_MOMENT},
              {PART_SECOND_MOMENT, MEANING_SECOND_MOMENT},
              {PART_MASTER, MEANING_WEIGHTS}};
enum { STATES = sizeof states / sizeof *states };

static enum status read_update(const struct at *a, struct meaning *parameters)
{
	int own = operand_of(a, PART_PARAMETERS), gradient = operand_of(a, PART_GRADIENTS);
	/* on the host, parameters may be made anew from the master weights */
	int source = op_access(a->op, own) == 'w' ? operand_of(a, PART_MASTER) : own;
	struct meaning gradients;
	TRY(read_group(a, source, 6, parameters));
	if (parameters->kind != MEANING_WEIGHTS || parameters->version != a->ip->reads)
		return refuse_at(a, 6, source,
		                 " must be weights of version %d, and %s version %d; each part is updated once a step",
		                 a->ip->reads, parameters->kind == MEANING_WEIGHTS ? "is" : "is not weights;",
		                 parameters->version);
	TRY(read_gradient_complete(a, gradient, &gradients));
	if (gradients.shard != parameters->shard || gradients.index != parameters->index)
		return refuse_at(a, 5, gradient, " is of another part of the group than the parameters");
	for (int i = 0; i < STATES; i++) {
		int operand = operand_of(a, states[i].part);
		if (operand >= 0)
			TRY(read_optimizer_state(a, operand, states[i].kind, parameters));
	}
	TRY(read_counter(a, operand_of(a, PART_COUNTER), a->ip->step - verify_lag(a->ip->v)));
	return read_range(a, gradients.scaled);
}

static enum status optimize(const struct at *a)
{
	struct meaning part;
	TRY(read_update(a, &part));
	part.version = a->ip->step;
	enum status s = write_group(a, operand_of(a, PART_PARAMETERS), &part, false);
	for (int i = 0; i < STATES && !s; i++) {
		int operand = operand_of(a, states[i].part);
		part.kind = states[i].kind;
		if (operand >= 0)
			s = write_group(a, operand, &part, false);
	}
	return s;
}

static enum status advance(const struct at *a)
{
	TRY(read_counter(a, ADVANCE_STEP, a->ip->reads));
	write_meaning(a, ADVANCE_STEP, (struct meaning){.kind = MEANING_COUNTER, .version = a->ip->step});
	return STATUS_OK;
}

static enum status update_scaler(const struct at *a)
{
	enum status s = read_scaler(a, SCALER_UPDATE_SCALER);
	if (s || (s = read_over_groups(a, SCALER_UPDATE_OVERFLOW, MEANING_OVERFLOW, 0)))
		return s;
	write_meaning(a, SCALER_UPDATE_SCALER, loss_scale(a, SCALER_UPDATE_SCALER, a->ip->step));
	return STATUS_OK;
}

static enum status show(const struct at *a)
{
	struct meaning x;
	TRY(read_group(a, WEIGHTS_WEIGHTS, 6, &x));
	if (x.kind != MEANING_WEIGHTS || x.version != a->ip->reads)
		return refuse_at(a, 6, WEIGHTS_WEIGHTS, " must be the weights as the last step left them");
	/* Slices along the axis that divides the roles are whole when every role shows its own. */
	const struct plan *p = a->p;
	if (x.shard & 1 && p->role_count > 1)
		a->ip->shown_own[a->role][x.index]++;
	else
		a->ip->shown_whole[a->role][x.index] +=
		        a->r->ranks / plan_along(p, x.shard | group_slice_axes(p, x.index));
	return STATUS_OK;
}

static enum status zero(const struct at *a)
{
	return write_group(a, ZERO_X, &(struct meaning){.kind = MEANING_ZERO}, false);
}

/* Other software's extra reads are no part of the step's arithmetic. */
static enum status cast(const struct at *a)
{
	if (!a->p->settings.fp8)
		return refuse_op(a, 2, "is for products in fp8, and the plan has none");
	return STATUS_OK;
}

static enum status sweep(const struct at *a)
{
	const int *does = a->p->software.does;
	if (does[SOFTWARE_KERNELS] != KERNELS_EAGER && does[SOFTWARE_ATTENTION] <= ATTENTION_EFFICIENT)
		return refuse_op(a, 2, "is of kernels that are not fused, and the plan's are");
	return STATUS_OK;
}

static enum status begin_scaler(const struct at *a)
{
	write_meaning(a, SCALER_BEGIN_SCALER, loss_scale(a, SCALER_BEGIN_SCALER, 0));
	return STATUS_OK;
}

enum status mean_vector(const struct at *a)
{
	static enum status (*const means[OP_KIND_COUNT])(const struct at *) = {
	        [OP_INITIALIZE] = initialize,
	        [OP_ZERO] = zero,
	        [OP_COPY] = copy,
	        [OP_ADD] = add,
	        [OP_AMAX] = cast,
	        [OP_CAST] = cast,
	        [OP_SWEEP] = sweep,
	        [OP_LOAD] = load,
	        [OP_SQUARES] = squares,
	        [OP_OVERFLOW] = overflow,
	        [OP_SCALER_BEGIN] = begin_scaler,
	        [OP_SCALER_UPDATE] = update_scaler,
	        [OP_ADAMW] = optimize,
	        [OP_SGD] = optimize,
	        [OP_ADVANCE] = advance,
	        [OP_WEIGHTS] = show,
	        [OP_SAVE] = mean_save,
	        [OP_RESTORE] = mean_restore,
	        [OP_INITIALIZE_BUFFERS] = mean_buffers,
	        [OP_SHOW_BUFFERS] = mean_buffers,
	};
	return means[a->op->kind](a);
}
