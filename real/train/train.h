/* Training for real: carries out a plan, step after step, on every rank of an MPI job.
 *
 * Called by every rank of the job (one process a rank). Rank 0 gets the report; the others get an empty one. MPI is
 * started here, and ended when the process exits, unless the caller has started it (with MPI_THREAD_SERIALIZED).
 *
 *     struct train_options o = train_options_default();
 *     o.settings = …resolved…;
 *     struct report r;
 *     enum status s = train_run(&o, &r);
 *
 * train_check does everything that can be checked without the other ranks (model, strategy, plan text, data files,
 * sizes): the command calls it before it starts mpirun, so that wrong input gets one line, once.
 */
#ifndef SHARDLAB_TRAIN_H
#define SHARDLAB_TRAIN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "strategy/settings/settings.h"
#include "strategy/trace/report.h"

struct train_step {
	int64_t step; /* from 1 */
	double loss;
	double units_per_s; /* tokens or samples */
	bool is_text;
	double tflops_per_device, mfu; /* as of struct report_speed; 0: unknown */
	double learning_rate;          /* of the update that this step's gradients make */
	/* Evaluated after this step; NaN: not. */
	double validation_loss, validation_accuracy;
	/* fp16: gradients overflowed and nothing was updated; the loss scale of this step, and of the next. 0: none */
	bool skipped;
	double loss_scale, next_loss_scale;
};

/* A rank's place in its training, for a thread of its process that watches it. Times are CLOCK_MONOTONIC, in
 * nanoseconds. */
struct train_place {
	atomic_llong step; /* the step under way; 0: it does something else */
	atomic_llong since;
	atomic_llong median; /* of the last steps; 0: too few to tell */
};

struct train_options {
	struct settings settings; /* resolved; ignored when plan_file is given */
	const char *plan_file;    /* NULL: compile from the settings */
	int64_t steps;
	const char *device;       /* "cpu" or "cuda" */
	const char *communicator; /* its name (real/communicator/kind.h) */
	bool no_graph;            /* of a GPU: every step is issued operation by operation */
	bool autotune;            /* of a GPU: time algorithms of products, and keep the fastest */
	const char *products;     /* of a GPU: the rung of its kernels, of CUDA_PRODUCT_LIST; NULL: cuBLASLt's */
	const char *attention;    /* of a GPU: the rung of its kernels, of CUDA_ATTENTION_LIST; NULL: auto */
	bool tf32;                /* of a GPU, in fp32: products on tensor cores */
	const char *data;         /* NULL: the model's default data */
	const char *data_type;    /* of token ids; NULL: found out */
	int threads;              /* of each rank */
	bool evaluate;            /* validation loss (and accuracy) at the end; of a text, at most 256 samples */
	int64_t eval_every;       /* and after every so many steps; 0: at the end only */
	bool guard;               /* poison memory at alloc and free, guard zones around buffers, one queue at a time */
	const char *offload_folder; /* where what is offloaded to disk lives; NULL: none given */
	const char *init, *save;    /* .safetensors, or a folder; NULL: none */
	int64_t shard_bytes;        /* of a folder: the most in one file; 0: 5 GB */
	const char *checkpoint;     /* the folder of the run's checkpoints (real/checkpoint/folder.h); NULL: none */
	int64_t checkpoint_every;   /* steps; 0: not by steps */
	double checkpoint_seconds;  /* 0: not by time */
	int64_t checkpoint_keep;    /* how many stay; 0: all */
	const char *resume;         /* a checkpoint, a run's folder, or "latest"; NULL: from the start */
	const char *trace_file;     /* of the last step; NULL: none */
	bool values;                /* in the trace, of collectives on the CPU */
	void (*on_step)(void *context, const struct train_step *step); /* rank 0 only; NULL: none */
	void *context;
	volatile int *stop;        /* set to 1 by a signal handler: all ranks end after the step at hand */
	struct train_place *place; /* NULL: nobody watches */
};

struct train_options train_options_default(void);

enum status train_check(const struct train_options *o);
/* The same, and what was found, for the user. */
struct train_found {
	char data[384];    /* struct dataset's words */
	bool bytes_as_ids; /* text for a model that has other tokens than bytes */
};
enum status train_look(const struct train_options *o, struct train_found *out);

/* STATUS_STOPPED when it was stopped, and STATUS_INTERRUPTED if its checkpoint could not be written then: the report
 * holds what was done until then. STATUS_UNSAVED: all steps were made, and the last checkpoint could not be written. */
enum status train_run(const struct train_options *o, struct report *out);

/* The rank and size of this process if it was started by mpirun or Slurm; false if it stands alone. Does not touch MPI.
 */
bool train_under_mpi(int *rank, int *ranks);

#endif
