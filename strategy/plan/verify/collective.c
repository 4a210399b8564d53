/* Rules 5 and 6 for collectives: what they make of what the ranks hold. All roles that take part do so at once; within
 * a role every rank holds the same, up to whose slice and whose samples it is. */
#include <stdio.h>

#include "strategy/plan/verify/meaning.h"

static int role_count(const struct at *all)
{
	return all->participants;
}

static unsigned axes_of(const struct at *all)
{
	return op_axes(all->ip->v->p, all->op);
}

static const struct at *at_root(const struct at *all)
{
	const struct plan *p = all->ip->v->p;
	int64_t rank = op_member_rank(p, all->op, all->r->first_rank, all->op->root);
	int i = 0;
	while (i + 1 < all->participants && rank >= all[i].r->first_rank + all[i].r->ranks)
		i++;
	return &all[i];
}

/* ---- sums of gradients ---- */

/* All uses of the group's tensors, where they have as many; 0: they do not. */
static uint64_t every_use(const struct plan *p, int group)
{
	int uses = 0;
	for (int i = 0; group >= 0 && i < p->groups[group].tensor_count; i++) {
		int n = p->model->tensors[p->groups[group].tensors[i]].uses;
		if (uses && n != uses)
			return 0;
		uses = n;
	}
	return (UINT64_C(1) << uses) - 1;
}

/* What every role holds of the whole, added up. */
static enum status add_up(const struct at *all, struct group_part *out)
{
	struct addend addends[ROLES] = {{0}};
	const struct plan *p = all->ip->v->p;
	int n = role_count(all), whole = op_find(all->op->kind, PART_WHOLE);
	char text[200];
	*out = (struct group_part){.kind = MEANING_ZERO, .group = -1};
	for (int i = 0; i < n; i++) {
		struct group_part x;
		enum status s = read_group(&all[i], whole, 5, &x);
		if (s)
			return s;
		if ((x.kind != MEANING_GRADIENT && x.kind != MEANING_ZERO) || x.own & axes_of(all))
			return refuse_at(&all[i], 5, whole,
			                 " must be the whole gradient of a group; only gradients are added up");
		if (x.group >= 0 && x.version != all->ip->step)
			return refuse_at(&all[i], 6, whole,
			                 " is of an earlier step; only this step's gradients are added up");
		if (x.group >= 0 && out->group >= 0 && (x.group != out->group || x.own != out->own))
			return refuse_at(&all[i], 5, whole, " is of another group than what the other role adds");
		if (x.group >= 0 && out->group >= 0 && x.scaled != out->scaled)
			return refuse_at(&all[i], 5, whole,
			                 " carries another loss scale than what the other role adds");
		if (x.group >= 0)
			*out = x;
		addends[i] = (struct addend){x.sum, members_in(p, all[i].op, all[i].r), 0};
	}
	unsigned distinct = axes_of(all) & group_sum_axes(p, out->group);
	for (int i = 0; i < n; i++)
		addends[i].copies = copies_in(p, all[i].op, all[i].r, distinct);
	out->sum = sum_over_group(&all->ip->memory.sums, addends, n, distinct, every_use(p, out->group));
	if (out->sum >= 0)
		return STATUS_OK;
	sum_describe(&all->ip->memory.sums, addends[0].sum, text, sizeof text);
	return refuse_at(&all[0], 5, whole, " holds micro-batches %s; over all ranks %s", text,
	                 out->sum == SUM_TWICE     ? "some would be counted more than once"
	                 : out->sum == SUM_PARTIAL ? "a use of a tensor would still be missing"
	                                           : "some ranks would add theirs and some not");
}

static enum status all_reduce(const struct at *all)
{
	if (sums_a_value(all))
		return sum_value(all);
	struct group_part sum;
	enum status s = add_up(all, &sum);
	for (int i = 0; i < role_count(all) && !s; i++)
		s = write_group(&all[i], ALL_REDUCE_X, &sum, true);
	return s;
}

