#include "real/cpu/device.h"

#include "real/communicator/kind.h"

#include <stdlib.h>
#include <string.h>

static enum status check(const struct device_choice *c, const struct plan *p)
{
	(void)p;
	if (c->collectives && communicator_kind(c->collectives)->device)
		return status_fail(STATUS_INPUT,
		                   "{comm} nccl moves a GPU's memory; say {device} cuda, or {comm} ring or mpi");
	if (c->eager)
		return status_fail(STATUS_INPUT,
		                   "{no_graph}: only a GPU captures steps; leave it out, or say {device} cuda");
	if (c->autotune)
		return status_fail(STATUS_INPUT,
		                   "{autotune}: only a GPU's products have algorithms to choose from; leave it out, or "
		                   "say {device} cuda");
	if (c->products)
		return status_fail(STATUS_INPUT,
		                   "{products}: only a GPU has kernels of products to choose from; leave it out, or "
		                   "say {device} cuda");
	if (c->attention)
		return status_fail(STATUS_INPUT,
		                   "{attention}: only a GPU has kernels of attention to choose from; leave it out, or "
		                   "say {device} cuda");
	if (c->tf32)
		return status_fail(STATUS_INPUT,
		                   "{tf32}: TF32 is of a GPU's tensor cores; leave it out, or say {device} cuda");
	return STATUS_OK;
}

static enum status open_memory(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                               const struct device_choice *c)
{
	d->own = d->rank = array_make(1, sizeof *d->rank);
	return rank_memory_open(d->rank, p, rank, input, c->guard, c->folder, NULL);
}

static enum status start(struct device *d, const struct device_choice *c, struct communicator *communicator)
{
	(void)c;
	return cpu_executor_open(&d->executor, d->rank, communicator);
}

static void release(struct device *d)
{
	rank_memory_release(d->rank);
	free(d->own);
}

const struct device_table cpu_device_table = {
        .name = "cpu", .kind = DEVICE_CPU, .check = check, .open = open_memory, .start = start, .release = release};
