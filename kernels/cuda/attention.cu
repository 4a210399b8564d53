/* Attention: which version does a shape, and, where samples × heads are more than a grid or the workspace takes, how
 * many samples at once. */
#include <cmath>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { MOST_HEADS = 65535 /* blocks along a grid's y */, PLAIN = 0, SIMPLE = 1, TENSOR = 2, HOPPER = 3 };

/* The version of forward where HOPPER could: to be HOPPER once that was measured to be faster. */
enum { FORWARD_ON_HOPPER = TENSOR };

int version(const struct attention_shape *s, const void *a, const void *b, const void *c, const void *d)
{
	if (s->type != ELEMENT_FP32 && s->head_size <= 128 && in_packs(s->head_size, 8, {a, b, c, d}))
		return TENSOR;
	return s->head_size <= SIMPLE_HEAD ? SIMPLE : PLAIN;
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

/* By version; backward has none of its own for Hopper. */
attention_version *const forward[] = {attention_forward_plain, attention_forward_simple, attention_forward_tensor,
                                      attention_forward_hopper};
attention_version *const backward[] = {attention_backward_plain, attention_backward_simple, attention_backward_tensor};

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

int forward_by(int how, kernel_stream s, const struct attention_shape *shape, const void *qkv, void *y,
               float *log_sum_exp)
{
	struct attention_arguments a = arguments(shape);
	int64_t together = MOST_HEADS / shape->heads;
	a.qkv = qkv;
	a.y_out = y;
	a.log_sum_exp_out = log_sum_exp;
	return together < 1 ? CUDA_ERROR_SHAPE : run(forward[how], s, shape->type, a, together);
}

bool hopper_takes(const struct kernel_context *c, const struct attention_shape *shape, const void *qkv, const void *y)
{
	return version(shape, qkv, y, nullptr, nullptr) == TENSOR && attention_hopper_takes(c, shape->head_size);
}

} // namespace

CUDA_KERNEL(attention_forward)
{
	int how = hopper_takes(c, shape, qkv, y) ? FORWARD_ON_HOPPER : version(shape, qkv, y, nullptr, nullptr);
	return forward_by(how, s, shape, qkv, y, log_sum_exp);
}

int cuda_attention_forward_hopper(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape,
                                  const void *qkv, void *y, float *log_sum_exp)
{
	return hopper_takes(c, shape, qkv, y) ? forward_by(HOPPER, s, shape, qkv, y, log_sum_exp) : CUDA_ERROR_SHAPE;
}

CUDA_KERNEL(attention_backward)
{
	struct attention_arguments a = arguments(shape);
	int how = version(shape, qkv, y, dy, dqkv);
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
	if (how != PLAIN && rows < together)
		together = rows;
	if (together < 1)
		return CUDA_ERROR_WORKSPACE;
	return run(backward[how], s, shape->type, a, together);
}
