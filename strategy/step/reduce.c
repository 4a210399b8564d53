/* Gradients on their way to where they stay.
 *
 * Where each rank keeps them whole, kernels write them there, and a group is reduced in place when its last gradient of
 * the last micro-batch is written: DDP's buckets, ZeRO-1's.
 *
 * Where a rank keeps a shard (ZeRO-2: of a bucket; ZeRO-3 and FSDP: of a unit), a whole group's gradients live in a
 * gathered buffer from the first kernel that writes to it until its reduce-scatter is done. On later micro-batches the
 * shard arrives in staging and is added.
 *
 *     compute        | backward 2 | backward 1 | backward 0 |
 *     communication               | reduce-scatter 2 | reduce-scatter 1 | …
 *                                                    ▲ before a third group is opened, the first has left
 *
 * Where the host keeps them, every strategy's gradients leave through a gathered buffer, and go on to the host
 * (offload.c):
 *
 *     communication               | reduce-scatter 2 | reduce-scatter 1 |
 *     device-to-host                                 | copy 2 | …       | copy 1 |
 *
 * On later micro-batches the host adds what comes; or the sum so far comes to the device, and goes back with the new
 * gradients in it (--as …:sums=device). The addition is a kernel among those of the backward pass. It stands where half
 * as many gradients again have been written, so that the sum comes beside the kernels before it and goes back beside
 * those behind it:
 *
 *     compute        | backward 2 | backward 1 … | add 2 | … backward 1 | backward 0 …
 *     host-to-device              | sum 2 |                             | sum 1 |
 *     device-to-host                                     | sum 2 |
 *
 * Gradients that a strategy reduces only on the last micro-batch are added up on the device until then, in the same
 * place as without offload; so are the shards that hybrid reduces across its groups.
 *
 * With `overlap=no` kernels wait for each reduction, and no more than one group is whole.
 *
 * DeepSpeed's stage 1 without overlap reduces nothing in the backward pass: all gradients are whole when it ends, and
 * go one group after another.
 *
 * With accumulation and `sync=last` (FSDP's no_sync) the whole gradients stay until the last micro-batch, and are
 * reduced once.
 */
#include <assert.h>
#include <string.h>

#include "strategy/step/groups.h"
#include "strategy/step/offload.h"

int reduce_copying(const struct step *s, int group)
{
	return s->group[group].tied ? BUCKET_VIEWS : s->plan->software.does[SOFTWARE_BUCKET];
}

/* ---- buffers ---- */

static int alloc_shard(struct step *s, int group, const char *what, enum category category)
{
	const struct group *g = &s->plan->groups[group];
	enum type type = category == CATEGORY_GRADIENTS ? plan_shard_type(s->plan) : plan_gradient_type(s->plan);
	return build_alloc(s->b, step_name(s, "%s.gradients.%s", what, g->name), category, type, g->padded / s->shards);
}

/* The shard on the device in which this rank adds up its gradients. */
static struct region device_shard(const struct step *s, int group)
{
	int waiting = s->group[group].shard;
	return waiting >= 0 ? region_whole(s->b, waiting)
	                    : step_place(s, s->state.home[STATE_GRADIENTS].buffer, PLACE_SHARD, group);
}

/* The whole gradients of a group in a buffer, which may have room for more. */
static struct region whole_in(const struct step *s, int group, int buffer)
{
	return region_of(buffer, s->group[group].at, s->plan->groups[group].padded);
}

struct region reduce_written(const struct step *s, int group)
{
	int open = s->group[group].gradients;
	return open >= 0 ? whole_in(s, group, open)
	                 : step_place(s, s->state.home[STATE_GRADIENTS].buffer, PLACE_WHOLE, group);
}

int64_t reduce_capacity(const struct step *s, int group)
{
	int64_t padded = s->plan->groups[group].padded;
	int64_t full = bucket_elements(s->plan);
	return reduce_copying(s, group) == BUCKET_FIXED && full > padded ? full : padded;
}

