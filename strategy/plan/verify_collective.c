/* Rules 5 and 6 for collectives: what they make of what the ranks hold. All roles take part at once; within a role
 * every rank holds the same, up to whose slice and whose samples it is. */
#include <stdio.h>

#include "strategy/plan/verify_meaning.h"

static int role_count(const struct at *all)
{
	return all->ip->v->p->role_count;
}

static const struct at *at_root(const struct at *all)
{
	int i = 0;
	while (all[i].op->root >= all[i].r->first_rank + all[i].r->ranks)
		i++;
	return &all[i];
}

/* ---- sums of gradients ---- */

/* What every role holds of the whole, added up. */
static enum status add_up(const struct at *all, struct group_part *out)
{
	int64_t ranks[ROLES] = {0};
	int sum[ROLES] = {0}, n = role_count(all);
	char text[200];
	*out = (struct group_part){.kind = MEANING_ZERO, .group = -1};
	for (int i = 0; i < n; i++) {
		struct group_part x;
		enum status s = read_group(&all[i], 0, 5, &x);
		if (s)
			return s;
		if ((x.kind != MEANING_GRADIENT && x.kind != MEANING_ZERO) || x.own)
			return refuse_at(&all[i], 5, 0,
			                 " must be the whole gradient of a group; only gradients are added up");
		if (x.group >= 0 && out->group >= 0 && x.group != out->group)
			return refuse_at(&all[i], 5, 0, " is of another group than what the other role adds");
		if (x.group >= 0 && out->group >= 0 && x.scaled != out->scaled)
			return refuse_at(&all[i], 5, 0, " carries another loss scale than what the other role adds");
		if (x.group >= 0)
			*out = x;
		sum[i] = x.sum;
		ranks[i] = all[i].r->ranks;
	}
	out->sum = sum_over_ranks(&all->ip->memory.sums, sum, ranks, n);
	if (out->sum >= 0)
		return STATUS_OK;
	sum_describe(&all->ip->memory.sums, sum[0], text, sizeof text);
	return refuse_at(&all[0], 5, 0, " holds micro-batches %s; over all ranks %s", text,
	                 out->sum == SUM_TWICE     ? "some would be counted more than once"
	                 : out->sum == SUM_PARTIAL ? "a use of a tensor would still be missing"
	                                           : "some ranks would add theirs and some not");
}

static enum status all_reduce(const struct at *all)
{
	struct group_part sum;
	enum status s = add_up(all, &sum);
	for (int i = 0; i < role_count(all) && !s; i++)
		s = write_group(&all[i], 0, &sum, true);
	return s;
}

/* Only a root with a role of its own can be told from the others. */
static enum status reduce(const struct at *all)
{
	struct group_part sum;
	enum status s = add_up(all, &sum);
	for (int i = 0; i < role_count(all) && !s; i++)
		memory_spoil(&all->ip->memory, i, &all[i].op->operand[0]);
	const struct at *root = at_root(all);
	if (!s && root->r->ranks == 1)
		s = write_group(root, 0, &sum, true);
	return s;
}

static enum status reduce_scatter(const struct at *all)
{
	struct group_part sum;
	enum status s = add_up(all, &sum);
	sum.own = true;
	for (int i = 0; i < role_count(all) && !s; i++) {
		bool in_place = all[i].op->operand[0].buffer == all[i].op->operand[1].buffer;
		memory_spoil(&all->ip->memory, i, &all[i].op->operand[0]);
		s = write_group(&all[i], 1, &sum, in_place);
	}
	return s;
}

/* ---- copies ---- */

static enum status all_gather(const struct at *all)
{
	struct group_part first = {0}, x = {0};
	enum status s = STATUS_OK;
	for (int i = 0; i < role_count(all); i++) {
		if ((s = read_group(&all[i], 0, 6, &x)))
			return s;
		if (x.kind == MEANING_ZERO || !x.own)
			return refuse_at(&all[i], 6, 0, " must be this rank's slice of a group");
		if (!i)
			first = x;
		else if (x.kind != first.kind || x.group != first.group || x.version != first.version ||
		         x.sum != first.sum || x.scaled != first.scaled)
			return refuse_at(&all[i], 6, 0, " is not what the other role gives");
	}
	if (x.kind == MEANING_GRADIENT &&
	    !sum_is_complete(&all->ip->memory.sums, x.sum, (int)all->ip->v->p->settings.accumulate,
	                     all->ip->v->p->ranks))
		return refuse_at(&all[0], 5, 0, ": gradients are gathered before they are complete");
	first.own = false;
	for (int i = 0; i < role_count(all) && !s; i++)
		s = write_group(&all[i], 1, &first, false);
	return s;
}

