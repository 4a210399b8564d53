/* State and the update: what is kept between steps, and how the optimizer turns gradients into parameters.
 *
 * The same for all strategies: each rank updates the part of every group that it owns. A strategy says where that part
 * stands (its `parameters`, `gradients` and `optimizer` placements) and sends the result to whoever needs it.
 */
#include "strategy/step/stage.h"
#include "strategy/step/step.h"

/* What the communicator may use for what comes in. */
#define STAGING_ELEMENTS (SCHEDULE_STAGING_BYTES / (int64_t)sizeof(float))

bool step_mixed(const struct step *s)
{
	return s->settings->precision != TYPE_FP32;
}

bool step_holds_state(const struct step *s)
{
	return !s->strategy->holds_state || s->strategy->holds_state(s);
}

bool step_adamw(const struct step *s)
{
	return s->settings->optimizer == OPTIMIZER_ADAMW;
}

static int64_t state_elements(const struct step *s, enum placement place)
{
	return place == PLACE_SHARD ? s->held / s->shards : s->held;
}

struct region step_place(const struct step *s, int buffer, enum placement place, int group)
{
	const struct group *g = &s->plan->groups[group];
	switch (place) {
	case PLACE_SLICE:
		if (s->shards > 1)
			return region_slice(buffer, s->shard_axes, s->base[group], g->padded);
		break;
	case PLACE_SHARD:
		return region_of(buffer, s->base[group] / s->shards, g->padded / s->shards);
	case PLACE_WHOLE:
		break;
	}
	return region_of(buffer, s->base[group], g->padded);
}

/* Is what this rank updates of the group a part of it, another on every rank? */
static bool is_part(const struct step *s, int group)
{
	return (s->shards > 1 && s->strategy->optimizer != PLACE_WHOLE) || s->stages > 1 ||
	       group_is_sliced(s->plan, group);
}

static void zero(struct step *s, struct region region)
{
	build_op(s->b, OP_ZERO, QUEUE_COMPUTE)->operand[ZERO_X] = region;
}

enum placement step_owned(enum placement p)
{
	return p == PLACE_SLICE ? PLACE_SHARD : p;
}

/* Gradients that stay whole are padded too, and what is sent must be defined. */
static void zero_padding(struct step *s, int buffer)
{
	for (int g = 0; g < s->plan->group_count; g++) {
		const struct group *group = &s->plan->groups[g];
		if (s->base[g] >= 0 && group->padded > group->elements)
			zero(s, region_of(buffer, s->base[g] + group->elements, group->padded - group->elements));
	}
}

static void alloc_state(struct step *s)
{
	const struct strategy *g = s->strategy;
	const struct offload *o = &s->settings->offload;
	enum type t = s->settings->precision;
	enum space kept = offload_space(s, false), updated = o->optimizer ? SPACE_HOST : SPACE_DEVICE;
	int64_t own = state_elements(s, step_owned(g->optimizer));
	s->parameters = build_state_in(s->b, offload_space(s, true), "parameters", CATEGORY_PARAMETERS, t,
	                               state_elements(s, g->parameters));
	s->gradients = build_state_in(s->b, updated, "gradients", CATEGORY_GRADIENTS, t,
	                              state_elements(s, s->gradients_place));
	/* In fp32 the host updates weights of its own, unless the parameters are there as well. */
	if (step_mixed(s) || (o->optimizer && !o->parameters))
		s->master = build_state_in(s->b, kept, "master", CATEGORY_OPTIMIZER, TYPE_FP32, own);
	if (step_adamw(s)) {
		s->first = build_state_in(s->b, kept, "first_moment", CATEGORY_OPTIMIZER, TYPE_FP32, own);
		s->second = build_state_in(s->b, kept, "second_moment", CATEGORY_OPTIMIZER, TYPE_FP32, own);
	}
}

