/* This machine, before it was calibrated: what the system shows of its cores and memory, and assumed rates. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "strategy/cluster/cluster.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "/x/local.yaml" → "/x/local-cuda.yaml" */
static int name_of_gpus(char *out, size_t size, const char *path)
{
	static const char ending[] = ".yaml";
	size_t n = strlen(path), e = sizeof ending - 1;
	bool ends = n >= e && !strcmp(path + n - e, ending);
	return snprintf(out, size, "%.*s-cuda%s", (int)(ends ? n - e : n), path, ends ? ending : "");
}

enum status cluster_local_path(enum device_kind kind, char *out, size_t size)
{
	const char *file = getenv("SHARDLAB_CONFIG"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[4096];
	int n;
	if (file && *file)
		n = snprintf(path, sizeof path, "%s", file);
	else if (config && *config)
		n = snprintf(path, sizeof path, "%s/shardlab/local.yaml", config);
	else if (home && *home)
		n = snprintf(path, sizeof path, "%s/.config/shardlab/local.yaml", home);
	else
		return status_fail(STATUS_INPUT, "no place for the calibration: set HOME or SHARDLAB_CONFIG");
	if (n >= 0 && (size_t)n < sizeof path)
		n = kind == DEVICE_GPU ? name_of_gpus(out, size, path) : snprintf(out, size, "%s", path);
	if (n < 0 || (size_t)n >= size)
		return status_fail(STATUS_INPUT, "the path of the calibration is too long: set SHARDLAB_CONFIG");
	return STATUS_OK;
}

static int64_t cores_here(void)
{
	cpu_set_t set;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	if (!sched_getaffinity(0, sizeof set, &set)) /* fails on machines with more cores than a set holds */
		return CPU_COUNT(&set);
	return online > 0 ? online : 1;
}

static int64_t memory_here(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_C(8000000000);
}

/* Assumed, of one core: 50 GFLOP/s in matrix products (half of 3 GHz × 2 FMA of 8 lanes), a fifth of that and less in
 * kernels without them; 12 GB/s of 20 GB/s memory bandwidth (two channels of DDR4-2400 are 38.4 at best). 16-bit types
 * take as long as fp32: they are computed in fp32. A message through shared memory: 2 us and 5 GB/s, with half a core
 * of copying at each end. An NVMe drive: 2 GB/s read, 1 GB/s written; not calibrated. 64 MiB of libraries a process
 * (OpenBLAS's buffers, Open MPI). Calibration replaces all. */
static enum status cpu_assumed(struct cluster *c)
{
	char text[1600];
	snprintf(
	        text, sizeof text,
	        "name: local\n"
	        "about: this machine; rates assumed, not measured\n"
	        "kind: cpu\n"
	        "node: {cores: %lld, memory: %lld, memory_bandwidth: 20e9}\n"
	        "device: {threads: 1, overhead: 64MiB, memory_bandwidth: 12e9, launch: 1e-6, collective_launch: 5e-6,\n"
	        "  collective_cores: 0.5}\n"
	        "compute:\n"
	        "  default: {fp32: 5e9, bf16: 5e9, fp16: 5e9}\n"
	        "  linear: {fp32: 50e9, bf16: 50e9, fp16: 50e9}\n"
	        "  abstract: {fp32: 50e9, bf16: 50e9, fp16: 50e9}\n"
	        "  attention: {fp32: 20e9, bf16: 20e9, fp16: 20e9}\n"
	        "link: {latency: 2e-6, bandwidth: 5e9}\n"
	        "disk: {latency: 100e-6, read_bandwidth: 2e9, write_bandwidth: 1e9, capacity: 256GB}\n",
	        (long long)cores_here(), (long long)memory_here());
	return cluster_read(c, text, strlen(text), "local");
}

/* Which GPU there is, only its driver could tell: an H100's data sheet, on one machine. */
static enum status gpu_assumed(struct cluster *c)
{
	const char *text = cluster_catalogue("h100");
	enum status s = cluster_read(c, text, strlen(text), CLUSTER_LOCAL_CUDA);
	snprintf(c->name, sizeof c->name, "%s", CLUSTER_LOCAL_CUDA);
	snprintf(c->about, sizeof c->about, "this machine's GPUs; an H100's rates assumed, not measured");
	c->network = (struct link){.latency = {0}};
	c->rails = 1;
	c->cores = cores_here();
	c->node_memory = memory_here();
	return s;
}

enum status cluster_local_assumed(struct cluster *c, enum device_kind kind)
{
	return kind == DEVICE_GPU ? gpu_assumed(c) : cpu_assumed(c);
}
