/* Not everything stays in the device's memory (--offload): ZeRO-Offload (Ren et al. 2021, arXiv 2101.06840) keeps
 * gradients and optimizer state on the host and updates there; ZeRO-Infinity (Rajbhandari et al. 2021, arXiv
 * 2104.07857) adds parameters, activations and the disk.
 *
 *     optimizer    gradients leave for the host as soon as they are reduced (reduce.c), the host updates its fp32
 *                  weights (offload_update.c), and the new parameters come back: 2 bytes a parameter each way in mixed
 *                  precision, over the ranks that share them. It is the least traffic there is: any other cut
 *                  through the graph of a step moves more (ZeRO-Offload, section 3).
 *     parameters   a unit's shard comes to the device before its gather, forward and backward (gather.c)
 *     activations  host_values.c
 *
 * The option becomes a space for each kind of state, and what follows from it (home_choose); from there on, the step
 * asks where a kind of state stays and never for the option. Copies run on queues of their own, so what they hide
 * behind is what the waits allow.
 */
#include "strategy/step/offload.h"
#include "strategy/step/activations.h"

/* ---- what goes with what ---- */

enum status offload_check(const struct strategy *g, const struct settings *t, const struct checkpointing *c)
{
	const struct offload *o = &t->offload;
	enum status s = host_values_check(t, c);
	if (s || (!o->optimizer && !o->parameters))
		return s;
	if (o->optimizer && t->reproducible)
		return status_fail(STATUS_INPUT, "{reproducible} with {strategy} %s: %s", g->name,
		                   status_words("the host adds up micro-batches as they come; leave {offload} "
		                                "optimizer out"));
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

/* ---- where state stays ---- */

static enum space space_of(bool offloaded, bool on_disk)
{
	return !offloaded ? SPACE_DEVICE : on_disk ? SPACE_DISK : SPACE_HOST;
}

enum queue space_queue(enum space space)
{
	return space == SPACE_DEVICE ? QUEUE_COMPUTE : QUEUE_HOST_COMPUTE;
}

static struct home home_in(bool offloaded, bool on_disk, enum placement place)
{
	enum space space = space_of(offloaded, on_disk);
	return (struct home){-1, space, space_queue(space), place};
}

/* Gradient shards go to the host with every micro-batch. But if replicas add up their shards once a step, these wait on
 * the device until then; and what a strategy keeps whole is added up there, and reduced on the last micro-batch. So
 * does shardlab's trainer with one rank's shards, which are whole: its kernels add to them, to the bits of a run
 * without offload. Other software sends them with every micro-batch (ZeRO-Offload). */
static void choose_departure(struct step *s)
{
	if (!s->settings->offload.optimizer)
		return;
	s->state.departure = s->replica_axes && s->shards > 1 ? DEPART_LAST : DEPART_AT_ONCE;
	if (s->strategy->gradients != PLACE_SHARD || (s->shards == 1 && software_is_own(&s->plan->software)))
		s->choices.sync = SYNC_LAST;
}

/* The host updates shards, so gradients that it keeps are shards wherever the optimizer's state is. */
void home_choose(struct step *s)
{
	const struct strategy *g = s->strategy;
	const struct offload *o = &s->settings->offload;
	enum placement own = step_owned(g->optimizer);
	struct home *home = s->state.home;
	home[STATE_PARAMETERS] = home_in(o->parameters, o->parameters_on_disk, g->parameters);
	home[STATE_GRADIENTS] = home_in(o->optimizer, false, o->optimizer ? own : g->gradients);
	for (int i = STATE_MASTER; i < STATE_KINDS; i++)
		home[i] = home_in(o->optimizer, o->optimizer_on_disk, own);
	s->state.update_space = space_of(o->optimizer, false);
	s->state.update_queue = space_queue(s->state.update_space);
	s->state.elsewhere = o->optimizer || o->parameters;
	s->state.own_weights = o->optimizer && !o->parameters;
	s->state.by_arrival = o->optimizer;
	s->state.delayed = o->delayed;
	choose_departure(s);
}

/* ---- staging ---- */

static const char *print_name(struct step *s, const char *what, const char *name)
{
	return arena_print(&s->b->plan->arena, "%s.%s", what, name);
}

int home_staging(struct step *s, const char *name, const struct region *home)
{
	const struct buffer *b = &s->b->role->buffers[home->buffer];
	return build_alloc_in(s->b, SPACE_HOST, name, CATEGORY_BUFFERS, b->type, region_elements(s->plan, home));
}

void staging_read_by(int uses[2], int op)
{
	uses[0] = uses[1];
	uses[1] = op;
}

int home_begin_with(struct step *s, enum op_kind kind, const struct home *home, uint8_t axes, int group)
{
	const char *name = s->plan->groups[group].name;
	struct region kept = step_place(s, home->buffer, home->place, group), at = kept;
	int staging = -1;
	if (home->space == SPACE_DISK) {
		name = print_name(s, s->b->role->buffers[home->buffer].name, name);
		staging = home_staging(s, print_name(s, kind == OP_RESTORE ? "restored" : "begin", name), &kept);
		at = region_whole(s->b, staging);
		build_wait(s->b, QUEUE_HOST_COMPUTE, s->staging_uses.written_back[0]);
	}
	struct op *op = build_op(s->b, kind, home->queue);
	op->operand[FIRST_OPERAND] = at;
	op->group = group;
	op->axes = axes;
	int number = build_number(s->b, op);
	if (staging < 0)
		return number;
	build_wait_all(s->b, QUEUE_DISK, QUEUE_HOST_COMPUTE);
	staging_read_by(s->staging_uses.written_back, build_copy(s->b, at, kept));
	build_free(s->b, staging);
	return number;
}

struct region home_read(struct step *s, struct region home, const char *name, int *staging)
{
	if (s->b->role->buffers[home.buffer].space != SPACE_DISK)
		return home;
	*staging = home_staging(s, name, &home);
	build_wait_all(s->b, QUEUE_DISK, QUEUE_HOST_COMPUTE);
	build_wait(s->b, QUEUE_HOST_COMPUTE, build_copy(s->b, home, region_whole(s->b, *staging)));
	return region_whole(s->b, *staging);
}

/* One operation zeros all of it, where no staging is needed. */
void home_zero(struct step *s, const struct home *home)
{
	if (home->buffer < 0)
		return;
	if (home->space != SPACE_DISK) {
		build_op(s->b, OP_ZERO, home->queue)->operand[ZERO_X] = region_whole(s->b, home->buffer);
		return;
	}
	for (int g = 0; g < s->plan->group_count; g++)
		if (s->group[g].base >= 0)
			home_begin_with(s, OP_ZERO, home, 0, g);
}

struct region home_bring(struct step *s, const struct home *home, int group, int *fetched)
{
	struct region kept = step_place(s, home->buffer, PLACE_SHARD, group);
	const char *name = s->plan->groups[group].name;
	int staging = -1;
	if (home->space == SPACE_DEVICE)
		return kept;
	kept = home_read(s, kept, print_name(s, "saved.read", name), &staging);
	*fetched = build_alloc(s->b, print_name(s, "saved.fetched", name), CATEGORY_BUFFERS,
	                       s->b->role->buffers[home->buffer].type, kept.count);
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_DISK);
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMMUNICATION);
	int copy = step_copy(s, group, PASS_NONE, kept, region_whole(s->b, *fetched));
	build_wait(s->b, QUEUE_COMMUNICATION, copy);
	build_wait(s->b, QUEUE_DISK, copy);
	if (staging >= 0)
		build_free(s->b, staging);
	return region_whole(s->b, *fetched);
}