/* Only a root with a role of its own can be told from the others. */
static enum status reduce(const struct at *all)
{
	struct group_part sum;
	enum status s = add_up(all, &sum);
	for (int i = 0; i < role_count(all) && !s; i++)
		memory_spoil(&all->ip->memory, all[i].role, &all[i].op->operand[REDUCE_X]);
	const struct at *root = at_root(all);
	if (!s && root->r->ranks == 1)
		s = write_group(root, REDUCE_X, &sum, true);
	return s;
}

static enum status reduce_scatter(const struct at *all)
{
	if (sums_a_value(all))
		return sum_value(all);
	struct group_part sum;
	enum status s = add_up(all, &sum);
	if (!s && sum.own)
		return refuse_at(all, 5, REDUCE_SCATTER_X, " is a shard already, and would be sharded again");
	sum.own = axes_of(all);
	for (int i = 0; i < role_count(all) && !s; i++) {
		bool in_place =
		        all[i].op->operand[REDUCE_SCATTER_X].buffer == all[i].op->operand[REDUCE_SCATTER_Y].buffer;
		memory_spoil(&all->ip->memory, all[i].role, &all[i].op->operand[REDUCE_SCATTER_X]);
		s = write_group(&all[i], REDUCE_SCATTER_Y, &sum, in_place);
	}
	return s;
}

/* ---- copies ---- */

/* Slices of a value that is the same on all ranks come together again. */
static bool is_part_of_value(const struct at *a)
{
	const struct region *g = &a->op->operand[ALL_GATHER_X];
	int number = g->slice ? -1 : memory_get(&a->ip->memory, a->role, g);
	return number >= 0 && meaning_of(&a->ip->memory, number)->kind == MEANING_VALUE &&
	       meaning_of(&a->ip->memory, number)->shard;
}

static enum status join_value(const struct at *all)
{
	const struct plan *p = all->ip->v->p;
	struct meaning first = {0};
	for (int i = 0; i < role_count(all); i++) {
		const struct region *g = &all[i].op->operand[ALL_GATHER_X];
		if (!is_part_of_value(&all[i]))
			return refuse_at(&all[i], 7, ALL_GATHER_X, " is not what the other role gives");
		struct meaning x = *meaning_of(&all->ip->memory, memory_get(&all->ip->memory, all[i].role, g));
		int64_t elements = value_elements(&p->model->values[x.index], p->settings.micro_batch);
		if (x.shard != axes_of(all) || x.origin != g->offset || x.micro != all[i].op->micro ||
		    g->count * plan_along(p, x.shard) != elements)
			return refuse_at(&all[i], 7, ALL_GATHER_X,
			                 " must be this rank's slice of a value of micro-batch %d, along the same axes",
			                 all[i].op->micro);
		if (!i)
			first = x;
		else if (x.index != first.index || x.micro != first.micro)
			return refuse_at(&all[i], 7, ALL_GATHER_X, " is not what the other role gives");
	}
	first.shard = 0;
	for (int i = 0; i < role_count(all); i++) {
		first.origin = all[i].op->operand[ALL_GATHER_Y].offset;
		write_meaning(&all[i], ALL_GATHER_Y, first);
	}
	return STATUS_OK;
}

static enum status all_gather(const struct at *all)
{
	if (is_part_of_value(all))
		return join_value(all);
	if (sums_a_value(all))
		return gather_rows(all);
	struct group_part first = {0}, x = {0};
	enum status s = STATUS_OK;
	for (int i = 0; i < role_count(all); i++) {
		if ((s = read_group(&all[i], ALL_GATHER_X, 6, &x)))
			return s;
		if (x.kind == MEANING_ZERO || x.own != axes_of(all))
			return refuse_at(&all[i], 6, ALL_GATHER_X,
			                 " must be this rank's slice of a group along the same axes");
		if (!i)
			first = x;
		else if (x.kind != first.kind || x.group != first.group || x.version != first.version ||
		         x.sum != first.sum || x.scaled != first.scaled)
			return refuse_at(&all[i], 6, ALL_GATHER_X, " is not what the other role gives");
	}
	if (x.kind == MEANING_GRADIENT &&
	    !sum_is_complete(&all->ip->memory.sums, x.sum, (int)all->ip->v->p->settings.accumulate,
	                     group_sum_axes(all->ip->v->p, x.group)))
		return refuse_at(&all[0], 5, ALL_GATHER_X, ": gradients are gathered before they are complete");
	first.own = 0;
	for (int i = 0; i < role_count(all) && !s; i++)
		s = write_group(&all[i], ALL_GATHER_Y, &first, false);
	return s;
}