void reduce_open(struct step *s, int group, const char *name)
{
	const struct group *g = &s->plan->groups[group];
	if (state_stays(s, STATE_GRADIENTS) || s->group[group].gradients >= 0)
		return;
	int buffer = build_alloc(s->b, step_name(s, "%s", name), CATEGORY_GATHERED, plan_gradient_type(s->plan),
	                         reduce_capacity(s, group));
	s->group[group].gradients = buffer;
	for (int i = 0; i < g->tensor_count; i++) {
		int t = g->tensors[i];
		if (s->tensor[t].piece >= 0)
			continue;
		s->tensor[t].gradient = region_of(buffer, s->plan->tensor_offset[t], s->model->tensors[t].elements);
		s->tensor[t].written = false;
	}
	step_zero_padding(s, buffer, g->elements, g->padded);
}

void reduce_close(struct step *s, int group)
{
	build_free(s->b, s->group[group].gradients);
	s->group[group].gradients = -1;
}

void reduce_done(struct step *s, int group, const struct op *op)
{
	s->group[group].reduced = build_number(s->b, op);
}

/* ---- collectives ---- */

static struct op *all_reduce(struct step *s, int group, unsigned axes, enum queue made_by, struct region gradients)
{
	struct op *op = step_collective_after(s, made_by, OP_ALL_REDUCE, TRAFFIC_ALL_REDUCE, group);
	op->axes = step_axes(s, axes);
	op->pass = PASS_BACKWARD;
	op->operand[ALL_REDUCE_X] = gradients;
	return op;
}

static struct op *reduce_scatter(struct step *s, int group, struct region whole, struct region to)
{
	struct op *op = step_collective(s, OP_REDUCE_SCATTER, TRAFFIC_REDUCE_SCATTER, group);
	op->pass = PASS_BACKWARD;
	op->axes = step_axes(s, s->shard_axes);
	op->joined = s->bucket.joined;
	op->operand[REDUCE_SCATTER_X] = whole;
	op->operand[REDUCE_SCATTER_Y] = to;
	return op;
}

/* Lists a reduction as under way: its buffers are in use until its operation is done. */
static void depart(struct step *s, struct reduction r)
{
	assert(s->reductions.count < s->reductions.capacity);
	s->reductions.list[s->reductions.count++] = r;
}

/* DDP's buckets are copies: what is reduced goes back when all of them are. */
static void reduce_copy(struct step *s, int group, unsigned axes, struct region whole)
{
	const struct group *g = &s->plan->groups[group];
	struct region bucket = region_of(s->state.buckets, whole.offset, whole.count);
	step_zero_padding(s, bucket.buffer, bucket.offset + g->elements, bucket.offset + g->padded);
	step_copy(s, group, PASS_BACKWARD, region_of(whole.buffer, whole.offset, g->elements),
	          region_of(bucket.buffer, bucket.offset, g->elements));
	int op = build_number(s->b, all_reduce(s, group, axes, QUEUE_COMPUTE, bucket));
	depart(s, (struct reduction){.group = group, .buffer = -1, .staging = -1, .shard = -1, .op = op, .back = true});
}

static void copy_back(struct step *s, int group)
{
	struct region whole = reduce_written(s, group);
	struct region bucket = region_of(s->state.buckets, whole.offset, whole.count);
	s->group[group].reduced = step_copy(s, group, PASS_BACKWARD, bucket, whole);
}

/* Reduces gradients where they stay, once a step; nothing is to do if all ranks have seen the same samples and rows. */
static void reduce_in_place(struct step *s, int group)
{
	unsigned axes = group_sum_axes(s->plan, group);
	struct region whole = reduce_written(s, group);
	if (!s->last_micro || plan_along(s->plan, axes) == 1)
		return;
	if (s->strategy->optimizer == PLACE_SLICE && !s->choices.all)
		reduce_done(s, group, reduce_scatter(s, group, whole, state_own(s, STATE_GRADIENTS, group)));
	else if (s->state.buckets >= 0)
		reduce_copy(s, group, axes, whole);
	else
		reduce_done(s, group, all_reduce(s, group, axes, QUEUE_COMPUTE, whole));
	if (s->choices.waits)
		build_wait(s->b, QUEUE_COMPUTE, s->group[group].reduced);
}

/* Sums the shard over its replicas, if there are any. It happens once a step, when the last micro-batch is in the
 * shard. */
