/* Rules 5, 6 and 7 for batch normalization: its statistics are of the samples that the model declares, this rank's or
 * all ranks', its sums likewise, and the running statistics take in every micro-batch once, begin each step the same on
 * all ranks, and are the same on all ranks when evaluation reads them.
 *
 *     value x ─► STATISTICS, own ─► all_gather ─► STATISTICS, all_ranks ─► merge ─► value `saved`
 *                                                    RUNNING, version v ─┴──► RUNNING, version v + 1
 *     dy ─► SUMS, own ─► all_reduce ─► SUMS, all_ranks ─► dx
 */
#include "strategy/plan/verify/meaning.h"

/* ---- what a micro-batch measured ---- */

/* scaled: of gradients, by the loss scale of which step. */
static struct meaning measured(const struct at *a, int operand, enum meaning_kind kind, bool all_ranks, int scaled)
{
	return (struct meaning){.kind = kind,
	                        .index = a->op->kernel,
	                        .micro = a->op->micro,
	                        .all_ranks = all_ranks,
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
	const struct plan *p = a->p;
	int64_t first = all ? role_first_buffer(p, a->r) : p->model->buffers[kernel_of(a)->running].offset;
	return a->op->operand[operand].offset - first;
}

static struct meaning running(const struct at *a, int operand, bool all, int version, bool all_ranks)
{
	return (struct meaning){.kind = MEANING_RUNNING,
	                        .version = version,
	                        .all_ranks = all_ranks || plan_data_ranks(a->p) == 1,
	                        .origin = origin_of(a, operand, all)};
}

/* Reads the running statistics of `version`; if `all_ranks`, they must be the same on all ranks. */
static enum status read_running(const struct at *a, int operand, bool all, int version, bool all_ranks)
{
	const struct meaning *what = meaning_at(a, operand);
	if (what->kind == MEANING_RUNNING && what->version == version && what->origin == origin_of(a, operand, all) &&
	    (what->all_ranks || !all_ranks))
		return STATUS_OK;
	return refuse_found(a, 6, operand, " must be running statistics of %d micro-batches, %s", version,
	                    all_ranks ? "the same on all ranks" : "at their place");
}

static int micros_before(const struct at *a)
{
	return a->ip->reads * (int)a->p->settings.accumulate + (a->op->micro > 0 ? a->op->micro : 0);
}

/* ---- operations ---- */

/* Statistics of a rank's own samples begin each step from what all ranks have; those of all ranks never part. */
enum status read_norm_part(const struct at *a, int operand, enum part part)
{
	bool all_ranks = kernel_synchronises(a->p, kernel_of(a));
	if (part == PART_PARTS)
		return read_exactly(a, operand, 7, measured(a, operand, MEANING_STATISTICS, all_ranks, 0));
	if (part == PART_SUMS)
		return read_exactly(a, operand, 7, measured(a, operand, MEANING_SUMS, all_ranks, scaled_by(a)));
	if (part == PART_RUNNING)
		return read_running(a, operand, false, micros_before(a), all_ranks || !a->op->micro);
	return STATUS_OK;
}

void write_norm_part(const struct at *a, int operand, enum part part, int scaled)
{
	bool all_ranks = kernel_synchronises(a->p, kernel_of(a));
	if (part == PART_LOCAL)
		write_meaning(a, operand, measured(a, operand, MEANING_STATISTICS, false, 0));
	if (part == PART_SUMS)
		write_meaning(a, operand, measured(a, operand, MEANING_SUMS, false, scaled));
	if (part == PART_RUNNING)
		write_meaning(a, operand, running(a, operand, false, micros_before(a) + 1, all_ranks));
}

/* The model's buffers are `now`, and zeros behind them fill the operand up. */
static void write_buffers(const struct at *a, struct meaning now)
{
	struct region g = a->op->operand[FIRST_OPERAND];
	write_meaning(a, 0, (struct meaning){.kind = MEANING_ZERO});
	if (g.count > a->p->model->buffer_elements)
		g.count = a->p->model->buffer_elements;
	(void)memory_set(a->memory, a->role, &g, meaning_number(a->memory, &now));
}

enum status mean_buffers(const struct at *a)
{
	if (a->op->kind == OP_INITIALIZE_BUFFERS) {
		write_buffers(a, running(a, INITIALIZE_BUFFERS_BUFFERS, true, 0, false));
		return STATUS_OK;
	}
	if (a->op->kind == OP_RESTORE) {
		write_meaning(a, RESTORE_X, running(a, RESTORE_X, true, micros_before(a), true));
		return STATUS_OK;
	}
	if (a->op->kind == OP_SAVE)
		return read_running(a, SAVE_X, true, micros_before(a), false);
	enum status s = read_running(a, SHOW_BUFFERS_BUFFERS, true, micros_before(a), false);
	if (!s && role_first_buffer(a->p, a->r) != a->ip->shown_buffers)
		s = refuse_at(a, 6, SHOW_BUFFERS_BUFFERS,
		              ": the model's buffers are shown once, in order; from [%lld] on they are not yet",
		              (long long)a->ip->shown_buffers);
	a->ip->shown_buffers += a->op->operand[SHOW_BUFFERS_BUFFERS].count;
	return s;
}

/* ---- collectives ---- */

/* The meaning of what this rank's samples of a micro-batch give: statistics that are gathered, or sums that are added
 * up. */
static enum status read_own(const struct at *a, struct meaning *out)
{
	bool gathers = a->op->traffic == TRAFFIC_GATHER_STATISTICS;
	int operand = gathers ? ALL_GATHER_X : ALL_REDUCE_X;
	struct region g = without_padding(a);
	TRY(gathers ? STATUS_OK : read_padding(a, operand, 5, g.count));
	*out = measured(a, operand, gathers ? MEANING_STATISTICS : MEANING_SUMS, false, meaning_in(a, &g)->scaled);
	return read_exactly_in(a, operand, &g, 7, *out);
}

static enum status broadcast(const struct at *all)
{
	const struct at *root = at_root(all);
	struct region g = without_padding(root);
	struct meaning there = *meaning_in(root, &g);
	if (there.kind != MEANING_RUNNING || there.origin != g.offset)
		return refuse_found(root, 6, BROADCAST_X, " must be all of the model's buffers, of one version");
	enum status s = read_padding(root, BROADCAST_X, 5, g.count);
	for (int i = 0; i < all->participants && !s; i++)
		write_buffers(&all[i], running(&all[i], BROADCAST_X, true, there.version, true));
	return s;
}

bool is_norm_collective(const struct op *op)
{
	return op->traffic == TRAFFIC_GATHER_STATISTICS || op->traffic == TRAFFIC_REDUCE_STATISTICS ||
	       op->traffic == TRAFFIC_BROADCAST_BUFFERS;
}

enum status mean_norm_collective(const struct at *all)
{
	struct meaning what;
	if (all->op->traffic == TRAFFIC_BROADCAST_BUFFERS)
		return broadcast(all);
	enum status s = read_all(all, 7, 0, read_own, &what);
	what.all_ranks = true;
	if (!s)
		write_all(all, what);
	return s;
}