static enum status broadcast(const struct at *all)
{
	const struct at *root = at_root(all);
	struct group_part x;
	enum status s = read_group(root, BROADCAST_X, 6, &x);
	if (s)
		return s;
	unsigned others = x.own | (x.group >= 0 ? group_slice_axes(all->ip->v->p, x.group) : 0);
	if (others & axes_of(all) || x.kind == MEANING_GRADIENT)
		return refuse_at(
		        root, 6, BROADCAST_X,
		        " must be the same on all ranks once it is sent: weights of a group, not this rank's slice");
	for (int i = 0; i < role_count(all) && !s; i++)
		s = write_group(&all[i], BROADCAST_X, &x, false);
	return s;
}

/* ---- samples ---- */

static enum status check_samples(const struct at *a, int operand, const struct meaning *what, bool wide)
{
	const struct plan *p = a->ip->v->p;
	const struct region *g = &a->op->operand[operand];
	char text[300];
	bool value = what && (what->kind == MEANING_VALUE || what->kind == MEANING_VALUE_GRADIENT);
	if (value && what->wide == wide && what->origin == g->offset &&
	    g->count == value_elements(&p->model->values[what->index],
	                               p->settings.micro_batch * (wide ? plan_data_ranks(p) : 1)))
		return STATUS_OK;
	memory_describe(&a->ip->memory, a->role, g, -1, text, sizeof text);
	return refuse_at(a, 7, operand, " must be one value of %s; %s",
	                 wide ? "all ranks' samples" : "this rank's samples", text);
}

static const struct meaning *samples_of(const struct at *a, int operand)
{
	int number = memory_get(&a->ip->memory, a->role, &a->op->operand[operand]);
	return number < 0 ? NULL : meaning_of(&a->ip->memory, number);
}

static enum status scatter(const struct at *all)
{
	const struct at *root = at_root(all);
	const struct meaning *x = samples_of(root, SCATTER_X);
	enum status s = check_samples(root, SCATTER_X, x, true);
	if (s)
		return s;
	struct meaning what = *x;
	if ((what.kind == MEANING_VALUE_GRADIENT) != (root->op->traffic == TRAFFIC_SCATTER_OUTPUT_GRADIENTS))
		return refuse_at(root, 2, SCATTER_X, " is counted as %s, and is not that",
		                 traffic_name(root->op->traffic));
	what.wide = false;
	for (int i = 0; i < role_count(all); i++) {
		what.origin = all[i].op->operand[SCATTER_Y].offset;
		if (all[i].op->operand[SCATTER_Y].slice)
			return refuse_at(&all[i], 2, SCATTER_Y,
			                 " is a slice; samples are received in a region of their own");
		write_meaning(&all[i], SCATTER_Y, what);
	}
	return STATUS_OK;
}

static enum status gather(const struct at *all)
{
	const struct at *root = at_root(all);
	struct meaning first = {0};
	for (int i = 0; i < role_count(all); i++) {
		const struct meaning *x = samples_of(&all[i], GATHER_X);
		enum status s = check_samples(&all[i], GATHER_X, x, false);
		if (s)
			return s;
		if (!i)
			first = *x;
		else if (x->kind != first.kind || x->index != first.index || x->micro != first.micro ||
		         x->consumers != first.consumers || x->scaled != first.scaled)
			return refuse_at(&all[i], 7, GATHER_X, " is not what the other role gives");
	}
	first.wide = true;
	first.origin = root->op->operand[GATHER_Y].offset;
	write_meaning(root, GATHER_Y, first);
	return check_samples(root, GATHER_Y, &first, true);
}

/* ---- control values ---- */