static void reduce_replicas(struct step *s, int group, enum queue written_by)
{
	if (!s->replica_axes || !s->last_micro || s->state.departure == DEPART_AT_ONCE)
		return;
	struct op *op = all_reduce(s, group, s->replica_axes, written_by, device_shard(s, group));
	op->payload = op->operand[ALL_REDUCE_X].count; /* the padding is on some shards and not on others */
	reduce_done(s, group, op);
}

/* ---- on the way ---- */

/* A shard that has waited on the device is the sum of all micro-batches of all ranks, and goes to the host. */
static void send_waiting(struct step *s, int group)
{
	int shard = s->group[group].shard;
	if (shard < 0 || !s->last_micro || s->state.frees_gradients)
		return;
	s->group[group].shard = -1;
	int copy = home_send_gradients(s, group, region_whole(s->b, shard), QUEUE_COMMUNICATION, false);
	depart(s, (struct reduction){.group = group, .buffer = -1, .staging = -1, .shard = shard, .op = copy});
}

/* Gradients that have come are converted to the type of the shard (--as …:gradients=kept). */
static void keep_staging(struct step *s, int group, int staging)
{
	step_copy(s, group, PASS_BACKWARD, region_whole(s->b, staging), device_shard(s, group));
	build_free(s->b, staging);
	reduce_replicas(s, group, QUEUE_COMPUTE);
}

static void add_staging(struct step *s, int group, int staging)
{
	if (s->settings->reproducible) {
		tree_add_shard(s, group, staging, device_shard(s, group));
		return;
	}
	step_add_gradients(s, group, QUEUE_COMPUTE, staging, device_shard(s, group));
	reduce_replicas(s, group, QUEUE_COMPUTE);
	send_waiting(s, group);
}

/* Takes this rank's slice of an all-reduced group. */
static void take_slice(struct step *s, const struct reduction *r)
{
	struct region slice =
	        region_slice(r->buffer, s->shard_axes, s->group[r->group].at, s->plan->groups[r->group].padded);
	struct region to = device_shard(s, r->group);
	struct op *op = build_op(s->b, r->adds ? OP_ADD : OP_COPY, QUEUE_COMPUTE);
	op->group = r->group;
	op->micro = s->micro;
	op->pass = PASS_BACKWARD;
	op->operand[r->adds ? (int)ADD_X : (int)COPY_X] = slice;
	op->operand[r->adds ? (int)ADD_Y : (int)COPY_Y] = to;
	reduce_done(s, r->group, op);
}

/* The host's sum so far has come here. The reduced gradients are added to it, and it goes back: sums are slow on the
 * host. Its buffers stay in use until it has gone. */
static void send_sum(struct step *s, struct reduction *r)
{
	build_wait(s->b, QUEUE_COMPUTE, r->op);
	build_wait(s->b, QUEUE_COMPUTE, r->fetch);
	step_add_gradients(s, r->group, QUEUE_COMPUTE, r->staging, r->part);
	r->staging = -1;
	r->sums = false;
	s->reductions.awaited -= s->plan->groups[r->group].elements;
	r->op = home_send_gradients(s, r->group, r->part, QUEUE_COMPUTE, false);
}

/* A gradient is written. With half as many again as are on the way, their sums have had time to come, and have time to
 * leave before their buffers are needed. */
static void send_sums(struct step *s, int tensor)
{
	struct reductions *all = &s->reductions;
	if (!all->awaited)
		return;
	all->written += s->model->tensors[tensor].elements;
	for (int i = 0; i < all->count && 2 * all->written >= all->awaited; i++)
		if (all->list[i].sums)
			send_sum(s, &all->list[i]);
}

/* Waits for the oldest reduction, and frees its buffers. */
static void arrive(struct step *s)
{
	struct reductions *all = &s->reductions;
	if (all->list[0].sums)
		send_sum(s, &all->list[0]);
	struct reduction r = all->list[0];
	build_wait(s->b, QUEUE_COMPUTE, r.op);
	if (r.shard >= 0)
		build_free(s->b, r.shard);
	memmove(&all->list[0], &all->list[1], (size_t)--all->count * sizeof all->list[0]);
	if (r.staging >= 0)
		(r.adds ? add_staging : keep_staging)(s, r.group, r.staging);
	if (r.slice)
		take_slice(s, &r);
	if (r.back)
		copy_back(s, r.group);
	if (r.buffer >= 0 && !r.shared && r.buffer != s->bucket.own)
		build_free(s->b, r.buffer);
}

