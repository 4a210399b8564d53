/* Attention: which version does a shape, and, where samples × heads are more than a grid or the workspace takes, how
 * many samples at once. */
#include <cmath>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { MOST_HEADS = 65535 /* blocks along a grid's y */, PLAIN = 0, SIMPLE = 1, TENSOR = 2, HOPPER = 3 };

/* What forward does where HOPPER could: to be HOPPER once that was measured to be faster. */
enum { FORWARD_ON_HOPPER = TENSOR };

bool aligned(const void *p)
{
	return reinterpret_cast<uintptr_t>(p) % 16 == 0;
}

int version(const struct attention_shape *s, const void *a, const void *b, const void *c, const void *d)
{
	bool vectors = aligned(a) && aligned(b) && aligned(c) && aligned(d);
	if (s->type != ELEMENT_FP32 && s->head_size % 8 == 0 && s->head_size <= 128 && vectors)
		return TENSOR;
	return s->head_size <= SIMPLE_HEAD ? SIMPLE : PLAIN;
}

struct attention_arguments arguments(const struct attention_shape *s)
{
	struct attention_arguments a = {};
	a.samples = s->samples;
	a.tokens = s->tokens;
	a.heads = s->heads;
	a.size = s->head_size;
	a.scale = 1 / sqrtf(static_cast<float>(s->head_size));
	return a;
}

/* The same for `samples` samples from `first` on. */
struct attention_arguments part(const struct attention_arguments &a, enum element type, int64_t first, int64_t samples)
{
	struct attention_arguments p = a;
	int64_t rows = first * a.tokens, bytes = rows * a.heads * a.size * element_bytes(type);
	p.samples = samples;
	p.qkv = static_cast<const char *>(a.qkv) + 3 * bytes;
	p.y = static_cast<const char *>(a.y) + (a.y ? bytes : 0);
	p.dy = static_cast<const char *>(a.dy) + (a.dy ? bytes : 0);
	p.y_out = static_cast<char *>(a.y_out) + (a.y_out ? bytes : 0);
	p.dqkv = static_cast<char *>(a.dqkv) + (a.dqkv ? 3 * bytes : 0);
	p.log_sum_exp = a.log_sum_exp + (a.log_sum_exp ? rows * a.heads : 0);
	p.log_sum_exp_out = a.log_sum_exp_out + (a.log_sum_exp_out ? rows * a.heads : 0);
	return p;
}

int forward(int how, kernel_stream s, enum element type, const struct attention_arguments &a)
{
	return how == HOPPER   ? attention_forward_hopper(s, type, &a)
	       : how == TENSOR ? attention_forward_tensor(s, type, &a)
	       : how == SIMPLE ? attention_forward_simple(s, type, &a)
	                       : attention_forward_plain(s, type, &a);
}

int backward(int how, kernel_stream s, enum element type, const struct attention_arguments &a)
{
	return how == TENSOR   ? attention_backward_tensor(s, type, &a)
	       : how == SIMPLE ? attention_backward_simple(s, type, &a)
	                       : attention_backward_plain(s, type, &a);
}

int forward_by(int how, kernel_stream s, const struct attention_shape *shape, const void *qkv, void *y,
               float *log_sum_exp)
{
	struct attention_arguments a = arguments(shape);
	int error = 0;
	int64_t together = MOST_HEADS / shape->heads;
	a.qkv = qkv;
	a.y_out = y;
	a.log_sum_exp_out = log_sum_exp;
	if (together < 1)
		return CUDA_ERROR_SHAPE;
	for (int64_t i = 0; i < shape->samples && !error; i += together)
		error = forward(how, s, shape->type,
		                part(a, shape->type, i, shape->samples - i < together ? shape->samples - i : together));
	return error;
}

bool hopper_takes(const struct kernel_context *c, const struct attention_shape *shape, const void *qkv, const void *y)
{
	return version(shape, qkv, y, nullptr, nullptr) == TENSOR && attention_hopper_takes(c, shape->head_size);
}

int attention_forward(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape, const void *qkv,
                      void *y, float *log_sum_exp)
{
	int how = hopper_takes(c, shape, qkv, y) ? FORWARD_ON_HOPPER : version(shape, qkv, y, nullptr, nullptr);
	return forward_by(how, s, shape, qkv, y, log_sum_exp);
}

int forward_on_hopper(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape, const void *qkv,
                      void *y, float *log_sum_exp)
{
	return hopper_takes(c, shape, qkv, y) ? forward_by(HOPPER, s, shape, qkv, y, log_sum_exp) : CUDA_ERROR_SHAPE;
}

int attention_backward(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape, const void *dy,
                       const void *qkv, const void *y, const float *log_sum_exp, void *dqkv)
{
	struct attention_arguments a = arguments(shape);
	int how = version(shape, qkv, y, dy, dqkv), error = 0;
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
	for (int64_t i = 0; i < shape->samples && !error; i += together)
		error = backward(
		        how, s, shape->type,
		        part(a, shape->type, i, shape->samples - i < together ? shape->samples - i : together));
	return error;
}

} // namespace

void cuda_fill_attention(struct cuda_api *api)
{
	api->kernels.attention_forward = attention_forward;
	api->attention_forward_hopper = forward_on_hopper;
	api->kernels.attention_backward = attention_backward;
}
