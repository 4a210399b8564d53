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

/* Assumed, as of the catalogue's laptop. Of one core: 50 GFLOP/s in matrix products (half of 3 GHz × 2 FMA of 8 lanes),
 * a fifth of that and less in kernels without them; 12 GB/s of 20 GB/s memory bandwidth (two channels of DDR4-2400 are
 * 38.4 at best). 16-bit types take as long as fp32: they are computed in fp32. A message through shared memory: 2 us
 * and 5 GB/s, with half a core of copying at each end. An NVMe drive: 2 GB/s read, 1 GB/s written; not calibrated. 64
 * MiB of libraries a process (OpenBLAS's buffers, Open MPI). Calibration replaces all.
 *
 * Only its driver could tell which GPU there is: a GPU has an H100's data sheet, on one machine. */
enum status cluster_local_assumed(struct cluster *c, enum device_kind kind)
{
	bool gpu = kind == DEVICE_GPU;
	const char *name = gpu ? CLUSTER_LOCAL_CUDA : CLUSTER_LOCAL, *text = cluster_catalogue(gpu ? "h100" : "laptop");
	enum status s = cluster_read(c, text, strlen(text), name);
	snprintf(c->name, sizeof c->name, "%s", name);
	snprintf(c->about, sizeof c->about, "%s assumed, not measured",
	         gpu ? "this machine's GPUs; an H100's rates" : "this machine; rates");
	memset(c->compute[COMPUTE_PEAK], 0, sizeof c->compute[COMPUTE_PEAK]);
	c->network = (struct link){.latency = {0}};
	c->rails = 1;
	c->cores = cores_here();
	c->node_memory = memory_here();
	return s;
}