bool reduce_uses(const struct step *s, int buffer)
{
	for (int i = 0; i < s->reductions.count; i++)
		if (s->reductions.list[i].buffer == buffer)
			return true;
	return false;
}

static int whole_in_flight(const struct step *s)
{
	int n = 0;
	for (int i = 0; i < s->reductions.count; i++)
		n += s->reductions.list[i].buffer >= 0 && !s->reductions.list[i].shared;
	return n;
}

/* ---- a group is full ---- */

/* The sum so far comes while the group is reduced. */
static void fetch_sum(struct step *s, struct reduction *r, struct region part, int reduced)
{
	r->fetch = home_fetch_gradients(s, r->group, &r->staging);
	r->op = reduced;
	r->part = part;
	r->sums = true;
	s->reductions.awaited += s->plan->groups[r->group].elements;
	s->reductions.written = 0;
}

/* Reduces a group and sends this rank's part of it to the host. */
static void reduce_to_host(struct step *s, struct reduction *r, bool adds)
{
	struct region whole = whole_in(s, r->group, r->buffer), part = whole;
	enum queue queue = QUEUE_COMMUNICATION;
	const struct op *op = NULL;
	if (plan_along(s->plan, group_sum_axes(s->plan, r->group)) ==
	    1) { /* all ranks have the same samples and rows */
		queue = QUEUE_COMPUTE;
	} else if (s->shards == 1 || s->state.home[STATE_GRADIENTS].place == PLACE_WHOLE) {
		op = all_reduce(s, r->group, 0, QUEUE_COMPUTE, whole);
	} else if (s->choices.all) {
		op = all_reduce(s, r->group, 0, QUEUE_COMPUTE, whole);
		part = region_slice(r->buffer, s->shard_axes, s->group[r->group].at, s->plan->groups[r->group].padded);
	} else {
		r->shard = alloc_shard(s, r->group, "slice", CATEGORY_BUFFERS);
		part = region_whole(s->b, r->shard);
		op = reduce_scatter(s, r->group, whole, part);
	}
	if (adds && s->plan->software.does[SOFTWARE_SUMS] == SUMS_DEVICE)
		fetch_sum(s, r, part, op ? build_number(s->b, op) : -1);
	else
		r->op = home_send_gradients(s, r->group, part, queue, adds);
}

/* Reduces a group into this rank's shard on the device, or into staging that will be added to it. */
static void reduce_to_shard(struct step *s, struct reduction *r, bool adds)
{
	if (!adds && s->state.departure == DEPART_LAST)
		s->group[r->group].shard = alloc_shard(s, r->group, "shard", CATEGORY_BUFFERS);
	else if (!adds && s->state.frees_gradients)
		s->group[r->group].shard = alloc_shard(s, r->group, "shard", CATEGORY_GRADIENTS);
	if (s->choices.all) {
		r->op = build_number(s->b, all_reduce(s, r->group, 0, QUEUE_COMPUTE, whole_in(s, r->group, r->buffer)));
		r->slice = true;
		r->adds = adds;
		return;
	}
	r->adds = adds;
	if (adds || plan_shard_type(s->plan) != plan_gradient_type(s->plan))
		r->staging = alloc_shard(s, r->group, "staging", CATEGORY_BUFFERS);
	struct region to = r->staging >= 0 ? region_whole(s->b, r->staging) : device_shard(s, r->group);
	r->op = build_number(s->b, reduce_scatter(s, r->group, whole_in(s, r->group, r->buffer), to));
}

