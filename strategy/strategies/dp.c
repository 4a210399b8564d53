/* Data parallel with one root, as torch.nn.DataParallel: everything is on rank 0, and goes through it.
 *
 *     root:    load all ─ scatter inputs ─ send parameters ─ forward ─ gather outputs ─ loss ─ scatter its gradient
 *              ─ backward ─ collect gradients ─ update
 *     worker:            receive inputs, parameters ─ forward ─ send outputs ─ receive their gradient
 *              ─ backward ─ send gradients ─ forget everything
 *
 * All of it for every micro-batch. (N−1)Ψ of parameters leave the root and (N−1)Ψ of gradients reach it: the growing
 * load of the root is the point of showing it. broadcast= and reduce= choose how they travel: star as torch.nn
 * .DataParallel without NCCL, chain pipelined as NCCL would, tree binomial.
 */
#include <string.h>

#include "strategy/step/step.h"

static bool only_root(const struct step *s)
{
	return s->root;
}

/* A collective that moves samples: `whole` at the root, each rank's part. */
static struct op *move(struct step *s, enum op_kind kind, enum traffic_kind t, struct region from, struct region to)
{
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op =
	        step_collective(s, kind, kind == OP_SCATTER ? SCHEDULE_STAR_SCATTER : SCHEDULE_STAR_GATHER, t, -1);
	op->micro = s->micro;
	build_operand(op, PART_WHOLE, kind == OP_SCATTER ? from : to, false);
	build_operand(op, PART_SHARE, kind == OP_SCATTER ? to : from, false);
	const struct region *part = kind == OP_SCATTER ? &to : &from;
	op->payload = part->slice ? part->count : part->count * s->ranks;
	build_wait(s->b, QUEUE_COMPUTE, build_number(s->b, op));
	return op;
}

/* The root's own samples are its slice of the buffer that holds everyone's. */
static void wide_value(struct step *s, int value, struct region *all)
{
	int buffer = build_alloc(s->b, step_name(s, "%s.all", s->model->values[value].name), CATEGORY_ACTIVATIONS,
	                         step_value_type(s, value), s->ranks * step_value_elements(s, value));
	*all = region_whole(s->b, buffer);
	s->value[value] = region_of(buffer, 0, step_value_elements(s, value));
	s->value_owned[value] = true;
}

static void load(struct step *s)
{
	const struct model *m = s->model;
	struct region inputs = region_none(), targets = region_none();
	if (s->root) {
		wide_value(s, m->input, &inputs);
		wide_value(s, m->target, &targets);
		struct op *op = build_op(s->b, OP_LOAD, QUEUE_COMPUTE);
		op->micro = s->micro;
		op->wide = s->ranks > 1;
		op->operand[LOAD_INPUTS] = inputs;
		op->operand[LOAD_TARGETS] = targets;
		op->operand[LOAD_STEP] = region_whole(s->b, s->counter);
		s->value[m->target] = targets;
	} else {
		step_alloc_value(s, m->input);
	}
	if (s->ranks > 1)
		move(s, OP_SCATTER, TRAFFIC_SCATTER_INPUTS, inputs, s->value[m->input]);
}

/* Workers get a replica of the parameters for this micro-batch, and a place for its gradients. */
static void send_parameters(struct step *s)
{
	const struct group *g = &s->plan->groups[0];
	if (s->ranks == 1)
		return;
	int buffer = s->root ? s->parameters
	                     : build_alloc(s->b, step_name(s, "replica"), CATEGORY_GATHERED, s->settings->precision,
	                                   g->padded);
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_BROADCAST, SCHEDULE_STAR_BROADCAST, TRAFFIC_BROADCAST, 0);
	step_choose_algorithm(s, op, "broadcast");
	op->operand[BROADCAST_X] = region_of(buffer, 0, g->padded);
	build_wait(s->b, QUEUE_COMPUTE, build_number(s->b, op));
	if (s->root)
		return;
	s->gathered[0] = buffer;
	for (int t = 0; t < s->model->tensor_count; t++)
		s->weight[t] = region_of(buffer, s->plan->tensor_offset[t], s->model->tensors[t].elements);
}

/* Rows of logits travel with their pads, which are no payload. */
static void without_pads(const struct step *s, struct op *op)
{
	op->payload = op->payload / s->model->logits_stride * s->model->classes;
}

