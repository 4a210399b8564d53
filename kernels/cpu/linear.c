/* Linear layers: OpenBLAS for the products, and what lies around them done while rows are in cache.
 *
 * Forward: y is filled with bias and residual first, and the product added to it (beta = 1). OpenBLAS adds onto y in
 * any case, after a pass that zeroes it; filling y instead makes bias and residual nearly free. GELU follows on all of
 * y: taking product and GELU in blocks of rows was measured too, and loses more by packing the weight again than it
 * gains from the cache. Backward: GELU's gradient and the bias's sums are one pass.
 */
#include <cblas.h>
#include <limits.h>
#include <stdlib.h>

#include "kernels/cpu/bodies.h"

struct linear_task {
	struct linear_shape shape;
	const float *x, *weight, *bias, *residual;
	float *y, *pre;
	float *dy, *dx, *dweight;
	bool accumulate_weight;
};

static blasint blas_size(int64_t n)
{
	if (n > INT_MAX)
		abort(); /* the caller's matrices would be larger than any memory */
	return (blasint)n;
}

/* c[m,n] = op(a) · op(b) + beta · c, row-major; a row of the stored a (b, c) has lda (ldb, ldc) floats. */
static void multiply(bool a_transposed, bool b_transposed, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	cblas_sgemm(CblasRowMajor, a_transposed ? CblasTrans : CblasNoTrans, b_transposed ? CblasTrans : CblasNoTrans,
	            blas_size(m), blas_size(n), blas_size(k), 1.0f, a, blas_size(lda), b, blas_size(ldb), beta, c,
	            blas_size(ldc));
}

static void forward_rows(const void *task, int64_t begin, int64_t end)
{
	const struct linear_task *t = task;
	const struct linear_shape *s = &t->shape;
	float *product = s->gelu ? t->pre : t->y;
	bool prefill = t->bias || t->residual;

	if (prefill) {
		struct linear_prefill_task p = {s->out, t->bias, t->residual, product};
		kernel_bodies()->linear_prefill(&p, begin, end);
	}
	multiply(false, !s->weight_in_out, end - begin, s->out, s->in, t->x + begin * s->in, s->in, t->weight,
	         s->weight_in_out ? s->out : s->in, prefill ? 1.0f : 0.0f, product + begin * s->out, s->out);
	if (s->gelu) {
		struct elementwise_task g = {t->pre, t->y};
		kernel_bodies()->gelu_forward(&g, begin * s->out, end * s->out);
	}
}

void linear_forward(const struct linear_shape *s, const float *x, const float *weight, const float *bias,
                    const float *residual, float *y, float *pre)
{
	struct linear_task t = {
	        .shape = *s, .x = x, .weight = weight, .bias = bias, .residual = residual, .y = y, .pre = pre};
	parallel_for(forward_rows, &t, s->rows, 32);
}

static void input_rows(const void *task, int64_t begin, int64_t end)
{
	const struct linear_task *t = task;
	const struct linear_shape *s = &t->shape;
	multiply(false, s->weight_in_out, end - begin, s->in, s->out, t->dy + begin * s->out, s->out, t->weight,
	         s->weight_in_out ? s->out : s->in, 0.0f, t->dx + begin * s->in, s->in);
}

/* Rows of dweight: outputs, or inputs with the Conv1D layout. */
static void weight_rows(const void *task, int64_t begin, int64_t end)
{
	const struct linear_task *t = task;
	const struct linear_shape *s = &t->shape;
	float beta = t->accumulate_weight ? 1.0f : 0.0f;
	if (s->weight_in_out)
		multiply(true, false, end - begin, s->out, s->rows, t->x + begin, s->in, t->dy, s->out, beta,
		         t->dweight + begin * s->out, s->out);
	else
		multiply(true, false, end - begin, s->in, s->rows, t->dy + begin, s->out, t->x, s->in, beta,
		         t->dweight + begin * s->in, s->in);
}

void linear_backward(const struct linear_shape *s, float *dy, const float *x, const float *weight, const float *pre,
                     float *dx, float *dweight, bool accumulate_weight, float *dbias, bool accumulate_bias)
{
	struct linear_task t = {.shape = *s,
	                        .x = x,
	                        .weight = weight,
	                        .dy = dy,
	                        .dx = dx,
	                        .dweight = dweight,
	                        .accumulate_weight = accumulate_weight};

	if (s->gelu) {
		struct gelu_backward_task g = {s->rows, s->out, pre, dy, dbias, accumulate_bias};
		parallel_for(kernel_bodies()->gelu_backward, &g, s->out, 64);
	} else if (dbias) {
		struct column_sum_task c = {s->rows, s->out, dy, dbias, accumulate_bias};
		parallel_for(kernel_bodies()->column_sum, &c, s->out, 64);
	}
	parallel_for(weight_rows, &t, s->weight_in_out ? s->in : s->out, 32);
	if (dx)
		parallel_for(input_rows, &t, s->rows, 32);
}
