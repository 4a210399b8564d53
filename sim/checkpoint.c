#include "sim/checkpoint.h"

#include <math.h>
#include <string.h>

#include "strategy/plan/saved.h"

/* ---- time ---- */

static double seconds(const struct cluster *c, const struct rate *rate, int64_t bytes)
{
	return (double)c->disk.latency.value / 1e9 + (double)bytes / (double)rate->value;
}

static void raise_to(int64_t *most, int64_t n)
{
	*most = n > *most ? n : *most;
}

/* ---- the snapshot ---- */

struct copied {
	int64_t over_link, in_memory; /* bytes of a rank: from a GPU, and within memory */
};

static struct copied copied_of(const struct plan *p, const struct cluster *c, const struct role *r)
{
	struct copied n = {0, 0};
	for (int i = r->save.begin; i < r->save.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind != OP_SAVE)
			continue;
		const struct buffer *b = &r->buffers[op_buffer(op)];
		int64_t bytes = region_elements(p, &op->operand[SAVE_X]) * type_bytes(b->type);
		bool link = c->kind == DEVICE_GPU && b->space == SPACE_DEVICE;
		*(link ? &n.over_link : &n.in_memory) += bytes;
	}
	return n;
}

/* Memory is read and written, and shared by a node's ranks. */
static double copy_seconds(const struct cluster *c, struct copied n, int64_t ranks)
{
	const struct rate *own = c->kind == DEVICE_GPU ? &c->node_bandwidth : &c->device_bandwidth;
	double bytes = 2 * (double)n.in_memory, alone = bytes / (double)own->value,
	       shared = bytes * (double)ranks / (double)c->node_bandwidth.value,
	       memory = alone > shared ? alone : shared;
	double link = (double)c->host_link.latency.value / 1e9 +
	              (double)n.over_link / (double)(c->host_link.bandwidth.value ? c->host_link.bandwidth.value : 1);
	return memory + (n.over_link ? link : 0);
}

static double slowest_copy(const struct plan *p, const struct cluster *c, int64_t devices)
{
	double most = 0;
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		double s = copy_seconds(c, copied_of(p, c, r), r->ranks < devices ? r->ranks : devices);
		most = s > most ? s : most;
	}
	return most;
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
		int64_t saved = plan_saved_bytes(p, SECTION_SAVE, rank),
		        restored = plan_saved_bytes(p, SECTION_RESTORE, rank);
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
	out->copy_s = slowest_copy(p, c, devices);
	return STATUS_OK;
}

double checkpoint_stall(const struct checkpoint_cost *c, bool async, int64_t every, double step_s)
{
	double left = c->write_s - (double)every * step_s;
	double stall = async ? c->copy_s + (left > 0 ? left : 0) : c->write_s;
	return stall / (double)every;
}

struct checkpoint_rhythm checkpoint_rhythm(const struct checkpoint_cost *c, bool async, double mtbf_s)
{
	double d = async ? c->copy_s : c->write_s, m = mtbf_s, x = d / (2 * m);
	double t = d < 2 * m ? sqrt(2 * d * m) * (1 + sqrt(x) / 3 + x / 9) - d : m;
	t = async && t < c->write_s ? c->write_s : t;
	double passes = m * exp((c->notice_s + c->start_s + c->read_s) / m) * expm1((t + d) / m);
	return (struct checkpoint_rhythm){t, isfinite(passes) && passes > 0 ? t / passes : 0};
}
