#include "sim/cost.h"

#include "strategy/cluster/effective.h"
#include "strategy/plan/operation.h"

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Other memory than page-locked goes through a buffer of the driver's, which a core fills: 2.3 of 5.8 GB/s where NVIDIA
 * shows it (M. Harris, How to Optimize Data Transfers in CUDA C/C++, 2012). */
static struct rate host_link_rate(const struct cluster *c, bool pageable)
{
	struct rate rate = c->host_link.bandwidth;
	if (!pageable)
		return rate;
	return c->pageable.value ? c->pageable : rate_assumed(longer(rate.value / 2, 1));
}

static enum status cost_host_copy(const struct cluster *c, int64_t bytes, bool pageable, struct cost *out)
{
	if (c->kind == DEVICE_CPU) { /* one memory: it is read and written there */
		*out = (struct cost){time_of(bytes, c->device_bandwidth.value) + c->launch.value, bytes,
		                     c->device_bandwidth.measured && c->launch.measured};
		return STATUS_OK;
	}
	const struct link *l = &c->host_link;
	struct rate rate = host_link_rate(c, pageable);
	*out = (struct cost){time_clamp((wide)(l->latency.value + time_of(bytes / 2, rate.value))), bytes / 2,
	                     l->latency.measured && rate.measured};
	return STATUS_OK;
}

/* A copy on which the ranks' time depends, and that a rank makes alone: all take as long as it does, and of the memory
 * that ranks share they take what they copy themselves. */
static enum status cost_copy_in_turn(const struct cluster *c, int64_t bytes, int64_t most, bool pageable,
                                     struct cost *out)
{
	enum status s = cost_host_copy(c, 2 * longer(most, bytes / 2), pageable, out);
	out->bytes = c->kind == DEVICE_CPU ? bytes : bytes / 2;
	return s;
}

/* The latency that requests add where only so many bytes are under way at a time (queue=N; DeepSpeed's aio,
 * deepspeed_aio_common.cpp): of each wave, or, where the next request is made as one is done, of Little's law alone:
 * N bytes each latency at the most. */
static int64_t disk_time(const struct cluster *c, const struct plan *p, int64_t bytes, int64_t rate)
{
	int64_t queue = p->settings.offload.queue, latency = c->disk.latency.value, moving = time_of(bytes, rate);
	int64_t waves = queue ? (bytes + queue - 1) / queue : 1;
	if (queue && p->software.does[SOFTWARE_REQUESTS] == REQUESTS_AHEAD)
		return time_clamp((wide)latency +
		                  (wide)longer(moving, time_clamp((wide)latency * (uint64_t)bytes / (uint64_t)queue)));
	return time_clamp((wide)latency * (uint64_t)longer(waves, 1) + (wide)moving);
}

static enum status cost_disk(const struct cluster *c, const struct plan *p, bool reads, int64_t bytes, struct cost *out)
{
	const struct rate *rate = reads ? &c->disk.read : &c->disk.write;
	if (!rate->value)
		return status_fail(STATUS_INPUT,
		                   "{cluster} %s: the plan offloads to disk, and it has no 'disk'; take to=host, or "
		                   "describe one: disk: {latency, read_bandwidth, write_bandwidth, capacity}",
		                   c->name);
	*out = (struct cost){disk_time(c, p, bytes, rate->value), bytes, c->disk.latency.measured && rate->measured};
	return STATUS_OK;
}

/* Each rank has its part of the node's cores. */
static struct rate host_rate(const struct cluster *c)
{
	struct rate rate = c->core_compute;
	rate.value *= longer(c->cores / c->devices, 1);
	return rate;
}

static struct rate device_rate(const struct cluster *c, const struct plan *p, const struct op *op, int64_t flops,
                               enum type type)
{
	struct rate rate = cluster_compute_rate(c, op->kind, type, flops);
	if (!rate.value || !cluster_has_stack(c))
		return rate;
	struct op_sizes sizes = op_sizes_of(p, op);
	wide reached = (wide)rate.value * (uint64_t)effective_share(c, op->kind, &sizes) / MILLION;
	return rate_assumed(longer((int64_t)reached, 1));
}

/* Stacks were fitted on plans whose kernels are fused, and move more than those say. With kernels=eager a plan has
 * operations of its own for that. */
static bool has_fused(const struct plan *p, const struct op *op)
{
	return op_class(op->kind) == OP_CLASS_K && p->software.does[SOFTWARE_KERNELS] == KERNELS_FUSED;
}

/* Time that no measured rate has in it. */
static int64_t beside_rate(const struct cluster *c, const struct plan *p, const struct role *r, const struct op *op)
{
	int64_t ns = 0;
	if (c->weight_bandwidth.value)
		ns += time_of(op_weight_bytes(p, r, op), c->weight_bandwidth.value);
	if (c->straddle_bandwidth.value)
		ns += time_of(op_straddling_bytes(p, r, op), c->straddle_bandwidth.value);
	return ns;
}

enum status cost_kernel(const struct cluster *c, const struct plan *p, const struct role *r, const struct op *op,
                        struct cost *out)
{
	int64_t flops = op_flops(p, op), bytes = op_bytes(p, r, op);
	enum type type = op_compute_type(p, r, op);
	bool host = op->queue == QUEUE_HOST_COMPUTE && c->kind == DEVICE_GPU;
	struct rate rate, bandwidth = host ? c->node_bandwidth : c->device_bandwidth;

	int64_t most = op_bytes_in_turn(p, r, op);
	if (most)
		return cost_copy_in_turn(c, bytes, most, op_is_pageable(p, op), out);
	if (op->queue == QUEUE_HOST_TO_DEVICE || op->queue == QUEUE_DEVICE_TO_HOST)
		return cost_host_copy(c, bytes, op_is_pageable(p, op), out);
	if (op->queue == QUEUE_DISK)
		return cost_disk(c, p, op_transfer(r, op) == TRANSFER_DISK_READ, bytes / 2, out);
	rate = host ? host_rate(c) : device_rate(c, p, op, flops, type);
	if (flops && !rate.value)
		return status_fail(
		        STATUS_INPUT,
		        "{cluster} %s: no rate for %s in %s: take another {precision}, or give the cluster a "
		        "compute.default.%s",
		        c->name, op_name(op->kind), type_name(type), type_name(type));
	int64_t compute = flops ? time_of(flops, rate.value) : 0, memory = time_of(bytes, bandwidth.value);
	bool whole = flops && !host && cluster_measured_whole(c, op->kind, type, flops);
	out->ns = host ? longer(compute, memory) + c->launch.value
	               : effective_kernel(c, compute, whole ? 0 : memory, has_fused(p, op));
	if (whole)
		out->ns += beside_rate(c, p, r, op);
	out->bytes = bytes;
	out->measured = c->launch.measured && (whole || bandwidth.measured) && (!flops || rate.measured);
	return STATUS_OK;
}
