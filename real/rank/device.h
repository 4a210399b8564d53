/* A rank's device, chosen by name: its memory and its executor. What runs on it needs to know no more.
 *
 *     struct device d;
 *     status = device_open(&d, &plan, rank, &input, &(struct device_choice){.name = "cuda"});
 *     d.rank->weights = …;                              what the rank keeps, wherever its memory is (memory.h)
 *     status = device_start(&d, communicator);
 *     status = executor_run(d.executor, &d.rank->role->step);
 *     device_release(&d);
 */
#ifndef SHARDLAB_DEVICE_H
#define SHARDLAB_DEVICE_H

#include "real/communicator/communicator.h"
#include "real/rank/executor.h"
#include "real/rank/memory.h"
#include "strategy/trace/report.h"

struct cuda_device;

struct device_choice {
	const char *name;            /* "cpu" or "cuda" */
	bool guard;                  /* of the CPU alone */
	const char *folder;          /* for what is kept on disk; NULL: none given */
	const char *collectives;     /* cuda: "ring", "mpi" or "nccl" */
	bool eager;                  /* cuda: no graph */
	bool tf32;                   /* cuda, in fp32: products on tensor cores, of operands rounded to TF32 */
	int local_rank, local_ranks; /* of the ranks on this machine; 0, 0: alone */
};

struct device {
	struct rank_memory *rank;
	struct executor *executor; /* once started */
	struct rank_memory cpu;
	struct cuda_device *cuda; /* NULL: the CPU */
};

/* What can be said before any rank starts: libraries, drivers, GPUs and their number, and whether the plan fits. */
enum status device_check(const struct device_choice *c, const struct plan *p);

/* Takes all memory. After a failure too, release. */
enum status device_open(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                        const struct device_choice *c);
/* communicator: NULL for one rank. It outlives the device. */
enum status device_start(struct device *d, const struct device_choice *c, struct communicator *communicator);
void device_release(struct device *d); /* accepts a zeroed struct */

/* What libraries took of the device's memory, in bytes; not measured, and 0, on a CPU. */
int64_t device_overhead(const struct device *d, struct report_overhead *out);

/* Times that GELU's backward pass was a kernel of its own on a GPU; replayed steps are not counted again. */
int64_t device_gelu_passes(const struct device *d);

#endif
