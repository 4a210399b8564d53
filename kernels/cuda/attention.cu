/* Attention: which rung of its ladder does a shape, and, where samples × heads are more than a grid or the workspace
 * takes, how many samples at once. */
#include <cmath>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { MOST_HEADS = 65535 /* blocks along a grid's y */ };

/* The highest rung that takes such heads at these addresses, of up to `most`. */
enum cuda_attention highest(const struct kernel_context *c, enum cuda_attention most, const struct attention_shape *s,
                            bool aligned)
{
	const bool tensor = s->type != ELEMENT_FP32 && s->head_size <= 128 && s->head_size % 8 == 0 && aligned;
	if (most >= CUDA_ATTENTION_HOPPER && tensor && attention_hopper_takes(c, s->head_size))
		return CUDA_ATTENTION_HOPPER;
	if (most >= CUDA_ATTENTION_TENSOR && tensor)
		return CUDA_ATTENTION_TENSOR;
	return most >= CUDA_ATTENTION_SIMPLE && s->head_size <= SIMPLE_HEAD ? CUDA_ATTENTION_SIMPLE
	                                                                    : CUDA_ATTENTION_PLAIN;
}

enum cuda_attention rung(const struct kernel_context *c, const struct attention_shape *s, bool backward, bool aligned)
{
	/* `auto`: on an H200 every rung was faster than those below it, at all heads and lengths (kernels/RESULTS.md)
	 */
	enum cuda_attention most = c->attention == CUDA_ATTENTION_AUTO ? CUDA_ATTENTION_HOPPER : c->attention;
	const bool local = (s->window > 0 && s->window < s->tokens) || s->alibi_heads > 0;
	if (backward && local && most > CUDA_ATTENTION_TENSOR)
		most = CUDA_ATTENTION_TENSOR; /* the only one with windows and ALiBi backward */
	return highest(c, most, s, aligned);
}

struct attention_arguments arguments(const struct attention_shape *s)
{
	struct attention_arguments a = {};
	a.samples = s->samples;
	a.tokens = s->tokens;
	a.heads = s->heads;
	a.kv_heads = s->kv_heads;
	a.size = s->head_size;
	a.scale = 1 / sqrtf(static_cast<float>(s->head_size));
	a.window = s->window > 0 && s->window < s->tokens ? s->window : s->tokens;
	a.alibi_heads = s->alibi_heads;
	a.first_head = s->first_head;
	return a;
}

/* The same for `samples` samples from `first` on. */
struct attention_arguments part(const struct attention_arguments &a, enum element type, int64_t first, int64_t samples)
{
	struct attention_arguments p = a;
	int64_t rows = first * a.tokens, bytes = rows * a.heads * a.size * element_bytes(type);
	int64_t qkv_bytes = bytes / a.heads * (a.heads + 2 * a.kv_heads);
	p.samples = samples;
	p.qkv = static_cast<const char *>(a.qkv) + qkv_bytes;
	p.y = static_cast<const char *>(a.y) + (a.y ? bytes : 0);
	p.dy = static_cast<const char *>(a.dy) + (a.dy ? bytes : 0);
	p.y_out = static_cast<char *>(a.y_out) + (a.y_out ? bytes : 0);
	p.dqkv = static_cast<char *>(a.dqkv) + (a.dqkv ? qkv_bytes : 0);
	p.log_sum_exp = a.log_sum_exp + (a.log_sum_exp ? rows * a.heads : 0);
	p.log_sum_exp_out = a.log_sum_exp_out + (a.log_sum_exp_out ? rows * a.heads : 0);
	return p;
}

typedef int attention_version(kernel_stream s, enum element type, const struct attention_arguments *a);

/* Indexed by rung. */
attention_version *const forward[] = {nullptr, attention_forward_plain, attention_forward_simple,
                                      attention_forward_tensor, attention_forward_hopper};
attention_version *const backward[] = {nullptr, attention_backward_plain, attention_backward_simple,
                                       attention_backward_tensor, attention_backward_hopper};

/* All samples, `together` at once. */
int run(attention_version *f, kernel_stream s, enum element type, const struct attention_arguments &a, int64_t together)
{
	int error = 0;
	for (int64_t i = 0; i < a.samples && !error; i += together) {
		struct attention_arguments p = part(a, type, i, smaller(a.samples - i, together));
		error = f(s, type, &p);
	}
	return error;
}

} // namespace

CUDA_KERNEL(attention_forward)
{
	struct attention_arguments a = arguments(shape);
	const int how = rung(c, shape, false, in_packs(shape->head_size, 8, {qkv, y}));
	const int64_t together = MOST_HEADS / shape->heads;
	a.qkv = qkv;
	a.y_out = y;
	a.log_sum_exp_out = log_sum_exp;
	return together < 1 ? CUDA_ERROR_SHAPE : run(forward[how], s, shape->type, a, together);
}

void cuda_use_attention(struct kernel_context *c, enum cuda_attention most)
{
	c->attention = most;
}

enum cuda_attention cuda_attention_rung(const struct kernel_context *c, const struct attention_shape *shape,
                                        bool backward)
{
	return rung(c, shape, backward, true);
}

CUDA_KERNEL(attention_backward)
{
	struct attention_arguments a = arguments(shape);
	const int how = rung(c, shape, true, in_packs(shape->head_size, 8, {qkv, y, dy, dqkv}));
	int64_t together = MOST_HEADS / shape->heads;
	int64_t rows = static_cast<int64_t>(c->workspace_bytes / sizeof(float)) / (shape->heads * shape->tokens);
	a.qkv = qkv;
	a.y = y;
	a.dy = dy;
	a.log_sum_exp = log_sum_exp;
	a.dqkv = dqkv;
	a.delta = static_cast<float *>(c->workspace);
	if (together < 1)
		return CUDA_ERROR_SHAPE;
	if (how != CUDA_ATTENTION_PLAIN && rows < together)
		together = rows;
	if (together < 1)
		return CUDA_ERROR_WORKSPACE;
	return run(backward[how], s, shape->type, a, together);
}
