/* Rules 5 and 6 for vector operations: initial state, the optimizer, and what is shown at the end. */
#include <stdio.h>

#include "strategy/plan/verify/meaning.h"

/* A step counter; zeros are one that was never advanced. */
static enum status read_counter(const struct at *a, int operand, int advanced)
{
	const struct memory *m = &a->ip->memory;
	int number = memory_get(m, a->role, &a->op->operand[operand]);
	char text[300];
	if (number >= 0) {
		const struct meaning *what = meaning_of(m, number);
		if ((what->kind == MEANING_ZERO && !advanced) ||
		    (what->kind == MEANING_COUNTER && what->version == advanced))
			return STATUS_OK;
	}
	memory_describe(m, a->role, &a->op->operand[operand], -1, text, sizeof text);
	return refuse_at(a, 6, operand, " must be the step counter, advanced %d times; %s", advanced, text);
}

static enum status initialize(const struct at *a)
{
	const struct plan *p = a->ip->v->p;
	unsigned own = op_shard_axes(p, a->op) | a->op->operand[0].slice;
	if (plan_along(p, own) == 1)
		own = 0;
	return write_group(a, 0, &(struct group_part){.kind = MEANING_WEIGHTS, .group = a->op->group, .own = own},
	                   false);
}

static enum status load(const struct at *a)
{
	const struct model *m = a->ip->v->p->model;
	enum status s = read_counter(a, 2, a->ip->reads);
	for (int i = 0; i < 2 && !s; i++)
		if (a->op->operand[i].buffer >= 0)
			write_meaning(a, i,
			              (struct meaning){.kind = MEANING_VALUE,
			                               .index = i ? m->target : m->input,
			                               .micro = a->op->micro,
			                               .wide = a->op->wide,
			                               .origin = a->op->operand[i].offset});
	return s;
}

/* y += x, of gradients: their contributions must not overlap. */
static enum status add(const struct at *a)
{
	struct group_part x, y;
	enum status s;
	if ((s = read_group(a, 0, 5, &x)) || (s = read_group(a, 1, 5, &y)))
		return s;
	bool sums = (x.kind == MEANING_GRADIENT || x.kind == MEANING_ZERO) &&
	            (y.kind == MEANING_GRADIENT || y.kind == MEANING_ZERO);
	if (!sums || (x.group >= 0 && y.group >= 0 && (x.group != y.group || x.own != y.own)))
		return refuse_at(a, 5, 0, " and y must be gradients of the same part of one group");
	if (x.group < 0 || y.group < 0)
		return x.group < 0 ? STATUS_OK : write_group(a, 1, &x, false);
	if (x.scaled != y.scaled)
		return refuse_at(a, 5, 0, " and y carry different loss scales");
	if (x.version != y.version)
		return refuse_at(a, 6, 0, " and y are gradients of different steps");
	y.sum = sum_merge(&a->ip->memory.sums, x.sum, y.sum);
	if (y.sum < 0)
		return refuse_at(a, 5, 0, " holds contributions that y has already, or has in part");
	return write_group(a, 1, &y, true);
}

/* This rank's slice of a value that is the same on all ranks of those axes. */
static bool cut_value(const struct at *a)
{
	const struct plan *p = a->ip->v->p;
	struct region whole = a->op->operand[0];
	unsigned axes = whole.slice;
	whole.slice = 0;
	int number = memory_get(&a->ip->memory, a->role, &whole);
	if (number < 0 || !axes || axes & plan_data_axes(p) || a->op->operand[1].slice)
		return false;
	struct meaning what = *meaning_of(&a->ip->memory, number);
	const struct value *v = &p->model->values[what.kind == MEANING_VALUE ? what.index : 0];
	if (what.kind != MEANING_VALUE || what.form != FORM_WHOLE || what.shard || what.wide || v->sliced ||
	    v->spread || what.origin != whole.offset || whole.count != value_elements(v, p->settings.micro_batch))
		return false;
	what.shard = axes;
	what.origin = a->op->operand[1].offset;
	write_meaning(a, 1, what);
	return true;
}

static enum status copy(const struct at *a)
{
	struct memory *m = &a->ip->memory;
	int number = memory_get(m, a->role, &a->op->operand[0]);
	if (number >= 0 && !a->op->operand[1].slice && !a->op->operand[0].slice) {
		struct meaning what = *meaning_of(m, number);
		if (meaning_has_places(what.kind))
			what.origin += a->op->operand[1].offset - a->op->operand[0].offset;
		write_meaning(a, 1, what);
		return STATUS_OK;
	}
	if (cut_value(a))
		return STATUS_OK;
	struct group_part x;
	enum status s = read_group(a, 0, 7, &x);
	return s ? s : write_group(a, 1, &x, false);
}

