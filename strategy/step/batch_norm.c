/* Batch normalization, and the running statistics that it keeps (torch.nn.BatchNorm1d, torch.nn.SyncBatchNorm).
 *
 * Forward, local, and synchronised over N ranks; C features:
 *
 *     compute        statistics ──────────► merge, update running ─► normalize        local: parts is the rank's own
 *
 *     compute        statistics                    merge, update running ─► normalize
 *     communication            └► all-gather 2C+1 ─┘                                   N parts: mean, variance, count
 *
 * Backward, of which only the sums need the other ranks:
 *
 *     compute        sums of dy and dy·(x − mean), dweight, dbias               dx
 *     communication                                             └► all-reduce 2C ┘
 *
 * The running statistics are a *buffer* of the model: no gradient, no share of the optimizer, updated once a
 * micro-batch. Synchronised, they are the same on all ranks as long as they start so: rank 0 broadcasts them in the
 * prologue. Local, every rank's drift apart, and what counts is rank 0's, as with torch's
 * DistributedDataParallel(broadcast_buffers=True): it broadcasts them before a forward pass if the pass before it
 * synchronised gradients, which is once a step however many micro-batches are accumulated, and once more before
 * evaluation. Here every strategy does so, since FSDP and DeepSpeed leave it to their users; and where synchronised
 * ones are equal already nothing is sent (DDP would send them all the same). Evaluation works on a copy of rank 0's and
 * leaves the state alone. Stages all serve the same samples, and each keeps those of its own norms. Under `dp` the
 * workers get the root's before each forward pass and lose their update with the replica, as under
 * torch.nn.DataParallel.
 */
#include "strategy/base/number.h"
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

static int64_t part_elements(const struct kernel *k)
{
	return 2 * k->out + 1;
}

/* Mean and variance of one norm, side by side in the buffer that holds all. */
static struct region running_of(const struct step *s, const struct kernel *k)
{
	return region_of(s->running.now, s->model->buffers[k->running].offset - s->running.begin, 2 * k->out);
}

/* A collective of one norm; the compute queue waits for it. */
static void norm_collective(struct step *s, struct op *op, int index, enum pass pass, int64_t payload)
{
	op->kernel = index;
	op->unit = s->model->kernels[index].unit;
	op->pass = pass;
	op->payload = payload;
	build_wait(s->b, QUEUE_COMPUTE, build_number(s->b, op));
}

/* ---- forward ---- */

/* The statistics of all ranks, one part after another. */
static struct region gather_parts(struct step *s, int index, struct region local)
{
	const struct kernel *k = &s->model->kernels[index];
	int64_t elements = s->ranks * part_elements(k);
	int buffer = build_alloc(s->b, step_name(s, "%s.gathered", k->name), CATEGORY_BUFFERS, TYPE_FP32, elements);
	struct op *op = step_collective(s, OP_ALL_GATHER, TRAFFIC_GATHER_STATISTICS, -1);
	op->operand[ALL_GATHER_X] = local;
	op->operand[ALL_GATHER_Y] = region_of(buffer, 0, elements);
	norm_collective(s, op, index, PASS_FORWARD, elements);
	return region_of(buffer, 0, elements);
}

void batch_norm_statistics_of(struct step *s, int index)
{
	const struct kernel *k = &s->model->kernels[index];
	struct op *op;
	if (s->evaluating) {
		build_wait(s->b, QUEUE_COMPUTE, s->running.sent);
		op = step_kernel_op(s, OP_BATCH_NORM_RUNNING, index, PASS_FORWARD);
		op->operand[BATCH_NORM_RUNNING_RUNNING] = running_of(s, k);
		op->operand[BATCH_NORM_RUNNING_STATISTICS] = s->value[k->saved].data.at;
		return;
	}
	int own = build_alloc(s->b, step_name(s, "%s.local", k->name), CATEGORY_BUFFERS, TYPE_FP32, part_elements(k));
	struct region local = region_whole(s->b, own), parts = local;
	op = step_kernel_op(s, OP_BATCH_NORM_STATISTICS, index, PASS_FORWARD);
	op->operand[BATCH_NORM_STATISTICS_X] = s->value[k->x].data.at;
	op->operand[BATCH_NORM_STATISTICS_LOCAL] = local;
	if (kernel_synchronises(s->plan, k))
		parts = gather_parts(s, index, local);
	build_wait(s->b, QUEUE_COMPUTE, s->running.sent);
	op = step_kernel_op(s, OP_BATCH_NORM_MERGE, index, PASS_FORWARD);
	op->operand[BATCH_NORM_MERGE_PARTS] = parts;
	op->operand[BATCH_NORM_MERGE_RUNNING] = running_of(s, k);
	op->operand[BATCH_NORM_MERGE_STATISTICS] = s->value[k->saved].data.at;
	if (parts.buffer != own)
		build_free(s->b, parts.buffer);
	build_free(s->b, own);
}

/* ---- backward ---- */

