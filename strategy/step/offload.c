/* What does not stay in the device's memory (--offload): ZeRO-Offload (Ren et al. 2021, arXiv 2101.06840) keeps
 * gradients and optimizer state on the host and updates there; ZeRO-Infinity (Rajbhandari et al. 2021, arXiv
 * 2104.07857) adds parameters, activations and the disk.
 *
 *     optimizer    gradients leave for the host as soon as they are reduced (reduce.c), the host updates its fp32
 *                  weights (update_host.c), and the new parameters come back: 2 bytes a parameter each way in mixed
 *                  precision, over the ranks that share them. It is the least traffic there is: any other cut
 *                  through the graph of a step moves more (ZeRO-Offload, section 3).
 *     parameters   a unit's shard comes to the device before its gather, forward and backward (gather.c)
 *     activations  offload_values.c
 *
 * All of it acts here and in the shared step, once for all strategies. Copies run on queues of their own, so what they
 * hide behind is what the waits allow.
 */
#include "strategy/step/step.h"

/* ---- what goes with what ---- */

enum status offload_check(const struct strategy *g, const struct settings *t, const struct checkpointing *c)
{
	const struct offload *o = &t->offload;
	if ((o->activations || c->cpu) && c->contiguous)
		return status_fail(
		        STATUS_INPUT,
		        "{activation_checkpointing}: contiguous_memory_optimization=yes keeps checkpoints in one "
		        "block on the device; leave it out, or let them stay there");
	if (!o->optimizer && !o->parameters && !o->activations)
		return STATUS_OK;
	if (o->parameters && g->parameters != PLACE_SHARD)
		return status_fail(
		        STATUS_INPUT,
		        "{offload} parameters: with %s the kernels use each rank's whole parameters where they "
		        "stay; there is no shard to gather from: use zero3, fsdp or hybrid",
		        g->name);
	if (o->parameters && !o->optimizer)
		return status_fail(STATUS_INPUT,
		                   "{offload} parameters: the update would fetch and return every shard; say "
		                   "{offload} optimizer,parameters");
	if (o->optimizer_on_disk && o->parameters && t->optimizer == OPTIMIZER_SGD && t->precision == TYPE_FP32)
		return status_fail(
		        STATUS_INPUT,
		        "{offload} optimizer:to=disk: {optimizer} sgd has no optimizer state, and parameters "
		        "in fp32 are their own master weights; leave out to=disk");
	if (o->delayed && (o->optimizer_on_disk || o->parameters))
		return status_fail(STATUS_INPUT, "{offload} optimizer:delayed=yes: %s",
		                   o->parameters
		                           ? "the host's parameters are read all through the step, so they cannot "
		                             "be updated meanwhile; leave parameters on the device"
		                           : "what it hides is the host's work, not the disk's; use to=host");
	if (o->delayed && t->precision == TYPE_FP16)
		return status_fail(
		        STATUS_INPUT,
		        "{offload} optimizer:delayed=yes: in fp16 the loss scale of a gradient would have changed "
		        "when it is applied; use bf16");
	return STATUS_OK;
}

enum space offload_space(const struct step *s, bool of_parameters)
{
	const struct offload *o = &s->settings->offload;
	if (of_parameters ? !o->parameters : !o->optimizer)
		return SPACE_DEVICE;
	return (of_parameters ? o->parameters_on_disk : o->optimizer_on_disk) ? SPACE_DISK : SPACE_HOST;
}

/* ---- staging ---- */

static int stage(struct step *s, const char *name, const struct region *home)
{
	const struct buffer *b = &s->b->role->buffers[home->buffer];
	return build_alloc_in(s->b, SPACE_HOST, name, CATEGORY_BUFFERS, b->type, region_elements(s->plan, home));
}

static void remember(int ring[2], int op)
{
	ring[0] = ring[1];
	ring[1] = op;
}

void offload_begin_with(struct step *s, enum op_kind kind, int buffer, enum placement place, unsigned axes, int group)
{
	enum space space = s->b->role->buffers[buffer].space;
	struct region home = step_place(s, buffer, place, group), at = home;
	int staging = -1;
	if (space == SPACE_DISK) {
		staging = stage(s,
		                arena_print(&s->b->plan->arena, "begin.%s.%s", s->b->role->buffers[buffer].name,
		                            s->plan->groups[group].name),
		                &home);
		at = region_whole(s->b, staging);
		build_wait(s->b, QUEUE_HOST_COMPUTE, s->put[0]);
	}
	struct op *op = build_op(s->b, kind, space == SPACE_DEVICE ? QUEUE_COMPUTE : QUEUE_HOST_COMPUTE);
	op->operand[kind == OP_ZERO ? ZERO_X : INITIALIZE_WEIGHTS] = at;
	op->group = group;
	op->axes = axes;
	if (staging < 0)
		return;
	build_wait_all(s->b, QUEUE_DISK, QUEUE_HOST_COMPUTE);
	remember(s->put, build_copy(s->b, at, home));
	build_free(s->b, staging);
}

