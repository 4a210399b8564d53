/* The GPU's linear layers: how products are put to cuBLASLt, which epilogues are asked for, and that layers
 * are right with cuBLASLt (what its manual says, in tests/emulate/product_emulated.cu), without it, and in their plain
 * form: against double arithmetic and against the CPU's kernels. */
#include <check.h>
#include <cmath>
#include <vector>

#include "kernels/cuda/context.h"
#include "kernels/cuda/product.h"
#include "tests/support/elements.hpp"

extern "C" {
#include "tests/support/suite.h"
}

namespace
{

/* ---- how a product is put ---- */

START_TEST(alignment)
{
	const char *p = reinterpret_cast<const char *>(4096);
	ck_assert_uint_eq(product_alignment(p), 256);
	ck_assert_uint_eq(product_alignment(p + 16), 16);
	ck_assert_uint_eq(product_alignment(p + 48), 16);
	ck_assert_uint_eq(product_alignment(p + 2), 2);
	ck_assert_uint_eq(product_alignment(p + 1), 1);
	ck_assert_uint_eq(product_alignment(nullptr), 256);
}
END_TEST

/* Memory of A[m,k] row by row is Aᵀ[k,m] column by column, so leading dimensions are the stored rows' lengths. */
START_TEST(leading_dimensions)
{
	const struct linear_shape nn_linear = {5, 3, 7, false, false, ELEMENT_BF16, 0};
	const struct linear_shape conv1d = {5, 3, 7, true, false, ELEMENT_BF16, 0};
	struct product p = product_forward(&nn_linear, nullptr, nullptr);
	struct product_arguments a = product_arguments_of(&p);
	ck_assert(a.a_transposed && !a.b_transposed);
	ck_assert_uint_eq(a.a_rows, 3); /* weight[7,3] */
	ck_assert_uint_eq(a.a_columns, 7);
	ck_assert_uint_eq(a.b_rows, 3); /* x[5,3] */
	ck_assert_uint_eq(a.b_columns, 5);
	ck_assert_uint_eq(a.c_rows, 7); /* y[5,7] */
	ck_assert_uint_eq(a.c_columns, 5);
	p = product_forward(&conv1d, nullptr, nullptr);
	a = product_arguments_of(&p);
	ck_assert(!a.a_transposed && !a.b_transposed);
	ck_assert_uint_eq(a.a_rows, 7); /* weight[3,7] */
	p = product_input(&nn_linear, nullptr, nullptr);
	a = product_arguments_of(&p);
	ck_assert(!a.a_transposed && !a.b_transposed);
	ck_assert_uint_eq(a.a_rows, 3);
	ck_assert_uint_eq(a.b_rows, 7);
	ck_assert_uint_eq(a.c_rows, 3); /* dx[5,3] */
	p = product_weight(&nn_linear, nullptr, nullptr);
	a = product_arguments_of(&p);
	ck_assert(!a.a_transposed && a.b_transposed);
	ck_assert_uint_eq(a.a_rows, 3); /* x[5,3] */
	ck_assert_uint_eq(a.b_rows, 7); /* dy[5,7] */
	ck_assert_uint_eq(a.c_rows, 3); /* dweight[7,3] */
	ck_assert_uint_eq(a.c_columns, 7);
	p = product_weight(&conv1d, nullptr, nullptr);
	a = product_arguments_of(&p);
	ck_assert_uint_eq(a.a_rows, 7);
	ck_assert_uint_eq(a.b_rows, 3);
	ck_assert_uint_eq(a.c_rows, 7); /* dweight[3,7] */
	ck_assert_int_eq(product_bias_sums(&nn_linear), PRODUCT_SUMS_A);
	ck_assert_int_eq(product_bias_sums(&conv1d), PRODUCT_SUMS_B);
}
END_TEST

START_TEST(epilogues)
{
	char *p16 = reinterpret_cast<char *>(4096);
	struct product p = {};
	p.type = ELEMENT_BF16;
	p.m = 64;
	p.n = 64;
	p.c = p.pre = p.sums = p16;
	p.epilogue = PRODUCT_GELU_BIAS;
	ck_assert(product_epilogue_fits(&p));
	p.n = 50257;
	ck_assert(!product_epilogue_fits(&p));
	p.epilogue = PRODUCT_BIAS;
	ck_assert(product_epilogue_fits(&p));
	p.epilogue = PRODUCT_SUMS_A;
	ck_assert(!product_epilogue_fits(&p));
	p.n = 64;
	ck_assert(product_epilogue_fits(&p));
	p.epilogue = PRODUCT_GELU_BIAS;
	p.pre = p16 + 2;
	ck_assert(!product_epilogue_fits(&p));
	p.pre = p16;
	p.residual = p16;
	ck_assert(!product_epilogue_fits(&p));
	p.residual = nullptr;
	p.type = ELEMENT_FP32;
	ck_assert(!product_epilogue_fits(&p));
	p.epilogue = PRODUCT_PLAIN;
	ck_assert(product_epilogue_fits(&p));
}
END_TEST

/* ---- layers ---- */

const struct linear_shape SHAPES[] = {
        {1, 1, 1, false, false, ELEMENT_FP32, 0},    {5, 24, 40, false, false, ELEMENT_FP32, 0},
        {17, 8, 33, true, false, ELEMENT_FP32, 0},   {40, 33, 16, true, true, ELEMENT_FP32, 0},
        {70, 16, 264, false, true, ELEMENT_FP32, 0}, {19, 7, 13, false, true, ELEMENT_FP32, 0},
        {300, 9, 8, true, false, ELEMENT_FP32, 0},
};
enum { CASES = 3 * sizeof SHAPES / sizeof *SHAPES };

struct layer {
	struct linear_shape shape;
	elements x, weight, bias, residual, y, pre, dy, dx, dweight, dbias;