/* ---- gradients ---- */

int home_send_gradients(struct step *s, int group, struct region from, enum queue queue, bool adds)
{
	const struct home *h = &s->state.home[STATE_GRADIENTS];
	struct region home = step_place(s, h->buffer, h->place, group), to = home;
	int staging = -1;
	if (adds) {
		staging = home_staging(s, step_name(s, "staging.gradients.%s", s->plan->groups[group].name), &home);
		to = region_whole(s->b, staging);
		build_wait(s->b, QUEUE_DEVICE_TO_HOST, s->staging_uses.added[0]);
	}
	build_wait_all(s->b, QUEUE_DEVICE_TO_HOST, queue);
	/* A delayed update still reads the gradients of the last step there. */
	build_wait(s->b, QUEUE_DEVICE_TO_HOST, s->group[group].updated);
	int copy = s->group[group].reduced = step_copy(s, group, PASS_BACKWARD, from, to);
	if (adds) {
		build_wait(s->b, QUEUE_HOST_COMPUTE, copy);
		staging_read_by(s->staging_uses.added, step_add_gradients(s, group, QUEUE_HOST_COMPUTE, staging, home));
	}
	return copy;
}

int home_fetch_gradients(struct step *s, int group, int *buffer)
{
	const struct home *h = &s->state.home[STATE_GRADIENTS];
	struct region home = step_place(s, h->buffer, h->place, group);
	*buffer = build_alloc(s->b, step_name(s, "fetched.gradients.%s", s->plan->groups[group].name), CATEGORY_BUFFERS,
	                      s->b->role->buffers[h->buffer].type, home.count);
	build_wait(s->b, QUEUE_HOST_TO_DEVICE, s->group[group].reduced);
	/* Its place may have held what the kernels so far read. */
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE);
	return step_copy(s, group, PASS_BACKWARD, home, region_whole(s->b, *buffer));
}

