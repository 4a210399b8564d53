/* Linear layers: OpenBLAS makes the products in fp32, simd/product.c those in 16 bits, and the work around them is done
 * while rows are in cache.
 *
 * Forward: y is filled with bias and residual first, and the product added to it (beta = 1). OpenBLAS adds onto y in
 * any case, after a pass that zeroes it; filling y instead makes bias and residual nearly free. The activation follows
 * on all of y: taking product and GELU in blocks of rows was measured too, and loses more by packing the weight again
 * than it gains from the cache. Backward: the activation's gradient and the bias's sums are one pass.
 */
#include <cblas.h>
#include <limits.h>
#include <stdlib.h>

#include "kernels/cpu/bodies.h"

struct linear_task {
	struct linear_shape shape;
	const void *x, *weight, *bias, *residual;
	void *y, *pre;
	void *dy, *dx, *dweight;
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

/* The same for any type, for rows [begin, end) of the result. */
static void multiply_rows(enum element type, const struct product_task *p, int64_t begin, int64_t end)
{
	if (type == ELEMENT_FP32)
		multiply(p->a_transposed, p->b_transposed, end - begin, p->n, p->k,
		         (const float *)p->a + (p->a_transposed ? begin : begin * p->lda), p->lda, p->b, p->ldb,
		         p->accumulate ? 1.0f : 0.0f, (float *)p->c + begin * p->ldc, p->ldc);
	else
		kernel_bodies(type)->product(p, begin, end);
}

static void forward_rows(const void *task, int64_t begin, int64_t end)
{
	const struct linear_task *t = task;
	const struct linear_shape *s = &t->shape;
	const struct kernel_bodies *bodies = kernel_bodies(s->type);
	struct product_task p = {.b_transposed = !s->weight_in_out,
	                         .m = s->rows,
	                         .n = s->out,
	                         .k = s->in,
	                         .a = t->x,
	                         .lda = s->in,
	                         .b = t->weight,
	                         .ldb = s->weight_in_out ? s->out : s->in,
	                         .c = s->activation ? t->pre : t->y,
	                         .ldc = linear_stride(s)};

	if (s->type != ELEMENT_FP32) {
		p.bias = t->bias;
		p.residual = t->residual;
		p.activated = s->activation ? t->y : NULL;
		p.activation = s->activation;
		bodies->product(&p, begin, end);
		return;
	}
	p.accumulate = t->bias || t->residual;
	if (p.accumulate) {
		struct linear_prefill_task prefill = {s->out, t->bias, t->residual, p.c};
		bodies->linear_prefill(&prefill, begin, end);
	}
	multiply_rows(ELEMENT_FP32, &p, begin, end);
	if (s->activation) {
		struct activation_task a = {s->activation, t->pre, t->y};
		bodies->activation_forward(&a, begin * s->out, end * s->out);
	}
}

/* One row in fp32, which threads divide by its outputs. */
static void forward_row(const struct linear_task *t)
{
	const struct linear_shape *s = &t->shape;
	const struct kernel_bodies *bodies = kernel_bodies(ELEMENT_FP32);
	float *y = s->activation ? t->pre : t->y;
	struct linear_row_task row = {s->in, s->out, s->weight_in_out, t->x, t->weight, y};
	struct linear_prefill_task prefill = {s->out, t->bias, t->residual, y};
	struct activation_task a = {s->activation, t->pre, t->y};
	if (t->bias || t->residual)
		bodies->linear_prefill(&prefill, 0, 1);
	else
		vector_zero(ELEMENT_FP32, s->out, y);
	parallel_for(bodies->linear_row, &row, s->out, 64);
	if (s->activation)
		bodies->activation_forward(&a, 0, s->out);
}

KERNEL_FUNCTION(linear_forward)
{
	struct linear_task t = {
	        .shape = *shape, .x = x, .weight = weight, .bias = bias, .residual = residual, .y = y, .pre = pre};
	if (shape->rows == 1 && shape->type == ELEMENT_FP32) {
		forward_row(&t);
		return;
	}
	parallel_for(forward_rows, &t, shape->rows, 32);
}

static void input_rows(const void *task, int64_t begin, int64_t end)
{
	const struct linear_task *t = task;
	const struct linear_shape *s = &t->shape;
	struct product_task p = {.b_transposed = s->weight_in_out,
	                         .m = s->rows,
	                         .n = s->in,
	                         .k = s->out,
	                         .a = t->dy,
	                         .lda = linear_stride(s),
	                         .b = t->weight,
	                         .ldb = s->weight_in_out ? s->out : s->in,
	                         .c = t->dx,
	                         .ldc = s->in};
	multiply_rows(s->type, &p, begin, end);
}

/* Rows of dweight: outputs, or inputs with the Conv1D layout. */
static void weight_rows(const void *task, int64_t begin, int64_t end)
{
	const struct linear_task *t = task;
	const struct linear_shape *s = &t->shape;
	bool in_out = s->weight_in_out;
	struct product_task p = {.a_transposed = true,
	                         .accumulate = t->accumulate_weight,
	                         .m = in_out ? s->in : s->out,
	                         .n = in_out ? s->out : s->in,
	                         .k = s->rows,
	                         .a = in_out ? t->x : t->dy,
	                         .lda = in_out ? s->in : linear_stride(s),
	                         .b = in_out ? t->dy : t->x,
	                         .ldb = in_out ? linear_stride(s) : s->in,
	                         .c = t->dweight,
	                         .ldc = in_out ? s->out : s->in};
	multiply_rows(s->type, &p, begin, end);
}

/* dy of the activation and the bias's gradient, by columns. */
struct columns {
	enum element type;
	struct activation_backward_task activation; /* sum NULL */
	bool accumulate;
	void *dbias; /* may be NULL with an activation */
};

static void column_range(const struct columns *c, float *sum, int64_t sum_begin, bool accumulate, int64_t begin,
                         int64_t end)
{
	const struct kernel_bodies *bodies = kernel_bodies(c->type);
	struct activation_backward_task a = c->activation;
	struct column_sum_task s = {a.rows, a.width, a.dy, sum, accumulate, sum_begin};
	a.sum = sum;
	a.accumulate = accumulate;
	a.sum_begin = sum_begin;
	if (a.activation)
		bodies->activation_backward(&a, begin, end);
	else
		bodies->column_sum(&s, begin, end);
}

static void columns(const void *task, int64_t begin, int64_t end)
{
	const struct columns *c = task;
	float sum[SUM_COLUMNS];
	if (c->type == ELEMENT_FP32) {
		column_range(c, c->dbias, 0, c->accumulate, begin, end);
		return;
	}
	for (; begin < end; begin += SUM_COLUMNS) {
		int64_t n = end - begin < SUM_COLUMNS ? end - begin : SUM_COLUMNS;
		/* cppcheck-suppress legacyUninitvar ; written before it is read */
		struct narrow_task narrow = {sum, element_at(c->type, c->dbias, begin), c->accumulate};
		column_range(c, c->dbias ? sum : NULL, begin, false, begin, begin + n);
		if (c->dbias)
			kernel_bodies(c->type)->narrow(&narrow, 0, n);
	}
}

void linear_backward(const struct linear_shape *s, void *dy, const void *x, const void *weight, const void *pre,
                     void *dx, void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias)
{
	struct linear_task t = {.shape = *s,
	                        .x = x,
	                        .weight = weight,
	                        .dy = dy,
	                        .dx = dx,
	                        .dweight = dweight,
	                        .accumulate_weight = accumulate_weight};
	struct columns c = {
	        .type = s->type,
	        .activation = {.activation = s->activation, .rows = s->rows, .width = s->out, .pre = pre, .dy = dy},
	        .accumulate = accumulate_bias,
	        .dbias = dbias};

	if (s->activation || dbias)
		parallel_for(columns, &c, s->out, 64);
	parallel_for(weight_rows, &t, s->weight_in_out ? s->in : s->out, 32);
	if (dx)
		parallel_for(input_rows, &t, s->rows, 32);
}
