/* Rules 5, 6 and 7 for batch normalization: its statistics are of the samples that the model declares, this rank's or
 * all ranks', its sums likewise, and the running statistics take in every micro-batch once, begin each step the same on
 * all ranks, and are the same on all ranks when evaluation reads them.
 *
 *     value x ─► STATISTICS, own ─► all_gather ─► STATISTICS, wide ─► merge ─► value `saved`
 *                                                    RUNNING, version v ─┴──► RUNNING, version v + 1
 *     dy ─► SUMS, own ─► all_reduce ─► SUMS, wide ─► dx
 */
#include <stdio.h>

#include "strategy/plan/verify/meaning.h"

static const struct kernel *kernel_of(const struct at *a)
{
	return &a->ip->v->p->model->kernels[a->op->kernel];
}

/* ---- what a micro-batch measured ---- */

/* scaled: of gradients, by the loss scale of which step. */
static struct meaning measured(const struct at *a, int operand, enum meaning_kind kind, bool wide, int scaled)
{
	return (struct meaning){.kind = kind,
	                        .index = a->op->kernel,
	                        .micro = a->op->micro,
	                        .wide = wide,
	                        .scaled = scaled,
	                        .origin = a->op->operand[operand].offset};
}

struct meaning inner_gradient(const struct at *a, int operand, int scaled)
{
	return measured(a, operand, MEANING_INNER_GRADIENT, false, scaled);
}

/* ---- running statistics ---- */

/* Element p of the buffer is element p - origin of the model's buffers. all: those of the role, and not of one norm. */
static int64_t origin_of(const struct at *a, int operand, bool all)
{
	const struct plan *p = a->ip->v->p;
	int64_t first = all ? role_first_buffer(p, a->r) : p->model->buffers[kernel_of(a)->running].offset;
	return a->op->operand[operand].offset - first;
}

static struct meaning running(const struct at *a, int operand, bool all, int version, bool wide)
{
	return (struct meaning){.kind = MEANING_RUNNING,
	                        .version = version,
	                        .wide = wide || plan_data_ranks(a->ip->v->p) == 1,
	                        .origin = origin_of(a, operand, all)};
}

static enum status refuse_running(const struct at *a, int operand, int version, const char *whose)
{
	char text[300];
	memory_describe(&a->ip->memory, a->role, &a->op->operand[operand], -1, text, sizeof text);
	return refuse_at(a, 6, operand, " must be running statistics of %d micro-batches, %s; %s", version, whose,
	                 text);
}

/* Those of `version`; if `wide`, they must be the same on all ranks. */
static enum status read_running(const struct at *a, int operand, bool all, int version, bool wide)
{
	const struct memory *m = &a->ip->memory;
	int number = memory_get(m, a->role, &a->op->operand[operand]);
	const struct meaning *what = meaning_of(m, number < 0 ? 0 : number);
	if (what->kind == MEANING_RUNNING && what->version == version && what->origin == origin_of(a, operand, all) &&
	    (what->wide || !wide))
		return STATUS_OK;
	return refuse_running(a, operand, version, wide ? "the same on all ranks" : "at their place");
}

static int micros_before(const struct at *a)
{
	return a->ip->reads * (int)a->ip->v->p->settings.accumulate;
}

/* Statistics of a rank's own samples begin each step from what all ranks have; those of all ranks never part. */
static enum status merge(const struct at *a)
{
	const struct plan *p = a->ip->v->p;
	const struct kernel *k = kernel_of(a);
	bool wide = kernel_synchronises(p, k);
	int version = micros_before(a) + a->op->micro;
	enum status s = read_exactly(a, BATCH_NORM_MERGE_PARTS, 7,
	                             measured(a, BATCH_NORM_MERGE_PARTS, MEANING_STATISTICS, wide, 0));
	if (s || (s = read_running(a, BATCH_NORM_MERGE_RUNNING, false, version, wide || !a->op->micro)))
		return s;
	write_meaning(a, BATCH_NORM_MERGE_RUNNING, running(a, BATCH_NORM_MERGE_RUNNING, false, version + 1, wide));
	return STATUS_OK;
}

/* ---- operations ---- */

enum status mean_norm(const struct at *a, int scaled)
{
	bool wide = kernel_synchronises(a->ip->v->p, kernel_of(a));
	switch (a->op->kind) {
	case OP_BATCH_NORM_STATISTICS:
		write_meaning(a, BATCH_NORM_STATISTICS_LOCAL,
		              measured(a, BATCH_NORM_STATISTICS_LOCAL, MEANING_STATISTICS, false, 0));
		return STATUS_OK;
	case OP_BATCH_NORM_MERGE:
		return merge(a);
	case OP_BATCH_NORM_RUNNING:
		return read_running(a, BATCH_NORM_RUNNING_RUNNING, false, micros_before(a), true);
	case OP_BATCH_NORM_SUMS:
		write_meaning(a, BATCH_NORM_SUMS_SUMS, measured(a, BATCH_NORM_SUMS_SUMS, MEANING_SUMS, false, scaled));
		return STATUS_OK;
	case OP_BATCH_NORM_BACKWARD:
		return read_exactly(a, BATCH_NORM_BACKWARD_SUMS, 7,
		                    measured(a, BATCH_NORM_BACKWARD_SUMS, MEANING_SUMS, wide, scaled));
	default:
		return STATUS_OK;
	}
}

