/* The types of which a plan is made. strategy/plan/plan.h explains the terms. */
#ifndef SHARDLAB_PLAN_TYPES_H
#define SHARDLAB_PLAN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"
#include "strategy/collective/schedule.h"
#include "strategy/model/model.h"
#include "strategy/plan/ops.h"
#include "strategy/settings/settings.h"
#include "strategy/settings/software.h"

/* The category of a buffer, by the design's accounting: constant, name */
#define CATEGORY_LIST(X)                                                                                               \
	X(PARAMETERS, "parameters")                                                                                    \
	X(GRADIENTS, "gradients")                                                                                      \
	X(OPTIMIZER, "optimizer")                                                                                      \
	X(ACTIVATIONS, "activations")                                                                                  \
	X(GATHERED, "gathered")                                                                                        \
	X(BUFFERS, "buffers")

enum category {
#define X(constant, name) CATEGORY_##constant,
	CATEGORY_LIST(X)
#undef X
	        CATEGORY_COUNT
};

#define SPACE_LIST(X)                                                                                                  \
	X(DEVICE, "device")                                                                                            \
	X(HOST, "host")                                                                                                \
	X(DISK, "disk")

enum space {
#define X(constant, name) SPACE_##constant,
	SPACE_LIST(X)
#undef X
	        SPACE_COUNT
};

#define QUEUE_LIST(X)                                                                                                  \
	X(COMPUTE, "compute")                                                                                          \
	X(COMMUNICATION, "communication")                                                                              \
	X(HOST_TO_DEVICE, "host-to-device")                                                                            \
	X(DEVICE_TO_HOST, "device-to-host")                                                                            \
	X(HOST_COMPUTE, "host")                                                                                        \
	X(DISK, "disk")

enum queue {
#define X(constant, name) QUEUE_##constant,
	QUEUE_LIST(X)
#undef X
	        QUEUE_COUNT
};

/* The kinds under which a collective's bytes are counted: `by_kind` of the reports. */
#define TRAFFIC_LIST(X)                                                                                                \
	X(ALL_REDUCE, "all_reduce")                                                                                    \
	X(REDUCE_SCATTER, "reduce_scatter")                                                                            \
	X(ALL_GATHER, "all_gather")                                                                                    \
	X(BROADCAST, "broadcast")                                                                                      \
	X(REDUCE, "reduce")                                                                                            \
	X(SCATTER_INPUTS, "scatter_inputs")                                                                            \
	X(GATHER_OUTPUTS, "gather_outputs")                                                                            \
	X(SCATTER_OUTPUT_GRADIENTS, "scatter_output_gradients")                                                        \
	X(ACTIVATIONS, "activations")                                                                                  \
	X(ACTIVATION_GRADIENTS, "activation_gradients")                                                                \
	X(GATHER_STATISTICS, "gather_statistics")                                                                      \
	X(REDUCE_STATISTICS, "reduce_statistics")                                                                      \
	X(BROADCAST_BUFFERS, "broadcast_buffers")                                                                      \
	X(CONTROL, "control")

enum traffic_kind {
#define X(constant, name) TRAFFIC_##constant,
	TRAFFIC_LIST(X)
#undef X
	        TRAFFIC_COUNT
};

/* The kinds under which copies between spaces are counted: `transfers` of the reports. */
#define TRANSFER_LIST(X)                                                                                               \
	X(DEVICE_TO_HOST, "device_to_host")                                                                            \
	X(HOST_TO_DEVICE, "host_to_device")                                                                            \
	X(DISK_READ, "disk_read")                                                                                      \
	X(DISK_WRITE, "disk_write")

enum transfer_kind {
#define X(constant, name) TRANSFER_##constant,
	TRANSFER_LIST(X)
#undef X
	        TRANSFER_COUNT
};

/* The items that a checkpoint holds of a step's state: constant, name, and whether its operations name a group.
 * The others are saved by the first rank of a role. */
#define ITEM_LIST(X)                                                                                                   \
	X(PARAMETERS, "parameters", true) /* in fp32: the master weights, where there are any */                       \
	X(ROUNDED, "rounded", true)       /* 16-bit parameters that chance has rounded */                              \
	X(FIRST_MOMENT, "first_moment", true)                                                                          \
	X(SECOND_MOMENT, "second_moment", true)                                                                        \
	X(GRADIENTS, "gradients", true) /* that the next step's delayed update applies */                              \
	X(STEP, "step", false)                                                                                         \
	X(SCALER, "scaler", false)                                                                                     \
	X(RUNNING, "running", false) /* the model's buffers */

enum item {
#define X(constant, name, of_group) ITEM_##constant,
	ITEM_LIST(X)
#undef X
	        ITEM_COUNT
};

/* Versions of the text: version 2 has the sections save and restore. */
enum { PLAN_VERSION = 1, PLAN_VERSION_CHECKPOINTS = 2 };
#define PLAN_ROLES 128