static void gather_outputs(struct step *s)
{
	const struct model *m = s->model;
	struct region own = s->value[m->logits];
	if (s->ranks == 1) {
		step_classifier(s, false);
		return;
	}
	/* Where the root's own outputs were made, at the head of everyone's. */
	struct region all = s->root ? region_whole(s->b, own.buffer) : region_none();
	without_pads(s, move(s, OP_GATHER, TRAFFIC_GATHER_OUTPUTS, own, all));
	if (s->root) {
		s->value[m->logits] = all;
		step_classifier(s, true);
		s->value[m->logits] = own;
	}
	if (!s->evaluating)
		without_pads(s, move(s, OP_SCATTER, TRAFFIC_SCATTER_OUTPUT_GRADIENTS, all, own));
}

static void alloc_outputs(struct step *s)
{
	struct region all;
	if (s->root && s->ranks > 1)
		wide_value(s, s->model->logits, &all);
}

/* With --offload optimizer the root's gradients stay on the host. They are collected on the device all the same, and
 * leave once a step. */
static bool passes_on(const struct step *s)
{
	return s->root && s->settings->offload.optimizer;
}

static void gradient_needed(struct step *s, int tensor)
{
	const struct group *g = &s->plan->groups[0];
	if ((s->root && !passes_on(s)) || s->group_buffer[0] >= 0)
		return;
	(void)tensor;
	s->group_buffer[0] = build_alloc(s->b, step_name(s, s->root ? "collected.gradients" : "replica.gradients"),
	                                 CATEGORY_GATHERED, s->settings->precision, g->padded);
	for (int t = 0; t < s->model->tensor_count; t++) {
		s->gradient[t] =
		        region_of(s->group_buffer[0], s->plan->tensor_offset[t], s->model->tensors[t].elements);
		s->written[t] = false;
	}
	if (g->padded > g->elements)
		build_op(s->b, OP_ZERO, QUEUE_COMPUTE)->operand[ZERO_X] =
		        region_of(s->group_buffer[0], g->elements, g->padded - g->elements);
}

static void free_replica(struct step *s)
{
	if (s->root || s->ranks == 1)
		return;
	build_free(s->b, s->gathered[0]);
	s->gathered[0] = -1;
}

static void free_gradients(struct step *s)
{
	build_free(s->b, s->group_buffer[0]);
	s->group_buffer[0] = -1;
}

static void reduce_to_root(struct step *s)
{
	const struct group *g = &s->plan->groups[0];
	free_replica(s);
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_REDUCE, SCHEDULE_STAR_REDUCE, TRAFFIC_REDUCE, 0);
	step_choose_algorithm(s, op, "reduce");
	op->pass = PASS_BACKWARD;
	op->operand[REDUCE_X] = region_of(s->group_buffer[0] < 0 ? s->gradients : s->group_buffer[0], 0, g->padded);
	s->reduced[0] = build_number(s->b, op);
	build_wait(s->b, QUEUE_COMPUTE, s->reduced[0]);
	if (!s->root)
		free_gradients(s);
}

static void collect_gradients(struct step *s)
{
	if (s->ranks > 1)
		reduce_to_root(s);
	if (!passes_on(s) || !s->last_micro)
		return;
	enum queue made_by = s->ranks > 1 ? QUEUE_COMMUNICATION : QUEUE_COMPUTE;
	struct region all = region_whole(s->b, s->group_buffer[0]);
	build_wait(s->b, QUEUE_COMPUTE, offload_gradients(s, 0, all, made_by, false));
	free_gradients(s);
}

static void begin_micro(struct step *s)
{
	send_parameters(s);
}

static void after_forward(struct step *s, int unit)
{
	/* In the evaluate section nothing follows the last unit's forward. */
	if (s->evaluating && unit == s->model->kernels[s->model->kernel_count - 1].unit)
		free_replica(s);
}

const struct strategy strategy_dp = {
        .name = "dp",
        .what = "one root: sends parameters, gathers outputs, collects gradients, updates",
        .keys = {{"broadcast", "star|tree|chain", "star", "how parameters travel"},
                 {"reduce", "star|tree|chain", "star", "how gradients travel"}},
        .pack = pack_all,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .roots = true,
        .holds_state = only_root,
        .load = load,
        .begin_micro = begin_micro,
        .alloc_outputs = alloc_outputs,
        .after_forward = after_forward,
        .loss = gather_outputs,
        .gradient_needed = gradient_needed,
        .end_backward = collect_gradients,
};