struct region batch_norm_sums_of(struct step *s, int index)
{
	const struct kernel *k = &s->model->kernels[index];
	int64_t n = 2 * k->out, padded = kernel_synchronises(s->plan, k) ? round_up(n, s->ranks) : n;
	int buffer = build_alloc(s->b, step_name(s, "%s.sums", k->name), CATEGORY_BUFFERS, TYPE_FP32, padded);
	step_zero_padding(s, buffer, n, padded);
	struct op *op = step_kernel_op(s, OP_BATCH_NORM_SUMS, index, PASS_BACKWARD);
	op->operand[BATCH_NORM_SUMS_DY] = s->value[k->y].gradient.at;
	op->operand[BATCH_NORM_SUMS_X] = s->value[k->x].data.at;
	op->operand[BATCH_NORM_SUMS_STATISTICS] = s->value[k->saved].data.at;
	op->operand[BATCH_NORM_SUMS_WEIGHT] = s->tensor[k->weight].weight;
	op->operand[BATCH_NORM_SUMS_BIAS] = s->tensor[k->bias].weight;
	op->operand[BATCH_NORM_SUMS_SUMS] = region_of(buffer, 0, n);
	step_tensor_gradient(s, op, PART_DWEIGHT, k->weight);
	step_tensor_gradient(s, op, PART_DBIAS, k->bias);
	if (kernel_synchronises(s->plan, k)) {
		op = step_collective(s, OP_ALL_REDUCE, TRAFFIC_REDUCE_STATISTICS, -1);
		op->operand[ALL_REDUCE_X] = region_of(buffer, 0, padded);
		norm_collective(s, op, index, PASS_BACKWARD, n);
	}
	return region_of(buffer, 0, n);
}

/* ---- running statistics ---- */

static bool any_local(const struct model *m)
{
	for (int i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].kind == KERNEL_BATCH_NORM && !m->kernels[i].synchronised)
			return true;
	return false;
}

/* One message holds the statistics of all norms. Collectives work on whole slices. */
static int64_t running_elements(const struct step *s)
{
	return round_up(s->model->buffer_elements, s->ranks);
}

static void broadcast(struct step *s, int buffer)
{
	struct op *op = step_collective(s, OP_BROADCAST, TRAFFIC_BROADCAST_BUFFERS, -1);
	op->operand[BROADCAST_X] = region_of(buffer, 0, running_elements(s));
	op->payload = s->model->buffer_elements;
	s->running.sent = build_number(s->b, op);
}

/* The norms of this role have elements [begin, end) of the model's buffers. */
static void own_buffers(const struct step *s, int64_t *begin, int64_t *end)
{
	*begin = *end = 0;
	for (int i = s->kernel_begin; i < s->kernel_end; i++) {
		const struct kernel *k = &s->model->kernels[i];
		if (k->kind != KERNEL_BATCH_NORM)
			continue;
		int64_t offset = s->model->buffers[k->running].offset;
		*begin = *end ? *begin : offset;
		*end = offset + 2 * k->out;
	}
}

void buffers_state(struct step *s)
{
	int64_t begin, end;
	s->running.now = s->running.state = s->running.sent = -1;
	own_buffers(s, &begin, &end);
	if (begin == end || !step_holds_state(s))
		return;
	s->running.begin = begin;
	s->running.now = s->running.state = build_state(s->b, "running", CATEGORY_BUFFERS, TYPE_FP32,
	                                                s->stages > 1 ? end - begin : running_elements(s));
	build_op(s->b, OP_INITIALIZE_BUFFERS, QUEUE_COMPUTE)->operand[INITIALIZE_BUFFERS_BUFFERS] =
	        region_whole(s->b, s->running.now);
}

void buffers_prologue(struct step *s)
{
	if (s->running.now >= 0 && plan_data_ranks(s->plan) > 1 && !s->strategy->root_alone && !any_local(s->model))
		broadcast(s, s->running.now);
}

/* A copy of the running statistics for one pass. A role without any gets room for the root's. */
static void copy_running(struct step *s)
{
	int64_t n = s->model->buffer_elements, padded = running_elements(s);
	int copy = build_alloc(s->b, step_name(s, "running.copy"), CATEGORY_BUFFERS, TYPE_FP32, padded);
	if (s->running.state >= 0) {
		struct op *op = build_op(s->b, OP_COPY, QUEUE_COMPUTE);
		op->operand[COPY_X] = region_of(s->running.state, 0, n);
		op->operand[COPY_Y] = region_of(copy, 0, n);
		step_zero_padding(s, copy, n, padded);
	}
	s->running.now = copy;
}

void buffers_before_forward(struct step *s)
{
	s->running.now = s->running.state;
	s->running.sent = -1;
	if (!s->model->buffer_count || plan_data_ranks(s->plan) == 1)
		return;
	bool roots = s->strategy->root_alone, local = any_local(s->model);
	if ((s->evaluating && (roots || local)) || (roots && s->running.state < 0))
		copy_running(s);
	if (roots || (local && !s->micro))
		broadcast(s, s->running.now);
}

void buffers_after_forward(struct step *s)
{
	if (s->running.now != s->running.state)
		build_free(s->b, s->running.now);
	s->running.now = s->running.state;
}

struct region buffers_own(const struct step *s)
{
	int64_t begin, end;
	own_buffers(s, &begin, &end);
	return s->running.state >= 0 ? region_of(s->running.state, 0, end - begin) : region_none();
}

void buffers_show(struct step *s)
{
	struct region own = buffers_own(s);
	if (own.buffer >= 0 && step_speaks(s))
		build_op(s->b, OP_SHOW_BUFFERS, QUEUE_COMPUTE)->operand[SHOW_BUFFERS_BUFFERS] = own;
}