static enum status broadcast(const struct at *all)
{
	const struct at *root = at_root(all);
	struct group_part x;
	enum status s = read_group(root, 0, 6, &x);
	if (s)
		return s;
	if (x.own || x.kind == MEANING_GRADIENT)
		return refuse_at(root, 6, 0,
		                 " must be the same on all ranks once it is sent: whole weights of a group");
	for (int i = 0; i < role_count(all) && !s; i++)
		s = write_group(&all[i], 0, &x, false);
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
	    g->count == p->model->values[what->index].elements * p->settings.micro_batch * (wide ? p->ranks : 1))
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
	const struct meaning *x = samples_of(root, 0);
	enum status s = check_samples(root, 0, x, true);
	if (s)
		return s;
	struct meaning what = *x;
	if ((what.kind == MEANING_VALUE_GRADIENT) != (root->op->traffic == TRAFFIC_SCATTER_OUTPUT_GRADIENTS))
		return refuse_at(root, 2, 0, " is counted as %s, and is not that", traffic_name(root->op->traffic));
	what.wide = false;
	for (int i = 0; i < role_count(all); i++) {
		what.origin = all[i].op->operand[1].offset;
		if (all[i].op->operand[1].slice)
			return refuse_at(&all[i], 2, 1, " is a slice; samples are received in a region of their own");
		write_meaning(&all[i], 1, what);
	}
	return STATUS_OK;
}

static enum status gather(const struct at *all)
{
	const struct at *root = at_root(all);
	struct meaning first = {0};
	for (int i = 0; i < role_count(all); i++) {
		const struct meaning *x = samples_of(&all[i], 0);
		enum status s = check_samples(&all[i], 0, x, false);
		if (s)
			return s;
		if (!i)
			first = *x;
		else if (x->kind != first.kind || x->index != first.index || x->micro != first.micro ||
		         x->consumers != first.consumers || x->scaled != first.scaled)
			return refuse_at(&all[i], 7, 0, " is not what the other role gives");
	}
	first.wide = true;
	first.origin = root->op->operand[1].offset;
	write_meaning(root, 1, first);
	return check_samples(root, 1, &first, true);
}

/* ---- control values ---- */

static enum status sum(const struct at *all)
{
	struct memory *m = &all->ip->memory;
	int64_t ranks[ROLES] = {0};
	int sums[ROLES] = {0}, n = role_count(all);
	enum meaning_kind kind = MEANING_UNDEFINED;
	int scaled = 0;
	for (int i = 0; i < n; i++) {
		int number = memory_get(m, i, &all[i].op->operand[0]);
		const struct meaning *x = meaning_of(m, number < 0 ? 0 : number);
		bool known = (x->kind == MEANING_LOSS || x->kind == MEANING_NORM || x->kind == MEANING_OVERFLOW) &&
		             all[i].op->operand[0].count == 1;
		if (!known || (i && (x->kind != kind || x->scaled != scaled)))
			return refuse_at(&all[i], 5, 0,
			                 " must be a loss, a norm or an overflow of this step, the same on all roles");
		kind = x->kind;
		scaled = x->scaled;
		sums[i] = x->sum;
		ranks[i] = all[i].r->ranks;
	}
	int total = sum_over_ranks(&m->sums, sums, ranks, n);
	if (total < 0)
		return refuse_at(&all[0], 5, 0,
		                 ": over all ranks some of it would be counted more than once, or not at all");
	for (int i = 0; i < n; i++)
		write_meaning(&all[i], 0, (struct meaning){.kind = kind, .sum = total, .scaled = scaled});
	return STATUS_OK;
}

static enum status move(const struct at *all)
{
	switch (all->op->kind) {
	case OP_ALL_REDUCE:
		return all_reduce(all);
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
	int staging = collective_staging(all->op->kind);
	for (int i = 0; i < role_count(all) && staging >= 0; i++)
		if (all[i].op->operand[staging].buffer >= 0)
			write_meaning(&all[i], staging, (struct meaning){.kind = MEANING_SPOILED});
	return move(all);
}
