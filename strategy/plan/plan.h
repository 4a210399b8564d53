/* The plan: the program that every rank carries out in a training step. It is built once, checked once, and read by
 * everything else: the simulator, the CPU and GPU executors, the picture.
 *
 * A plan has one program per *role* (everyone; or the root and the rest), so a plan for 16,384 devices is as small as
 * one for 8. A program is a list of *operations* in issue order, in four sections:
 *
 *     prologue   state is allocated and initialised (and broadcast, as DDP does)
 *     step       one training step; repeated
 *     evaluate   forward only, on validation data
 *     epilogue   the weights are shown to whoever saves or checks them, and state is freed
 *
 * Every operation belongs to a *queue*. A queue carries out its operations in order; different queues run side by side,
 * ordered only by waits (`after`): the operation begins when those it names are done. Between sections and between
 * steps all queues are empty. `alloc` and `free` take effect in issue order: that is the order in which memory is
 * counted, so the peak is a property of the plan.
 *
 * Ranks stand in a mesh of named *axes*; a rank's number is its coordinates read as digits, the last axis the fastest:
 *
 *     axis replica 2 data, axis shard 4 data        rank 6 = replica 1, shard 2
 *
 * Along a `data` axis ranks have samples of their own; along any other they serve the same samples. Plain data
 * parallelism has one axis. A set of axes is a mask, bit i for axis i. Collectives run over a set: the ranks that
 * differ in those coordinates alone are one group, and there are as many such groups as the other coordinates have
 * values. So nothing in a plan is a list of ranks.
 *
 * A *buffer* is a run of elements of one type in one *space*: the device's memory, the host's, or a file on disk. It is
 * state (it lives from prologue to epilogue) or is allocated and freed within a section. A *region* is part of a
 * buffer: [offset, offset+count), or with `slice` this rank's slice of it along a set of axes: [offset + i·count/n, … +
 * count/n), where i of n is the rank's place along those axes.
 *
 * Which queue carries out an operation follows from where its operands stand: kernels and vector work on device memory
 * belong to `compute`, vector work on host memory to `host`, and a `copy` crosses: device-to-host, host-to-device, and
 * `disk` between a file and host memory. Collectives move device memory; a `sum` of scalars stands in either.
 *
 * Parameters are packed in *groups*, in which tensors stand one after another; a group is padded, so that it divides
 * into equal slices. A group is a bucket of DDP or ZeRO-1/2, or a unit of ZeRO-3 and FSDP.
 *
 *     struct plan p;
 *     status = plan_compile(&p, &model, &settings);     (strategy/strategies/strategy.h)
 *     for (int i = r->step.begin; i < r->step.end; i++) … r->ops[i] …
 *     plan_release(&p);
 */
#ifndef SHARDLAB_PLAN_H
#define SHARDLAB_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"
#include "strategy/collective/schedule.h"
#include "strategy/model/model.h"
#include "strategy/plan/ops.h"
#include "strategy/settings/settings.h"

/* Of a buffer: see the design's accounting. constant, name */
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

/* What a collective's bytes are counted under: `by_kind` of the reports. */
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

/* What a copy between spaces is counted under: `transfers` of the reports. */
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

#define PLAN_VERSION 1
#define PLAN_ROLES 128

struct buffer {
	const char *name; /* unique within the role */
	enum category category;
	enum space space;
	enum type type;
	int64_t elements;
	bool state; /* lives from the prologue to the epilogue */
};

/* Of the mesh. */
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

struct op {
	enum op_kind kind;
	enum queue queue;
	enum pass pass;
	int unit;   /* of the model; -1 */
	int kernel; /* of the model; -1. Of collectives those of a synchronised batch norm have one */
	int micro;  /* micro-batch; -1 */
	int group;  /* of parameters (initialize, adamw, weights, collectives on parameters and gradients); -1 */
	unsigned accumulate; /* bit i: operand i is added to, not overwritten */
	bool wide;           /* load, classifier, evaluate: on the samples of all ranks, not this rank's */
	bool stochastic;     /* adamw, sgd: 16-bit parameters are rounded stochastically, by the plan's seed */
	bool ends;           /* collectives: of each group only the first and the last along the axes */
	unsigned axes; /* communication: the axes that it runs over; 0: all (op_axes). initialize, weights, stochastic
	                  updates: the axes along which the operand is a shard of its group; 0: all, or none if it is
	                  as large as the group (op_shard_axes) */
	int shift;     /* messages: the peer's coordinate along the one axis, less this rank's: -1 or 1 */
	int root;
	double scale; /* of the loss: the weight of one row's loss; scale × rows of the global batch = 1
	               * dropout: what is kept is multiplied by; scale × (1 - probability) = 1, or 1: all is kept */
	enum schedule_algorithm algorithm; /* collectives */
	enum traffic_kind traffic;
	int64_t payload; /* collectives: elements without padding */
	struct region operand[OP_OPERANDS];
	int *after; /* operations of the same section that must be done, on other queues */
	int after_count;
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
	struct section prologue, step, evaluate, epilogue;
	int buffer_capacity, op_capacity; /* of the builder */
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
	struct model slice;       /* … which is this one, in the arena */
	struct settings settings; /* resolved */
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
	int *stage_end;         /* while it is compiled for stages: theirs are kernels [stage_end[i-1], stage_end[i]) */
};