void reduce_send(struct step *s, int group, bool owns)
{
	bool adds = s->micro && s->choices.sync == SYNC_EVERY;
	struct reduction r = {
	        .group = group, .buffer = s->group[group].gradients, .staging = -1, .shard = -1, .op = -1};
	(s->state.departure == DEPART_AT_ONCE ? reduce_to_host : reduce_to_shard)(s, &r, adds);
	r.shared = !owns;
	depart(s, r);
	s->group[group].gradients = -1;
	while (owns && s->choices.waits && s->reductions.awaited)
		arrive(s);
	if (adds || r.staging >= 0)
		return;
	reduce_replicas(s, group, QUEUE_COMMUNICATION);
	send_waiting(s, group);
}

void reduce_wait(struct step *s, int in_flight)
{
	while (whole_in_flight(s) > in_flight)
		arrive(s);
}

void reduce_make_room(struct step *s, int group, int in_flight)
{
	reduce_wait(s, in_flight);
	reduce_open(s, group, arena_print(&s->b->plan->arena, "gathered.gradients.%s", s->plan->groups[group].name));
}

void reduce_finish(struct step *s)
{
	bucket_send(s);
	while (s->reductions.count)
		arrive(s);
}

/* ---- a tensor's gradient ---- */

void reduce_needed(struct step *s, int tensor)
{
	int group = s->plan->tensor_group[tensor];
	if (state_stays(s, STATE_GRADIENTS)) {
		tree_needed(s, group);
		return;
	}
	if (reduce_copying(s, group) != BUCKET_VIEWS)
		bucket_open_piece(s, tensor);
	else if (s->group[group].gradients < 0)
		reduce_make_room(s, group, GROUPS_IN_FLIGHT);
}

static bool is_sent(const struct step *s)
{
	return s->last_micro || s->choices.sync == SYNC_EVERY;
}

/* The last of its group is written. */
static void reduce_group(struct step *s, int group)
{
	if (state_stays(s, STATE_GRADIENTS)) {
		tree_ready(s, group);
		reduce_in_place(s, group);
	} else if (is_sent(s) && bucket_is_shared(s, group)) {
		bucket_put(s, group);
	} else if (is_sent(s)) {
		if (reduce_copying(s, group) != BUCKET_VIEWS)
			bucket_copy_group(s, group);
		reduce_send(s, group, true);
	}
}

void reduce_ready(struct step *s, int tensor)
{
	int group = s->plan->tensor_group[tensor];
	bool full = --s->group[group].tensors_left == 0;
	send_sums(s, tensor);
	if (!state_stays(s, STATE_GRADIENTS) && is_sent(s) && reduce_copying(s, group) == BUCKET_FIXED &&
	    !bucket_is_shared(s, group) && !s->choices.late)
		bucket_copy_piece(s, tensor);
	if (!full || s->group[group].tied) /* stages reduce a tied group when both are done */
		return;
	if ((s->choices.backward == BACKWARD_POST || s->choices.late) && !state_stays(s, STATE_GRADIENTS))
		s->group[group].pending = true;
	else
		reduce_group(s, group);
	if (s->choices.waits && !bucket_is_shared(s, group))
		reduce_finish(s);
}

void reduce_pending(struct step *s)
{
	for (int g = 0; g < s->plan->group_count; g++)
		if (s->group[g].pending) {
			s->group[g].pending = false;
			reduce_group(s, g);
			if (s->choices.late)
				reduce_finish(s);
		}
}

void reduce_end(struct step *s)
{
	reduce_pending(s);
	reduce_finish(s);
}

void reduce_deliver(struct step *s, int group, enum queue queue)
{
	int buffer = s->group[group].gradients;
	if (buffer < 0)
		return;
	int copy = home_send_gradients(s, group, whole_in(s, group, buffer), queue, false);
	depart(s, (struct reduction){.group = group, .buffer = buffer, .staging = -1, .shard = -1, .op = copy});
	s->group[group].gradients = -1;
}

/* It follows the last message, because both ranks must issue this collective in the same order as their messages. */
void reduce_tied(struct step *s)
{
	for (int g = 0; g < s->plan->group_count; g++) {
		if (s->group[g].base < 0 || !s->group[g].tied)
			continue;
		struct op *op = all_reduce(s, g, 0, QUEUE_COMPUTE, reduce_written(s, g));
		op->ends_only = true;
		reduce_done(s, g, op);
		reduce_deliver(s, g, QUEUE_COMMUNICATION);
	}
}
