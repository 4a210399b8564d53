#include "real/rank/device.h"

#include <string.h>

#include "real/cuda/device.h"
#include "real/cuda/executor.h"

static bool is_cuda(const struct device_choice *c)
{
	return c->name && !strcmp(c->name, "cuda");
}

enum status device_check(const struct device_choice *c, const struct plan *p)
{
	if (is_cuda(c))
		return cuda_device_check(c, p);
	if (c->collectives && !strcmp(c->collectives, "nccl"))
		return status_fail(STATUS_INPUT,
		                   "{comm} nccl moves a GPU's memory; say {device} cuda, or {comm} ring or mpi");
	if (c->eager)
		return status_fail(STATUS_INPUT,
		                   "{no_graph}: only a GPU captures steps; leave it out, or say {device} cuda");
	if (c->tf32)
		return status_fail(STATUS_INPUT,
		                   "{tf32}: TF32 is of a GPU's tensor cores; leave it out, or say {device} cuda");
	return STATUS_OK;
}

enum status device_open(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                        const struct device_choice *c)
{
	*d = (struct device){.rank = &d->cpu};
	if (!is_cuda(c))
		return rank_memory_open_on_disk(&d->cpu, p, rank, input, c->guard, c->folder);
	enum status s = cuda_device_open(&d->cuda, p, rank, input, c);
	if (d->cuda)
		d->rank = &d->cuda->rank;
	return s;
}

enum status device_start(struct device *d, const struct device_choice *c, struct communicator *communicator)
{
	if (d->cuda)
		return cuda_executor_open(&d->executor, d->cuda, communicator, c);
	return executor_open(&d->executor, d->rank, communicator);
}

void device_release(struct device *d)
{
	executor_close(d->executor);
	cuda_device_close(d->cuda);
	rank_memory_release(&d->cpu);
	*d = (struct device){0};
}

int64_t device_overhead(const struct device *d, struct report_overhead *out)
{
	*out = (struct report_overhead){.measured = false};
	return d->cuda ? cuda_overhead(d->cuda, out) : 0;
}

int64_t device_gelu_passes(const struct device *d)
{
	return d->cuda ? cuda_device_gelu_passes(d->cuda) : 0;
}
