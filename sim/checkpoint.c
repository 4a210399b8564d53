#include "sim/checkpoint.h"

#include <math.h>
#include <string.h>

#include "strategy/model/slice.h"

/* ---- bytes ---- */

/* Elements of a rank's slice of a tensor that the whole tensor has too: padding is in no file. */
static int64_t real_elements(const struct plan *p, int64_t rank, const struct tensor *t, int64_t first, int64_t count)
{
	int64_t n = 0;
	if (t->partition == PARTITION_NONE)
		return count;
	for (int64_t done = 0; done < count;) {
		struct run_of_tensor run = tensor_run(t, p->model->slices, plan_slice_of(p, rank), first + done);
		int64_t k = run.count < count - done ? run.count : count - done;
		n += run.whole >= 0 ? k : 0;
		done += k;
	}
	return n;
}

static int64_t group_elements(const struct plan *p, const struct op *op, int64_t rank)
{
	const struct group *g = &p->groups[op->group];
	int64_t first = op_place_in_group(p, op, rank), count = region_elements(p, op_region(op, PART_PARAMETERS)),
	        n = 0;
	for (int i = 0; i < g->tensor_count; i++) {
		const struct tensor *t = &p->model->tensors[g->tensors[i]];
		int64_t begin = p->tensor_offset[g->tensors[i]], end = begin + t->elements;
		int64_t from = begin > first ? begin : first, to = end < first + count ? end : first + count;
		if (from < to)
			n += real_elements(p, rank, t, from - begin, to - from);
	}
	return n;
}

/* The number of a step is two. */
static int64_t op_elements(const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	if (item_is_of_group(op->item))
		return group_elements(p, op, rank);
	if (op->kind == OP_SAVE && rank != r->first_rank)
		return 0;
	return op->item == ITEM_STEP ? 2 : op_region(op, PART_PARAMETERS)->count;
}

static int64_t rank_bytes(const struct plan *p, const struct role *r, enum section_kind k, int64_t rank)
{
	const struct section *s = section_of(r, k);
	int64_t n = 0;
	for (int i = s->begin; i < s->end; i++)
		if (op_has_item(r->ops[i].kind))
			n += op_elements(p, r, &r->ops[i], rank);
	return n * (int64_t)sizeof(float);
}

/* ---- time ---- */

static double seconds(const struct cluster *c, const struct rate *rate, int64_t bytes)
{
	return (double)c->disk.latency.value / 1e9 + (double)bytes / (double)rate->value;
}

static void raise_to(int64_t *most, int64_t n)
{
	*most = n > *most ? n : *most;
}

enum status checkpoint_cost(const struct plan *p, const struct cluster *c, struct checkpoint_cost *out)
{
	int64_t devices = c->devices ? c->devices : p->ranks, most[2] = {0}, node[2] = {0};
	*out = (struct checkpoint_cost){.measured = c->disk.latency.measured && c->disk.write.measured};
	if (!c->disk.write.value || !c->disk.read.value)
		return status_fail(
		        STATUS_INPUT,
		        "{cluster} %s: it has no 'disk', so the time of a checkpoint is not known; describe one: "
		        "disk: {latency, read_bandwidth, write_bandwidth, capacity}",
		        c->name);
	for (int64_t rank = 0; rank < p->ranks; rank++) {
		const struct role *r = plan_role_of(p, rank);
		int64_t saved = rank_bytes(p, r, SECTION_SAVE, rank),
		        restored = rank_bytes(p, r, SECTION_RESTORE, rank);
		if (rank % devices == 0)
			memset(node, 0, sizeof node);
		node[0] += saved;
		node[1] += restored;
		raise_to(&most[0], node[0]);
		raise_to(&most[1], node[1]);
		raise_to(&out->rank_bytes, saved);
		raise_to(&out->read_bytes, restored);
		out->bytes += saved;
	}
	out->write_s = seconds(c, &c->disk.write, most[0]);
	out->read_s = seconds(c, &c->disk.read, most[1]);
	return STATUS_OK;
}

struct checkpoint_rhythm checkpoint_rhythm(const struct checkpoint_cost *c, double mtbf_s)
{
	double d = c->write_s, m = mtbf_s, x = d / (2 * m);
	double t = d < 2 * m ? sqrt(2 * d * m) * (1 + sqrt(x) / 3 + x / 9) - d : m;
	double passes = m * exp(c->read_s / m) * expm1((t + d) / m);
	return (struct checkpoint_rhythm){t, isfinite(passes) && passes > 0 ? t / passes : 0};
}