/* A plan may have hundreds of thousands of them. */
struct buffer {
	const char *name; /* unique within the role */
	int64_t elements;
	enum category category : 8;
	enum space space : 8;
	enum type type : 8;
	bool state; /* lives from the prologue to the epilogue */
};

/* An axis of the mesh. */
#define PLAN_AXES 4
struct axis {
	const char *name; /* "rank"; "replica", "shard", "stage", "tensor" */
	int64_t size;
	bool data;     /* ranks along it have different samples */
	bool sequence; /* of an axis "tensor": with sequence parallelism (model/slice.h) */
};

struct region {
	int buffer;            /* -1: the operand is absent */
	unsigned slice;        /* axes; 0: the region is the same on all ranks */
	int64_t offset, count; /* elements; with slice, of the whole range */
};

enum neighbour { NEIGHBOUR_BEFORE = -1, NEIGHBOUR_NONE, NEIGHBOUR_BEHIND };

/* A plan may have millions of them: 56 bytes each. */
struct op {
	enum op_kind kind : 8;
	enum queue queue : 4;
	enum pass pass : 4;
	enum item item : 4; /* save, restore */
	enum traffic_kind traffic : 4;
	enum schedule_algorithm algorithm : 8; /* collectives */
	/* Communication: the axes that it runs over; 0: all (op_axes). Initialize, weights, save, restore, stochastic
	 * updates: the axes along which the operand is a shard of its group; 0: all, or none if it is as large as the
	 * group (op_shard_axes). */
	uint8_t axes;
	enum neighbour neighbour : 3; /* messages: the peer's coordinate along the one axis, less this rank's */
	bool in_a_row : 1;  /* load: a rank's micro-batches are samples one after another, and not the ranks' of each */
	bool all_ranks : 1; /* load, classifier, evaluate: on all ranks' samples, not this rank's ("wide" in the text)
	                     */
	bool stochastic : 1; /* adamw, sgd: 16-bit parameters are rounded stochastically, by the plan's seed */
	bool joined : 1;     /* collectives: in one call with the one before it ("joined") */
	bool ends_only : 1;  /* collectives: of each group only the first and the last along the axes ("ends") */
	uint16_t accumulate; /* bit i: operand i is added to, not overwritten */
	int unit;            /* of the model; -1 */
	int kernel;          /* of the model; -1. Of collectives those of a synchronised batch norm have one */
	int micro;           /* micro-batch; -1 */
	int group;           /* of parameters (initialize, adamw, weights, save, restore, collectives on parameters and
	                        gradients);	   -1 */
	int root;
	int after_count;
	int *after; /* operations of the same section that must be done, on other queues */
	union {
		double scale;    /* of the loss: the weight of one row's loss; scale × rows of the global batch = 1
		                  * dropout: what is kept is multiplied by; scale × (1 - probability) = 1, or 1: all is
		                  * kept */
		int64_t payload; /* collectives: elements without padding */
	};
	struct region *operand; /* as many as its kind has (ops.def): plan_operands */
};

struct section {
	int begin, end; /* operations [begin, end) of the role */
};

struct role {
	const char *name;
	int64_t first_rank, ranks; /* [first_rank, first_rank + ranks) */
	struct buffer *buffers;
	int buffer_count;
	struct op *ops;
	int op_count;
	struct section prologue, step, evaluate, save, restore, epilogue;
	int buffer_capacity, op_capacity; /* of the builder */
	bool laid_out;                    /* arena_bytes is known: what layouts without a guard need */
	int64_t arena_bytes[SPACE_COUNT];
};

struct group {
	const char *name; /* "bucket.0", "block.3" */
	int64_t base;     /* where it begins in a buffer that holds all groups, padded */
	int64_t elements, padded;
	int *tensors, tensor_count; /* in order, one after another from 0 */
};

struct plan {
	struct arena arena;
	const struct model
	        *model;           /* as every rank computes it: the whole, not owned, outlives the plan; or its slice */
	struct model slice;       /* that slice, in the arena */
	struct settings settings; /* resolved */
	struct software software; /* settings.software, read */
	const char *strategy;     /* its name alone: "zero2" */
	int64_t ranks;
	struct axis axes[PLAN_AXES]; /* ranks is the product of their sizes */
	int axis_count;
	struct role roles[PLAN_ROLES];
	int role_count;
	struct group *groups;
	int group_count;
	int *tensor_group;      /* by tensor */
	int64_t *tensor_offset; /* within its group */
	int64_t group_elements; /* padded, of all groups together */
	struct region *spare;   /* operands that are to be handed out (plan_operands) */
	int spare_count;
	int *stage_end; /* while it is compiled for stages: theirs are kernels [stage_end[i-1], stage_end[i]) */
};

#endif
