/* Attention: heads are independent of each other. */
#include "kernels/cpu/bodies.h"

void attention_forward(const struct attention_shape *s, const void *qkv, void *y, float *log_sum_exp)
{
	struct attention_task t = {.shape = *s, .qkv = qkv, .y = y, .log_sum_exp_out = log_sum_exp};
	parallel_for(kernel_bodies(s->type)->attention_forward, &t, s->samples * s->heads, 1);
}

void attention_backward(const struct attention_shape *s, const void *dy, const void *qkv, const void *y,
                        const float *log_sum_exp, void *dqkv)
{
	struct attention_task t = {
	        .shape = *s, .qkv = qkv, .dy = dy, .output = y, .log_sum_exp = log_sum_exp, .dqkv = dqkv};
	parallel_for(kernel_bodies(s->type)->attention_backward, &t, s->samples * s->heads, 1);
}
