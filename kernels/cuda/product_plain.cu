/* Products in their simplest form, without GELU or sums: a thread makes an element. They do the shapes and addresses
 * that cuBLASLt has no algorithm for. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/product.h"

namespace
{

const unsigned SIDE = 16; /* of a block */

template <typename T> __global__ void multiply(const struct product p)
{
	const int64_t row = static_cast<int64_t>(blockIdx.x) * SIDE + threadIdx.y;
	const int64_t column = static_cast<int64_t>(blockIdx.y) * SIDE + threadIdx.x;
	const int64_t place = row * p.c_stride + column;
	const T *a = static_cast<const T *>(p.a), *b = static_cast<const T *>(p.b);
	float sum = 0;
	if (row >= p.m || column >= p.n)
		return;
	for (int64_t i = 0; i < p.k; i++)
		sum = fmaf(widen(a[p.a_transposed ? i * p.a_stride + row : row * p.a_stride + i]),
		           widen(b[p.b_transposed ? column * p.b_stride + i : i * p.b_stride + column]), sum);
	if (p.bias)
		sum += widen(static_cast<const T *>(p.bias)[column]);
	if (p.residual)
		sum += widen(static_cast<const T *>(p.residual)[place]);
	narrow(sum, static_cast<T *>(p.c)[place]);
}

} // namespace

int product_plain(kernel_stream s, const struct product *p)
{
	dim3 grid(static_cast<unsigned>((p->m + SIDE - 1) / SIDE), static_cast<unsigned>((p->n + SIDE - 1) / SIDE));
	return with_type(p->type, [&](auto tag) {
		return launch(multiply<typename decltype(tag)::type>, grid, dim3(SIDE, SIDE), 0, s, *p);
	});
}
