/* Attention in its simplest form, which the product has for heads that nothing else takes. */
#include <cmath>

#include "kernels/cuda/attention.cuh"
#include "tests/plain/plain.h"

namespace
{

struct attention_arguments arguments(const struct attention_shape *shape, const void *qkv)
{
	struct attention_arguments a = {};
	a.samples = shape->samples;
	a.tokens = shape->tokens;
	a.heads = shape->heads;
	a.size = shape->head_size;
	a.scale = 1 / sqrtf(static_cast<float>(shape->head_size));
	a.qkv = qkv;
	return a;
}

int forward_plain(struct kernel_context *, kernel_stream s, const struct attention_shape *shape, const void *qkv,
                  void *y, float *log_sum_exp)
{
	struct attention_arguments a = arguments(shape, qkv);
	a.y_out = y;
	a.log_sum_exp_out = log_sum_exp;
	return attention_forward_plain(s, shape->type, &a);
}

int backward_plain(struct kernel_context *, kernel_stream s, const struct attention_shape *shape, const void *dy,
                   const void *qkv, const void *y, const float *log_sum_exp, void *dqkv)
{
	struct attention_arguments a = arguments(shape, qkv);
	a.y = y;
	a.dy = dy;
	a.log_sum_exp = log_sum_exp;
	a.dqkv = dqkv;
	return attention_backward_plain(s, shape->type, &a);
}

} // namespace

void plain_fill_attention(struct kernel_table *t)
{
	t->attention_forward = forward_plain;
	t->attention_backward = backward_plain;
}
