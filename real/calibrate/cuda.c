/* The GPU's calibration as a whole. */
#include "real/calibrate/cuda.h"

#include <stdio.h>

/* Fills in this machine's GPUs and their properties. */
static enum status describe_machine(const struct calibration *k)
{
	struct cluster *c = k->cluster;
	struct gpu g;
	enum status s = gpu_open(&g, k);
	if (!s) {
		c->devices = k->gpu->count;
		c->device_memory = g.properties.memory_bytes;
		snprintf(c->about, sizeof c->about, "%.100s × %d, driver %d.%d, CUDA %d.%d", g.properties.name,
		         k->gpu->count, g.properties.driver / 1000, g.properties.driver % 1000 / 10,
		         g.properties.runtime / 1000, g.properties.runtime % 1000 / 10);
	}
	gpu_close(&g);
	return s;
}

static int tasks_of(const struct calibration *k)
{
	return calibrate_cuda_rates_tasks(k) + calibrate_cuda_compute_tasks(k) + calibrate_cuda_links_tasks(k);
}

static enum status measure(struct calibration *k)
{
	k->alone = true;
	enum status s = k->rank ? STATUS_OK : describe_machine(k);
	if (!s && !k->rank)
		s = calibrate_cuda_rates(k);
	if (!s && !k->rank)
		s = calibrate_cuda_compute(k);
	if (s)
		return s;
	k->alone = false;
	calibrate_wait_for_first(k);
	if (k->communicator && (s = calibrate_cuda_links(k)))
		return s;
	int64_t overhead = k->gpu->overhead_bytes;
	k->cluster->overhead = rate_measured(overhead, overhead, overhead);
	return STATUS_OK;
}

enum status calibrate_cuda(struct calibration *k)
{
	const struct calibrate_options *o = k->options;
	const struct cuda_api *api;
	struct calibration_gpu gpu = {.choice = {.name = "cuda",
	                                         .collectives = o->communicator,
	                                         .eager = o->no_graph,
	                                         .local_rank = k->local_rank,
	                                         .local_ranks = k->local_ranks}};
	k->gpu = &gpu;
	k->tasks = tasks_of(k);
	enum status s = cuda_device_find(&gpu.choice, &api, &gpu.count);
	if (!s)
		s = measure(k);
	k->gpu = NULL;
	return s;
}
