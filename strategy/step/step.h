/* The shared training step while it is being compiled: its parts, and what the files of strategy/step do with them.
 * Strategies see hooks.h alone.
 *
 * Follow one gradient: `step_backward_kernel` asks where it goes (the hook gradient_needed sets its region in
 * s->tensor), lets the kernel write it, and says when its last use is in (gradient_ready): then DDP sends its bucket
 * off, and the update waits for it.
 *
 * Files, roughly from the bottom up:
 *
 *     place.c          names, places of groups, collectives
 *     pack.c, execution.c
 *     activations.c    buffers of values and of their gradients
 *     border.c         tensors across the border of two slices
 *     offload.h        state that stays in host memory or on disk
 *     tree.c           gradients summed in one binary tree, however many ranks there are
 *     secondary.c      a second copy of the parameters, sharded over a node
 *     bucket.c, reduce.c, gather.c, broadcast.c       parameters and gradients between ranks
 *     save_gathered.c  parameters gathered to be saved
 *     unfused.c        what a stack's own kernels leave in memory besides
 *     unfused_attention.c  scores that its attention keeps
 *     fp8.c            copies of what products in fp8 multiply
 *     state.c, batch_norm.c, restore.c, sliced.c, loss.c
 *     values.c         kernels
 *     checkpointing.c, host_values.c        activations that do not stay whole on the device
 *     update.c                              the update
 *     step.c           the step
 *     stage.c, stage_split.c                steps of a pipeline
 *     compile.c        a plan
 *
 * parts.h has what they hold; activations.h and groups.h what they do for each other.
 */
#ifndef SHARDLAB_STEP_H
#define SHARDLAB_STEP_H

#include "strategy/step/parts.h"

/* ---- place.c ---- */

int *step_numbers(struct step *s, int n); /* an array of n times -1, until the role is compiled */
bool step_mixed(const struct step *s);    /* the update has fp32 master weights beside the parameters */
bool step_adamw(const struct step *s);
bool step_holds_state(const struct step *s); /* this role keeps and updates parameters */
/* This role shows and saves the model's buffers: of two that hold the same, the first. */
bool step_speaks(const struct step *s);
/* The placement of a part that only its owner keeps: a slice becomes a shard. */
enum placement step_owned(enum placement p);
/* The part of a group in a buffer under a placement. */
struct region step_place(const struct step *s, int buffer, enum placement placement, int group);
/* The place of the part of a group's state that this rank updates; none if this role keeps none. */
struct region state_own(const struct step *s, enum state_kind kind, int group);
/* True if the whole state of this kind stays on the device, so that kernels use it there. */
bool state_stays(const struct step *s, enum state_kind kind);
/* The axes along which the operand is a shard of its group; 0 where its size says so already. */
uint8_t step_shard_axes(const struct step *s, enum placement place);
/* Axes as an operation stores them: 0 stands for all. */
uint8_t step_axes(const struct step *s, unsigned axes);
struct op *step_kernel_op(struct step *s, enum op_kind kind, int index, enum pass pass);
struct region step_weight(const struct step *s, int tensor); /* -1: none */
void step_zero(struct step *s, struct region region);
/* Zeros elements [begin, end) of a buffer, if there are any: padding is sent with the rest, so it must be defined. */
void step_zero_padding(struct step *s, int buffer, int64_t begin, int64_t end);
/* step_collective for data that another queue has made. */
struct op *step_collective_after(struct step *s, enum queue made_by, enum op_kind kind, enum traffic_kind t, int group);
/* A copy of a group's parameters, gradients or state. Returns its number. */
int step_copy(struct step *s, int group, enum pass pass, struct region from, struct region to);
/* Adds a group's gradients in staging to the sum of earlier micro-batches, and frees the staging. Returns the number.
 */
int step_add_gradients(struct step *s, int group, enum queue queue, int staging, struct region sum);
/* The software's habit (SOFTWARE_MASTER, …); for state that stays elsewhere, shardlab's. */
int step_software(const struct step *s, int which);

/* ---- step.c ---- */

void step_compile_role(struct step *s, struct role *role);
void step_begin_micro(struct step *s);             /* counts what is needed, loads samples */
void step_run(struct step *s, int begin, int end); /* launches of s->execution */

#endif
