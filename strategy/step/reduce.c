/* Gradients that leave as their group fills: ZeRO-2 (a group is a bucket), ZeRO-3 and FSDP (a group is a unit).
 *
 * A whole group's gradients live in a gathered buffer from the first kernel that writes to it until its reduce-scatter
 * is done; what stays is this rank's slice. On later micro-batches the slice arrives in staging and is added.
 *
 *     compute        | backward 2 | backward 1 | backward 0 |
 *     communication               | reduce-scatter 2 | reduce-scatter 1 | …
 *                                                    ▲ before a third group is opened, the first has left
 *
 * With --offload optimizer every strategy's gradients leave this way, and go on to the host (offload.c):
 *
 *     communication               | reduce-scatter 2 | reduce-scatter 1 |
 *     device-to-host                                 | copy 2 | …       | copy 1 |
 *
 * Those that a strategy reduces only on the last micro-batch are added up on the device until then, in the same place
 * as without offload; so are the shards that hybrid reduces across its groups.
 *
 * With accumulation and `sync=last` (FSDP's no_sync) the whole gradients stay until the last micro-batch, and are
 * reduced once.
 */
#include <assert.h>
#include <string.h>

#include "strategy/step/stage.h"
#include "strategy/step/step.h"

enum { GROUPS_IN_FLIGHT = 1 }; /* reduce-scatters that may be under way when a new group is opened */

static bool offloaded(const struct step *s)
{
	return s->settings->offload.optimizer;
}

static bool sync_every_micro(const struct step *s)
{
	if (offloaded(s) && (s->strategy->gradients != PLACE_SHARD || s->shards == 1))
		return false;
	return strcmp(strategy_setting(s, "sync"), "last") != 0; /* "" where the strategy has no such key */
}

/* What is offloaded leaves each micro-batch's shard to the host; but where replicas of the shards add up theirs once a
 * step, it stays on the device until then. */
static bool crosses(const struct step *s)
{
	return offloaded(s) && s->replica_axes && s->shards > 1;
}

static struct region lasting_shard(const struct step *s, int group)
{
	return s->crossing[group] >= 0 ? region_whole(s->b, s->crossing[group])
	                               : step_place(s, s->gradients, PLACE_SHARD, group);
}

/* Replicas of the shards, if there are any, add up theirs: once a step, when the last micro-batch is in the shard,
 * which was written there by the communication queue itself or by the compute queue. */
static void reduce_replicas(struct step *s, int group, bool by_compute)
{
	if (!s->replica_axes || !s->last_micro || (offloaded(s) && !crosses(s)))
		return;
	if (by_compute)
		build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_ALL_REDUCE, SCHEDULE_RING_ALL_REDUCE, TRAFFIC_ALL_REDUCE, group);
	op->axes = step_axes(s, s->replica_axes);
	op->pass = PASS_BACKWARD;
	op->operand[ALL_REDUCE_X] = lasting_shard(s, group);
	if (s->shards > 1) /* the padding is on some shards and not on others */
		op->payload = op->operand[ALL_REDUCE_X].count;
	s->reduced[group] = build_number(s->b, op);
}

/* In use until the operation is done. -1: no such buffer. */
static void leave(struct step *s, int group, int buffer, int staging, int slice, int op)
{
	assert(s->leaving_count < STEP_IN_FLIGHT);
	s->leaving[s->leaving_count].group = group;
	s->leaving[s->leaving_count].buffer = buffer;
	s->leaving[s->leaving_count].staging = staging;
	s->leaving[s->leaving_count].slice = slice;
	s->leaving[s->leaving_count].op = op;
	s->leaving_count++;
}

/* A shard that has waited on the device has all micro-batches of all ranks, and goes to the host. */
static void cross(struct step *s, int group)
{
	int shard = s->crossing[group];
	if (shard < 0 || !s->last_micro)
		return;
	s->crossing[group] = -1;
	leave(s, group, -1, -1, shard,
	      offload_gradients(s, group, region_whole(s->b, shard), QUEUE_COMMUNICATION, false));
}

/* The oldest one has arrived: what was gathered is freed. */
static void arrive(struct step *s)
{
	int group = s->leaving[0].group, staging = s->leaving[0].staging, buffer = s->leaving[0].buffer;
	build_wait(s->b, QUEUE_COMPUTE, s->leaving[0].op);
	if (s->leaving[0].slice >= 0)
		build_free(s->b, s->leaving[0].slice);
	s->leaving_count--;
	memmove(&s->leaving[0], &s->leaving[1], (size_t)s->leaving_count * sizeof s->leaving[0]);
	if (staging >= 0) {
		struct op *add = build_op(s->b, OP_ADD, QUEUE_COMPUTE);
		add->group = group;
		add->micro = s->micro;
		add->pass = PASS_BACKWARD;
		add->operand[ADD_X] = region_whole(s->b, staging);
		add->operand[ADD_Y] = lasting_shard(s, group);
		build_free(s->b, staging);
		reduce_replicas(s, group, true);
		cross(s, group);
	}
	if (buffer >= 0)
		build_free(s->b, buffer);
}

static int gathered_leaving(const struct step *s)
{
	int n = 0;
	for (int i = 0; i < s->leaving_count; i++)
		n += s->leaving[i].buffer >= 0;
	return n;
}

void reduce_finish(struct step *s)
{
	while (s->leaving_count)
		arrive(s);
}

static void point_gradients(struct step *s, int group, int buffer)
{
	const struct group *g = &s->plan->groups[group];
	for (int i = 0; i < g->tensor_count; i++) {
		int t = g->tensors[i];
		s->gradient[t] = region_of(buffer, s->plan->tensor_offset[t], s->model->tensors[t].elements);
		s->written[t] = false;
	}
}

