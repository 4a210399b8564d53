/* A device is a table of functions: how a rank's memory is opened on it, and how operations are carried out.
 * real/cpu/device.c and real/cuda/table.c have one each; real/device/device.c lists them by name. */
#ifndef SHARDLAB_RANK_DEVICE_H
#define SHARDLAB_RANK_DEVICE_H

#include "real/communicator/communicator.h"
#include "real/rank/executor.h"
#include "real/rank/memory.h"
#include "strategy/cluster/cluster.h"
#include "strategy/trace/report.h"

struct device_choice {
	const char *name;            /* "cpu", "cuda", …; NULL: the CPU */
	bool guard;                  /* of the CPU alone */
	const char *folder;          /* for what is kept on disk; NULL: none given */
	const char *collectives;     /* the communicator (kind.h); NULL: one rank */
	bool eager;                  /* cuda: no graph */
	bool autotune;               /* cuda: algorithms of products are timed, and kept */
	const char *products;        /* cuda: the rung of its kernels, of CUDA_PRODUCT_LIST; NULL: cuBLASLt's */
	const char *attention;       /* cuda: the rung of its kernels, of CUDA_ATTENTION_LIST; NULL: auto */
	bool tf32;                   /* cuda, in fp32: products on tensor cores, of operands rounded to TF32 */
	int local_rank, local_ranks; /* of the ranks on this machine; 0, 0: alone */
};

struct device {
	const struct device_table *table; /* NULL: not open */
	struct rank_memory *rank;         /* the rank's buffers, wherever its memory is */
	struct executor *executor;        /* once started */
	void *own;                        /* the device's */
};

struct device_table {
	const char *name;
	enum device_kind kind; /* of the clusters that it measures */
	/* Checks all that can be checked before any rank starts; with plan NULL, the machine alone. */
	enum status (*check)(const struct device_choice *c, const struct plan *p);
	/* Takes all memory. Sets `own` and `rank`, after a failure too if there is anything to release. */
	enum status (*open)(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
	                    const struct device_choice *c);
	/* Sets `executor`, after a failure too. communicator: NULL for one rank. */
	enum status (*start)(struct device *d, const struct device_choice *c, struct communicator *communicator);
	void (*release)(struct device *d); /* the executor is closed already */
	/* Bytes of the device's memory that libraries took. NULL: not measured, and 0. */
	int64_t (*overhead)(const struct device *d, struct report_overhead *out);
	/* Adds what was slower than it could be. NULL: nothing ever is. */
	void (*slowed)(const struct device *d, struct report_slowed *out);
};

#endif
