/* A framework's attention keeps more than shardlab's, which keeps queries, keys, values and, as flash attention, the
 * fp32 log-sum-exp of each head's and token's scores. With a heads, s tokens and size e of an element, a sample:
 *
 *     attention=flash      nothing besides: PyTorch's flash attention keeps the same
 *     attention=efficient  PyTorch's memory-efficient kernel: log-sum-exps of whole 32 tokens (kAlignLSE of its source)
 *     attention=math       PyTorch's math kernel: the softmax, scaled queries and keys, and values, a head's own each,
 *                          all of it as fp32, for 16-bit elements, too. It keeps no log-sum-exp, and lets go of what
 *                          they were made from: 4·a·s·s + 4·3·a·s·head size, less what is kept here (measured by
 *                          saved_tensors_hooks, PyTorch 2.15)
 *     attention=standard   Megatron's fused softmax: its output, e·a·s·s, and no log-sum-exp (fused_softmax.py)
 *
 * The last two go over scores in memory. The forward pass writes them, masks them (math alone: Megatron's softmax
 * masks) and makes their softmax, which the product with the values reads: 3 or 2 passes. The backward pass makes the
 * softmax's gradient and with it that of the scores, and reads both and the softmax in three products: 7 times in all,
 * so 4 passes. Megatron's softmax has its gradient in place. Their products are counted as flash attention's.
 */
#include "strategy/step/activations.h"
#include "strategy/step/step.h"

enum { ALIGNED_TOKENS = 32 };

static const struct {
	int passes, backward_passes; /* over the scores */
	int beside, backward_beside; /* tensors of their size that come and go */
} ways[] = {[ATTENTION_FLASH] = {0, 0, 0, 0},
            [ATTENTION_EFFICIENT] = {0, 0, 0, 0},
            [ATTENTION_MATH] = {3, 4, 1, 2},
            [ATTENTION_STANDARD] = {2, 4, 1, 1}};
enum { BESIDE_MOST = 2 };

/* One number for each head and token of this rank. */
static int64_t places_of(struct step *s, const struct kernel *k)
{
	return step_value(s, k->y).count / k->head_size;
}

static enum type scores_type(const struct step *s)
{
	return s->plan->software.does[SOFTWARE_ATTENTION] == ATTENTION_MATH ? TYPE_FP32 : s->settings->precision;
}

/* Bytes that are kept beyond what shardlab's attention keeps. */
static int64_t more_kept(struct step *s, const struct kernel *k)
{
	int64_t size = type_bytes(s->settings->precision), places = places_of(s, k), tokens = s->model->tokens;
	int64_t sums = 4 * places, scores = places * tokens, up = (tokens + ALIGNED_TOKENS - 1) / ALIGNED_TOKENS;
	switch (s->plan->software.does[SOFTWARE_ATTENTION]) {
	case ATTENTION_EFFICIENT:
		return sums / tokens * (up * ALIGNED_TOKENS) - sums;
	case ATTENTION_MATH:
		return 4 * (scores + 3 * places * k->head_size) - size * step_value(s, k->x).count - sums;
	case ATTENTION_STANDARD:
		return size * scores - sums;
	default:
		return 0;
	}
}

static int alloc_beside(struct step *s, const struct kernel *k, const char *name, enum type type, int64_t count)
{
	return build_alloc(s->b, step_name(s, "%s.%s%s", k->name, name, s->recomputing ? ".again" : ""),
	                   CATEGORY_ACTIVATIONS, type, count);
}

/* Names of the tensors that come and go. */
static const char *const forward_names[BESIDE_MOST] = {"scores"};
static const char *const backward_names[BESIDE_MOST] = {"d.softmax", "d.scores"};

static void pass_over_scores(struct step *s, const struct kernel *k, const char *const names[], int passes, int beside)
{
	int64_t count = places_of(s, k) * s->model->tokens;
	int buffer[BESIDE_MOST] = {0};
	for (int i = 0; i < BESIDE_MOST && i < beside; i++)
		buffer[i] = alloc_beside(s, k, names[i], scores_type(s), count);
	for (int i = 0; beside && i < passes; i++)
		build_op(s->b, OP_SWEEP, QUEUE_COMPUTE)->operand[SWEEP_X] = region_of(buffer[0], 0, count);
	for (int i = 0; i < BESIDE_MOST && i < beside; i++)
		build_free(s->b, buffer[i]);
}

void unfused_attention_forward(struct step *s, int index, bool keeps)
{
	const struct kernel *k = &s->model->kernels[index];
	int way = s->plan->software.does[SOFTWARE_ATTENTION];
	int64_t bytes = more_kept(s, k);
	int buffer = bytes <= 0 ? -1
	                        : alloc_beside(s, k, "kept", s->settings->precision,
	                                       bytes / type_bytes(s->settings->precision));
	pass_over_scores(s, k, forward_names, ways[way].passes, ways[way].beside);
	if (keeps)
		s->kept[index] = buffer;
	else if (buffer >= 0)
		build_free(s->b, buffer);
}

void unfused_attention_backward(struct step *s, int index)
{
	int way = s->plan->software.does[SOFTWARE_ATTENTION];
	pass_over_scores(s, &s->model->kernels[index], backward_names, ways[way].backward_passes,
	                 ways[way].backward_beside);
}

enum status unfused_attention_check(const struct plan *p, const struct model *m)
{
	bool scores = false;
	for (int i = 0; i < m->kernel_count; i++)
		scores |= m->kernels[i].kind == KERNEL_SCORES;
	if (!scores || p->software.does[SOFTWARE_ATTENTION] == ATTENTION_FLASH)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "{as} %s: the model has attention=standard itself; leave one of them out",
	                   p->settings.software);
}
