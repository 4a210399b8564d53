/* Products in fp8, as torchao's float8 and Transformer Engine make them: parameters, gradients, activations and what is
 * saved for the backward pass stay in 16 bits, and before each product its operands are copied to fp8, one byte an
 * element. The product of the logits stays in 16 bits.
 *
 *     forward     x, w         y = x · w
 *     backward    dy, x, w     dx = dy · wT, dw = xT · dy
 *
 *     dynamic     amax x ─► cast x       the scale is of the tensor itself: it is read twice
 *     delayed     cast x                 the scale is of the largest of FP8_HISTORY earlier steps, which are kept
 *
 * A scale is one fp32 number a tensor.
 */
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

/* Transformer Engine's amax_history_len. */
enum { FP8_HISTORY = 1024 };

static bool is_fp8(const struct step *s, int index)
{
	const struct kernel *k = &s->model->kernels[index];
	return s->settings->fp8 && k->kind == KERNEL_LINEAR && k->y != s->model->logits;
}

void fp8_state(struct step *s)
{
	int64_t tensors = 0;
	for (int i = s->kernel_begin; i < s->kernel_end; i++)
		tensors += is_fp8(s, i) ? FP8_COPIES : 0;
	if (s->settings->fp8 != FP8_DELAYED || !tensors)
		return;
	s->fp8_history = build_state(s->b, "fp8.history", CATEGORY_BUFFERS, TYPE_FP32, tensors * FP8_HISTORY);
	step_zero(s, region_whole(s->b, s->fp8_history));
}

/* The history of a kernel's x, w or dy. */
static struct region history_of(const struct step *s, int index, int which)
{
	int64_t place = which;
	for (int i = s->kernel_begin; i < index; i++)
		place += is_fp8(s, i) ? FP8_COPIES : 0;
	return region_of(s->fp8_history, place * FP8_HISTORY, FP8_HISTORY);
}

static int alloc(struct step *s, struct fp8_copies *c, int index, const char *what, enum type type, int64_t n)
{
	const char *name = step_name(s, "%s.%s%s", s->model->kernels[index].name, what, s->recomputing ? ".again" : "");
	return c->buffer[c->count++] = build_alloc(s->b, name, CATEGORY_ACTIVATIONS, type, n);
}

static void cast(struct step *s, struct fp8_copies *c, int index, int which, struct region x)
{
	static const char *const copies[] = {"x.fp8", "w.fp8", "dy.fp8"}, *const scales[] = {"x.scale", "w.scale",
	                                                                                     "dy.scale"};
	int64_t n = region_elements(s->plan, &x);
	bool dynamic = s->settings->fp8 == FP8_DYNAMIC;
	struct region y = region_of(alloc(s, c, index, copies[which], TYPE_FP8, n), 0, n), scale = region_none();
	if (dynamic) {
		scale = region_of(alloc(s, c, index, scales[which], TYPE_FP32, 1), 0, 1);
		struct op *amax = build_op(s->b, OP_AMAX, QUEUE_COMPUTE);
		amax->operand[AMAX_X] = x;
		amax->operand[AMAX_SCALE] = scale;
	}
	struct op *op = build_op(s->b, OP_CAST, QUEUE_COMPUTE);
	op->operand[CAST_X] = x;
	op->operand[CAST_SCALE] = scale;
	op->operand[CAST_HISTORY] = dynamic ? region_none() : history_of(s, index, which);
	op->operand[CAST_Y] = y;
}

struct fp8_copies fp8_begin(struct step *s, int index, enum pass pass, const struct sliced_operands *at)
{
	struct fp8_copies c = {.count = 0};
	if (!is_fp8(s, index))
		return c;
	cast(s, &c, index, 0, at->x);
	cast(s, &c, index, 1, step_weight(s, s->model->kernels[index].weight));
	if (pass == PASS_BACKWARD)
		cast(s, &c, index, 2, at->dy);
	return c;
}

void fp8_end(struct step *s, const struct fp8_copies *c)
{
	for (int i = 0; i < c->count; i++)
		build_free(s->b, c->buffer[i]);
}