static int begin_scaler(struct step *s, enum space space, const char *name)
{
	int scaler = build_state_in(s->b, space, name, CATEGORY_BUFFERS, TYPE_FP32, LOSS_SCALE_ELEMENTS);
	build_op(s->b, OP_SCALER_BEGIN, space == SPACE_HOST ? QUEUE_HOST_COMPUTE : QUEUE_COMPUTE)
	        ->operand[SCALER_BEGIN_SCALER] = region_whole(s->b, scaler);
	return scaler;
}

/* What fp16 needs besides: a scale of the loss, and a flag that says when gradients overflowed. Where the host updates,
 * it keeps both, and the device has the scale that the classifier takes. */
static void alloc_loss_scale(struct step *s)
{
	bool on_host = s->update_queue == QUEUE_HOST_COMPUTE;
	if (s->settings->loss_scaler == LOSS_SCALER_NONE)
		return;
	s->overflow =
	        build_state_in(s->b, on_host ? SPACE_HOST : SPACE_DEVICE, "overflow", CATEGORY_BUFFERS, TYPE_FP32, 1);
	s->scaler = s->update_scaler = begin_scaler(s, SPACE_DEVICE, "scaler");
	if (on_host)
		s->update_scaler = begin_scaler(s, SPACE_HOST, "scaler.host");
}

/* Along which axes the operand is a shard of its group, where its size does not say it: 0 where it does. */
static unsigned shard_axes(const struct step *s, enum placement place)
{
	return place == PLACE_SHARD && s->shard_axes != plan_all_axes(s->plan) ? s->shard_axes : 0;
}

static void initialize(struct step *s, int buffer, enum placement place)
{
	for (int g = 0; g < s->plan->group_count; g++) {
		/* Parameters that another role answers for come from it in the prologue. */
		if (s->base[g] < 0 || (!s->answers[g] && buffer == s->parameters))
			continue;
		offload_begin_with(s, OP_INITIALIZE, buffer, place, shard_axes(s, place), g);
	}
}

/* All of a buffer at once, where no staging is needed. */
static void zero_state(struct step *s, int buffer, enum placement place)
{
	if (s->b->role->buffers[buffer].space == SPACE_DISK) {
		for (int g = 0; g < s->plan->group_count; g++)
			if (s->base[g] >= 0)
				offload_begin_with(s, OP_ZERO, buffer, place, 0, g);
		return;
	}
	enum queue q = s->b->role->buffers[buffer].space == SPACE_HOST ? QUEUE_HOST_COMPUTE : QUEUE_COMPUTE;
	build_op(s->b, OP_ZERO, q)->operand[ZERO_X] = region_whole(s->b, buffer);
}

static void begin_counter(struct step *s)
{
	s->update_counter = s->counter;
	if (s->update_queue != QUEUE_HOST_COMPUTE || !step_holds_state(s))
		return;
	s->update_counter = build_state_in(s->b, SPACE_HOST, "updates", CATEGORY_BUFFERS, TYPE_I64, 1);
	zero_state(s, s->update_counter, PLACE_WHOLE);
}

/* Of stages, those that share a tensor; messages go straight to their place. */
static bool has_collectives(const struct step *s)
{
	bool shares = s->stages == 1;
	for (int g = 0; g < s->plan->group_count; g++)
		shares |= s->base[g] >= 0 && stage_shares(s, g);
	return s->ranks > 1 && shares;
}

