/* Linear layers: which products, with which epilogues, and what is left for kernels of ours.
 *
 * Forward, bias and GELU are the product's epilogue, and the residual is what it adds to. Where cuBLASLt has no such
 * epilogue (fp32; rows that are not whole pieces of 16 bytes; GELU with the error function, ReLU) the activation is a
 * pass of its own. Backward, the bias's gradient comes with the product that reads dy for dweight or from a pass over
 * dy, whichever was measured to be faster (linear_bias.cu). Where nothing was, a layer that widens has the pass, which
 * costs less there than what the epilogue takes from the product (on an H200 29 µs and 39, of GPT-2's c_attn; of the
 * two layers that do not widen, a pass would make backward 1.03 and 1.1 times as long: bench_cuda_matrix). Where it is
 * to be accumulated it is always a pass. With an activation, one pass over dy turns it into the gradient of pre and
 * adds up the columns as it goes: unless whoever made dy has done so already, as the epilogue of its product (x_pre).
 */
#include <cstdio>

#include "kernels/cuda/linear.cuh"
#include "kernels/cuda/stopwatch.h"
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

/* ---- dweight, and the gradient of the bias in one of two ways ---- */

struct weight_pass {
	struct kernel_context *c;
	kernel_stream s;
	const struct linear_shape *shape;
	struct product product;
	const void *pre;
	void *dy, *dbias;
	bool accumulates; /* dbias */
};

int by_epilogue(void *context)
{
	const struct weight_pass *w = static_cast<const struct weight_pass *>(context);
	struct product p = w->product;
	p.epilogue = product_bias_sums(w->shape);
	p.sums = w->dbias;
	return run_whole(w->c, w->s, &p);
}

int by_pass(void *context)
{
	const struct weight_pass *w = static_cast<const struct weight_pass *>(context);
	const struct linear_shape *s = w->shape;
	int error = w->pre || w->dbias ? linear_columns(w->c, w->s, s->type, s->activation, s->rows, s->out, w->pre,
	                                                w->dy, w->dbias, w->accumulates)
	                               : 0;
	return error ? error : run(w->c, w->s, &w->product);
}

bool fits_epilogue(const struct weight_pass *w)
{
	struct product p = w->product;
	p.epilogue = product_bias_sums(w->shape);
	p.sums = w->dbias;
	return w->dbias && !w->shape->activation && !w->accumulates && !w->c->rung_of_products &&
	       product_epilogue_fits(&p);
}

double seconds_of(const struct weight_pass *w, int (*way)(void *context))
{
	struct weight_pass timed = *w;
	const double took = 1e-3 * static_cast<double>(stopwatch_run(w->s, way, &timed));
	return took > 0 ? took : 0;
}

/* Both leave the same sums, up to rounding, and the one that is chosen overwrites them. What is timed counts as no
 * product of a step. */
void time_ways(struct weight_pass w)
{
	const struct cuda_products so_far = w.c->products;
	const bool adds = w.product.residual;
	struct cuda_bias_choice choice = {*w.shape, adds, false, CUDA_BIAS_PASS, {}};
	void *spare = adds ? stopwatch_memory(product_bytes(&w.product)) : nullptr;
	w.product.c = adds ? spare : w.product.c;
	if (w.product.c) {
		choice.seconds[CUDA_BIAS_EPILOGUE] = seconds_of(&w, by_epilogue);
		choice.seconds[CUDA_BIAS_PASS] = seconds_of(&w, by_pass);
	}
	stopwatch_memory_release(spare);
	w.c->products = so_far;
	const double epilogue = choice.seconds[CUDA_BIAS_EPILOGUE], pass = choice.seconds[CUDA_BIAS_PASS];
	if (epilogue > 0 && (pass <= 0 || epilogue <= pass))
		choice.way = CUDA_BIAS_EPILOGUE;
	if (epilogue > 0 || pass > 0)
		linear_bias_keep(w.c, &choice);
}

enum cuda_bias_way way_of(const struct weight_pass *w)
{
	if (!fits_epilogue(w))
		return CUDA_BIAS_PASS;
	const bool adds = w->product.residual;
	if (!linear_bias_measured(w->c, w->shape, adds) && w->c->times_products && !linear_bias_is_full(w->c) &&
	    stopwatch_may(w->s))
		time_ways(*w);
	struct cuda_bias_choice *measured = linear_bias_measured(w->c, w->shape, adds);
	if (!measured)
		return w->shape->out > w->shape->in ? CUDA_BIAS_PASS : CUDA_BIAS_EPILOGUE;
	measured->used = true;
	return measured->way;
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
	struct weight_pass w = {
	        c,  s,     shape,          product_weight(shape, dy, x), shape->activation ? pre : nullptr,
	        dy, dbias, accumulate_bias};
	w.product.c = dweight;
	w.product.residual = accumulate_weight ? dweight : nullptr;
	int error = way_of(&w) == CUDA_BIAS_EPILOGUE ? by_epilogue(&w) : CUDA_ERROR_NO_ALGORITHM;
	if (error == CUDA_ERROR_NO_ALGORITHM)
		error = by_pass(&w);
	return error || !dx ? error : backward_input(c, s, shape, dy, weight, x_pre, dx);
}

void cuda_products_lost(const struct kernel_context *c, struct cuda_products *out)
{
	*out = c->products;
}
