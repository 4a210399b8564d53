/* Linear layers in their simplest form: the product that the product falls back to, and a thread a column. */
#include "kernels/cuda/product.h"
#include "tests/plain/plain.cuh"
#include "tests/plain/plain.h"

namespace
{

int forward_plain(struct kernel_context *, kernel_stream s, const struct linear_shape *shape, const void *x,
                  const void *weight, const void *bias, const void *residual, void *y, void *pre)
{
	struct product p = product_forward(shape, x, weight);
	p.bias = bias;
	p.residual = residual;
	p.c = y;
	p.pre = pre;
	p.epilogue = shape->gelu ? bias ? PRODUCT_GELU_BIAS : PRODUCT_GELU : bias ? PRODUCT_BIAS : PRODUCT_PLAIN;
	return product_plain(s, &p);
}

/* dy becomes the gradient of pre, which is added up before it is rounded. */
template <typename T> struct gradient_column {
	int64_t rows, width;
	const T *pre;
	T *dy, *dbias;
	bool accumulate;
	__device__ void operator()(int64_t column) const
	{
		float sum = 0;
		for (int64_t place = column; place < rows * width; place += width) {
			float g = widen(dy[place]);
			if (pre) {
				g *= gelu_slope<T>(widen(pre[place]));
				put(dy[place], g);
			}
			sum += g;
		}
		if (dbias)
			put(dbias[column], sum, accumulate);
	}
};

int columns_plain(kernel_stream s, const struct linear_shape *shape, const void *pre, void *dy, void *dbias,
                  bool accumulate)
{
	return RUN(shape->type, shape->out, gradient_column, shape->rows, shape->out, IN(pre), OUT(dy), OUT(dbias),
	           accumulate);
}

int backward_plain(struct kernel_context *, kernel_stream s, const struct linear_shape *shape, void *dy, const void *x,
                   const void *weight, const void *pre, const void *x_pre, void *dx, void *dweight,
                   bool accumulate_weight, void *dbias, bool accumulate_bias)
{
	struct product p = product_weight(shape, dy, x);
	int error = 0;
	p.c = dweight;
	p.residual = accumulate_weight ? dweight : nullptr;
	if (shape->gelu || dbias)
		error = columns_plain(s, shape, shape->gelu ? pre : nullptr, dy, dbias, accumulate_bias);
	if (!error)
		error = product_plain(s, &p);
	if (error || !dx)
		return error;
	p = product_input(shape, dy, weight);
	p.c = dx;
	p.pre = const_cast<void *>(x_pre);
	p.epilogue = x_pre ? PRODUCT_GELU_SLOPE : PRODUCT_PLAIN;
	return product_plain(s, &p);
}

} // namespace

void plain_fill_linear(struct kernel_table *t)
{
	t->linear_forward = forward_plain;
	t->linear_backward = backward_plain;
}