void step_state(struct step *s)
{
	const struct strategy *g = s->strategy;
	const struct offload *o = &s->settings->offload;
	enum space updated = o->optimizer ? SPACE_HOST : SPACE_DEVICE;
	s->parameters = s->gradients = s->master = s->first = s->second = s->staging = s->loss = s->norm = -1;
	s->scaler = s->update_scaler = s->overflow = -1;
	s->update_queue = o->optimizer ? QUEUE_HOST_COMPUTE : QUEUE_COMPUTE;
	s->gradients_place = o->optimizer ? step_owned(g->optimizer) : g->gradients;
	s->counter = build_state(s->b, "step", CATEGORY_BUFFERS, TYPE_I64, 1);
	zero(s, region_whole(s->b, s->counter));
	begin_counter(s);
	if (has_collectives(s) && !s->settings->library_collectives)
		s->staging = build_state(s->b, "staging", CATEGORY_BUFFERS, TYPE_FP32, STAGING_ELEMENTS);
	buffers_state(s);
	if (!step_holds_state(s))
		return;
	s->loss = build_state(s->b, "loss", CATEGORY_BUFFERS, TYPE_FP32, 1);
	if (s->settings->clip > 0)
		s->norm = build_state_in(s->b, updated, "norm", CATEGORY_BUFFERS, TYPE_FP32, 1);
	alloc_loss_scale(s);
	alloc_state(s);
	initialize(s, s->parameters, g->parameters);
	if (s->master >= 0)
		initialize(s, s->master, step_owned(g->optimizer));
	if (step_adamw(s)) {
		zero_state(s, s->first, step_owned(g->optimizer));
		zero_state(s, s->second, step_owned(g->optimizer));
	}
	if (o->delayed)
		zero_state(s, s->gradients, s->gradients_place);
	bool gradients_stay = g->gradients != PLACE_SHARD && !o->optimizer;
	if (gradients_stay || (s->shards == 1 && !o->optimizer)) /* then the shard is whole, padding and all */
		zero_padding(s, s->gradients);
	/* Whole parameters and gradients stay where they are. */
	for (int t = 0; t < s->model->tensor_count; t++) {
		int64_t base = s->base[s->plan->tensor_group[t]];
		int64_t offset = base + s->plan->tensor_offset[t], n = s->model->tensors[t].elements;
		if (base < 0)
			continue;
		if (g->parameters != PLACE_SHARD)
			s->weight[t] = region_of(s->parameters, offset, n);
		if (gradients_stay)
			s->gradient[t] = region_of(s->gradients, offset, n);
	}
}

static struct region whole_or_none(const struct step *s, int buffer)
{
	return buffer >= 0 ? region_whole(s->b, buffer) : region_none();
}

void step_update_control(const struct step *s, struct op *op)
{
	build_operand(op, PART_COUNTER, region_whole(s->b, s->update_counter), false);
	build_operand(op, PART_NORM, whole_or_none(s, s->norm), false);
	build_operand(op, PART_SCALER, whole_or_none(s, s->update_scaler), false);
	build_operand(op, PART_OVERFLOW, whole_or_none(s, s->overflow), false);
}

void step_rounding(const struct step *s, struct op *op)
{
	const struct region *g = &op->operand[op_find(op->kind, PART_PARAMETERS)];
	op->stochastic = s->settings->stochastic_rounding;
	if (op->stochastic && !g->slice && g->count != s->plan->groups[op->group].padded)
		op->axes = shard_axes(s, PLACE_SHARD);
}

int step_update_group(struct step *s, int group)
{
	const struct strategy *g = s->strategy;
	enum placement own = g->optimizer;
	build_wait(s->b, QUEUE_COMPUTE, s->reduced[group]);
	struct op *op = build_op(s->b, step_adamw(s) ? OP_ADAMW : OP_SGD, QUEUE_COMPUTE);
	op->pass = PASS_UPDATE;
	op->group = group;
	build_operand(op, PART_PARAMETERS,
	              step_place(s, s->parameters, g->parameters == PLACE_WHOLE ? own : g->parameters, group), false);
	build_operand(op, PART_GRADIENTS,
	              step_place(s, s->gradients, g->gradients == PLACE_WHOLE ? own : g->gradients, group), false);
	build_operand(op, PART_FIRST_MOMENT, step_place(s, s->first, step_owned(own), group), false);
	build_operand(op, PART_SECOND_MOMENT, step_place(s, s->second, step_owned(own), group), false);
	if (step_mixed(s))
		build_operand(op, PART_MASTER, step_place(s, s->master, step_owned(own), group), false);
	step_update_control(s, op);
	step_rounding(s, op);
	return build_number(s->b, op);
}

