/* Attention: heads are independent of each other. */
#include "kernels/cpu/bodies.h"

void attention_forward(const struct attention_shape *s, const float *qkv, float *y, float *log_sum_exp)
{
	struct attention_task t = {.shape = *s, .qkv = qkv, .y = y, .log_sum_exp_out = log_sum_exp};
	parallel_for(kernel_bodies()->attention_forward, &t, s->samples * s->heads, 1);
}

void attention_backward(const struct attention_shape *s, const float *dy, const float *qkv, const float *y,
                        const float *log_sum_exp, float *dqkv)
{
	struct attention_task t = {
	        .shape = *s, .qkv = qkv, .dy = dy, .output = y, .log_sum_exp = log_sum_exp, .dqkv = dqkv};
	parallel_for(kernel_bodies()->attention_backward, &t, s->samples * s->heads, 1);
}