	explicit layer(const struct linear_shape &s)
	    : shape(s), x(s.type, s.rows * s.in), weight(s.type, s.in * s.out), bias(s.type, s.out),
	      residual(s.type, s.rows * s.out), y(s.type, s.rows * s.out), pre(s.type, s.rows * s.out),
	      dy(s.type, s.rows * s.out), dx(s.type, s.rows * s.in), dweight(s.type, s.in * s.out), dbias(s.type, s.out)
	{
		for (elements *e : {&x, &weight, &bias, &residual, &dy})
			e->fill(1);
	}
};

/* What is the same for a run on the GPU and one on the CPU; bits of `options`: */
enum { BIAS = 1, RESIDUAL = 2, ACCUMULATE_WEIGHT = 4, ACCUMULATE_BIAS = 8, INPUT = 16, OPTIONS = 32 };

void run(const struct kernel_table *kernels, struct kernel_context *c, struct layer *l, int options)
{
	const struct linear_shape *s = &l->shape;
	void *bias = options & BIAS ? l->bias.data() : nullptr, *dbias = options & BIAS ? l->dbias.data() : nullptr;
	void *residual = options & RESIDUAL && !s->gelu ? l->residual.data() : nullptr;
	void *pre = s->gelu ? l->pre.data() : nullptr, *dx = options & INPUT ? l->dx.data() : nullptr;
	bool more_weight = options & ACCUMULATE_WEIGHT, more_bias = options & ACCUMULATE_BIAS;
	if (!kernels) {
		linear_forward(s, l->x.data(), l->weight.data(), bias, residual, l->y.data(), pre);
		linear_backward(s, l->dy.data(), l->x.data(), l->weight.data(), pre, dx, l->dweight.data(), more_weight,
		                dbias, more_bias);
		return;
	}
	ck_assert_int_eq(
	        kernels->linear_forward(c, nullptr, s, l->x.data(), l->weight.data(), bias, residual, l->y.data(), pre),
	        0);
	ck_assert_int_eq(kernels->linear_backward(c, nullptr, s, l->dy.data(), l->x.data(), l->weight.data(), pre,
	                                          nullptr, dx, l->dweight.data(), more_weight, dbias, more_bias),
	                 0);
	ck_assert_int_eq(target_wait(c, 0), 0);
}

/* A result against the sums of what it is made of: rounded once, after `terms` additions in fp32, each of which may
 * lose a unit of the terms' sizes together; `more`: what else may be off. */
void assert_sum(const char *what, enum element type, double got, double want, double size, int64_t terms, double more)
{
	double limit = unit(type) * fabs(want) + 0x1p-24 * static_cast<double>(terms + 4) * size + more +
	               (type == ELEMENT_FP16 ? 0x1p-25 : 0);
	ck_assert_msg(fabs(got - want) <= limit, "%s is %.9g, not %.9g ± %.2g", what, got, want, limit);
}

double gelu_of(double x)
{
	return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double gelu_slope_of(double x)
{
	double s = 1 / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
	return s + s * (1 - s) * x * 2 * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

size_t place(int64_t row, int64_t width, int64_t column)
{
	return static_cast<size_t>(row * width + column);
}

/* `before`: the layer as it was before the run. */
void check(struct layer *before, struct layer *after, int options)
{
	const struct linear_shape &s = before->shape;
	const enum element type = s.type;
	std::vector<double> x = before->x.numbers(), w = before->weight.numbers(), b = before->bias.numbers(),
	                    residual = before->residual.numbers(), dy_old = before->dy.numbers(),
	                    dw_old = before->dweight.numbers(), db_old = before->dbias.numbers(),
	                    y = after->y.numbers(), pre = after->pre.numbers(), dy = after->dy.numbers(),
	                    dx = after->dx.numbers(), dw = after->dweight.numbers(), db = after->dbias.numbers();
	for (const elements *e : {&after->y, &after->pre, &after->dy, &after->dx, &after->dweight, &after->dbias})
		ck_assert(e->intact());

	for (int64_t r = 0; r < s.rows; r++)
		for (int64_t o = 0; o < s.out; o++) {
			const size_t at = place(r, s.out, o);
			double sum = 0, size = 0;
			for (int64_t i = 0; i < s.in; i++) {
				double term = x[place(r, s.in, i)] *
				              w[s.weight_in_out ? place(i, s.out, o) : place(o, s.in, i)];
				sum += term;
				size += fabs(term);
			}
			if (options & BIAS) {
				sum += b[static_cast<size_t>(o)];
				size += fabs(b[static_cast<size_t>(o)]);
			}
			if (options & RESIDUAL && !s.gelu) {
				sum += residual[at];
				size += fabs(residual[at]);
			}
			if (s.gelu) {
				assert_sum("pre", type, pre[at], sum, size, s.in, 0);
				/* of pre before it is rounded, or after; and the exponential's few units */
				double off = 1.13 * unit(type) * fabs(sum) + 0x1p-20 * (fabs(sum) + size);
				assert_sum("y", type, y[at], gelu_of(sum), size, s.in, off);
				double slope = gelu_slope_of(pre[at]);
				assert_sum("dy", type, dy[at], dy_old[at] * slope, fabs(dy_old[at]), 16, 0);
			} else {
				assert_sum("y", type, y[at], sum, size, s.in, 0);
				ck_assert_double_eq(dy[at], dy_old[at]);
			}
		}
	for (int64_t o = 0; o < s.out; o++) {
		double bias_sum = options & ACCUMULATE_BIAS ? db_old[static_cast<size_t>(o)] : 0,
		       bias_size = fabs(bias_sum);
		for (int64_t r = 0; r < s.rows; r++) {
			const size_t at = place(r, s.out, o);
			/* before it is rounded */
			bias_sum += s.gelu ? dy_old[at] * gelu_slope_of(pre[at]) : dy[at];
			bias_size += s.gelu ? 2 * fabs(dy_old[at]) : fabs(dy[at]);
		}
		if (options & BIAS)
			assert_sum("dbias", type, db[static_cast<size_t>(o)], bias_sum, bias_size, s.rows + 16, 0);
		for (int64_t i = 0; i < s.in; i++) {
			const size_t at = s.weight_in_out ? place(i, s.out, o) : place(o, s.in, i);
			double sum = options & ACCUMULATE_WEIGHT ? dw_old[at] : 0, size = fabs(sum);
			for (int64_t r = 0; r < s.rows; r++) {
				double term = dy[place(r, s.out, o)] * x[place(r, s.in, i)];
				sum += term;
				size += fabs(term);
			}
			assert_sum("dweight", type, dw[at], sum, size, s.rows, 0);
		}
	}
	for (int64_t r = 0; options & INPUT && r < s.rows; r++)
		for (int64_t i = 0; i < s.in; i++) {
			double sum = 0, size = 0;
			for (int64_t o = 0; o < s.out; o++) {
				double term = dy[place(r, s.out, o)] *
				              w[s.weight_in_out ? place(i, s.out, o) : place(o, s.in, i)];
				sum += term;
				size += fabs(term);
			}
			assert_sum("dx", type, dx[place(r, s.in, i)], sum, size, s.out, 0);
		}
}

START_LOOP_TEST(layers, 0, CASES)
{
	struct linear_shape s = SHAPES[_i / 3];
	struct kernel_context *c = target_open(4, 1 << 16);
	s.type = static_cast<enum element>(_i % 3);
	const int every = SUITE_CASES(4, 16); /* combination, others in each test */
	for (int options = _i % every; options < OPTIONS; options += every) {
		struct layer before(s);
		before.dweight.fill(1);
		before.dbias.fill(1);
		struct layer plain = before, kernels = before, again = before, blas = before, cpu = before;
		run(target_plain(), c, &plain, options);
		check(&before, &plain, options);
		run(target_kernels(), c, &kernels, options);
		check(&before, &kernels, options);
		target_order(true);
		run(target_kernels(), c, &again, options);
		target_order(false);
		ck_assert(kernels.y.same(again.y) && kernels.dx.same(again.dx) && kernels.dweight.same(again.dweight) &&
		          kernels.dbias.same(again.dbias) && kernels.dy.same(again.dy));
		/* all epilogues, and those that cuBLASLt has for any type and shape */
		for (unsigned has : {~0U, 1U << PRODUCT_PLAIN | 1U << PRODUCT_BIAS}) {
			if (!target_products(c, has))
				break; /* they were there before */
			blas = before;
			run(target_kernels(), c, &blas, options);
			check(&before, &blas, options);
			target_products(c, 0);
		}
		run(nullptr, nullptr, &cpu, options);
		check(&before, &cpu, options);
	}
	target_close(c);
}
END_TEST

/* Results would be right without cuBLASLt too, and slow: what it surely has must be its own. */
START_LOOP_TEST(ordinary_shapes_are_left_to_cublas, 0, 2)
{
	for (int type = ELEMENT_FP32; type <= ELEMENT_FP16; type++) {
		struct linear_shape s = {64, 64, 128, _i == 1, false, static_cast<enum element>(type), 0};
		struct layer before(s), after = before;
		struct kernel_context *c = target_open(4, 1 << 16);
		target_products(c, ~0U);
		int64_t plain = c->plain_products;
		run(target_kernels(), c, &after, BIAS | RESIDUAL | INPUT);
		check(&before, &after, BIAS | RESIDUAL | INPUT);
		ck_assert_int_eq(c->plain_products, plain);
		target_products(c, 0);
		target_close(c);
	}
}
END_TEST

/* A workspace that holds one row of partial sums; and one that does not. */
START_TEST(workspace)
{
	struct linear_shape s = {50, 8, 24, false, true, ELEMENT_FP32, 0};
	struct layer before(s), after = before;
	struct kernel_context *c = target_open(64, 24 * sizeof(float)), *none = target_open(64, 16);
	run(target_kernels(), c, &after, BIAS);
	check(&before, &after, BIAS);
	after = before;
	ck_assert_int_eq(target_kernels()->linear_backward(none, nullptr, &s, after.dy.data(), after.x.data(),
	                                                   after.weight.data(), after.pre.data(), nullptr, nullptr,
	                                                   after.dweight.data(), false, after.dbias.data(), false),
	                 CUDA_ERROR_WORKSPACE);
	target_close(c);
	target_close(none);
}
END_TEST

} // namespace

int main(void)
{
	return target_run("cuda_linear", 120);
}
