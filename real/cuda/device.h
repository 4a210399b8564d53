/* The CUDA device: a rank on a GPU, through the table of kernels/cuda/cuda.h.
 *
 * The rank's memory is a rank_memory whose device arena is in the GPU's memory and whose host arena is pinned; each is
 * taken once. Operations in host memory and on disk are carried out on the CPU. Nothing is allocated after
 * cuda_device_open and cuda_executor_open.
 *
 *     struct cuda_device *c;
 *     status = cuda_device_open(&c, &plan, rank, &input, &choice);
 *     status = cuda_device_issue(c, op, stream);            puts an operation in device memory on a stream
 *     cuda_device_close(c);
 *
 * Samples come through pinned memory. Every load has two slots, for even and odd steps, so that the next step's is
 * filled while this one's is in use. Slots do not move, so a captured step reads them.
 */
#ifndef SHARDLAB_CUDA_DEVICE_H
#define SHARDLAB_CUDA_DEVICE_H

#include "real/cuda/library.h"
#include "real/rank/bind.h"
#include "real/rank/device.h"
#include "real/rank/memory.h"
#include "strategy/trace/report.h"

/* Workspace of cuBLASLt and of the kernels (kernels/table.def). */
#define CUDA_WORKSPACE_BYTES ((size_t)64 << 20)

/* Sums that kernels make beside the plan's buffers, in device memory. */
struct cuda_sums {
	double loss; /* of `evaluate` */
	int64_t correct;
};

/* The pinned memory of one load operation, for even and odd steps. */
struct cuda_slots {
	int op;
	void *inputs[2];
	int32_t *targets[2];
	int64_t step[2]; /* the step whose samples are there; -1: none */
};

/* Indexed by enum cuda_attention. */
extern const char *const cuda_attention_names[];

struct cuda_device {
	struct rank_memory rank; /* the rank's memory; arena[SPACE_DEVICE] is on the device */
	const struct cuda_api *api;
	struct kernel_context *context;
	int gpu;
	struct cuda_properties properties;
	char not_captured[224];        /* why steps could not be captured; "": nothing went wrong */
	bool tunes;                    /* algorithms of products, or rungs of attention, are timed */
	enum cuda_attention attention; /* that was asked for */
	struct binding binding;        /* of operations, but for their stream */
	int sharing;                   /* ranks that have this GPU, with this one */
	kernel_stream stream;          /* of the compute queue; copies of remote memory go there too */
	struct remote_memory remote;
	void *device_arena, *host_arena;
	void *pinned;            /* a buffer for remote memory's copies, loads and the loss scale */
	struct cuda_sums *sums;  /* device */
	struct cuda_sums *shown; /* pinned */
	struct loss_scale *scaler_begin;
	int32_t *gave_up;      /* pinned: the loss scale cannot become any smaller */
	struct fusion *fusion; /* by operation */
	struct cuda_slots *slots;
	int slot_count;
	struct report_overhead overhead; /* so far */
	int64_t used_before;             /* by the stage at hand; -1: unknown */
	int64_t step;                    /* the step that loads read from the plan's counter, while `step_known` */
	bool step_known;
};

extern const struct device_table cuda_device_table; /* table.c */

/* Opens the library, and checks the driver and that this machine has enough GPUs for the choice. */
enum status cuda_device_find(const struct device_choice *choice, const struct cuda_api **api, int *gpus);

/* Called before any rank starts. With plan NULL it checks the GPUs alone. */
enum status cuda_device_check(const struct device_choice *choice, const struct plan *p);

enum status cuda_device_open(struct cuda_device **out, const struct plan *p, int64_t rank,
                             const struct input_source *input, const struct device_choice *choice);
void cuda_device_close(struct cuda_device *c); /* accepts NULL */

/* STATUS_RUN: "GPU 0 (name): what: CUDA's words" if error is not 0. */
enum status cuda_device_error(const struct cuda_device *c, int error, const char *what);

/* Copies between device memory and this process's; done on return. */
enum status cuda_device_copy(struct cuda_device *c, void *to, const void *from, int64_t bytes);

/* ---- memory beside the arena (overhead.c) ---- */

void cuda_overhead_opened(struct cuda_device *c); /* the context, the workspace, cuBLASLt's handle */
/* Memory that is taken between the two calls counts as this part. */
void cuda_overhead_begin(struct cuda_device *c);
void cuda_overhead_end(struct cuda_device *c, enum overhead_part part);
/* Device memory that is neither free nor an arena of any rank: the sum of the parts; 0 if the device does not answer.
 */
int64_t cuda_overhead(const struct device *d, struct report_overhead *out);

/* Puts an operation of class K or V on a stream. Those that this process carries out itself (bind_is_of_process)
 * return when they are done. */
enum status cuda_device_issue(struct cuda_device *c, const struct op *op, kernel_stream s);

/* ---- samples (load.c) ---- */

enum status cuda_slots_open(struct cuda_device *c);
/* Tells whether the section has loads. */
bool cuda_slots_are_in(const struct cuda_device *c, const struct section *s);
/* Reads the step's number if it is not known. */
enum status cuda_slots_begin(struct cuda_device *c, const struct section *s);
/* Fills the slots of a section's loads with the samples of a step, unless they are there. */
void cuda_slots_fill(struct cuda_device *c, const struct section *s, int64_t step);
int cuda_load(struct cuda_device *c, const struct op *op, kernel_stream s);
/* The step counter goes on: later loads belong to the next step. */
void cuda_slots_advance(struct cuda_device *c, const struct op *op);

#endif
