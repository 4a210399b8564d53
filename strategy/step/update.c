/* The update: how the optimizer turns gradients into parameters, the same for all strategies. Each rank updates the
 * part of every group that it owns, where offload_update.c puts it, and the result goes to whoever needs it.
 *
 * On the device groups are updated as they are numbered; on the host, in the order in which their gradients arrive:
 * units from the last to the first, buckets as they are numbered.
 *
 * Delayed by one step (ZeRO-Offload, section 5.2), the gradients that a step leaves are applied while the next one
 * computes, so nobody waits for the host. Step i then reads the weights that the gradients of steps 1 to i − 2 made.
 * The first step finds zeros there and a count of updates of 0, with which adamw and sgd leave everything as it is.
 *
 *     compute    │ forward, backward i        │ forward, backward i + 1    │
 *     host       │ adamw, gradients of i − 1  │ adamw, gradients of i      │
 */
#include "strategy/step/groups.h"
#include "strategy/step/offload.h"

/* The groups that this role holds, in the order of the update. */
struct update_order {
	int *group, count;
};

static struct update_order choose_order(struct step *s)
{
	int groups = s->plan->group_count;
	struct update_order o = {arena_alloc(s->scratch, (size_t)groups * sizeof *o.group), 0};
	for (int g = 0; g < groups; g++) {
		if (s->group[g].base < 0)
			continue;
		int at = o.count++;
		for (; s->state.by_arrival && at > 0 && s->group[o.group[at - 1]].reduced > s->group[g].reduced; at--)
			o.group[at] = o.group[at - 1];
		o.group[at] = g;
	}
	return o;
}

/* ---- gradients are inspected: overflow, and their norm ---- */

static void inspect(struct step *s, enum op_kind kind, int group, int found, bool adds)
{
	build_wait(s->b, s->state.update_queue, s->group[group].reduced);
	struct op *op = build_op(s->b, kind, s->state.update_queue);
	op->pass = PASS_UPDATE;
	op->group = group;
	build_operand(op, PART_GRADIENTS, state_own(s, STATE_GRADIENTS, group), false);
	build_operand(op, kind == OP_SQUARES ? PART_NORM : PART_OVERFLOW, region_whole(s->b, found), adds);
}

/* A number of each rank, made by `queue`, becomes their sum along the axes (0: all of them), on all of them. */
static void sum_over_ranks(struct step *s, int buffer, unsigned axes, enum queue queue, enum pass pass)
{
	build_wait_all(s->b, QUEUE_COMMUNICATION, queue);
	struct op *sum = build_op(s->b, OP_SUM, QUEUE_COMMUNICATION);
	sum->algorithm = schedule_first(OPERATION_SUM);
	sum->pass = pass;
	sum->axes = step_axes(s, axes);
	sum->traffic = TRAFFIC_CONTROL;
	sum->operand[SUM_X] = region_whole(s->b, buffer);
	sum->payload = sum->operand[SUM_X].count;
	if (pass == PASS_UPDATE)
		build_wait(s->b, queue, build_number(s->b, sum));
}

/* True if this rank updates a part of the group, and every rank another. */
static bool is_part(const struct step *s, int group)
{
	return (s->shards > 1 && s->strategy->optimizer != PLACE_WHOLE) || s->stages > 1 ||
	       group_is_sliced(s->plan, group);
}

/* Adds the squares of the groups that this role owns, those of which this rank updates a part or those that it updates
 * whole, to `count` others. */
static int add_squares(struct step *s, const struct update_order *o, bool parts, int count)
{
	for (int i = 0; i < o->count; i++)
		if (s->group[o->group[i]].owner && is_part(s, o->group[i]) == parts)
			inspect(s, OP_SQUARES, o->group[i], s->state.norm, count++ > 0);
	return count;
}

/* The global norm: each rank adds up the squares of its part of every group, and parts are summed over the ranks that
 * have others. Groups that all ranks have whole are added after that, and so count once. */
static void compute_norm(struct step *s, const struct update_order *o)
{
	int count = add_squares(s, o, true, 0);
	if (count)
		sum_over_ranks(s, s->state.norm, s->shards > 1 ? s->shard_axes : 0, s->state.update_queue, PASS_UPDATE);
	add_squares(s, o, false, count);
}

/* All ranks skip an update together. They compare flags even if each has seen the whole gradients, because a library's
 * reduction need not give every rank the same bits. */