void reduce_needed(struct step *s, int tensor)
{
	int group = s->plan->tensor_group[tensor];
	const struct group *g = &s->plan->groups[group];
	if (s->group_buffer[group] >= 0)
		return;
	if (s->shards == 1 && !offloaded(s)) { /* the slice is the whole: written where it stays */
		s->group_buffer[group] = s->gradients;
		if (!s->micro)
			for (int i = 0; i < g->tensor_count; i++)
				s->gradient[g->tensors[i]] =
				        region_of(s->gradients, g->base + s->plan->tensor_offset[g->tensors[i]],
				                  s->model->tensors[g->tensors[i]].elements);
		return;
	}
	while (gathered_leaving(s) > GROUPS_IN_FLIGHT)
		arrive(s);
	int buffer = build_alloc(s->b, step_name(s, "gathered.gradients.%s", g->name), CATEGORY_GATHERED,
	                         s->settings->precision, g->padded);
	s->group_buffer[group] = buffer;
	point_gradients(s, group, buffer);
	if (g->padded > g->elements)
		build_op(s->b, OP_ZERO, QUEUE_COMPUTE)->operand[ZERO_X] =
		        region_of(buffer, g->elements, g->padded - g->elements);
}

/* What is reduced arrives where it stays, or in staging to be added. */
static int reduce_to(struct step *s, int group, int buffer, struct region to)
{
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op =
	        step_collective(s, OP_REDUCE_SCATTER, SCHEDULE_RING_REDUCE_SCATTER, TRAFFIC_REDUCE_SCATTER, group);
	step_choose_algorithm(s, op, "reduce_scatter");
	op->pass = PASS_BACKWARD;
	op->axes = step_axes(s, s->shard_axes);
	op->operand[REDUCE_SCATTER_X] = region_of(buffer, 0, s->plan->groups[group].padded);
	op->operand[REDUCE_SCATTER_Y] = to;
	return build_number(s->b, op);
}

/* Everybody keeps the whole: it is reduced in place. */
static void reduce_whole(struct step *s, int group, int buffer)
{
	build_wait_all(s->b, QUEUE_COMMUNICATION, QUEUE_COMPUTE);
	struct op *op = step_collective(s, OP_ALL_REDUCE, SCHEDULE_RING_ALL_REDUCE, TRAFFIC_ALL_REDUCE, group);
	op->pass = PASS_BACKWARD;
	op->operand[ALL_REDUCE_X] = region_of(buffer, 0, s->plan->groups[group].padded);
	step_choose_algorithm(s, op, "algorithm");
}

/* Reduces a group and sends what is this rank's to the host. *slice: a buffer that is in use until then. */
static int reduce_and_offload(struct step *s, int group, int buffer, bool adds, int *slice)
{
	const struct group *g = &s->plan->groups[group];
	if (plan_along(s->plan, group_sum_axes(s->plan, group)) == 1) /* nobody has other samples, or rows */
		return offload_gradients(s, group, region_of(buffer, 0, g->padded), QUEUE_COMPUTE, adds);
	if (s->shards == 1 || s->gradients_place == PLACE_WHOLE) {
		reduce_whole(s, group, buffer);
		return offload_gradients(s, group, region_of(buffer, 0, g->padded), QUEUE_COMMUNICATION, adds);
	}
	*slice = build_alloc(s->b, step_name(s, "slice.gradients.%s", g->name), CATEGORY_BUFFERS,
	                     s->settings->precision, g->padded / s->shards);
	reduce_to(s, group, buffer, region_whole(s->b, *slice));
	return offload_gradients(s, group, region_whole(s->b, *slice), QUEUE_COMMUNICATION, adds);
}

static void send(struct step *s, int group)
{
	const struct group *g = &s->plan->groups[group];
	bool first = !s->micro || !sync_every_micro(s);
	int buffer = s->group_buffer[group], staging = -1, slice = -1, op;
	if (offloaded(s) && !crosses(s)) {
		op = reduce_and_offload(s, group, buffer, !first, &slice);
	} else {
		if (first && crosses(s))
			s->crossing[group] =
			        build_alloc(s->b, step_name(s, "shard.gradients.%s", g->name), CATEGORY_BUFFERS,
			                    s->settings->precision, g->padded / s->shards);
		if (!first)
			staging = build_alloc(s->b, step_name(s, "staging.gradients.%s", g->name), CATEGORY_BUFFERS,
			                      s->settings->precision, g->padded / s->shards);
		op = reduce_to(s, group, buffer, first ? lasting_shard(s, group) : region_whole(s->b, staging));
	}
	leave(s, group, buffer, staging, slice, op);
	s->group_buffer[group] = -1;
	if (!first)
		return;
	reduce_replicas(s, group, false);
	cross(s, group);
}

void reduce_ready(struct step *s, int tensor)
{
	int group = s->plan->tensor_group[tensor];
	if (--s->group_left[group] > 0)
		return;
	if (s->shards == 1 && !offloaded(s)) {
		s->group_buffer[group] = -1;
		reduce_replicas(s, group, true);
	} else if ((s->last_micro || sync_every_micro(s)) && !stage_shares(s, group)) {
		send(s, group); /* what stages share: when they have reduced it */
	}
}

void reduce_leave(struct step *s, int group)
{
	int buffer = s->group_buffer[group];
	struct region whole = region_of(buffer, 0, s->plan->groups[group].padded);
	leave(s, group, buffer, -1, -1, offload_gradients(s, group, whole, QUEUE_COMMUNICATION, false));
	s->group_buffer[group] = -1;
}