/* What one operation finds in a group's gradients joins what others have found in other groups. */
static enum status join_group(const struct at *a, struct meaning now, int group, unsigned axes, const char *what)
{
	struct memory *m = &a->ip->memory;
	if (a->op->accumulate >> 1 & 1) {
		int number = memory_get(m, a->role, &a->op->operand[1]);
		struct meaning there = *meaning_of(m, number < 0 ? 0 : number);
		bool same = there.kind == now.kind && there.scaled == now.scaled;
		if (!same && there.kind != MEANING_ZERO)
			return refuse_at(a, 5, 1, " is added to, and must hold %s of other groups", what);
		now.sum = same ? there.sum : 0;
	}
	now.sum = sum_add(&m->sums, now.sum, group, 0, 1, axes);
	if (now.sum < 0)
		return refuse_at(a, 5, 1, ": %s of %s are in there already", what, a->ip->v->p->groups[group].name);
	write_meaning(a, 1, now);
	return STATUS_OK;
}

static enum status squares(const struct at *a)
{
	struct group_part x;
	enum status s = read_gradient_complete(a, 0, &x);
	if (s)
		return s;
	struct meaning now = {.kind = MEANING_NORM, .scaled = x.scaled};
	return join_group(a, now, x.group,
	                  plan_all_axes(a->ip->v->p) & ~(x.own | group_slice_axes(a->ip->v->p, x.group)),
	                  "the squares");
}

/* One rank alone may speak for all where it has the whole gradients: among several, each knows of itself only, and the
 * flag is the same on all of them when they have heard of each other. */
static enum status overflow(const struct at *a)
{
	struct group_part x;
	enum status s = read_gradient_complete(a, 0, &x);
	if (s)
		return s;
	return join_group(a, (struct meaning){.kind = MEANING_OVERFLOW}, x.group,
	                  !x.own && a->r->ranks == 1 ? plan_all_axes(a->ip->v->p) : 0, "the overflows");
}

/* Is the operand a sum of this kind over all groups and all ranks, of gradients with this loss scale? */
static bool holds_all_groups(const struct at *a, int operand, enum meaning_kind kind, int scaled)
{
	const struct memory *m = &a->ip->memory;
	const struct plan *p = a->ip->v->p;
	int number = memory_get(m, a->role, &a->op->operand[operand]);
	return number >= 0 && meaning_of(m, number)->kind == kind && meaning_of(m, number)->scaled == scaled &&
	       sum_is_complete(&m->sums, meaning_of(m, number)->sum, p->group_count, plan_all_axes(p));
}

static enum status read_norm(const struct at *a, int operand, int scaled)
{
	char text[300];
	if (holds_all_groups(a, operand, MEANING_NORM, scaled))
		return STATUS_OK;
	memory_describe(&a->ip->memory, a->role, &a->op->operand[operand], -1, text, sizeof text);
	return refuse_at(a, 5, operand,
	                 " must be the squares of all groups, each once, over all ranks; %s; add up every group, and "
	                 "sum over ranks that hold slices",
	                 text);
}

static enum status read_overflow(const struct at *a, int operand)
{
	char text[300];
	if (holds_all_groups(a, operand, MEANING_OVERFLOW, 0))
		return STATUS_OK;
	memory_describe(&a->ip->memory, a->role, &a->op->operand[operand], -1, text, sizeof text);
	return refuse_at(a, 6, operand,
	                 " must say of all groups, each once, and of all ranks, whether the update is skipped; %s; "
	                 "look at every group, and sum over the ranks",
	                 text);
}

/* Moments and master weights are of the same part, as old as the parameters. Moments begin as zeros. */
static enum status read_optimizer_state(const struct at *a, int operand, enum meaning_kind kind,
                                        const struct group_part *parameters)
{
	struct group_part x;
	char text[300];
	enum status s = read_group(a, operand, 6, &x);
	if (s)
		return s;
	bool fresh = x.kind == MEANING_ZERO && kind != MEANING_WEIGHTS && a->ip->reads == 0;
	bool right =
	        x.kind == kind && x.group == parameters->group && x.own == parameters->own && x.version == a->ip->reads;
	if (fresh || right)
		return STATUS_OK;
	memory_describe(&a->ip->memory, a->role, &a->op->operand[operand], -1, text, sizeof text);
	return refuse_at(a, 6, operand, " must be of the same part of %s as the parameters, version %d; %s",
	                 a->ip->v->p->groups[parameters->group].name, a->ip->reads, text);
}

/* norm, scaler, overflow: what the update multiplies gradients by, and whether it happens. A loss scale comes out again
 * here, and nowhere else. */
