/* The plan: the program that every rank carries out in a training step. It is built once, checked once, and read by
 * everything else: the simulator, the CPU and GPU executors, the picture.
 *
 * A plan has one program per *role* (everyone; or the root and the rest), so a plan for 16,384 devices is as small as
 * one for 8. A program is a list of *operations* in issue order, in sections:
 *
 *     prologue   state is allocated and initialised (and broadcast, as DDP does)
 *     step       one training step; repeated
 *     evaluate   forward only, on validation data
 *     save       of a plan with checkpoints: the state that a step reads before it writes, each element once over all
 *                ranks
 *     restore    the same state wherever it is held; after the prologue and in place of what that made
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

#include <stdio.h>

#include "strategy/plan/layout.h"
#include "strategy/plan/mesh.h"
#include "strategy/plan/operation.h"
#include "strategy/plan/types.h"

void plan_release(struct plan *p); /* accepts NULL and a zeroed struct */
/* Makes an operation's operands, all of them absent. */
struct region *plan_operands(struct plan *p, int count);

/* ---- reading ---- */

const char *category_name(enum category c);
const char *space_name(enum space s);
const char *queue_name(enum queue q);
const char *traffic_name(enum traffic_kind t);
const char *transfer_name(enum transfer_kind t);

const char *item_name(enum item i);
bool item_is_of_group(enum item i);

const char *section_name(enum section_kind k);
const struct section *section_of(const struct role *r, enum section_kind k);

/* "forward block.3.qkv, micro-batch 0", for messages; into a buffer of the caller. */
void op_describe(const struct plan *p, const struct op *op, char *out, int size);

/* Checks that 64 bits hold the sums of a step's counts, bytes and FLOPs, and that every rank gets an element. If not,
 * STATUS_INPUT with a line that names the option. `settings` need ranks, micro-batch and accumulate. */
enum status plan_check_sizes(const struct model *m, const struct settings *settings, int64_t data_ranks);

/* Reads the settings' software. The plan computes this model: whole, or a slice of it on each rank if there is an axis
 * "tensor" (model/slice.h). */
enum status plan_take_model(struct plan *p, const struct model *model);
/* The slice that a rank has. */
int64_t plan_slice_of(const struct plan *p, int64_t rank);
/* A group holds slices, other ones on every rank of the tensor group, or tensors that all have whole. */
bool group_is_sliced(const struct plan *p, int group);
/* The axes along which ranks have contributions of their own to a group's gradient: those of samples, and of rows. */
unsigned group_sum_axes(const struct plan *p, int group);
unsigned group_slice_axes(const struct plan *p, int group); /* the axes along which ranks have other slices; 0: none */

/* The type of the elements of a value of the model, in the plan's precision. */
enum type plan_value_type(const struct plan *p, int value);

/* The type of gradients where they are added up, sent and kept. */
enum type plan_gradient_type(const struct plan *p);
enum type plan_shard_type(const struct plan *p); /* of the shard in which a rank adds them up */

const struct role *plan_role_of(const struct plan *p, int64_t rank);
int64_t plan_operations(const struct plan *p); /* of all roles together */
/* True if a buffer of the role stands in that space. */
bool role_has_space(const struct role *r, enum space space);

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
	X(8, "layout", "buffers that share bytes are ordered by waits")                                                \
	X(9, "checkpoint", "state that a step reads before it writes is saved once, and restored where it is held")

const char *rule_name(int rule); /* "race" */

/* 0, or STATUS_REFUSED and a line "rule 4 (race): …" that names operation, buffer and rank. layouts: one per role, or
 * NULL to have them made. */
enum status plan_verify(const struct plan *p, const struct layout *layouts);

/* The content of the line, for callers that put it in their own words. */
struct refusal {
	int rule;
	int role, op, buffer; /* of the plan, the role, the role; -1: not named */
};
enum status plan_verify_why(const struct plan *p, const struct layout *layouts, struct refusal *out);

/* plan_verify for a plan that nobody changes any more: what its layouts need is kept with the roles, so that reports of
 * its memory need not lay it out again. */
enum status plan_verify_and_keep(struct plan *p);
/* plan_verify_and_keep() with `companion` beside it, on another core where the plan is large. The companion takes long,
 * only reads the plan, and needs no more than rules 1 to 3. It is called once those hold, unless another rule is known
 * to be broken by then. A refusal goes before the companion's own status. */
enum status plan_verify_beside(struct plan *p, enum status (*companion)(void *context), void *context);

#endif
