/* The GPU's linear layers: how products are put to cuBLASLt, which epilogues are asked for, and that layers
 * are right with cuBLASLt (what its manual says, in tests/emulate/product_emulated.cu) and without it: against double
 * arithmetic. */
#include <cmath>
#include <vector>

#include "kernels/cuda/context.h"
#include "kernels/cuda/product.h"
#include "tests/kernels/kernels_reference.h"
#include "tests/support/elements.hpp"
#include "tests/support/suite.h"

namespace
{

/* ---- how a product is put ---- */

START_TEST(alignment)
{
	const char *p = reinterpret_cast<const char *>(4096);
	ck_assert_uint_eq(product_alignment(p), 16);
	ck_assert_uint_eq(product_alignment(p + 16), 16);
	ck_assert_uint_eq(product_alignment(p + 48), 16);
	ck_assert_uint_eq(product_alignment(p + 2), 2);
	ck_assert_uint_eq(product_alignment(p + 1), 1);
	ck_assert_uint_eq(product_alignment(nullptr), 16);
}

/* Memory of A[m,k] row by row is Aᵀ[k,m] column by column, so leading dimensions are the stored rows' lengths. */
START_TEST(leading_dimensions)
{
	const struct linear_shape linear = {5, 3, 7, false, ACTIVATION_NONE, ELEMENT_BF16, 0};
	const struct linear_shape conv1d = {5, 3, 7, true, ACTIVATION_NONE, ELEMENT_BF16, 0};
	const struct {
		struct product p;
		bool a_transposed, b_transposed;
		unsigned a_rows, b_rows, c_rows, c_columns;
	} rows[] = {
	        {product_forward(&linear, nullptr, nullptr), true, false, 3, 3, 7, 5}, /* weight[7,3], x[5,3], y[5,7] */
	        {product_forward(&conv1d, nullptr, nullptr), false, false, 7, 3, 7, 5}, /* weight[3,7] */
	        {product_input(&linear, nullptr, nullptr), false, false, 3, 7, 3, 5},   /* dy[5,7], dx[5,3] */
	        {product_weight(&linear, nullptr, nullptr), false, true, 3, 7, 3, 7},   /* dweight[7,3] */
	        {product_weight(&conv1d, nullptr, nullptr), false, true, 7, 3, 7, 3},   /* dweight[3,7] */
	};
	for (const auto &r : rows) {
		struct product_arguments a = product_arguments_of(&r.p);
		ck_assert(a.a_transposed == r.a_transposed && a.b_transposed == r.b_transposed);
		ck_assert(a.a_rows == r.a_rows && a.b_rows == r.b_rows);
		ck_assert(a.c_rows == r.c_rows && a.c_columns == r.c_columns);
	}
	struct product_arguments a = product_arguments_of(&rows[0].p);
	ck_assert(a.a_columns == 7 && a.b_columns == 5);
	ck_assert_int_eq(product_bias_sums(&linear), PRODUCT_SUMS_A);
	ck_assert_int_eq(product_bias_sums(&conv1d), PRODUCT_SUMS_B);
}

/* The logits of GPT-2, whose rows begin at whole pieces and do not end there, and what is left in one. */
START_TEST(parts)
{
	static char memory[64]; /* addresses beyond it are told, never read */
	const struct linear_shape logits = {1024, 768, 50257, false, ACTIVATION_NONE, ELEMENT_BF16, 50304};
	const struct linear_shape dense = {1024, 768, 50257, false, ACTIVATION_NONE, ELEMENT_BF16, 0};
	const struct linear_shape even = {1024, 768, 50304, false, ACTIVATION_NONE, ELEMENT_BF16, 0};
	struct product p = product_forward(&logits, memory, memory), part[2];
	p.c = p.sums = memory;
	ck_assert_int_eq(product_parts(&p, part), 2);
	ck_assert(part[0].n == 50248 && part[1].n == 9 && part[0].m == 1024 && part[1].k == 768);
	ck_assert(part[0].c == p.c && static_cast<char *>(part[1].c) - memory == 2L * 50248);
	ck_assert(static_cast<const char *>(part[1].b) - memory == 2L * 50248 * 768 && part[1].a == p.a);

	p = product_input(&logits, memory, memory);
	p.c = memory;
	ck_assert_int_eq(product_parts(&p, part), 2);
	ck_assert(part[0].k == 9 && part[1].k == 50248 && !part[0].residual && part[1].residual == p.c);
	ck_assert(static_cast<const char *>(part[0].a) - memory == 2L * 50248 && part[1].a == p.a);
	ck_assert(static_cast<const char *>(part[0].b) - memory == 2L * 50248 * 768 && part[1].b == p.b);

	p = product_weight(&logits, memory, memory);
	p.c = memory;
	p.residual = memory;
	ck_assert_int_eq(product_parts(&p, part), 2);
	ck_assert(part[0].m == 50248 && part[1].m == 9 && part[1].residual == part[1].c);
	ck_assert(static_cast<const char *>(part[1].a) - memory == 2L * 50248);
	ck_assert(static_cast<char *>(part[1].c) - memory == 2L * 50248 * 768);
	for (const struct linear_shape *s : {&dense, &even}) {
		p = product_forward(s, memory, memory);
		ck_assert_int_eq(product_parts(&p, part), 1);
	}
}

/* Where a row's length or address does not fit an epilogue, and of which type and with what it is none. */
const struct {
	enum product_epilogue epilogue;
	enum element type;
	int64_t n;
	int pre; /* bytes from a multiple of 256 */
	bool residual, fits;
} EPILOGUES[] = {
        {PRODUCT_GELU_BIAS, ELEMENT_BF16, 64, 0, false, true},
        {PRODUCT_GELU_BIAS, ELEMENT_BF16, 50257, 0, false, false},
        {PRODUCT_GELU_BIAS, ELEMENT_BF16, 64, 2, false, false},
        {PRODUCT_GELU_BIAS, ELEMENT_BF16, 64, 0, true, false},
        {PRODUCT_GELU_BIAS, ELEMENT_FP32, 64, 0, false, false},
        {PRODUCT_BIAS, ELEMENT_BF16, 50257, 0, false, true},
        {PRODUCT_SUMS_A, ELEMENT_BF16, 50257, 0, false, false},
        {PRODUCT_SUMS_A, ELEMENT_BF16, 64, 0, false, true},
        {PRODUCT_PLAIN, ELEMENT_FP32, 64, 0, false, true},
        {PRODUCT_GELU_SLOPE, ELEMENT_BF16, 3072, 0, false, true},
        {PRODUCT_GELU_SLOPE, ELEMENT_BF16, 3072, 8, false, false},
        {PRODUCT_GELU_SLOPE, ELEMENT_BF16, 3076, 0, false, false},
        {PRODUCT_GELU_SLOPE, ELEMENT_FP32, 3072, 0, false, false},
};

START_LOOP_TEST(epilogues, 0, sizeof EPILOGUES / sizeof *EPILOGUES)
{
	const auto &e = EPILOGUES[_i];
	char *at = reinterpret_cast<char *>(4096);
	struct product p = {};
	p.type = e.type;
	p.m = 64;
	p.n = e.n;
	p.c = p.sums = at;
	p.pre = at + e.pre;
	p.residual = e.residual ? at : nullptr;
	p.epilogue = e.epilogue;
	ck_assert(product_epilogue_fits(&p) == e.fits);
}

/* ---- layers ---- */

const struct linear_shape SHAPES[] = {
        {1, 1, 1, false, ACTIVATION_NONE, ELEMENT_FP32, 0},
        {5, 24, 40, false, ACTIVATION_NONE, ELEMENT_FP32, 0},
        {17, 8, 33, true, ACTIVATION_NONE, ELEMENT_FP32, 0},
        {40, 33, 16, true, ACTIVATION_GELU_TANH, ELEMENT_FP32, 0},
        {70, 16, 264, false, ACTIVATION_GELU_TANH, ELEMENT_FP32, 0},
        {19, 7, 13, false, ACTIVATION_GELU_TANH, ELEMENT_FP32, 0},
        {300, 9, 8, true, ACTIVATION_NONE, ELEMENT_FP32, 0},
        {40, 33, 16, true, ACTIVATION_GELU, ELEMENT_FP32, 0},
        {70, 16, 72, false, ACTIVATION_RELU, ELEMENT_FP32, 0},
        {19, 7, 13, false, ACTIVATION_GELU, ELEMENT_FP32, 0},
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

/* Bits of `options`. */
enum { BIAS = 1, RESIDUAL = 2, ACCUMULATE_WEIGHT = 4, ACCUMULATE_BIAS = 8, INPUT = 16, OPTIONS = 32 };

void run(struct kernel_context *c, struct layer *l, int options)
{
	const struct kernel_table *kernels = target_kernels();
	const struct linear_shape *s = &l->shape;
	void *bias = options & BIAS ? l->bias.data() : nullptr, *dbias = options & BIAS ? l->dbias.data() : nullptr;
	void *residual = options & RESIDUAL && !s->activation ? l->residual.data() : nullptr;
	void *pre = s->activation ? l->pre.data() : nullptr, *dx = options & INPUT ? l->dx.data() : nullptr;
	int error =
	        kernels->linear_forward(c, nullptr, s, l->x.data(), l->weight.data(), bias, residual, l->y.data(), pre);
	error |= kernels->linear_backward(c, nullptr, s, l->dy.data(), l->x.data(), l->weight.data(), pre, nullptr, dx,
	                                  l->dweight.data(), options & ACCUMULATE_WEIGHT, dbias,
	                                  options & ACCUMULATE_BIAS);
	ck_assert_int_eq(target_wait(c, error), 0);
}

/* A result against the sums of what it is made of: rounded once, after `terms` additions in fp32, each of which may
 * lose a unit of the terms' sizes together; `more`: what else may be off. */
void assert_sum(const char *what, enum element type, double got, double want, double size, int64_t terms, double more)
{
	double limit = unit(type) * fabs(want) + 0x1p-24 * static_cast<double>(terms + 4) * size + more +
	               (type == ELEMENT_FP16 ? 0x1p-25 : 0);
	ck_assert_msg(fabs(got - want) <= limit, "%s is %.9g, not %.9g ± %.2g", what, got, want, limit);
}

/* Sums in double, and of absolute terms; and what the steps between may have lost. cuBLASLt has algorithms that round a
 * product to its type before they add a bias or a residual (seen on an H200, of small shapes); the emulation has none.
 */
struct sums {
	enum element type;
	std::vector<double> value, size, lost;
	sums(enum element of, int64_t n) : type(of), value(static_cast<size_t>(n)), size(value), lost(value)
	{
	}
};

sums product(enum element type, int64_t m, int64_t n, int64_t k, const std::vector<double> &a, int64_t a_row,
             int64_t a_depth, const std::vector<double> &b, int64_t b_depth, int64_t b_column)
{
	sums s(type, m * n);
	reference_product(m, n, k, a.data(), a_row, a_depth, b.data(), b_depth, b_column, s.value.data(),
	                  s.size.data());
	return s;
}

void add(sums *s, int64_t rows, int64_t columns, const std::vector<double> &x, bool is_row)
{
	for (size_t i = 0; i < s->value.size() && target_is_gpu(); i++)
		s->lost[i] +=
		        unit(s->type) * (fabs(s->value[i]) + fabs(x[is_row ? i % static_cast<size_t>(columns) : i]));
	reference_add(rows, columns, x.data(), is_row, s->value.data(), s->size.data());
}

void assert_sums(const char *what, enum element type, elements &got, const sums &want, int64_t terms)
{
	std::vector<double> x = got.numbers();
	for (size_t i = 0; i < x.size(); i++)
		assert_sum(what, type, x[i], want.value[i], want.size[i], terms, want.lost[i]);
}

/* y and dy; *du becomes the gradient of the layer's sum before it is rounded. */
void check_elements(struct layer *before, struct layer *after, int options, sums *du)
{
	const struct linear_shape &s = before->shape;
	std::vector<double> y = after->y.numbers(), pre = after->pre.numbers(), dy = after->dy.numbers();
	sums sum = product(s.type, s.rows, s.out, s.in, before->x.numbers(), s.in, 1, before->weight.numbers(),
	                   s.weight_in_out ? s.out : 1, s.weight_in_out ? 1 : s.in);
	if (options & BIAS)
		add(&sum, s.rows, s.out, before->bias.numbers(), true);
	if (options & RESIDUAL && !s.activation)
		add(&sum, s.rows, s.out, before->residual.numbers(), false);
	add(du, s.rows, s.out, before->dy.numbers(), false);
	if (!s.activation) {
		assert_sums("y", s.type, after->y, sum, s.in);
		ck_assert(dy == du->value);
		return;
	}
	assert_sums("pre", s.type, after->pre, sum, s.in);
	for (size_t i = 0; i < y.size(); i++) {
		/* of pre before it is rounded, or after; and the exponential's few units */
		double off = 1.13 * unit(s.type) * fabs(sum.value[i]) + 0x1p-20 * (fabs(sum.value[i]) + sum.size[i]) +
		             1.13 * sum.lost[i];
		assert_sum("y", s.type, y[i], reference_activation(s.activation, sum.value[i]), sum.size[i], s.in, off);
		du->value[i] *= reference_activation_slope(s.activation, pre[i]);
		assert_sum("dy", s.type, dy[i], du->value[i], du->size[i], 16, 0);
		du->size[i] *= 2;
	}
}

/* `before`: the layer as it was before the run. */
void check(struct layer *before, struct layer *after, int options)
{
	const struct linear_shape &s = before->shape;
	const bool in_out = s.weight_in_out;
	std::vector<double> x = before->x.numbers(), w = before->weight.numbers(), dy = after->dy.numbers();
	sums du(s.type, s.rows * s.out), dbias(s.type, s.out);
	for (const elements *e : {&after->y, &after->pre, &after->dy, &after->dx, &after->dweight, &after->dbias})
		ck_assert(e->intact());
	check_elements(before, after, options, &du);
	for (size_t i = 0; i < du.value.size(); i++) {
		dbias.value[i % dbias.value.size()] += du.value[i];
		dbias.size[i % dbias.value.size()] += du.size[i];
	}
	if (options & ACCUMULATE_BIAS)
		add(&dbias, 1, s.out, before->dbias.numbers(), true);
	if (options & BIAS)
		assert_sums("dbias", s.type, after->dbias, dbias, s.rows + 16);
	sums dweight = in_out ? product(s.type, s.in, s.out, s.rows, x, 1, s.in, dy, s.out, 1)
	                      : product(s.type, s.out, s.in, s.rows, dy, 1, s.out, x, s.in, 1);
	if (options & ACCUMULATE_WEIGHT)
		add(&dweight, s.in, s.out, before->dweight.numbers(), false);
	assert_sums("dweight", s.type, after->dweight, dweight, s.rows);
	if (options & INPUT)
		assert_sums(
		        "dx", s.type, after->dx,
		        product(s.type, s.rows, s.in, s.out, dy, s.out, 1, w, in_out ? 1 : s.in, in_out ? s.out : 1),
		        s.out);
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
		struct layer kernels = before, again = before, blas = before;
		run(c, &kernels, options);
		check(&before, &kernels, options);
		target_order(true);
		run(c, &again, options);
		target_order(false);
		ck_assert(kernels.y.same(again.y) && kernels.dx.same(again.dx) && kernels.dweight.same(again.dweight) &&
		          kernels.dbias.same(again.dbias) && kernels.dy.same(again.dy));
		/* all epilogues, and those that cuBLASLt has for any type and shape */
		for (unsigned has : {~0U, 1U << PRODUCT_PLAIN | 1U << PRODUCT_BIAS}) {
			if (!target_products(c, has))
				break; /* they were there before */
			blas = before;
			run(c, &blas, options);
			check(&before, &blas, options);
			target_products(c, 0);
		}
	}
	target_close(c);
}

/* Results would be right without cuBLASLt too, and slow: what it surely has must be its own. */
START_LOOP_TEST(ordinary_shapes_use_cublas, 0, 2)
{
	for (int type = ELEMENT_FP32; type <= ELEMENT_FP16; type++) {
		struct linear_shape s = {64, 64, 128, _i == 1, ACTIVATION_NONE, static_cast<enum element>(type), 0};
		struct layer before(s), after = before;
		struct kernel_context *c = target_open(4, 1 << 16);
		target_products(c, ~0U);
		int64_t plain = c->products.plain;
		run(c, &after, BIAS | RESIDUAL | INPUT);
		check(&before, &after, BIAS | RESIDUAL | INPUT);
		ck_assert_int_eq(c->products.plain, plain);
		target_products(c, 0);
		target_close(c);
	}
}

/* The ladder: shapes of several blocks in every direction, which end within one; and what only the lower rungs take. */
const struct {
	struct linear_shape shape;
	bool pieces;
} RUNGS[] = {
        {{136, 40, 200, false, ACTIVATION_NONE, ELEMENT_BF16, 0}, true},
        {{38, 200, 136, true, ACTIVATION_NONE, ELEMENT_FP16, 0}, true}, /* 38 are terms, of operands across them */
        {{33, 20, 9, false, ACTIVATION_GELU_TANH, ELEMENT_FP16, 0}, false},
        {{70, 8, 72, true, ACTIVATION_NONE, ELEMENT_FP32, 0}, false},
};
enum { RUNG_CASES = sizeof RUNGS / sizeof *RUNGS };

START_LOOP_TEST(rungs, 0, RUNG_CASES *(CUDA_PRODUCT_RUNGS - 1))
{
	const auto &r = RUNGS[_i % RUNG_CASES];
	const int asked = 1 + _i / RUNG_CASES, options = BIAS | RESIDUAL | INPUT | ACCUMULATE_WEIGHT;
	/* the one that makes all products of this layer; on the host all are there */
	const int made = r.pieces || asked < CUDA_PRODUCT_SIMPLE ? asked : static_cast<int>(CUDA_PRODUCT_SIMPLE);
	struct kernel_context *c = target_open(4, 1 << 16);
	struct layer before(r.shape);
	before.dweight.fill(1);
	struct layer after = before, again = before;
	const struct cuda_products so_far = c->products;
	target_api()->use_products(c, static_cast<enum cuda_product_rung>(asked));
	run(c, &after, options);
	check(&before, &after, options);
	ck_assert(target_is_gpu() || c->products.by[made] == so_far.by[made] + 3);
	ck_assert_int_eq(c->products.by[CUDA_PRODUCT_CUBLASLT], so_far.by[CUDA_PRODUCT_CUBLASLT]);
	ck_assert_int_eq(c->products.plain, so_far.plain); /* which are those that cuBLASLt lacks */
	target_order(true);
	run(c, &again, options);
	target_order(false);
	ck_assert(after.y.same(again.y) && after.dx.same(again.dx) && after.dweight.same(again.dweight));
	target_api()->use_products(c, CUDA_PRODUCT_CUBLASLT);
	target_close(c);
}

/* A workspace that holds one row of partial sums; and one that does not. */
START_TEST(workspace)
{
	struct linear_shape s = {50, 8, 24, false, ACTIVATION_GELU_TANH, ELEMENT_FP32, 0};
	struct layer before(s), after = before;
	struct kernel_context *c = target_open(64, 24 * sizeof(float)), *none = target_open(64, 16);
	run(c, &after, BIAS);
	check(&before, &after, BIAS);
	after = before;
	ck_assert_int_eq(target_kernels()->linear_backward(none, nullptr, &s, after.dy.data(), after.x.data(),
	                                                   after.weight.data(), after.pre.data(), nullptr, nullptr,
	                                                   after.dweight.data(), false, after.dbias.data(), false),
	                 CUDA_ERROR_WORKSPACE);
	target_close(c);
	target_close(none);
}

} // namespace

int main(void)
{
	return target_run("cuda_linear", 120);
}
