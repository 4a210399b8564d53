/* The update on the host (--offload optimizer): Adam, or SGD, on the host queue, group by group, while copies of the
 * groups before and after are under way.
 *
 *     device-to-host   gradients 2 │ gradients 1 │ …                (reduce.c, during backward)
 *     disk                         read 2 │ read 1 │ write 2 │ …    (with to=disk: two groups are in host memory)
 *     host                                │ adamw 2 │ adamw 1 │ …
 *     host-to-device                                │ parameters 2 │ parameters 1 │ …
 *
 * The host updates fp32 weights of its own (`master`), and writes beside them the parameters that kernels read: 16-bit
 * ones to staging or to the host's shard; in fp32 they are the master weights themselves. Where parameters are
 * offloaded in fp32, the host's shard is what is updated, and there is no master.
 *
 * Delayed by one step (ZeRO-Offload, section 5.2): the gradients that a step leaves are applied while the next one
 * computes, so nobody waits for the host. Step i then reads the weights that the gradients of steps 1 to i − 2 made.
 * The first step finds zeros there and a count of updates of 0, with which adamw and sgd leave everything as it is.
 *
 *     compute    │ forward, backward i        │ forward, backward i + 1    │
 *     host       │ adamw, gradients of i − 1  │ adamw, gradients of i      │
 */
#include "strategy/step/step.h"

enum held_part { WEIGHTS, FIRST, SECOND, PARTS };

/* A part of the state of a group: where it stays, and where the host works on it. */
struct held {
	struct region home, at;
	int staging; /* -1: they are the same place */
	int read;    /* the copy from disk; -1 */
};

static struct region home_of(const struct step *s, enum held_part part, int group)
{
	enum placement own = step_owned(s->strategy->optimizer);
	if (part == FIRST)
		return s->first < 0 ? region_none() : step_place(s, s->first, own, group);
	if (part == SECOND)
		return s->second < 0 ? region_none() : step_place(s, s->second, own, group);
	return s->master >= 0 ? step_place(s, s->master, own, group)
	                      : step_place(s, s->parameters, s->strategy->parameters, group);
}

/* Makes the state of a group ready for the host; what is on disk is read. */
static void bring(struct step *s, int group, struct held *held)
{
	for (int i = 0; i < PARTS; i++) {
		struct region home = home_of(s, (enum held_part)i, group);
		held[i] = (struct held){home, home, -1, -1};
		const struct buffer *b = home.buffer < 0 ? NULL : &s->b->role->buffers[home.buffer];
		if (!b || b->space != SPACE_DISK)
			continue;
		held[i].staging = build_alloc_in(
		        s->b, SPACE_HOST,
		        arena_print(&s->b->plan->arena, "update.%s.%s", b->name, s->plan->groups[group].name),
		        CATEGORY_BUFFERS, b->type, home.count);
		held[i].at = region_whole(s->b, held[i].staging);
		/* Staging of the group before last has been sent on, and may be taken. */
		build_wait(s->b, QUEUE_DISK, s->put[1]);
		held[i].read = build_copy(s->b, home, held[i].at);
	}
}

/* Where the host writes the 16-bit parameters: its own shard, or staging on the way to the device or the disk. */
static struct region place_for_16bit(struct step *s, int group)
{
	const struct offload *o = &s->settings->offload;
	if (!step_mixed(s))
		return region_none();
	if (o->parameters && !o->parameters_on_disk)
		return step_place(s, s->parameters, s->strategy->parameters, group);
	struct region own = home_of(s, WEIGHTS, group);
	s->rounded[group] = build_alloc_in(s->b, SPACE_HOST,
	                                   arena_print(&s->b->plan->arena, "rounded.%s", s->plan->groups[group].name),
	                                   CATEGORY_BUFFERS, s->settings->precision, region_elements(s->plan, &own));
	build_wait(s->b, QUEUE_HOST_COMPUTE, s->put[0]);
	return region_whole(s->b, s->rounded[group]);
}

