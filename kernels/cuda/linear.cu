/* Linear layers: which products, with which epilogues, and what is left for kernels of ours.
 *
 * Forward, bias and GELU are the product's epilogue, and the residual is what it adds to. Where cuBLASLt has no such
 * epilogue (fp32; rows that are not whole pieces of 16 bytes; GELU with the error function, ReLU) the activation is a
 * pass of its own. Backward, the bias's gradient comes with the product that reads dy for dweight, where nothing is to
 * be accumulated and the layer does not widen. Where it widens, a pass over dy costs less than what the epilogue takes
 * from the product (on an H200 29 µs and 39, of GPT-2's c_attn; of the two layers that do not widen, a pass would make
 * backward 1.03 and 1.1 times as long: bench_cuda_matrix). With an activation, one pass over dy turns it into the
 * gradient of pre and adds up the columns as it goes: unless whoever made dy has done so already, as the epilogue of
 * its product (x_pre). */
#include <cstdio>

#include "kernels/cuda/linear.cuh"
#include "kernels/cuda/table.h"

namespace
{

const char *const type_names[] = {"fp32", "bf16", "fp16"};

/* A product that takes hundreds of times as long is counted, and the first one is named. */
void note_plain(struct kernel_context *c, const struct product *p)
{
	struct cuda_products *lost = &c->products;
	if (lost->plain++)
		return;
	lost->why = c->product_refusal;
	snprintf(lost->first, sizeof lost->first, "%lld x %lld x %lld %s, A %s, B %s%s", static_cast<long long>(p->m),
	         static_cast<long long>(p->n), static_cast<long long>(p->k), type_names[p->type],
	         p->a_transposed ? "transposed" : "whole", p->b_transposed ? "transposed" : "whole",
	         p->epilogue == PRODUCT_BIAS ? ", bias" : "");
}

/* By cuBLASLt, with the product's epilogue; CUDA_ERROR_NO_ALGORITHM: it has nothing, or is not asked. */
int run_whole(struct kernel_context *c, kernel_stream s, const struct product *p)
{
	int error = c->rung_of_products ? CUDA_ERROR_NO_ALGORITHM : product_run(c, s, p);
	c->products.by[CUDA_PRODUCT_CUBLASLT] += !error;
	return error;
}

int run_part(struct kernel_context *c, kernel_stream s, const struct product *p)
{
	if (c->rung_of_products)
		return product_by_rung(c, s, p, c->rung_of_products);
	int error = run_whole(c, s, p);
	if (error != CUDA_ERROR_NO_ALGORITHM)
		return error;
	note_plain(c, p);
	return product_by_rung(c, s, p, CUDA_PRODUCT_PLAIN);
}

/* One without GELU or sums: of any shape. */
int run(struct kernel_context *c, kernel_stream s, const struct product *p)
{
	struct product parts[2];
	const int count = product_parts(p, parts);
	int error = 0;
	for (int i = 0; i < count && !error; i++)
		error = run_part(c, s, &parts[i]);
	return error;
}

/* dx, or the gradient of what GELU made x of. */
int backward_input(struct kernel_context *c, kernel_stream s, const struct linear_shape *shape, const void *dy,
                   const void *weight, const void *x_pre, void *dx)
{
	struct product p = product_input(shape, dy, weight);
	p.c = dx;
	if (!x_pre)
		return run(c, s, &p);
	p.pre = const_cast<void *>(x_pre);
	p.epilogue = PRODUCT_GELU_SLOPE;
	int error = run_whole(c, s, &p);
	if (error != CUDA_ERROR_NO_ALGORITHM)
		return error;
	c->products.gelu_passes++;
	p.epilogue = PRODUCT_PLAIN;
	p.pre = nullptr;
	error = run(c, s, &p);
	return error ? error
	             : linear_columns(c, s, shape->type, ACTIVATION_GELU_TANH, shape->rows, shape->in, x_pre, dx,
	                              nullptr, false);
}

} // namespace

CUDA_KERNEL(linear_forward)
{
	struct product p = product_forward(shape, x, weight);
	p.bias = bias;
	p.residual = residual;
	p.c = y;
	p.pre = pre;
	p.epilogue = bias ? PRODUCT_BIAS : PRODUCT_PLAIN;
	if (!shape->activation)
		return run(c, s, &p);
	int error = CUDA_ERROR_NO_ALGORITHM;
	if (shape->activation == ACTIVATION_GELU_TANH) {
		p.epilogue = bias ? PRODUCT_GELU_BIAS : PRODUCT_GELU;
		error = run_whole(c, s, &p);
	}
	if (error != CUDA_ERROR_NO_ALGORITHM)
		return error;
	p.epilogue = bias ? PRODUCT_BIAS : PRODUCT_PLAIN;
	p.c = pre;
	p.pre = nullptr;
	error = run(c, s, &p);
	return error ? error : linear_activation(s, shape->type, shape->activation, shape->rows * shape->out, pre, y);
}

CUDA_KERNEL(linear_backward)
{
	struct product p = product_weight(shape, dy, x);
	p.c = dweight;
	p.residual = accumulate_weight ? dweight : nullptr;
	int error = CUDA_ERROR_NO_ALGORITHM;
	if (dbias && !shape->activation && !accumulate_bias && shape->out <= shape->in) {
		p.epilogue = product_bias_sums(shape);
		p.sums = dbias;
		error = run_whole(c, s, &p);
	}
	if (error == CUDA_ERROR_NO_ALGORITHM) {
		const void *before = shape->activation ? pre : nullptr;
		error = before || dbias ? linear_columns(c, s, shape->type, shape->activation, shape->rows, shape->out,
		                                         before, dy, dbias, accumulate_bias)
		                        : 0;
		p.epilogue = PRODUCT_PLAIN;
		p.sums = nullptr;
		if (!error)
			error = run(c, s, &p);
	}
	return error || !dx ? error : backward_input(c, s, shape, dy, weight, x_pre, dx);
}

void cuda_products_lost(const struct kernel_context *c, struct cuda_products *out)
{
	*out = c->products;
}
