/* Shared by the files of the CUDA executor. */
#ifndef SHARDLAB_CUDA_EXECUTOR_INTERNAL_H
#define SHARDLAB_CUDA_EXECUTOR_INTERNAL_H

#include "real/communicator/nccl.h"
#include "real/cuda/executor.h"
#include "real/rank/executor_internal.h"

/* An operation that this process carries out, on a thread of the driver. */
struct host_job {
	struct cuda_executor *executor;
	int op;
	void *operand[3]; /* of a staged collective: in pinned memory */
};

struct op_events {
	cuda_event done;       /* NULL: nobody waits for it */
	cuda_event begin, end; /* timed; NULL: takes no time */
};

enum { GRAPHS = 2, EAGER_STEPS = 2 };

struct cuda_executor {
	struct executor base; /* first: a pointer to the one is a pointer to the other */
	struct cuda_device *device;
	kernel_stream stream[QUEUE_COUNT]; /* NULL: the program does not use the queue */
	struct op_events *events;          /* by operation */
	struct host_job *jobs;             /* by operation */
	cuda_event forked, joined[QUEUE_COUNT], begun, ended;
	bool is_nccl;
	struct nccl *nccl;     /* of all ranks */
	bool nccl_failed;      /* its communicators must be aborted */
	unsigned char *pinned; /* staging of `ring` and `mpi` */
	int64_t pinned_bytes;

	bool measures; /* the section at hand: events around every operation */
	bool captures; /* steps can be captured, and are to be */
	int eager_steps;
	cuda_graph graph[GRAPHS];
	int64_t advances; /* the step counter's, in a step */
};

/* ---- executor.c ---- */

extern const struct executor_ops cuda_executor_ops;

/* ---- executor_open.c ---- */

void cuda_executor_close(struct executor *base);

/* ---- communication.c ---- */

/* Staging, or NCCL's communicators. */
enum status cuda_communication_open(struct cuda_executor *e);
void cuda_communication_close(struct cuda_executor *e);
enum status cuda_communication_issue(struct executor *base, int number);
/* True if this process carries it out, in pinned memory or the host's. */
bool cuda_communication_is_staged(const struct cuda_executor *e, const struct op *op);
/* STATUS_RUN if an operation under way has failed. */
enum status cuda_communication_watch(struct cuda_executor *e);

#endif
