/* The extra work of a stack's own kernels where shardlab's are fused: their sweeps over memory, the tensors that
 * PyTorch's autograd keeps for the backward pass, and those of its cross-entropy. The tensors only take room: their
 * content is no part of the plan's arithmetic. The sweeps take the place of a stack's memory.unfused
 * (strategy/cluster/stack.h), which is for plans with fused kernels.
 *
 *     kernels=eager   RMS norm: x over its root mean square, as fp32 elements. In 16 bits autograd keeps x as fp32
 *                     and its quotient in 16 bits, and no longer x itself, which is as much.
 *                     SwiGLU: silu(gate), which shardlab's kernel makes again.
 *                     A product that --activation-checkpointing operations keeps, beside its sum with the residual
 *                     stream.
 *     attention=…     see unfused_attention.c
 *     loss=…          beside the logits, which shardlab turns into their gradient in place:
 *                     one      Megatron: the logits as fp32, in which the rest is done in place
 *                     two      Megatron of 2021: that copy, and less its largest, which becomes softmax and gradient
 *                     freed    cross_entropy(logits.float()), when the caller has let go of the logits: log-softmax,
 *                              its gradient, and that of the logits as fp32, less the logits themselves
 *                     kept     the same, while the caller keeps the logits, as Hugging Face's models do
 *
 * A kernel of a checkpointed segment keeps nothing until it is recomputed.
 */
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

/* ---- kernels ---- */

/* torchtitan keeps a selected product, and autograd its sum with the residual stream. Fused, the sum is all. */
static const char *kept_name(const struct step *s, int index)
{
	const struct kernel *k = &s->model->kernels[index];
	if (k->kind == KERNEL_LINEAR && k->residual >= 0)
		return s->checkpoints.selected[index] ? "product" : NULL;
	return k->kind == KERNEL_RMS_NORM ? "x_over_rms" : k->kind == KERNEL_SWIGLU ? "silu" : NULL;
}

/* How many kernels PyTorch runs besides, each over as much as the kernel's output (backward: its input's gradient):
 * eager norms raise to fp32, square, average, multiply twice and round; SwiGLU is a silu and a product; a rotary
 * embedding takes halves and adds two products; softmax is scaled and masked before. */
static const struct {
	int forward, backward;
} sweeps[KERNEL_KINDS] = {
        [KERNEL_NORM] = {1, 1},   [KERNEL_RMS_NORM] = {4, 6}, [KERNEL_SWIGLU] = {1, 2},
        [KERNEL_ROTARY] = {3, 3}, [KERNEL_SOFTMAX] = {2, 1},
};

/* A product's bias is added by the product. */
static int sweeps_of(const struct kernel *k, enum pass pass)
{
	int own = pass == PASS_BACKWARD ? sweeps[k->kind].backward : sweeps[k->kind].forward;
	return own + (k->kind == KERNEL_LINEAR && k->nonlinear) + (k->kind == KERNEL_LINEAR && k->residual >= 0);
}

void unfused_sweeps(struct step *s, int index, enum pass pass, struct region over)
{
	int count = sweeps_of(&s->model->kernels[index], pass);
	if (s->plan->software.does[SOFTWARE_KERNELS] == KERNELS_FUSED || over.buffer < 0)
		return;
	for (int i = 0; i < count; i++)
		build_op(s->b, OP_SWEEP, QUEUE_COMPUTE)->operand[SWEEP_X] = over;
}

void unfused_forward(struct step *s, int index, enum pass pass)
{
	const struct kernel *k = &s->model->kernels[index];
	const char *name = kept_name(s, index);
	unfused_sweeps(s, index, pass, step_value(s, k->y));
	bool keeps = !s->evaluating && (pass == PASS_RECOMPUTE || !s->checkpoints.recomputed[index]);
	if (k->kind == KERNEL_ATTENTION)
		unfused_attention_forward(s, index, keeps);
	if (!name || s->plan->software.does[SOFTWARE_KERNELS] == KERNELS_FUSED)
		return;
	struct region y = step_value(s, k->y);
	enum type type = k->kind == KERNEL_RMS_NORM ? TYPE_FP32 : s->settings->precision;
	int buffer = build_alloc(s->b, step_name(s, "%s.%s%s", k->name, name, s->recomputing ? ".again" : ""),
	                         CATEGORY_ACTIVATIONS, type, y.count);
	if (keeps)
		s->kept[index] = buffer;
	else
		build_free(s->b, buffer);
}

void unfused_backward(struct step *s, int index)
{
	if (s->model->kernels[index].kind == KERNEL_ATTENTION)
		unfused_attention_backward(s, index);
	if (s->kept[index] >= 0)
		build_free(s->b, s->kept[index]);
	s->kept[index] = -1;
}

/* ---- the loss ---- */

struct wide {
	const char *name;
	bool narrow; /* of the plan's type and not fp32; nothing in fp32 */
};

static const struct {
	struct wide list[LOSS_BUFFERS];
} losses[] = {
        [LOSS_IN_PLACE] = {{{NULL}}},
        [LOSS_ONE] = {{{"fp32", false}}},
        [LOSS_TWO] = {{{"fp32", false}, {"softmax", false}}},
        [LOSS_FREED] = {{{"log_softmax", false}, {"d.log_softmax", false}, {"d.fp32", true}}},
        [LOSS_KEPT] = {{{"log_softmax", false}, {"d.log_softmax", false}, {"d.fp32", false}}},
};

struct unfused_loss unfused_loss_begin(struct step *s)
{
	const struct model *m = s->model;
	struct region logits = step_value(s, m->logits);
	struct unfused_loss l = {.count = 0};
	for (int i = 0; i < LOSS_BUFFERS; i++) {
		const struct wide *w = &losses[s->plan->software.does[SOFTWARE_LOSS]].list[i];
		bool half = s->settings->precision != TYPE_FP32;
		if (!w->name || s->evaluating || (w->narrow && !half))
			continue;
		int buffer = build_alloc(s->b, step_name(s, "logits.%s", w->name), CATEGORY_ACTIVATIONS,
		                         w->narrow ? s->settings->precision : TYPE_FP32, logits.count);
		l.buffer[l.count++] = buffer;
	}
	return l;
}

void unfused_loss_end(struct step *s, const struct unfused_loss *l)
{
	for (int i = 0; i < l->count; i++)
		build_free(s->b, l->buffer[i]);
}