static void look_at_gradients(struct step *s, enum op_kind kind, int group, int found, bool adds)
{
	enum placement place = s->gradients_place == PLACE_WHOLE ? s->strategy->optimizer : s->gradients_place;
	build_wait(s->b, s->update_queue, s->reduced[group]);
	struct op *op = build_op(s->b, kind, s->update_queue);
	op->pass = PASS_UPDATE;
	op->group = group;
	build_operand(op, PART_GRADIENTS, step_place(s, s->gradients, place, group), false);
	build_operand(op, kind == OP_SQUARES ? PART_NORM : PART_OVERFLOW, region_whole(s->b, found), adds);
}

/* A number of each rank, made by `queue`, becomes their sum along the axes (0: all of them), on all of them. */
static void sum_over_ranks(struct step *s, int buffer, unsigned axes, enum queue queue, enum pass pass)
{
	build_wait_all(s->b, QUEUE_COMMUNICATION, queue);
	struct op *sum = build_op(s->b, OP_SUM, QUEUE_COMMUNICATION);
	sum->algorithm = schedule_first(OPERATION_SUM);
	sum->pass = pass;
	sum->axes = axes == plan_all_axes(s->plan) ? 0 : axes;
	sum->traffic = TRAFFIC_CONTROL;
	sum->payload = 1;
	sum->operand[SUM_X] = region_whole(s->b, buffer);
	if (pass == PASS_UPDATE)
		build_wait(s->b, queue, build_number(s->b, sum));
}

/* Squares of those groups, of those that this role answers for, of which what this rank updates is a part (or not),
 * added to `count` others. */
static int add_squares(struct step *s, bool parts, int count)
{
	for (int i = 0; i < s->plan->group_count; i++)
		if (s->answers[i] && is_part(s, i) == parts)
			look_at_gradients(s, OP_SQUARES, i, s->norm, count++ > 0);
	return count;
}

/* The global norm: each rank adds up the squares of its part of every group, and parts are summed over the ranks that
 * have others. What all ranks have whole is added after that: so it counts once. */
static void compute_norm(struct step *s)
{
	int count = add_squares(s, true, 0);
	if (count)
		sum_over_ranks(s, s->norm, s->shards > 1 ? s->shard_axes : 0, s->update_queue, PASS_UPDATE);
	add_squares(s, false, count);
}

/* All ranks that update skip it together. They hear of each other even where each has seen the whole gradients: then
 * nothing rests on a library's reduction giving every rank the same bits. */
static void find_overflow(struct step *s)
{
	int count = 0;
	for (int i = 0; i < s->plan->group_count; i++)
		if (s->answers[i])
			look_at_gradients(s, OP_OVERFLOW, i, s->overflow, count++ > 0);
	if (s->ranks > 1 && !s->strategy->roots)
		sum_over_ranks(s, s->overflow, 0, s->update_queue, PASS_UPDATE);
}

void step_look(struct step *s)
{
	if (s->overflow >= 0)
		find_overflow(s);
	if (s->norm >= 0)
		compute_norm(s);
}

void step_update_scaler(struct step *s)
{
	if (s->update_scaler < 0)
		return;
	struct op *op = build_op(s->b, OP_SCALER_UPDATE, s->update_queue);
	op->pass = PASS_UPDATE;
	op->operand[SCALER_UPDATE_SCALER] = region_whole(s->b, s->update_scaler);
	op->operand[SCALER_UPDATE_OVERFLOW] = region_whole(s->b, s->overflow);
	if (s->scaler == s->update_scaler)
		return;
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, s->update_queue);
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE); /* the classifier has read the old one */
	build_copy(s->b, region_whole(s->b, s->update_scaler), region_whole(s->b, s->scaler));
}