void plan_release(struct plan *p); /* accepts NULL and a zeroed struct */

/* ---- reading ---- */

const char *category_name(enum category c);
const char *space_name(enum space s);
const char *queue_name(enum queue q);
const char *traffic_name(enum traffic_kind t);
const char *transfer_name(enum transfer_kind t);

const char *section_name(enum section_kind k);
const struct section *section_of(const struct role *r, enum section_kind k);

/* 'r', 'w' or 'x' for the operand as the operation uses it ('a' resolved by its accumulate bit), 0 if absent. */
char op_access(const struct op *op, int operand);
/* The operand that stands for this part; NULL: this kind of operation has none. */
const struct region *op_region(const struct op *op, enum part part);
/* The buffer of its first operand that is there; -1. */
int op_buffer(const struct op *op);
/* What the table's expressions (strategy/plan/ops.h) are made of. */
struct op_sizes op_sizes_of(const struct plan *p, const struct op *op);
/* The type that an operand must have; its own, where any will do. */
enum type op_operand_type(const struct plan *p, const struct role *r, const struct op *op, int operand);
/* A batch norm that asks the other ranks. */
bool kernel_synchronises(const struct plan *p, const struct kernel *k);

/* "forward block.3.qkv, micro-batch 0", for messages; into a buffer of the caller. */
void op_describe(const struct plan *p, const struct op *op, char *out, int size);

/* Where memory peaks (memory_use.peak_op), in words: the operation that was allocated for; "between steps" for -1; "the
 * end of the step" where none follows. */
void plan_peak_describe(const struct plan *p, const struct role *r, int peak_op, char *out, int size);

/* Are the counts, bytes and FLOPs of a step such that 64 bits hold their sums, and does every rank get an element? If
 * not: STATUS_INPUT, with a line that names the option. `settings` need ranks, micro-batch and accumulate. */
enum status plan_check_sizes(const struct model *m, const struct settings *settings, int64_t data_ranks);

/* The plan computes this model: whole, or a slice of it on each rank if there is an axis "tensor" (model/slice.h). */
enum status plan_take_model(struct plan *p, const struct model *model);
/* … which slice a rank has. */
int64_t plan_slice_of(const struct plan *p, int64_t rank);
/* A group holds slices, other ones on every rank of the tensor group, or tensors that all have whole. */
bool group_is_sliced(const struct plan *p, int group);
/* The axes along which ranks have contributions of their own to a group's gradient: those of samples, and of rows. */
unsigned group_sum_axes(const struct plan *p, int group);
unsigned group_slice_axes(const struct plan *p, int group); /* … the axes along which ranks have others; 0: none */

/* The type of the elements of a value of the model, in the plan's precision. */
enum type plan_value_type(const struct plan *p, int value);

const struct role *plan_role_of(const struct plan *p, int64_t rank);

/* ---- the mesh (strategy/plan/mesh.c) ---- */

/* One axis of all ranks, "rank", along which they have samples of their own. */
void plan_one_axis(struct plan *p);
/* Adds an axis, faster than those before. */
void plan_add_axis(struct plan *p, const char *name, int64_t size, bool data);

unsigned plan_all_axes(const struct plan *p);
unsigned plan_data_axes(const struct plan *p);
/* The axis of this name as a mask; 0 if there is none. */
unsigned plan_axis(const struct plan *p, const char *name);
/* Ranks along a set of axes (1 for none), and the place of `rank` among them. */
int64_t plan_along(const struct plan *p, unsigned axes);
int64_t plan_place(const struct plan *p, unsigned axes, int64_t rank);
/* The rank at place `place` along the axes that has the other coordinates of `rank`. */
int64_t plan_rank_at(const struct plan *p, unsigned axes, int64_t rank, int64_t place);
/* Ranks with samples of their own: batch = data ranks × micro-batch × accumulate. */
static inline int64_t plan_data_ranks(const struct plan *p)
{
	return plan_along(p, plan_data_axes(p));
}

/* The axes that communication runs over. */
static inline unsigned op_axes(const struct plan *p, const struct op *op)
{
	return op->axes ? op->axes : plan_all_axes(p);
}
static inline bool op_is_message(enum op_kind k)
{
	return k == OP_SEND || k == OP_RECEIVE;
}
/* How many are in a group, and the place of `rank` in its own: -1 if it does not take part. A message is a group of
 * two: 0 sends, 1 receives. */
int64_t op_members(const struct plan *p, const struct op *op);
int64_t op_member(const struct plan *p, const struct op *op, int64_t rank);
/* The rank at a place of the group that `rank` is in. */
int64_t op_member_rank(const struct plan *p, const struct op *op, int64_t rank, int64_t member);
/* The other end of a message of `rank`; -1 if there is none. */
int64_t op_peer(const struct plan *p, const struct op *op, int64_t rank);
/* initialize, weights, stochastic updates: along which axes operand 0's region is this rank's shard of the group,
 * before it is sliced. */