struct region offload_read(struct step *s, struct region home, const char *name, int *staging)
{
	if (s->b->role->buffers[home.buffer].space != SPACE_DISK)
		return home;
	*staging = stage(s, name, &home);
	build_wait_all(s->b, QUEUE_DISK, QUEUE_HOST_COMPUTE);
	build_wait(s->b, QUEUE_HOST_COMPUTE, build_copy(s->b, home, region_whole(s->b, *staging)));
	return region_whole(s->b, *staging);
}

/* ---- gradients ---- */

int offload_gradients(struct step *s, int group, struct region from, enum queue queue, bool adds)
{
	struct region home = step_place(s, s->gradients, s->gradients_place, group), to = home;
	int staging = -1;
	if (adds) {
		staging = stage(s, step_name(s, "staging.gradients.%s", s->plan->groups[group].name), &home);
		to = region_whole(s->b, staging);
		build_wait(s->b, QUEUE_DEVICE_TO_HOST, s->added[0]);
	}
	build_wait_all(s->b, QUEUE_DEVICE_TO_HOST, queue);
	/* A delayed update reads there what the last step left. */
	build_wait(s->b, QUEUE_DEVICE_TO_HOST, s->updated[group]);
	int copy = build_copy(s->b, from, to);
	s->b->role->ops[copy].group = group;
	s->b->role->ops[copy].micro = s->micro;
	s->b->role->ops[copy].pass = PASS_BACKWARD;
	s->reduced[group] = copy;
	if (!adds)
		return copy;
	build_wait(s->b, QUEUE_HOST_COMPUTE, copy);
	struct op *add = build_op(s->b, OP_ADD, QUEUE_HOST_COMPUTE);
	add->group = group;
	add->micro = s->micro;
	add->pass = PASS_BACKWARD;
	add->operand[ADD_X] = to;
	add->operand[ADD_Y] = home;
	remember(s->added, build_number(s->b, add));
	build_free(s->b, staging);
	return copy;
}

/* ---- parameters ---- */

int offload_fetch(struct step *s, int group, const char *name, int buffer)
{
	struct region home = step_place(s, s->parameters, PLACE_SHARD, group), from = home;
	int staging = -1;
	if (s->settings->offload.parameters_on_disk) {
		staging = stage(s, step_name(s, "read.%s", name), &home);
		from = region_whole(s->b, staging);
		build_wait(s->b, QUEUE_DISK, s->read[0]);
		build_wait(s->b, QUEUE_HOST_TO_DEVICE, build_copy(s->b, home, from));
	}
	if (buffer < 0) {
		buffer = build_alloc(s->b, step_name(s, "fetched.%s", name), CATEGORY_BUFFERS, s->settings->precision,
		                     home.count);
		s->fetched[group] = buffer;
	}
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE);
	int copy = build_copy(s->b, from, region_whole(s->b, buffer));
	s->b->role->ops[copy].group = group;
	s->b->role->ops[copy].micro = s->micro;
	if (staging >= 0) {
		remember(s->read, copy);
		build_free(s->b, staging);
	}
	return copy;
}

void offload_fetched(struct step *s, int group)
{
	if (s->fetched[group] >= 0)
		build_free(s->b, s->fetched[group]);
	s->fetched[group] = -1;
}

struct region offload_lift(struct step *s, int group)
{
	if (!s->settings->offload.parameters)
		return step_place(s, s->parameters, PLACE_SHARD, group);
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_HOST_COMPUTE);
	build_wait(s->b, QUEUE_COMMUNICATION, offload_fetch(s, group, s->plan->groups[group].name, -1));
	return region_whole(s->b, s->fetched[group]);
}

void offload_lower(struct step *s, int group)
{
	struct region home, to;
	int staging = -1;
	if (!s->settings->offload.parameters)
		return;
	home = to = step_place(s, s->parameters, PLACE_SHARD, group);
	if (s->settings->offload.parameters_on_disk) {
		staging = stage(s, arena_print(&s->b->plan->arena, "back.%s", s->plan->groups[group].name), &home);
		to = region_whole(s->b, staging);
	}
	build_wait_all(s->b, QUEUE_DEVICE_TO_HOST, QUEUE_COMMUNICATION);
	int copy = build_copy(s->b, region_whole(s->b, s->fetched[group]), to);
	s->b->role->ops[copy].group = group;
	if (staging >= 0) {
		build_wait(s->b, QUEUE_DISK, copy);
		/* The next group's staging may take this one's place. */
		build_wait(s->b, QUEUE_DEVICE_TO_HOST, build_copy(s->b, to, home));
		build_free(s->b, staging);
	}
	build_wait(s->b, QUEUE_HOST_TO_DEVICE, copy); /* … and the next shard this one's on the device */
	offload_fetched(s, group);
}