void step_spread(struct step *s, int group, enum queue changed_by)
{
	if (s->strategy->parameters != PLACE_WHOLE || s->strategy->optimizer != PLACE_SLICE || s->shards == 1)
		return;
	build_wait_all(s->b, QUEUE_COMMUNICATION, changed_by);
	struct op *op = step_collective(s, OP_ALL_GATHER, SCHEDULE_RING_ALL_GATHER, TRAFFIC_ALL_GATHER, group);
	op->pass = PASS_UPDATE;
	op->operand[ALL_GATHER_X] = step_place(s, s->parameters, PLACE_SLICE, group);
	op->operand[ALL_GATHER_Y] = step_place(s, s->parameters, PLACE_WHOLE, group);
}

void step_update(struct step *s)
{
	struct op *op = build_op(s->b, OP_ADVANCE, QUEUE_COMPUTE);
	op->pass = PASS_UPDATE;
	op->operand[ADVANCE_STEP] = region_whole(s->b, s->counter);
	if (!step_holds_state(s))
		return;
	if (s->kernel_end < s->model->kernel_count) /* the last stage has the loss, and everyone hears of it */
		zero(s, region_whole(s->b, s->loss));
	if ((plan_data_ranks(s->plan) > 1 || s->stages > 1) && !s->strategy->roots)
		sum_over_ranks(s, s->loss, 0, QUEUE_COMPUTE, PASS_NONE);
	if (s->settings->offload.optimizer) {
		host_update(s);
		return;
	}
	step_look(s);
	for (int g = 0; g < s->plan->group_count; g++) {
		if (s->base[g] < 0)
			continue;
		step_update_group(s, g);
		step_spread(s, g, QUEUE_COMPUTE); /* while the next group is updated */
	}
	step_update_scaler(s);
}

/* The axes, other than those of shards, along which ranks of this role keep the same of a group. */
static unsigned alike_axes(const struct step *s, int group)
{
	unsigned others = s->shard_axes | group_slice_axes(s->plan, group) | plan_axis(s->plan, "stage");
	return s->strategy->roots ? 0 : plan_all_axes(s->plan) & ~others;
}

/* The fp32 weights, each exactly once over all ranks: of what several keep alike, a rank shows its slice; of a sliced
 * model, what it has. */
void step_show_weights(struct step *s)
{
	const struct strategy *g = s->strategy;
	if (s->parameters < 0)
		return;
	for (int i = 0; i < s->plan->group_count; i++) {
		enum placement kept = step_mixed(s) ? g->optimizer : g->parameters;
		enum placement place = kept != PLACE_WHOLE ? PLACE_SHARD : g->roots ? PLACE_WHOLE : PLACE_SLICE;
		int staging = -1;
		if (!s->answers[i])
			continue;
		struct region shown = step_place(s, step_mixed(s) ? s->master : s->parameters, place, i);
		bool on_device = s->b->role->buffers[shown.buffer].space == SPACE_DEVICE;
		shown = offload_read(s, shown, arena_print(&s->b->plan->arena, "shown.%s", s->plan->groups[i].name),
		                     &staging);
		struct op *op = build_op(s->b, OP_WEIGHTS, on_device ? QUEUE_COMPUTE : QUEUE_HOST_COMPUTE);
		op->group = i;
		op->operand[WEIGHTS_WEIGHTS] = shown;
		op->operand[WEIGHTS_WEIGHTS].slice |= alike_axes(s, i);
		op->axes = shard_axes(s, place);
		if (staging >= 0)
			build_free(s->b, staging);
	}
}

struct op *step_collective(struct step *s, enum op_kind kind, enum schedule_algorithm a, enum traffic_kind t, int group)
{
	struct op *op = build_op(s->b, kind, QUEUE_COMMUNICATION);
	op->algorithm = a;
	op->traffic = t;
	op->group = group;
	op->micro = s->micro;
	if (group >= 0)
		op->payload = s->plan->groups[group].elements;
	if (s->staging >= 0)
		build_operand(op, PART_STAGING, region_whole(s->b, s->staging), false);
	return op;
}

void step_choose_algorithm(const struct step *s, struct op *op, const char *key)
{
	(void)schedule_find(op_operation(op->kind), strategy_setting(s, key), &op->algorithm);
}