unsigned op_shard_axes(const struct plan *p, const struct op *op);
/* Of the model's buffers, which element stands first in the operand of initialize_buffers and show_buffers: the first
 * of all, and of a stage the first of its own norms. */
int64_t role_first_buffer(const struct plan *p, const struct role *r);

/* The elements of a region on `rank`: [*offset, *offset + *count) of its buffer. */
void region_resolve(const struct plan *p, const struct region *r, int64_t rank, int64_t *offset, int64_t *count);
/* How many they are on every rank. */
int64_t region_elements(const struct plan *p, const struct region *r);

/* What a collective does, and its schedule. OPERATION_COUNT: of messages and other classes. */
enum operation op_operation(enum op_kind k);
/* Elements of the whole of which each rank has a share; a rank that has only its share knows the whole from it. */
int64_t op_whole_elements(const struct plan *p, const struct op *op);
struct schedule op_schedule(const struct plan *p, const struct op *op);
/* What communication moves on `rank`: elements that leave it and reach it (padded). 0 for operations of other classes
 * and for one rank. */
int64_t op_sent_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank);
int64_t op_received_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank);
int64_t op_payload_bytes(const struct role *r, const struct op *op);
int64_t op_element_bytes(const struct role *r, const struct op *op); /* a `sum` sends doubles */

/* The queue that carries an operation out, from where its operands stand; QUEUE_COUNT: none can. */
enum queue op_queue_for(const struct role *r, const struct op *op);
/* A copy between spaces: what it is counted under, and its bytes. Other operations: TRANSFER_COUNT, 0. */
enum transfer_kind op_transfer(const struct role *r, const struct op *op);
int64_t op_transfer_bytes(const struct plan *p, const struct role *r, const struct op *op);

/* What an operation computes: FLOPs, and bytes read and written by its operands. */
int64_t op_flops(const struct plan *p, const struct op *op);
int64_t op_bytes(const struct plan *p, const struct role *r, const struct op *op);
/* The type whose rates an operation takes: a kernel of the model, that of the plan; other work, that of its first
 * operand; fp32 where that holds no floating-point numbers. */
enum type op_compute_type(const struct plan *p, const struct role *r, const struct op *op);

/* ---- memory ---- */

struct memory_use {
	int64_t peak_bytes;
	int peak_op; /* the operation that reaches it first; -1: what is alive between steps is as much */
	int64_t at_peak[CATEGORY_COUNT];
	int64_t steady[CATEGORY_COUNT]; /* between steps */
	int64_t arena_bytes;            /* what the layout needs */
};

int64_t buffer_bytes(const struct buffer *b);
/* Peak over the step, in issue order; arena_bytes from plan_layout. */
void plan_memory(const struct plan *p, const struct role *r, enum space space, struct memory_use *out);

/* Offsets of a role's buffers in one arena per space: buffers share bytes only if waits order every use of the first
 * before the first use of the second (strategy/plan/layout.c). offsets has buffer_count entries. `guard` bytes are left
 * free around each buffer (0, or a zone in which test runs look for strays). */
#define LAYOUT_ALIGNMENT 64
struct layout {
	int64_t *offset;
	int64_t arena_bytes[SPACE_COUNT];
};
void layout_make(struct layout *l, const struct plan *p, const struct role *r, int64_t guard);
void layout_release(struct layout *l);

/* ---- text ---- */

/* Prints the plan as text that a person can read, plan_read parses back, and `train --plan` runs. role: NULL for all.
 */
void plan_write(const struct plan *p, const char *role, FILE *out);
/* One operation of a role, as a line of that text. */
void plan_write_op(const struct plan *p, const struct role *r, int number, FILE *out);
/* Graphviz: operations as nodes, queue order and waits as edges. */
void plan_write_dot(const struct plan *p, const char *role, FILE *out);

/* Reads a plan's text. The model it names is opened into *model, which must outlive the plan. Messages begin with
 * "name:line:column: ". The plan is not verified. */
enum status plan_read(struct plan *p, struct model *model, const char *text, size_t size, const char *name);
enum status plan_read_file(struct plan *p, struct model *model, const char *path);

/* ---- the verifier ---- */

#define RULE_LIST(X)                                                                                                   \
	X(1, "deadlock", "the joint graph of all ranks has no cycle")                                                  \
	X(2, "matching", "a group's members issue the same collectives in the same order, and messages have partners") \
	X(3, "lifetime", "a buffer is used only while alive, freed once, and only state outlives the step")            \
	X(4, "race", "operations on different queues that touch one buffer, one writing, are ordered by waits")        \
	X(5, "gradient", "the update reads the sum over every sample and use, each once, with the declared scale")     \
	X(6, "version", "every pass reads the parameter version that the strategy declares, the same on all ranks")    \
	X(7, "saved", "a backward kernel finds what it needs saved, or recomputed")                                    \
	X(8, "layout", "buffers that share bytes are ordered by waits")

/* 0, or STATUS_REFUSED and a line "rule 4 (race): …" that names operation, buffer and rank. layouts: one per role, or
 * NULL to have them made. */
enum status plan_verify(const struct plan *p, const struct layout *layouts);

#endif
