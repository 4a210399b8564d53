/* Rules 5 and 6 for collectives: what they make of what the ranks hold. All roles that take part do so at once; within
 * a role every rank holds the same, up to whose slice and whose samples it is. */
#include "strategy/plan/verify/meaning.h"

static unsigned axes_of(const struct at *all)
{
	return op_axes(all->p, all->op);
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

/* Adds up what every role holds of the whole. */
static enum status add_up(const struct at *all, struct meaning *out)
{
	struct addend addends[ROLES] = {{0}};
	const struct plan *p = all->p;
	int n = all->participants, whole = op_find(all->op->kind, PART_WHOLE);
	char text[200];
	*out = (struct meaning){.kind = MEANING_ZERO, .index = -1};
	for (int i = 0; i < n; i++) {
		struct meaning x;
		TRY(read_group(&all[i], whole, 5, &x));
		if ((x.kind != MEANING_GRADIENT && x.kind != MEANING_ZERO) || x.shard & axes_of(all))
			return refuse_at(&all[i], 5, whole,
			                 " must be the whole gradient of a group; only gradients are added up");
		if (x.index >= 0 && x.version != all->ip->step)
			return refuse_at(&all[i], 6, whole,
			                 " is of an earlier step; only this step's gradients are added up");
		if (x.index >= 0 && out->index >= 0 && (x.index != out->index || x.shard != out->shard))
			return refuse_at(&all[i], 5, whole, " is of another group than what the other role adds");
		if (x.index >= 0 && out->index >= 0 && x.scaled != out->scaled)
			return refuse_at(&all[i], 5, whole,
			                 " carries another loss scale than what the other role adds");
		if (x.index >= 0)
			*out = x;
		addends[i] = (struct addend){x.sum, members_in(p, all[i].op, all[i].r), 0};
	}
	unsigned distinct = axes_of(all) & group_sum_axes(p, out->index);
	for (int i = 0; i < n; i++)
		addends[i].copies = copies_in(p, all[i].op, all[i].r, distinct);
	out->sum = sum_over_group(&all->memory->sums, addends, n, distinct, every_use(p, out->index));
	if (out->sum >= 0)
		return STATUS_OK;
	sum_describe(&all->memory->sums, addends[0].sum, text, sizeof text);
	return refuse_at(&all[0], 5, whole, " holds micro-batches %s; over all ranks %s", text,
	                 out->sum == SUM_TWICE     ? "some would be counted more than once"
	                 : out->sum == SUM_PARTIAL ? "a use of a tensor would still be missing"
	                                           : "some ranks would add theirs and some not");
}

/* Makes an operand stand for a group, or for this rank's slice of it, on every role. */
static enum status write_groups(const struct at *all, int operand, const struct meaning *part, bool keep_padding)
{
	for (int i = 0; i < all->participants; i++)
		TRY(write_group(&all[i], operand, part, keep_padding));
	return STATUS_OK;
}

static enum status all_reduce(const struct at *all)
{
	if (sums_a_value(all))
		return sum_value(all);
	struct meaning sum;
	enum status s = add_up(all, &sum);
	return s ? s : write_groups(all, ALL_REDUCE_X, &sum, true);
}

/* Only a root with a role of its own can be told from the others. */
static enum status reduce(const struct at *all)
{
	struct meaning sum;
	enum status s = add_up(all, &sum);
	for (int i = 0; i < all->participants && !s; i++)
		memory_spoil(all->memory, all[i].role, &all[i].op->operand[REDUCE_X]);
	const struct at *root = at_root(all);
	if (!s && root->r->ranks == 1)
		s = write_group(root, REDUCE_X, &sum, true);
	return s;
}

static enum status reduce_scatter(const struct at *all)
{
	if (sums_a_value(all))
		return sum_value(all);
	struct meaning sum;
	enum status s = add_up(all, &sum);
	if (!s && sum.shard)
		return refuse_at(all, 5, REDUCE_SCATTER_X, " is a shard already, and would be sharded again");
	sum.shard = axes_of(all);
	for (int i = 0; i < all->participants && !s; i++) {
		bool in_place =
		        all[i].op->operand[REDUCE_SCATTER_X].buffer == all[i].op->operand[REDUCE_SCATTER_Y].buffer;
		memory_spoil(all->memory, all[i].role, &all[i].op->operand[REDUCE_SCATTER_X]);
		s = write_group(&all[i], REDUCE_SCATTER_Y, &sum, in_place);
	}
	return s;
}

/* ---- copies ---- */

/* Slices of a value that is the same on all ranks come together again. */
static bool is_slice_of_value(const struct at *a)
{
	const struct meaning *x = meaning_at(a, ALL_GATHER_X);
	return !a->op->operand[ALL_GATHER_X].slice && x->kind == MEANING_VALUE && x->shard;
}

static enum status read_slice_of_value(const struct at *a, struct meaning *out)
{
	const struct region *g = &a->op->operand[ALL_GATHER_X];
	*out = *meaning_at(a, ALL_GATHER_X);
	if (is_slice_of_value(a) && out->shard == axes_of(a) && out->origin == g->offset &&
	    out->micro == a->op->micro &&
	    g->count * plan_along(a->p, out->shard) ==
	            value_elements(&a->p->model->values[out->index], a->p->settings.micro_batch))
		return STATUS_OK;
	return refuse_at(a, 7, ALL_GATHER_X,
	                 " must be this rank's slice of a value of micro-batch %d, along the same axes", a->op->micro);
}

static enum status join_value(const struct at *all)
{
	struct meaning what;
	enum status s = read_all(all, 7, ALL_GATHER_X, read_slice_of_value, &what);
	what.shard = 0;
	if (!s)
		write_all(all, what);
	return s;
}

static enum status read_slice_of_group(const struct at *a, struct meaning *out)
{
	enum status s = read_group(a, ALL_GATHER_X, 6, out);
	if (!s && (out->kind == MEANING_ZERO || out->shard != axes_of(a)))
		return refuse_at(a, 6, ALL_GATHER_X, " must be this rank's slice of a group along the same axes");
	return s;
}

static enum status all_gather(const struct at *all)
{
	if (is_slice_of_value(all))
		return join_value(all);
	if (sums_a_value(all))
		return gather_rows(all);
	struct meaning x;
	TRY(read_all(all, 6, ALL_GATHER_X, read_slice_of_group, &x));
	if (x.kind == MEANING_GRADIENT && !sum_is_complete(&all->memory->sums, x.sum, (int)all->p->settings.accumulate,
	                                                   group_sum_axes(all->p, x.index)))
		return refuse_at(&all[0], 5, ALL_GATHER_X, ": gradients are gathered before they are complete");
	x.shard = 0;
	return write_groups(all, ALL_GATHER_Y, &x, false);
}

static enum status broadcast(const struct at *all)
{
	const struct at *root = at_root(all);
	struct meaning x;
	TRY(read_group(root, BROADCAST_X, 6, &x));
	unsigned others = x.shard | (x.index >= 0 ? group_slice_axes(all->p, x.index) : 0);
	if (others & axes_of(all) || x.kind == MEANING_GRADIENT)
		return refuse_at(
		        root, 6, BROADCAST_X,
		        " must be the same on all ranks once it is sent: weights of a group, not this rank's slice");
	return write_groups(all, BROADCAST_X, &x, false);
}

/* ---- samples ---- */

/* One value, or its gradient, of this rank's samples; or of all ranks', if `all_ranks`. */
static enum status read_samples(const struct at *a, int operand, bool all_ranks, struct meaning *out)
{
	const struct region *g = &a->op->operand[operand];
	int64_t samples = a->p->settings.micro_batch * (all_ranks ? plan_data_ranks(a->p) : 1);
	*out = *meaning_at(a, operand);
	if (is_value(out) && out->all_ranks == all_ranks && out->origin == g->offset &&
	    g->count == value_elements(&a->p->model->values[out->index], samples))
		return STATUS_OK;
	return refuse_found(a, 7, operand, " must be one value of %s samples",
	                    all_ranks ? "all ranks'" : "this rank's");
}

/* Values are counted as one kind of traffic, their gradients as the other. */
static enum status check_traffic(const struct at *a, int operand, const struct meaning *x, enum traffic_kind gradients)
{
	if ((x->kind == MEANING_VALUE_GRADIENT) == (a->op->traffic == gradients))
		return STATUS_OK;
	return refuse_at(a, 2, operand, " is counted as %s, and is not that", traffic_name(a->op->traffic));
}

static enum status scatter(const struct at *all)
{
	const struct at *root = at_root(all);
	struct meaning what;
	enum status s = read_samples(root, SCATTER_X, true, &what);
	if (s || (s = check_traffic(root, SCATTER_X, &what, TRAFFIC_SCATTER_OUTPUT_GRADIENTS)))
		return s;
	for (int i = 0; i < all->participants; i++)
		if (all[i].op->operand[SCATTER_Y].slice)
			return refuse_at(&all[i], 2, SCATTER_Y,
			                 " is a slice; samples are received in a region of their own");
	what.all_ranks = false;
	write_all(all, what);
	return STATUS_OK;
}

static enum status read_own_samples(const struct at *a, struct meaning *out)
{
	return read_samples(a, GATHER_X, false, out);
}

static enum status gather(const struct at *all)
{
	const struct at *root = at_root(all);
	struct meaning what;
	TRY(read_all(all, 7, GATHER_X, read_own_samples, &what));
	what.all_ranks = true;
	what.origin = root->op->operand[GATHER_Y].offset;
	write_meaning(root, GATHER_Y, what);
	return read_samples(root, GATHER_Y, true, &what);
}

/* ---- control values ---- */

static enum status sum(const struct at *all)
{
	const struct plan *p = all->p;
	struct addend addends[ROLES];
	int n = all->participants, scaled = 0;
	int64_t scalar = scalar_elements(&p->settings);
	enum meaning_kind kind = MEANING_ZERO;
	for (int i = 0; i < n; i++) {
		const struct meaning *x = meaning_at(&all[i], SUM_X);
		bool zero = x->kind == MEANING_ZERO; /* a role that has nothing to add */
		bool known =
		        (x->kind == MEANING_LOSS || x->kind == MEANING_NORM || x->kind == MEANING_OVERFLOW || zero) &&
		        all[i].op->operand[SUM_X].count == (x->kind == MEANING_OVERFLOW ? 1 : scalar);
		if (!known || (!zero && kind != MEANING_ZERO && (x->kind != kind || x->scaled != scaled)))
			return refuse_at(&all[i], 5, SUM_X,
			                 " must be a loss, a norm or an overflow of this step, the same on all roles");
		kind = zero ? kind : x->kind;
		scaled = zero ? scaled : x->scaled;
		addends[i].sum = zero ? 0 : x->sum;
	}
	/* Every slice of norm and overflow is a rank's own along its axes; every sample of the loss is. */
	unsigned distinct = axes_of(all) & (kind == MEANING_LOSS ? plan_data_axes(p) : plan_all_axes(p));
	for (int i = 0; i < n; i++) {
		addends[i].members = members_in(p, all[i].op, all[i].r);
		addends[i].copies = copies_in(p, all[i].op, all[i].r, distinct);
	}
	int total = kind == MEANING_ZERO ? SUM_MIXED : sum_over_group(&all->memory->sums, addends, n, distinct, 0);
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
	struct meaning what;
	enum status s = read_samples(from, SEND_X, false, &what);
	if (s || (s = check_traffic(from, SEND_X, &what, TRAFFIC_ACTIVATION_GRADIENTS)))
		return s;
	if (what.micro != from->op->micro)
		return refuse_at(from, 7, SEND_X, " is of micro-batch %d, and the message of %d", what.micro,
		                 from->op->micro);
	what.origin = to->op->operand[RECEIVE_Y].offset;
	write_meaning(to, RECEIVE_Y, what);
	return STATUS_OK;
}

enum status mean_collective(const struct at *all)
{
	static enum status (*const means[OP_KIND_COUNT])(const struct at *) = {
	        [OP_ALL_REDUCE] = all_reduce,
	        [OP_ALL_REDUCE_MAXIMUM] = sum_value,
	        [OP_REDUCE_SCATTER] = reduce_scatter,
	        [OP_ALL_GATHER] = all_gather,
	        [OP_BROADCAST] = broadcast,
	        [OP_REDUCE] = reduce,
	        [OP_SCATTER] = scatter,
	        [OP_GATHER] = gather,
	        [OP_SUM] = sum,
	        [OP_SEND] = message,
	        [OP_RECEIVE] = message,
	};
	int staging = op_find(all->op->kind, PART_STAGING);
	for (int i = 0; i < all->participants && staging >= 0; i++)
		if (all[i].op->operand[staging].buffer >= 0)
			write_meaning(&all[i], staging, (struct meaning){.kind = MEANING_SPOILED});
	return is_norm_collective(all->op) ? mean_norm_collective(all) : means[all->op->kind](all);
}
