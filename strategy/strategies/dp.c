/* Data parallel with one root, as torch.nn.DataParallel: everything is on rank 0, and goes through it.
 *
 *     root:    load all ─ scatter inputs ─ send parameters ─ forward ─ gather outputs ─ loss ─ scatter its gradient
 *              ─ backward ─ collect gradients ─ update
 *     worker:            receive inputs, parameters ─ forward ─ send outputs ─ receive their gradient
 *              ─ backward ─ send gradients ─ forget everything
 *
 * All of it for every micro-batch. (N−1)Ψ of parameters leave the root and (N−1)Ψ of gradients reach it: the growing
 * load of the root is the point of showing it. broadcast= and reduce= choose how they travel: star as torch.nn
 * .DataParallel without NCCL, chain pipelined as NCCL would, tree binomial. With --offload optimizer the gradients are
 * collected on the root's device all the same, and leave for its host once a step.
 */
#include "strategy/step/hooks.h"

/* A collective that moves samples between the root, which has all, and the ranks, which have a part each. */
static struct op *move(struct step *s, enum op_kind kind, enum traffic_kind t, struct region from, struct region to)
{
	struct step_view v = step_view(s);
	struct op *op = step_collective(s, kind, t, -1);
	build_operand(op, PART_WHOLE, kind == OP_SCATTER ? from : to, false);
	build_operand(op, PART_SHARE, kind == OP_SCATTER ? to : from, false);
	const struct region *part = kind == OP_SCATTER ? &to : &from;
	op->payload = part->slice ? part->count : part->count * v.ranks;
	build_wait(v.b, QUEUE_COMPUTE, build_number(v.b, op));
	return op;
}

/* Allocates the values of all ranks. The root's own samples are the first slice. */
static struct region alloc_global_value(struct step *s, int value)
{
	struct step_view v = step_view(s);
	int64_t own = step_value_elements(s, value);
	int buffer = build_alloc(v.b, step_name(s, "%s.all", v.model->values[value].name), CATEGORY_ACTIVATIONS,
	                         step_value_type(s, value), v.ranks * own);
	step_place_value(s, value, region_of(buffer, 0, own));
	return region_whole(v.b, buffer);
}

static void load(struct step *s)
{
	struct step_view v = step_view(s);
	const struct model *m = v.model;
	struct region inputs = region_none();
	if (v.root) {
		inputs = alloc_global_value(s, m->input);
		struct region targets = alloc_global_value(s, m->target);
		struct op *op = build_op(v.b, OP_LOAD, QUEUE_COMPUTE);
		op->micro = v.micro;
		op->all_ranks = v.ranks > 1;
		op->operand[LOAD_INPUTS] = inputs;
		op->operand[LOAD_TARGETS] = targets;
		op->operand[LOAD_STEP] = step_counter(s);
		step_move_value(s, m->target, targets);
	} else {
		step_alloc_value(s, m->input);
	}
	if (v.ranks > 1)
		move(s, OP_SCATTER, TRAFFIC_SCATTER_INPUTS, inputs, step_value(s, m->input));
}

/* Workers get a replica of the parameters for this micro-batch. */
static void send_parameters(struct step *s)
{
	struct step_view v = step_view(s);
	if (v.ranks == 1)
		return;
	struct region all = v.root ? gather_home(s, 0) : region_whole(v.b, gather_open(s, 0, "replica"));
	struct op *op = step_collective(s, OP_BROADCAST, TRAFFIC_BROADCAST, 0);
	op->operand[BROADCAST_X] = all;
	build_wait(v.b, QUEUE_COMPUTE, build_number(v.b, op));
}

static void free_replica(struct step *s)
{
	struct step_view v = step_view(s);
	if (!v.root && v.ranks > 1)
		gather_close(s, 0);
}

/* In the evaluate section, the last unit's forward pass is the end. */
static void after_forward(struct step *s, int unit)
{
	struct step_view v = step_view(s);
	if (v.evaluating && unit == v.model->kernels[v.model->kernel_count - 1].unit)
		free_replica(s);
}

static void alloc_outputs(struct step *s)
{
	struct step_view v = step_view(s);
	if (v.root && v.ranks > 1)
		alloc_global_value(s, v.model->logits);
}

/* Rows of logits are sent with their padding, which is not payload. */
static void without_pads(const struct model *m, struct op *op)
{
	op->payload = op->payload / m->logits_stride * m->classes;
}

static void gather_outputs(struct step *s)
{
	struct step_view v = step_view(s);
	const struct model *m = v.model;
	struct region own = step_value(s, m->logits);
	if (v.ranks == 1) {
		step_classifier(s, false);
		return;
	}
	/* The root has written its own outputs at the head of the buffer for all. */
	struct region all = v.root ? region_whole(v.b, own.buffer) : region_none();
	without_pads(m, move(s, OP_GATHER, TRAFFIC_GATHER_OUTPUTS, own, all));
	if (v.root) {
		step_move_value(s, m->logits, all);
		step_classifier(s, true);
		step_move_value(s, m->logits, own);
	}
	if (!v.evaluating)
		without_pads(m, move(s, OP_SCATTER, TRAFFIC_SCATTER_OUTPUT_GRADIENTS, all, own));
}

static void gradient_needed(struct step *s, int tensor)
{
	(void)tensor;
	reduce_open(s, 0, step_view(s).root ? "collected.gradients" : "replica.gradients");
}

/* Gradients are collected all at once, after the backward pass. */
static void gradient_ready(struct step *s, int tensor)
{
	(void)s;
	(void)tensor;
}

static void reduce_to_root(struct step *s)
{
	struct step_view v = step_view(s);
	free_replica(s);
	struct op *op = step_collective(s, OP_REDUCE, TRAFFIC_REDUCE, 0);
	op->pass = PASS_BACKWARD;
	op->operand[REDUCE_X] = reduce_written(s, 0);
	reduce_done(s, 0, op);
	build_wait(v.b, QUEUE_COMPUTE, build_number(v.b, op));
	if (!v.root)
		reduce_close(s, 0);
}

static void collect_gradients(struct step *s)
{
	struct step_view v = step_view(s);
	if (v.ranks > 1)
		reduce_to_root(s);
	if (v.root && v.last_micro)
		reduce_deliver(s, 0, v.ranks > 1 ? QUEUE_COMMUNICATION : QUEUE_COMPUTE);
	reduce_finish(s);
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
        .root_alone = true,
        .hooks = {.load = load,
                  .begin_micro = send_parameters,
                  .alloc_outputs = alloc_outputs,
                  .after_forward = after_forward,
                  .loss = gather_outputs,
                  .gradient_needed = gradient_needed,
                  .gradient_ready = gradient_ready,
                  .end_backward = collect_gradients},
};