enum status mean_buffers(const struct at *a)
{
	const struct model *m = a->ip->v->p->model;
	struct region all = a->op->operand[INITIALIZE_BUFFERS_BUFFERS];
	enum status s = STATUS_OK;
	if (a->op->kind == OP_INITIALIZE_BUFFERS) {
		struct meaning zero = {.kind = MEANING_ZERO},
		               fresh = running(a, INITIALIZE_BUFFERS_BUFFERS, true, 0, false);
		struct memory *memory = &a->ip->memory;
		(void)memory_set(memory, a->role, &all, meaning_number(memory, &zero)); /* the padding */
		if (all.count > m->buffer_elements)
			all.count = m->buffer_elements;
		(void)memory_set(memory, a->role, &all, meaning_number(memory, &fresh));
		return STATUS_OK;
	}
	s = read_running(a, SHOW_BUFFERS_BUFFERS, true, micros_before(a), false);
	if (!s && role_first_buffer(a->ip->v->p, a->r) != a->ip->shown_buffers)
		s = refuse_at(a, 6, SHOW_BUFFERS_BUFFERS,
		              ": the model's buffers are shown once, in order; from [%lld] on they are not yet",
		              (long long)a->ip->shown_buffers);
	a->ip->shown_buffers += all.count;
	return s;
}

/* ---- collectives ---- */

static int role_count(const struct at *all)
{
	return all->participants;
}

/* Every role gives `kind` of its own samples at operand `from`; all get that of all ranks at `to`. */
static enum status unite(const struct at *all, enum meaning_kind kind, int from, int to)
{
	struct memory *m = &all->ip->memory;
	bool in_place = from == to; /* the all-reduce, which has padding */
	int scaled = 0;
	for (int i = 0; i < role_count(all); i++) {
		const struct at *a = &all[i];
		struct region g = a->op->operand[from];
		char text[300];
		g.count = in_place ? a->op->payload : g.count;
		enum status s = in_place ? read_padding(a, from, 5, g.count) : STATUS_OK;
		if (s)
			return s;
		int number = memory_get(m, all[i].role, &g);
		scaled = i || number < 0 ? scaled : meaning_of(m, number)->scaled;
		struct meaning want = measured(a, from, kind, false, scaled);
		if (number >= 0 && number == meaning_number(m, &want))
			continue;
		memory_describe(m, all[i].role, &g, meaning_number(m, &want), text, sizeof text);
		return refuse_at(a, 7, from, " must be what this rank's samples of micro-batch %d give; %s",
		                 a->op->micro, text);
	}
	for (int i = 0; i < role_count(all); i++) {
		struct region g = all[i].op->operand[to];
		struct meaning now = measured(&all[i], to, kind, true, scaled);
		g.count = in_place ? all[i].op->payload : g.count;
		(void)memory_set(m, all[i].role, &g, meaning_number(m, &now));
	}
	return STATUS_OK;
}

static enum status broadcast(const struct at *all)
{
	struct memory *m = &all->ip->memory;
	const struct model *model = all->ip->v->p->model;
	int root = 0; /* rank 0's role, which check_norm has seen to */
	while (root + 1 < all->participants && all[root].r->first_rank)
		root++;
	struct region g = all[root].op->operand[BROADCAST_X];
	g.count = model->buffer_elements;
	int number = memory_get(m, all[root].role, &g);
	const struct meaning *there = meaning_of(m, number < 0 ? 0 : number);
	char text[300];
	if (there->kind != MEANING_RUNNING || there->origin != g.offset) {
		memory_describe(m, all[root].role, &g, -1, text, sizeof text);
		return refuse_at(&all[root], 6, BROADCAST_X, " must be all of the model's buffers, of one version; %s",
		                 text);
	}
	int version = there->version;
	enum status s = read_padding(&all[root], BROADCAST_X, 5, model->buffer_elements);
	if (s)
		return s;
	for (int i = 0; i < role_count(all); i++) {
		struct meaning zero = {.kind = MEANING_ZERO}, now = running(&all[i], BROADCAST_X, true, version, true);
		g = all[i].op->operand[BROADCAST_X];
		(void)memory_set(m, all[i].role, &g, meaning_number(m, &zero));
		g.count = model->buffer_elements;
		(void)memory_set(m, all[i].role, &g, meaning_number(m, &now));
	}
	return STATUS_OK;
}

bool is_norm_collective(const struct op *op)
{
	return op->traffic == TRAFFIC_GATHER_STATISTICS || op->traffic == TRAFFIC_REDUCE_STATISTICS ||
	       op->traffic == TRAFFIC_BROADCAST_BUFFERS;
}

enum status mean_norm_collective(const struct at *all)
{
	switch (all->op->traffic) {
	case TRAFFIC_GATHER_STATISTICS:
		return unite(all, MEANING_STATISTICS, ALL_GATHER_X, ALL_GATHER_Y);
	case TRAFFIC_REDUCE_STATISTICS:
		return unite(all, MEANING_SUMS, ALL_REDUCE_X, ALL_REDUCE_X);
	default:
		return broadcast(all);
	}
}