static enum status sum(const struct at *all)
{
	struct memory *m = &all->ip->memory;
	const struct plan *p = all->ip->v->p;
	struct addend addends[ROLES];
	int n = role_count(all), scaled = 0;
	enum meaning_kind kind = MEANING_ZERO;
	for (int i = 0; i < n; i++) {
		int number = memory_get(m, all[i].role, &all[i].op->operand[SUM_X]);
		const struct meaning *x = meaning_of(m, number < 0 ? 0 : number);
		bool zero = x->kind == MEANING_ZERO; /* a role that has nothing to add */
		bool known =
		        (x->kind == MEANING_LOSS || x->kind == MEANING_NORM || x->kind == MEANING_OVERFLOW || zero) &&
		        all[i].op->operand[SUM_X].count == 1;
		if (!known || (!zero && kind != MEANING_ZERO && (x->kind != kind || x->scaled != scaled)))
			return refuse_at(&all[i], 5, SUM_X,
			                 " must be a loss, a norm or an overflow of this step, the same on all roles");
		kind = zero ? kind : x->kind;
		scaled = zero ? scaled : x->scaled;
		addends[i].sum = zero ? 0 : x->sum;
	}
	/* Of norm and overflow, every slice is a rank's own along its axes; of the loss, every sample. */
	unsigned distinct = axes_of(all) & (kind == MEANING_LOSS ? plan_data_axes(p) : plan_all_axes(p));
	for (int i = 0; i < n; i++) {
		addends[i].members = members_in(p, all[i].op, all[i].r);
		addends[i].copies = copies_in(p, all[i].op, all[i].r, distinct);
	}
	int total = kind == MEANING_ZERO ? SUM_MIXED : sum_over_group(&m->sums, addends, n, distinct, 0);
	if (total < 0)
		return refuse_at(&all[0], 5, 0,
		                 ": over all ranks some of it would be counted more than once, or not at all");
	for (int i = 0; i < n; i++)
		write_meaning(&all[i], 0, (struct meaning){.kind = kind, .sum = total, .scaled = scaled});
	return STATUS_OK;
}

/* ---- messages ---- */

/* One end has it, and the other has it then: a value of the samples at hand, or its gradient. */
static enum status message(const struct at *all)
{
	const struct at *from = all->op->kind == OP_SEND ? &all[0] : &all[1], *to = from == all ? &all[1] : &all[0];
	const struct meaning *x = samples_of(from, SEND_X);
	enum status s = check_samples(from, SEND_X, x, false);
	if (s)
		return s;
	struct meaning what = *x;
	if ((what.kind == MEANING_VALUE_GRADIENT) != (from->op->traffic == TRAFFIC_ACTIVATION_GRADIENTS))
		return refuse_at(from, 2, SEND_X, " is counted as %s, and is not that",
		                 traffic_name(from->op->traffic));
	if (what.micro != from->op->micro)
		return refuse_at(from, 7, SEND_X, " is of micro-batch %d, and the message of %d", what.micro,
		                 from->op->micro);
	what.origin = to->op->operand[RECEIVE_Y].offset;
	write_meaning(to, RECEIVE_Y, what);
	return STATUS_OK;
}

static enum status move(const struct at *all)
{
	if (op_is_message(all->op->kind))
		return message(all);
	if (is_norm_collective(all->op))
		return mean_norm_collective(all);
	switch (all->op->kind) {
	case OP_ALL_REDUCE:
		return all_reduce(all);
	case OP_ALL_REDUCE_MAXIMUM:
		return sum_value(all);
	case OP_REDUCE_SCATTER:
		return reduce_scatter(all);
	case OP_ALL_GATHER:
		return all_gather(all);
	case OP_BROADCAST:
		return broadcast(all);
	case OP_REDUCE:
		return reduce(all);
	case OP_SCATTER:
		return scatter(all);
	case OP_GATHER:
		return gather(all);
	default:
		return sum(all);
	}
}

enum status mean_collective(const struct at *all)
{
	int staging = op_find(all->op->kind, PART_STAGING);
	for (int i = 0; i < role_count(all) && staging >= 0; i++)
		if (all[i].op->operand[staging].buffer >= 0)
			write_meaning(&all[i], staging, (struct meaning){.kind = MEANING_SPOILED});
	return move(all);
}