static void find_overflow(struct step *s, const struct update_order *o)
{
	int count = 0;
	for (int i = 0; i < o->count; i++)
		if (s->group[o->group[i]].owner)
			inspect(s, OP_OVERFLOW, o->group[i], s->state.overflow, count++ > 0);
	if (s->ranks > 1 && !s->strategy->root_alone)
		sum_over_ranks(s, s->state.overflow, 0, s->state.update_queue, PASS_UPDATE);
}

static void inspect_gradients(struct step *s, const struct update_order *o)
{
	if (s->state.overflow >= 0)
		find_overflow(s, o);
	if (s->state.norm >= 0)
		compute_norm(s, o);
}

/* ---- one group ---- */

static struct region whole_or_none(const struct step *s, int buffer)
{
	return buffer >= 0 ? region_whole(s->b, buffer) : region_none();
}

static void round_stochastically(const struct step *s, struct op *op)
{
	const struct region *parameters = op_region(op, PART_PARAMETERS);
	op->stochastic = s->settings->stochastic_rounding;
	if (op->stochastic && !parameters->slice && parameters->count != s->plan->groups[op->group].padded)
		op->axes = step_shard_axes(s, PLACE_SHARD);
}

static void update_group(struct step *s, int group, const struct update_part *parts)
{
	bool mixed = step_mixed(s);
	struct region weights = parts[UPDATE_WEIGHTS].at;
	struct region parameters = mixed ? update_parameters16(s, group) : weights;
	build_wait(s->b, s->state.update_queue, s->group[group].reduced);
	for (int i = 0; i < UPDATE_PARTS; i++)
		build_wait(s->b, s->state.update_queue, parts[i].read);
	struct op *op = build_op(s->b, step_adamw(s) ? OP_ADAMW : OP_SGD, s->state.update_queue);
	op->pass = PASS_UPDATE;
	op->group = group;
	build_operand(op, PART_PARAMETERS, parameters, false);
	build_operand(op, PART_GRADIENTS, state_own(s, STATE_GRADIENTS, group), false);
	build_operand(op, PART_FIRST_MOMENT, parts[UPDATE_FIRST].at, false);
	build_operand(op, PART_SECOND_MOMENT, parts[UPDATE_SECOND].at, false);
	build_operand(op, PART_MASTER, mixed ? weights : region_none(), false);
	build_operand(op, PART_COUNTER, region_whole(s->b, s->state.update_counter), false);
	build_operand(op, PART_NORM, whole_or_none(s, s->state.norm), false);
	build_operand(op, PART_SCALER, whole_or_none(s, s->state.update_scaler), false);
	build_operand(op, PART_OVERFLOW, whole_or_none(s, s->state.overflow), false);
	round_stochastically(s, op);
	s->group[group].updated = build_number(s->b, op);
	if (s->state.frees_gradients) {
		build_free(s->b, s->group[group].shard);
		s->group[group].shard = -1;
	}
}

/* ---- all of them ---- */

static void advance(struct step *s, int counter, enum queue queue)
{
	struct op *op = build_op(s->b, OP_ADVANCE, queue);
	op->pass = PASS_UPDATE;
	op->operand[ADVANCE_STEP] = region_whole(s->b, counter);
}

/* fp16: adjusts the loss scale after the update. Where the host updates, the device gets a copy. */
static void update_scaler(struct step *s)
{
	const struct state *st = &s->state;
	if (st->update_scaler < 0)
		return;
	struct op *op = build_op(s->b, OP_SCALER_UPDATE, st->update_queue);
	op->pass = PASS_UPDATE;
	op->operand[SCALER_UPDATE_SCALER] = region_whole(s->b, st->update_scaler);
	op->operand[SCALER_UPDATE_OVERFLOW] = region_whole(s->b, st->overflow);
	if (st->scaler == st->update_scaler)
		return;
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, st->update_queue);
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE); /* the classifier has read the old one */
	build_copy(s->b, region_whole(s->b, st->update_scaler), region_whole(s->b, st->scaler));
}

static int64_t own_share(const struct step *s)
{
	return s->strategy->optimizer == PLACE_WHOLE ? s->state.held : s->state.held / s->shards;
}