static void update_group(struct step *s, int group, const struct held *held)
{
	bool mixed = step_mixed(s);
	struct region rounded = place_for_16bit(s, group);
	build_wait(s->b, QUEUE_HOST_COMPUTE, s->reduced[group]);
	for (int i = 0; i < PARTS; i++)
		build_wait(s->b, QUEUE_HOST_COMPUTE, held[i].read);
	struct op *op = build_op(s->b, step_adamw(s) ? OP_ADAMW : OP_SGD, QUEUE_HOST_COMPUTE);
	op->pass = PASS_UPDATE;
	op->group = group;
	build_operand(op, PART_PARAMETERS, mixed ? rounded : held[WEIGHTS].at, false);
	build_operand(op, PART_GRADIENTS, step_place(s, s->gradients, s->gradients_place, group), false);
	build_operand(op, PART_FIRST_MOMENT, held[FIRST].at, false);
	build_operand(op, PART_SECOND_MOMENT, held[SECOND].at, false);
	build_operand(op, PART_MASTER, mixed ? held[WEIGHTS].at : region_none(), false);
	step_update_control(s, op);
	step_rounding(s, op);
	s->updated[group] = build_number(s->b, op);
}

static int put(struct step *s, int group, enum queue queue, struct region from, struct region to)
{
	build_wait(s->b, queue, s->updated[group]);
	int copy = build_copy(s->b, from, to);
	s->b->role->ops[copy].group = group;
	s->b->role->ops[copy].pass = PASS_UPDATE;
	return copy;
}

/* What was updated goes back to where it stays, and the new parameters to whoever reads them. */
static void give_back(struct step *s, int group, const struct held *held)
{
	const struct strategy *g = s->strategy;
	const struct offload *o = &s->settings->offload;
	int rounded = s->rounded[group], last = -1;
	for (int i = 0; i < PARTS; i++)
		if (held[i].staging >= 0)
			last = put(s, group, QUEUE_DISK, held[i].at, held[i].home);
	if (o->parameters_on_disk && rounded >= 0)
		last = put(s, group, QUEUE_DISK, region_whole(s->b, rounded),
		           step_place(s, s->parameters, g->parameters, group));
	if (!o->parameters) {
		enum placement place = g->parameters == PLACE_WHOLE ? g->optimizer : g->parameters;
		/* Whoever reads the old ones has done so: their gradients came after, and the update after those;
		 * unless it is delayed. */
		if (o->delayed)
			build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE);
		last = put(s, group, QUEUE_HOST_TO_DEVICE,
		           rounded >= 0 ? region_whole(s->b, rounded) : held[WEIGHTS].at,
		           step_place(s, s->parameters, place, group));
		step_spread(s, group, QUEUE_HOST_TO_DEVICE);
	}
	for (int i = 0; i < PARTS; i++)
		if (held[i].staging >= 0)
			build_free(s->b, held[i].staging);
	if (rounded >= 0)
		build_free(s->b, rounded);
	s->rounded[group] = -1;
	s->put[0] = s->put[1];
	s->put[1] = last;
}

static void advance(struct step *s)
{
	struct op *op = build_op(s->b, OP_ADVANCE, QUEUE_HOST_COMPUTE);
	op->pass = PASS_UPDATE;
	op->operand[ADVANCE_STEP] = region_whole(s->b, s->update_counter);
}

void host_update_early(struct step *s)
{
	struct held held[PARTS];
	if (!s->settings->offload.delayed || !step_holds_state(s))
		return;
	step_look(s);
	for (int g = 0; g < s->plan->group_count; g++) {
		if (s->base[g] < 0)
			continue;
		bring(s, g, held);
		update_group(s, g, held);
	}
	advance(s);
}

/* The groups that this role has, in the order in which their gradients come: units from the last to the first, buckets
 * as they are numbered. */
static int *order_of_arrival(struct step *s, int *count)
{
	int groups = s->plan->group_count, *order = arena_alloc(&s->b->plan->arena, (size_t)groups * sizeof *order);
	*count = 0;
	for (int g = 0; g < groups; g++) {
		if (s->base[g] < 0)
			continue;
		int at = (*count)++;
		for (; at > 0 && s->reduced[order[at - 1]] > s->reduced[g]; at--)
			order[at] = order[at - 1];
		order[at] = g;
	}
	return order;
}

void host_update(struct step *s)
{
	struct held held[2][PARTS];
	int groups, *order = order_of_arrival(s, &groups);
	if (s->settings->offload.delayed) {
		for (int i = 0; i < groups; i++) {
			bring(s, order[i], held[0]); /* nothing of it is on disk */
			give_back(s, order[i], held[0]);
		}
		return;
	}
	advance(s);
	step_look(s);
	for (int i = 0; i <= groups; i++) {
		if (i < groups)
			bring(s, order[i], held[i % 2]);
		if (i) {
			update_group(s, order[i - 1], held[(i - 1) % 2]);
			give_back(s, order[i - 1], held[(i - 1) % 2]);
		}
	}
	step_update_scaler(s);
}
