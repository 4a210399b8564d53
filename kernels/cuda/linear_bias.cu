/* Chooses how the gradient of a bias is made, by shape: as was measured, here or in an earlier run. */
#include "kernels/cuda/linear.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { NANOSECONDS = 1000000000 };
const uint64_t BIAS_WORD = UINT64_MAX - 1; /* neither a product nor attention begins with it */

bool is_same(const struct linear_shape *a, const struct linear_shape *b)
{
	return a->rows == b->rows && a->in == b->in && a->out == b->out && a->weight_in_out == b->weight_in_out &&
	       a->type == b->type && linear_stride(a) == linear_stride(b);
}

/* product: the mark, whether dweight is added to, type, the shape; algorithm: the way, nanoseconds of both. */
struct cuda_algorithm words_of(const struct cuda_bias_choice *choice)
{
	const struct linear_shape *s = &choice->shape;
	const int64_t numbers[] = {choice->accumulates, s->type, s->weight_in_out, s->rows, s->in, s->out, s->stride};
	struct cuda_algorithm a = {};
	a.product[0] = BIAS_WORD;
	for (int i = 0; i < 7; i++)
		a.product[1 + i] = static_cast<uint64_t>(numbers[i]);
	a.algorithm[0] = static_cast<uint64_t>(choice->way);
	for (int w = 0; w < CUDA_BIAS_WAYS; w++)
		a.algorithm[1 + w] = static_cast<uint64_t>(choice->seconds[w] * NANOSECONDS + 0.5);
	return a;
}

} // namespace

struct cuda_bias_choice *linear_bias_measured(struct kernel_context *c, const struct linear_shape *shape,
                                              bool accumulates)
{
	for (int i = 0; i < c->bias_choices; i++)
		if (c->bias_choice[i].accumulates == accumulates && is_same(&c->bias_choice[i].shape, shape))
			return &c->bias_choice[i];
	return nullptr;
}

bool linear_bias_is_full(const struct kernel_context *c)
{
	return c->bias_choices == CUDA_BIAS_CHOICES;
}

void linear_bias_keep(struct kernel_context *c, const struct cuda_bias_choice *choice)
{
	if (!linear_bias_is_full(c))
		c->bias_choice[c->bias_choices++] = *choice;
}

bool cuda_bias_give(struct kernel_context *c, const struct cuda_algorithm *a)
{
	const uint64_t *w = a->product;
	struct cuda_bias_choice choice = {};
	if (w[0] != BIAS_WORD)
		return false;
	if (w[2] >= ELEMENT_TYPES || a->algorithm[0] >= CUDA_BIAS_WAYS)
		return true;
	choice.accumulates = w[1] != 0;
	choice.shape.type = static_cast<enum element>(w[2]);
	choice.shape.weight_in_out = w[3] != 0;
	choice.shape.rows = static_cast<int64_t>(w[4]);
	choice.shape.in = static_cast<int64_t>(w[5]);
	choice.shape.out = static_cast<int64_t>(w[6]);
	choice.shape.stride = static_cast<int64_t>(w[7]);
	choice.way = static_cast<enum cuda_bias_way>(a->algorithm[0]);
	for (int i = 0; i < CUDA_BIAS_WAYS; i++)
		choice.seconds[i] = static_cast<double>(a->algorithm[1 + i]) / NANOSECONDS;
	linear_bias_keep(c, &choice);
	return true;
}

int cuda_bias_tell(const struct kernel_context *c, struct cuda_algorithm *out, int most)
{
	for (int i = 0; i < c->bias_choices && i < most; i++)
		out[i] = words_of(&c->bias_choice[i]);
	return c->bias_choices;
}

int cuda_bias_choices(const struct kernel_context *c, struct cuda_bias_choice *out, int most)
{
	int n = 0;
	for (int i = 0; i < c->bias_choices; i++) {
		if (!c->bias_choice[i].used)
			continue;
		if (n < most)
			out[n] = c->bias_choice[i];
		n++;
	}
	return n;
}
