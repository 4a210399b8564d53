/* Calibration: measures what this machine can do, in the terms in which the simulator counts.
 *
 * Rates are measured where they are used: the operations of real plans are carried out by the CPU executor, and the
 * spans that it records become FLOP/s by kind of operation and work. Such a rate includes all that the operation costs,
 * its memory traffic too. Contention between the ranks of one machine is measured with all of them at work.
 *
 *     what                  how
 *     compute               steps of small models on one rank, the others asleep, and on all ranks side by side: each
 *                           operation's FLOPs over its time
 *     weight_bandwidth      a product's weights over what it takes beyond its FLOPs, from few samples and many
 *     straddle_bandwidth    tensors that begin inside a cache line over what their operations take beyond those of
 *                           tensors that do not: the same layers, with gradients in buckets and without
 *     launch                the time of a step that is in none of its operations, by operation
 *     device_bandwidth      the most that one rank alone was seen to move, copying or in a step
 *     node_bandwidth        what all ranks together were seen to move, each in steps of its own
 *     link                  all-reduce, reduce-scatter and all-gather by the ring, fitted to n rounds of
 *                           latency + bytes / bandwidth (sim/cost.h)
 *     collective_launch     handing a collective to the communication thread, and the way back
 *     collective_cores      processor time of a collective over its duration
 *     overhead              resident memory of a rank that has joined and computed, without its buffers
 *
 * With device "cuda", for the cluster `local-cuda` (all ranks but the first sleep until links are measured):
 *
 *     compute               steps of the models, eager and replayed (cuda_compute.c)
 *     launch                a chain of kernels that do next to nothing, replayed (or issued, with no_graph)
 *     device_bandwidth      a copy within the device's memory: a byte is read once and written once
 *     host_link             copies to and from pinned memory: the slower way
 *     node_bandwidth, core_compute    a copy in the host's memory, and offload's update there
 *     link, collective_launch         collectives by NCCL, or through pinned memory by `ring` or `mpi`
 *     overhead              the device's memory that is in use beside an arena
 *     figures               matrix products by size and type, copies each way, pinned and not, the start of a kernel
 *                           issued and in a graph, and the time of every collective by size
 *
 * Every figure is the median of its repeats, with the smallest and the largest beside it.
 *
 * Called by every rank of an MPI job, or by a process that stands alone: then there are no ranks to measure between,
 * and link, collective_launch and collective_cores stay as assumed.
 *
 *     struct calibrate_options o = calibrate_options_default();
 *     struct cluster c;
 *     struct calibrate_figures f;
 *     enum status s = calibrate_run(&o, &c, &f);          rank 0 gets the cluster, the others an empty one
 *     if (!s && !rank)
 *         s = cluster_write(&c, path);
 *     cluster_release(&c);
 *     calibrate_figures_release(&f);
 */
#ifndef SHARDLAB_CALIBRATE_H
#define SHARDLAB_CALIBRATE_H

#include <stdbool.h>

#include "strategy/cluster/cluster.h"

struct calibrate_options {
	bool quick;               /* fewer sizes and repeats: about 8 seconds instead of about a minute */
	int threads;              /* of each rank */
	const char *device;       /* "cpu" or "cuda" */
	const char *communicator; /* its name (real/communicator/kind.h); between processors "ring" is measured */
	bool no_graph;            /* cuda: steps as they are without being captured */
	void (*progress)(void *context, double done, const char *what); /* done: 0 to 1; on rank 0 only; NULL: none */
	void *context;
};

struct calibrate_options calibrate_options_default(void);

/* Measured figures that are shown to people and are no field of a cluster. */
enum calibrate_unit {
	CALIBRATE_FLOPS, /* a second */
	CALIBRATE_BYTES, /* a second */
	CALIBRATE_NS,
	CALIBRATE_SHARE, /* millionths */
};
struct calibrate_figure {
	char name[64]; /* "product of bf16, 4096", "host to device, pinned" */
	enum calibrate_unit unit;
	struct rate rate;
};
struct calibrate_figures {
	struct calibrate_figure *list; /* owned */
	size_t count, capacity;
};
void calibrate_figures_add(struct calibrate_figures *f, const char *name, enum calibrate_unit unit, struct rate rate);
void calibrate_figures_release(struct calibrate_figures *f);

/* Checks the GPUs and the libraries before any rank starts. STATUS_INPUT. */
enum status calibrate_check(const struct calibrate_options *o, int64_t ranks);

/* Starts MPI if the process was started by mpirun and nobody did so before; then it also ends it. */
enum status calibrate_run(const struct calibrate_options *o, struct cluster *out, struct calibrate_figures *figures);

#endif