/* Tensors in the model's order; a piece ends with the tensor that fills it. */
int64_t update_largest_piece(const struct step *s)
{
	int64_t most = 0, piece = 0, share = own_share(s);
	for (int i = 0; i < s->model->tensor_count && s->choices.pieces; i++) {
		piece += (s->model->tensors[i].elements + s->shards - 1) / s->shards;
		most = piece > most ? piece : most;
		piece = piece >= s->choices.pieces ? 0 : piece;
	}
	return most && most < share ? most : share;
}

/* Temporary device memory of the software's update, for all groups at once, or for a piece of zero3's; -1: it needs
 * none. */
static int alloc_temporary(struct step *s)
{
	int how = step_software(s, SOFTWARE_UPDATE);
	if (how == UPDATE_IN_PLACE || (how == UPDATE_FOREACH && !step_adamw(s)))
		return -1;
	int64_t share = how == UPDATE_FP32 ? update_largest_piece(s) : own_share(s);
	return build_alloc(s->b, how == UPDATE_FP32 ? "gradients.fp32" : "square_roots", CATEGORY_BUFFERS, TYPE_FP32,
	                   share);
}

/* How a disk works while a group is updated, by --as; without a disk there is nothing to hold back. */
static int disk_of(const struct step *s)
{
	return s->settings->offload.optimizer_on_disk ? s->plan->software.does[SOFTWARE_DISK] : DISK_BOTH;
}

/* The state of a group is fetched while the group before it is updated, and written back meanwhile too, unless --as
 * says otherwise. A fetch that is not ahead stands before the writing where that goes on. */
static void update_groups(struct step *s, const struct update_order *o)
{
	struct update_part parts[2][UPDATE_PARTS];
	int disk = disk_of(s);
	bool ahead = disk == DISK_BOTH || disk == DISK_READS, behind = disk == DISK_BOTH || disk == DISK_WRITES;
	for (int i = 0; i <= o->count; i++) {
		int group = i ? o->group[i - 1] : -1;
		if (i < o->count && (ahead || !i))
			update_fetch(s, o->group[i], parts[i % 2]);
		if (i)
			update_group(s, group, parts[(i - 1) % 2]);
		if (i && i < o->count && !ahead && behind) {
			build_wait(s->b, QUEUE_DISK, s->group[group].updated);
			update_fetch(s, o->group[i], parts[i % 2]);
		}
		if (i)
			update_return(s, group, parts[(i - 1) % 2]);
		if (i && !behind)
			build_wait_all(s->b, s->state.update_queue, QUEUE_DISK);
		if (i && i < o->count && !ahead && !behind)
			update_fetch(s, o->group[i], parts[i % 2]);
	}
}

void step_update_delayed(struct step *s)
{
	struct update_part parts[UPDATE_PARTS];
	if (!s->state.delayed || !step_holds_state(s))
		return;
	struct update_order o = choose_order(s);
	inspect_gradients(s, &o);
	for (int i = 0; i < o.count; i++) {
		update_fetch(s, o.group[i], parts);
		update_group(s, o.group[i], parts);
	}
	advance(s, s->state.update_counter, s->state.update_queue);
}

/* Their state stays in host memory. */
static void return_delayed(struct step *s, const struct update_order *o)
{
	struct update_part parts[UPDATE_PARTS];
	for (int i = 0; i < o->count; i++) {
		update_fetch(s, o->group[i], parts);
		update_return(s, o->group[i], parts);
	}
}

/* The last stage has the loss, and sends it to all others. */
static void sum_loss(struct step *s)
{
	if (s->kernel_end < s->model->kernel_count)
		step_zero(s, region_whole(s->b, s->state.loss));
	if ((plan_data_ranks(s->plan) > 1 || s->stages > 1) && !s->strategy->root_alone)
		sum_over_ranks(s, s->state.loss, 0, QUEUE_COMPUTE, PASS_NONE);
}

void step_update(struct step *s)
{
	advance(s, s->state.counter, QUEUE_COMPUTE);
	if (!step_holds_state(s))
		return;
	sum_loss(s);
	struct update_order o = choose_order(s);
	if (s->state.delayed) {
		return_delayed(s, &o);
		return;
	}
	if (s->state.update_counter != s->state.counter)
		advance(s, s->state.update_counter, s->state.update_queue);
	inspect_gradients(s, &o);
	int temporary = alloc_temporary(s);
	update_groups(s, &o);
	if (temporary >= 0)
		build_free(s->b, temporary);
	update_scaler(s);
}
