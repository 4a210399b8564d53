/* Model FLOPs, as MFU counts them: products of one pass, whatever a plan computes again or besides. ops.def has what
 * each operation of a plan computes. */
#include "strategy/model/flops.h"

/* Standard attention has its two products as kernels of their own. */
static double attention_products(enum kernel_kind kind)
{
	return kind == KERNEL_ATTENTION ? 2 : kind == KERNEL_SCORES || kind == KERNEL_CONTEXT ? 1 : 0;
}

/* One product over the causal half: a multiplication and an addition for each of T²/2 pairs of tokens. With a window of
 * W tokens there are WT − W²/2 pairs. */
static double causal_product(const struct kernel *k)
{
	double tokens = (double)k->tokens;
	double window = k->window > 0 && k->window < k->tokens ? (double)k->window : tokens;
	return (double)k->heads * (double)k->head_size * (2 * window * tokens - window * window);
}

static double forward_flops(const struct kernel *k)
{
	if (k->kind == KERNEL_LINEAR)
		return 2 * (double)k->tokens * (double)k->in * (double)k->out;
	double products = attention_products(k->kind);
	return products > 0 ? products * causal_product(k) : 0;
}

double model_training_flops(const struct model *m)
{
	double flops = 0;
	for (int i = 0; i < m->kernel_count; i++)
		flops += forward_flops(&m->kernels[i]);
	return 3 * flops;
}
