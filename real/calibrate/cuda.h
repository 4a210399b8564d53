/* Shared by the files of the GPU's calibration: one GPU, opened for measuring, and the timing of its work. */
#ifndef SHARDLAB_CALIBRATE_CUDA_H
#define SHARDLAB_CALIBRATE_CUDA_H

#include "real/calibrate/internal.h"
#include "real/cuda/device.h"

struct gpu {
	const struct cuda_api *api;
	struct kernel_context *cuda; /* NULL: not open */
	struct cuda_properties properties;
	int number;              /* this rank's GPU */
	int64_t available_bytes; /* of its memory, once it is open */
	kernel_stream stream;
	cuda_event begin, end;
};

struct calibration_gpu {
	struct device_choice choice; /* of the timed runs too */
	int count;                   /* of this machine's GPUs */
	int64_t overhead_bytes;      /* the most that was seen beside an arena */
	int64_t launch_ns;           /* of one kernel more in a step */
	int64_t host_work;           /* the largest update on the host that was measured */
};

enum status gpu_open(struct gpu *g, const struct calibration *k);
void gpu_close(struct gpu *g); /* accepts one that is not open */
/* STATUS_RUN: "GPU 0 (name): what: CUDA's words" if error is not 0. */
enum status gpu_error(const struct gpu *g, int error, const char *what);

/* The time of each of n pieces of work that are put on the stream one after the other, `repeats` times, after once
 * without counting. replayed: captured first, and replayed. */
enum status gpu_time(struct gpu *g, int (*issue)(struct gpu *g, const void *what), const void *what, int n,
                     bool replayed, int repeats, int64_t *ns);

/* ---- cuda_rates.c: rank 0 alone ---- */

int calibrate_cuda_rates_tasks(const struct calibration *k);
enum status calibrate_cuda_rates(struct calibration *k);

/* ---- cuda_compute.c: rank 0 alone ---- */

int calibrate_cuda_compute_tasks(const struct calibration *k);
enum status calibrate_cuda_compute(struct calibration *k);

/* The excess of a span in an eager step over a replayed one: the x with which the sum of times[i] · max(ns[i] − x,
 * least) over all n is `step`. A negative x means that the replayed step has gaps of its own. */
int64_t calibrate_excess(const int64_t *ns, const int64_t *times, size_t n, int64_t least, int64_t step);

/* ---- cuda_link.c: all ranks; at least two ---- */

int calibrate_cuda_links_tasks(const struct calibration *k);
enum status calibrate_cuda_links(struct calibration *k);

/* The launch of a collective, from the smallest all-gather and all-reduce of `ranks`, which has twice as many rounds.
 */
int64_t calibrate_collective_launch(int64_t all_gather_ns, int64_t all_reduce_ns);

#endif