/* ---- parameters ---- */

static struct region shard_home(const struct step *s, int group)
{
	return step_place(s, s->state.home[STATE_PARAMETERS].buffer, PLACE_SHARD, group);
}

static bool parameters_in(const struct step *s, enum space space)
{
	return s->state.home[STATE_PARAMETERS].space == space;
}

int home_fetch(struct step *s, int group, const char *name, int buffer)
{
	struct region home = shard_home(s, group), from = home;
	int staging = -1;
	if (parameters_in(s, SPACE_DISK)) {
		staging = home_staging(s, step_name(s, "read.%s", name), &home);
		from = region_whole(s->b, staging);
		build_wait(s->b, QUEUE_DISK, s->staging_uses.fetched[0]);
		build_wait(s->b, QUEUE_HOST_TO_DEVICE, build_copy(s->b, home, from));
	}
	if (buffer < 0) {
		buffer = build_alloc(s->b, step_name(s, "fetched.%s", name), CATEGORY_BUFFERS, s->settings->precision,
		                     home.count);
		s->group[group].fetched = buffer;
	}
	build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_COMPUTE);
	int copy = step_copy(s, group, PASS_NONE, from, region_whole(s->b, buffer));
	if (staging >= 0) {
		staging_read_by(s->staging_uses.fetched, copy);
		build_free(s->b, staging);
	}
	return copy;
}

/* A fp32 shard as what the gather sends, until home_release. */
static struct region round_shard(struct step *s, int group, const char *name)
{
	struct region home = state_own(s, STATE_PARAMETERS, group);
	int buffer = build_alloc(s->b, step_name(s, "rounded.%s", name), CATEGORY_BUFFERS, s->settings->precision,
	                         home.count);
	s->group[group].fetched = buffer;
	step_copy(s, group, PASS_NONE, home, region_whole(s->b, buffer));
	return region_whole(s->b, buffer);
}

struct region home_acquire(struct step *s, int group, const char *name)
{
	if (s->state.casts)
		return round_shard(s, group, name);
	if (parameters_in(s, SPACE_DEVICE))
		return state_own(s, STATE_PARAMETERS, group);
	build_wait(s->b, QUEUE_COMMUNICATION, home_fetch(s, group, name, -1));
	return region_whole(s->b, s->group[group].fetched);
}

void home_release(struct step *s, int group)
{
	if (s->group[group].fetched >= 0)
		build_free(s->b, s->group[group].fetched);
	s->group[group].fetched = -1;
}

struct region home_acquire_first(struct step *s, int group)
{
	if (s->state.casts) /* the owners' own fp32 shard is what is sent */
		return state_own(s, STATE_PARAMETERS, group);
	if (!parameters_in(s, SPACE_DEVICE))
		build_wait_all(s->b, QUEUE_HOST_TO_DEVICE, QUEUE_HOST_COMPUTE);
	return home_acquire(s, group, s->plan->groups[group].name);
}

void home_write_back(struct step *s, int group)
{
	struct region home, to;
	int staging = -1;
	if (parameters_in(s, SPACE_DEVICE))
		return;
	home = to = shard_home(s, group);
	if (parameters_in(s, SPACE_DISK)) {
		staging = home_staging(s, print_name(s, "back", s->plan->groups[group].name), &home);
		to = region_whole(s->b, staging);
	}
	build_wait_all(s->b, QUEUE_DEVICE_TO_HOST, QUEUE_COMMUNICATION);
	int copy = step_copy(s, group, PASS_NONE, region_whole(s->b, s->group[group].fetched), to);
	if (staging >= 0) {
		build_wait(s->b, QUEUE_DISK, copy);
		/* The next group's staging may take this one's place. */
		build_wait(s->b, QUEUE_DEVICE_TO_HOST, build_copy(s->b, to, home));
		build_free(s->b, staging);
	}
	build_wait(s->b, QUEUE_HOST_TO_DEVICE, copy); /* the next shard may take this one's place on the device */
	home_release(s, group);
}
