/* Buffers around kernels: values and their gradients, from the kernel that makes them to the last that reads them.
 */
#ifndef SHARDLAB_STEP_ACTIVATIONS_H
#define SHARDLAB_STEP_ACTIVATIONS_H

#include "strategy/step/parts.h"

/* ---- activations.c ---- */

/* Elements of the value's buffer: a sum over ranks is padded to equal slices. */
int64_t step_value_room(const struct step *s, int value);
void step_count_readers(struct step *s); /* a micro-batch begins */
void step_free_value(struct step *s, int value);
void step_value_used(struct step *s, int value); /* a kernel has read it: the last one frees it */
void step_values_used(struct step *s, const struct kernel *k, enum pass pass); /* all that the kernel reads */
struct region step_alloc_gradient(struct step *s, int value);
void step_free_gradient(struct step *s, int value);
void step_pass_gradient(struct step *s, int from, int to); /* the gradient of one becomes that of the other */
/* Allocates a value that a kernel makes; frees it again if nobody reads it. -1: nothing. */
void step_alloc_made(struct step *s, int value);
void step_drop_unread(struct step *s, int value);

/* ---- values.c ---- */

/* pass: forward or recompute. Allocates what the kernel makes, and frees what nobody needs any more. */
void step_forward_kernel(struct step *s, int index, enum pass pass);
void step_backward_kernel(struct step *s, int index);
/* Makes the operand `part` the place of a tensor's gradient. */
void step_tensor_gradient(struct step *s, struct op *op, enum part part, int tensor);

/* ---- unfused.c: what a stack's own kernels leave in memory besides ---- */

void unfused_forward(struct step *s, int index, enum pass pass);
void unfused_backward(struct step *s, int index);
/* Kernels that go over a value, or over the gradient of the kernel's input, beside the kernel. */
void unfused_sweeps(struct step *s, int index, enum pass pass, struct region over);
/* Tensors that stand beside the logits while the loss and its gradient are made. */
enum { LOSS_BUFFERS = 3 };
struct unfused_loss {
	int buffer[LOSS_BUFFERS], count;
};
struct unfused_loss unfused_loss_begin(struct step *s);
void unfused_loss_end(struct step *s, const struct unfused_loss *l);

/* ---- unfused_attention.c ---- */

/* STATUS_INPUT for a model that keeps scores by itself. */
enum status unfused_attention_check(const struct plan *p, const struct model *m);
/* keeps: the backward pass finds what this pass leaves. */
void unfused_attention_forward(struct step *s, int index, bool keeps);
void unfused_attention_backward(struct step *s, int index); /* what was kept, unfused_backward frees */

/* ---- loss.c ---- */

void step_forward_loss(
        struct step *s); /* the last kernel: computes the loss, and the gradient of the logits in their place */

/* ---- sliced.c: sums over the tensor group, where the model is sliced (strategy/model/slice.h) ---- */

/* The values and gradients that a kernel reads and makes: these themselves, or with sequence parallelism the rows of
 * all ranks, gathered before it and scattered after it. */
struct sliced_operands {
	struct region x, y, dy, dx;
};
struct sliced_operands sliced_begin_forward(struct step *s, int index, enum pass pass);
struct sliced_operands sliced_begin_backward(struct step *s, int index, struct region dx);
void sliced_finish_forward(struct step *s, int index, enum pass pass, const struct sliced_operands *o);
void sliced_finish_backward(struct step *s, int index, const struct sliced_operands *o);
/* Sums a value over the group, or takes its maxima. The compute queue waits for it. */
void sliced_all_reduce(struct step *s, enum op_kind kind, enum pass pass, struct region value);
/* Gathers the parts that the ranks have into the whole; or, `back`, scatters the sum of everyone's whole by parts. */
void sliced_exchange(struct step *s, bool back, enum pass pass, struct region from, struct region to);

/* ---- fp8.c: copies of what products in fp8 multiply ---- */

void fp8_state(struct step *s); /* the history of delayed scaling */
enum { FP8_COPIES = 3 };
struct fp8_copies {
	int buffer[2 * FP8_COPIES], count; /* copies and scales */
};
/* Issues the casts of a kernel's pass. The copies live until fp8_end. */
struct fp8_copies fp8_begin(struct step *s, int index, enum pass pass, const struct sliced_operands *at);
void fp8_end(struct step *s, const struct fp8_copies *c);

/* ---- checkpointing.c: what activation checkpointing asks for besides recomputing ---- */

/* Gives a value that is about to be made a place among its like. False: it has a buffer of its own. */
bool checkpoint_place(struct step *s, int value);
void checkpoint_leave(struct step *s, int value); /* if it has such a place */

/* ---- activations that do not stay whole on the device: what happens around each launch ---- */

struct keeper {
	void (*prepare)(struct step *s); /* once for a role */
	void (*before)(struct step *s, int launch);
	void (*after)(struct step *s, int launch);
};
extern const struct keeper keeper_host_values;   /* they stay in host memory until backward needs them */
extern const struct keeper keeper_checkpointing; /* and each rank of a tensor group keeps a slice of a checkpoint */

enum status host_values_check(const struct settings *t, const struct checkpointing *c);
/* slice: a rank's slice of the model. */
enum status checkpoint_slices_check(const struct strategy *g, const struct model *slice, const struct checkpointing *c,
                                    const struct settings *settings);

/* ---- batch_norm.c: batch normalization, and the model's buffers ---- */

/* The operations that make a norm's statistics, at the place of k->saved, before it normalizes. */
void batch_norm_statistics_of(struct step *s, int index);
/* The operations that make the sums which the gradient of its input needs; dy becomes the gradient of what GELU was
 * applied to. The caller frees the sums' buffer. */
struct region batch_norm_sums_of(struct step *s, int index);

void buffers_state(struct step *s);          /* with the rest of the state */
void buffers_prologue(struct step *s);       /* made the same on all ranks */
void buffers_before_forward(struct step *s); /* the same again where they have drifted apart; evaluation gets a copy */
void buffers_after_forward(struct step *s);
void buffers_show(struct step *s);               /* epilogue */
struct region buffers_own(const struct step *s); /* the running statistics that this role keeps; none */

#endif