static enum status read_range(const struct at *a, int norm, int scaled)
{
	int scaler = norm + 1, flag = norm + 2;
	enum status s;
	if (a->op->operand[norm].buffer >= 0 && (s = read_norm(a, norm, scaled)))
		return s;
	if (a->op->operand[scaler].buffer >= 0 && (s = read_scaler(a, scaler)))
		return s;
	if (scaled != (a->op->operand[scaler].buffer >= 0 ? a->ip->step : 0))
		return refuse_at(a, 5, 1,
		                 " carries the loss scale of step %d (0: none), and the update takes out that of "
		                 "operand scaler; scale in the classifier what the update unscales, by one scaler",
		                 scaled);
	return a->op->operand[flag].buffer >= 0 ? read_overflow(a, flag) : STATUS_OK;
}

static enum status optimize(const struct at *a)
{
	static const enum meaning_kind moments[] = {MEANING_FIRST_MOMENT, MEANING_SECOND_MOMENT};
	bool adam = a->op->kind == OP_ADAMW;
	int master = adam ? 4 : 2;
	int source = op_access(a->op, 0) == 'w' ? master : 0; /* on the host, parameters may be made anew from master */
	struct group_part parameters, gradients;
	enum status s;
	if ((s = read_group(a, source, 6, &parameters)))
		return s;
	if (parameters.kind != MEANING_WEIGHTS || parameters.version != a->ip->reads)
		return refuse_at(a, 6, source,
		                 " must be weights of version %d, and %s version %d; each part is updated once a step",
		                 a->ip->reads, parameters.kind == MEANING_WEIGHTS ? "is" : "is not weights;",
		                 parameters.version);
	if ((s = read_gradient_complete(a, 1, &gradients)))
		return s;
	if (gradients.own != parameters.own || gradients.group != parameters.group)
		return refuse_at(a, 5, 1, " is of another part of the group than the parameters");
	for (int i = 2; i < master; i++)
		if ((s = read_optimizer_state(a, i, moments[i - 2], &parameters)))
			return s;
	if (a->op->operand[master].buffer >= 0 && (s = read_optimizer_state(a, master, MEANING_WEIGHTS, &parameters)))
		return s;
	if ((s = read_counter(a, master + 1, a->ip->step - verify_lag(a->ip->v))) ||
	    (s = read_range(a, master + 2, gradients.scaled)))
		return s;
	parameters.version = a->ip->step;
	if ((s = write_group(a, 0, &parameters, false)))
		return s;
	if (a->op->operand[master].buffer >= 0 && (s = write_group(a, master, &parameters, false)))
		return s;
	for (int i = 2; i < master && !s; i++) {
		parameters.kind = moments[i - 2];
		s = write_group(a, i, &parameters, false);
	}
	return s;
}

static enum status advance(const struct at *a)
{
	enum status s = read_counter(a, 0, a->ip->reads);
	if (!s)
		write_meaning(a, 0, (struct meaning){.kind = MEANING_COUNTER, .version = a->ip->step});
	return s;
}

static enum status update_scaler(const struct at *a)
{
	enum status s = read_scaler(a, 0);
	if (s || (s = read_overflow(a, 1)))
		return s;
	write_meaning(a, 0, loss_scale(a, 0, a->ip->step));
	return STATUS_OK;
}

static enum status show(const struct at *a)
{
	struct group_part x;
	enum status s = read_group(a, 0, 6, &x);
	if (s)
		return s;
	if (x.kind != MEANING_WEIGHTS || x.version != a->ip->reads)
		return refuse_at(a, 6, 0, " must be the weights as the last step left them");
	/* Slices along the axis that divides the roles are whole when every role shows its own. */
	const struct plan *p = a->ip->v->p;
	if (x.own & 1 && p->role_count > 1)
		a->ip->shown_own[a->role][x.group]++;
	else
		a->ip->shown_whole[a->role][x.group] +=
		        a->r->ranks / plan_along(p, x.own | group_slice_axes(p, x.group));
	return STATUS_OK;
}

enum status mean_vector(const struct at *a)
{
	switch (a->op->kind) {
	case OP_INITIALIZE:
		return initialize(a);
	case OP_ZERO:
		return write_group(a, 0, &(struct group_part){.kind = MEANING_ZERO}, false);
	case OP_COPY:
		return copy(a);
	case OP_ADD:
		return add(a);
	case OP_LOAD:
		return load(a);
	case OP_SQUARES:
		return squares(a);
	case OP_OVERFLOW:
		return overflow(a);
	case OP_SCALER_BEGIN:
		write_meaning(a, 0, loss_scale(a, 0, 0));
		return STATUS_OK;
	case OP_SCALER_UPDATE:
		return update_scaler(a);
	case OP_ADAMW:
	case OP_SGD:
		return optimize(a);
	case OP_ADVANCE:
		return advance(a);
	case OP_WEIGHTS:
		return show(a);
	case OP_INITIALIZE_BUFFERS:
	case OP_SHOW_BUFFERS:
		return mean_buffers(a);
	default:
		return STATUS_OK;
	}
}
