/* The GPU's attention: every version against the same formulas in double; that runs repeat to the bit, whatever the
 * order of blocks and threads; that nothing beside the results is written.
 *
 * How far a result may be off follows from how it is made. It is a sum of terms: of P·V, for instance. Tensor cores
 * take P and dS rounded to the type, which costs each term at most a unit of its size; then the result is rounded. */
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cuda/context.h"
#include "tests/kernels/kernels_reference.h"
#include "tests/support/elements.hpp"
#include "tests/support/suite.h"

namespace
{

/* Heads of 136 are the plain version's alone, here over several of its blocks. Heads that share keys: over one tile of
 * queries, and several, in every version. */
const struct attention_shape SHAPES[] = {
        {1, 1, 1, 1, 8, ELEMENT_FP32, 0, 0, 0},
        {2, 7, 3, 3, 32, ELEMENT_FP32, 0, 0, 0},
        {1, 64, 2, 2, 64, ELEMENT_FP32, 0, 0, 0},
        {1, 65, 1, 1, 40, ELEMENT_FP32, 0, 0, 0},
        {3, 33, 1, 1, 16, ELEMENT_FP32, 0, 0, 0},
        {2, 33, 2, 2, 13, ELEMENT_FP32, 0, 0, 0},
        {2, 20, 6, 2, 32, ELEMENT_FP32, 0, 0, 0},
        {1, 70, 4, 2, 13, ELEMENT_FP32, 0, 0, 0},
        {1, 140, 4, 1, 24, ELEMENT_FP32, 0, 0, 0},
        {2, 17, 4, 2, 136, ELEMENT_FP32, 0, 0, 0},
        {1, 130, 1, 1, 128, ELEMENT_FP32, 0, 0, 0},
        {2, 70, 2, 2, 136, ELEMENT_FP32, 0, 0, 0},
        {1, 130, 1, 1, 96, ELEMENT_FP32, 0, 0, 0},
        {1, 200, 1, 1, 64, ELEMENT_FP32, 0, 0, 0},
        /* windows: within a tile, at its edge, over several tiles, and wider than the text */
        {2, 70, 2, 1, 32, ELEMENT_FP32, 5, 0, 0},
        {1, 140, 1, 1, 64, ELEMENT_FP32, 64, 0, 0},
        {1, 300, 2, 1, 24, ELEMENT_FP32, 33, 0, 0},
        {1, 140, 1, 1, 128, ELEMENT_FP32, 97, 0, 0},
        {1, 70, 2, 2, 136, ELEMENT_FP32, 20, 0, 0},
        {1, 33, 1, 1, 13, ELEMENT_FP32, 1, 0, 0},
        /* ALiBi, the last with a window, and heads in the middle or at the end of all */
        {1, 130, 2, 2, 32, ELEMENT_FP32, 0, 2, 0},
        {1, 70, 2, 1, 64, ELEMENT_FP32, 0, 6, 3},
        {1, 40, 2, 2, 136, ELEMENT_FP32, 0, 2, 0},
        {1, 70, 3, 3, 13, ELEMENT_FP32, 0, 3, 0},
        {1, 140, 1, 1, 128, ELEMENT_FP32, 40, 2, 1},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

struct attention_shape shape_of(int test)
{
	struct attention_shape s = SHAPES[test / 3];
	s.type = static_cast<enum element>(test % 3);
	return s;
}

/* Results in double, and the sums of their terms' sizes. */
struct reference {
	std::vector<double> y, y_size, log_sum_exp, dqkv, dqkv_size, dqkv_lost;
};

reference forward_in_double(const struct attention_shape &s, const std::vector<double> &qkv)
{
	const size_t width = static_cast<size_t>(s.heads * s.head_size);
	size_t n = static_cast<size_t>(s.samples * s.tokens) * width,
	       rows = static_cast<size_t>(s.samples * s.tokens * s.heads);
	reference r = {std::vector<double>(n), std::vector<double>(n), std::vector<double>(rows), {}, {}, {}};
	reference_attention(&s, qkv.data(), r.y.data(), r.y_size.data(), r.log_sum_exp.data());
	return r;
}

void backward_in_double(const struct attention_shape &s, const std::vector<double> &qkv, const std::vector<double> &y,
                        const std::vector<double> &dy, const float *log_sum_exp, reference *r)
{
	for (std::vector<double> *v : {&r->dqkv, &r->dqkv_size, &r->dqkv_lost})
		v->assign(qkv.size(), 0);
	reference_attention_backward(&s, dy.data(), qkv.data(), y.data(), log_sum_exp, r->dqkv.data(),
	                             r->dqkv_size.data(), r->dqkv_lost.data());
}

/* A unit for the terms, one for the result, and what fp32 loses: a unit (2^-24) of `lost` for each of the terms of the
 * sums over a head's elements and over tokens, and a few for exponents. A term of fp16 may be smaller than its smallest
 * step, 2^-24. `times`: 2 between two results that may each be off. */
void assert_close(const char *what, elements &got, const std::vector<double> &want, const std::vector<double> &size,
                  const std::vector<double> &lost, const struct attention_shape &s, int times)
{
	std::vector<double> x = got.numbers();
	double u = unit(s.type), fp32 = unit(ELEMENT_FP32) * static_cast<double>(s.head_size + s.tokens + 8);
	ck_assert_msg(got.intact(), "%s: written beside the result", what);
	for (size_t i = 0; i < x.size(); i++) {
		double smallest = s.type == ELEMENT_FP16 ? 0x1p-24 * static_cast<double>(1 + s.tokens) : 1e-37;
		double terms = s.type == ELEMENT_FP32 ? 0 : u * size[i];
		double limit = times * (terms + u * fabs(want[i]) + fp32 * lost[i] + smallest);
		ck_assert_msg(fabs(x[i] - want[i]) <= limit, "%s: element %zu of %zu is %.9g, not %.9g ± %.2g", what, i,
		              x.size(), x[i], want[i], limit);
	}
}

/* One test's arrays. */
struct arrays {
	struct attention_shape shape;
	int64_t rows, width, qkv_width;
	elements qkv, dy, y, log_sum_exp, dqkv;

	explicit arrays(const struct attention_shape &s)
	    : shape(s), rows(s.samples * s.tokens), width(s.heads * s.head_size),
	      qkv_width(width + 2 * s.kv_heads * s.head_size), qkv(s.type, rows * qkv_width), dy(s.type, rows * width),
	      y(s.type, rows * width), log_sum_exp(ELEMENT_FP32, rows * s.heads), dqkv(s.type, rows * qkv_width)
	{
		qkv.fill(2);
		dy.fill(1);
	}
	void clear()
	{
		y = elements(shape.type, rows * width);
		log_sum_exp = elements(ELEMENT_FP32, rows * shape.heads);
		dqkv = elements(shape.type, rows * qkv_width);
	}
	void run(const struct kernel_table *kernels, struct kernel_context *c)
	{
		float *sums = static_cast<float *>(log_sum_exp.data());
		ck_assert_int_eq(kernels->attention_forward(c, nullptr, &shape, qkv.data(), y.data(), sums), 0);
		ck_assert_int_eq(kernels->attention_backward(c, nullptr, &shape, dy.data(), qkv.data(), y.data(), sums,
		                                             dqkv.data()),
		                 0);
		ck_assert_int_eq(target_wait(c, 0), 0);
	}
	void check(const reference *forward, int times)
	{
		reference r = *forward;
		backward_in_double(shape, qkv.numbers(), y.numbers(), dy.numbers(),
		                   static_cast<float *>(log_sum_exp.data()), &r);
		assert_close("y", y, r.y, r.y_size, r.y_size, shape, times);
		std::vector<double> sums = log_sum_exp.numbers();
		ck_assert(log_sum_exp.intact());
		for (size_t i = 0; i < sums.size(); i++)
			ck_assert_double_eq_tol(sums[i], r.log_sum_exp[i], 1e-5);
		assert_close("dqkv", dqkv, r.dqkv, r.dqkv_size, r.dqkv_lost, shape, times);
	}
};

/* What was asked for, and the same bits whichever of the blocks comes first. */
static void check_in_both_orders(struct arrays &a, const reference *want, struct kernel_context *c)
{
	target_order(false);
	a.run(target_kernels(), c);
	a.check(want, 1);
	struct arrays first = a;
	a.clear();
	target_order(true);
	a.run(target_kernels(), c);
	target_order(false);
	ck_assert(a.y.same(first.y) && a.log_sum_exp.same(first.log_sum_exp) && a.dqkv.same(first.dqkv));
}

START_LOOP_TEST(versions, 0, SUITE_CASES(3 * SHAPE_COUNT, SHAPE_COUNT))
{
	struct arrays a(shape_of(SUITE_CASES(_i, 3 * _i + _i % 3)));
	reference want = forward_in_double(a.shape, a.qkv.numbers());
	struct kernel_context *c = target_open(4, 1 << 20);
	check_in_both_orders(a, &want, c);
	target_close(c);
}

/* The rung for compute capability 9.0, forward and backward, where `auto` would take another too. Heads of whole rows
 * and of less, one tile of keys, two whole ones, several of which the last is not whole, and heads that share keys; a
 * device of another capability gets the rung below. */
START_LOOP_TEST(hopper, 0, SUITE_CASES(20, 10))
{
	static const struct attention_shape shapes[] = {
	        {2, 63, 4, 2, 40, ELEMENT_BF16, 0, 0, 0},   {1, 192, 1, 1, 64, ELEMENT_BF16, 0, 0, 0},
	        {1, 150, 1, 1, 128, ELEMENT_BF16, 0, 0, 0}, {1, 1, 1, 1, 128, ELEMENT_BF16, 0, 0, 0},
	        {2, 65, 2, 2, 128, ELEMENT_BF16, 0, 0, 0},  {1, 200, 1, 1, 96, ELEMENT_BF16, 0, 0, 0},
	        {1, 230, 1, 1, 64, ELEMENT_BF16, 70, 0, 0}, {1, 150, 2, 1, 128, ELEMENT_BF16, 90, 0, 0},
	        {1, 150, 2, 2, 64, ELEMENT_BF16, 0, 2, 0},  {1, 70, 6, 2, 64, ELEMENT_BF16, 0, 0, 0},
	};
	struct attention_shape shape = shapes[SUITE_CASES(_i / 2, _i)];
	shape.type = _i % 2 ? ELEMENT_FP16 : ELEMENT_BF16;
	struct arrays a(shape);
	const reference want = forward_in_double(shape, a.qkv.numbers());
	struct kernel_context *c = target_open(4, 1 << 20);
	const struct cuda_api *api = target_api();
	const bool local = shape.window > 0 || shape.alibi_heads > 0;
	const int major = c->major;
	(void)api->use_attention(c, CUDA_ATTENTION_HOPPER, false);
	if (c->major == 9) {
		ck_assert_int_eq(api->attention_rung(c, &shape, false), CUDA_ATTENTION_HOPPER);
		ck_assert_int_eq(api->attention_rung(c, &shape, true),
		                 local ? CUDA_ATTENTION_TENSOR : CUDA_ATTENTION_HOPPER);
		check_in_both_orders(a, &want, c);
	}
	c->major = 8;
	ck_assert_int_eq(api->attention_rung(c, &shape, false), CUDA_ATTENTION_TENSOR);
	c->major = major;
	(void)api->use_attention(c, CUDA_ATTENTION_AUTO, false);
	target_close(c);
}

/* The rung of tensor cores where Hopper's would take the shape: heads that share keys, and tiles that are not whole. */
START_LOOP_TEST(tensor, 0, SUITE_CASES(6, 3))
{
	static const struct attention_shape shapes[] = {{2, 70, 4, 2, 64, ELEMENT_BF16, 0, 0, 0},
	                                                {1, 70, 2, 1, 128, ELEMENT_BF16, 0, 0, 0},
	                                                {1, 130, 1, 1, 96, ELEMENT_BF16, 0, 0, 0}};
	struct attention_shape shape = shapes[_i % 3];
	shape.type = _i / 3 ? ELEMENT_FP16 : ELEMENT_BF16;
	struct arrays a(shape);
	const reference want = forward_in_double(shape, a.qkv.numbers());
	struct kernel_context *c = target_open(4, 1 << 20);
	(void)target_api()->use_attention(c, CUDA_ATTENTION_TENSOR, false);
	check_in_both_orders(a, &want, c);
	(void)target_api()->use_attention(c, CUDA_ATTENTION_AUTO, false);
	target_close(c);
}

/* cuDNN's rung: all samples at once, and as many as the workspace has room for dS of; heads that share keys; what it
 * does not take goes to the rung below. */
START_LOOP_TEST(cudnn, 0, 5)
{
	static const struct {
		struct attention_shape shape;
		size_t workspace;
	} rows[] = {{{2, 20, 2, 2, 16, ELEMENT_BF16, 0, 0, 0}, 1 << 20},
	            {{1, 16, 1, 1, 8, ELEMENT_BF16, 0, 0, 0}, 1 << 20},
	            {{4, 33, 4, 2, 24, ELEMENT_BF16, 0, 0, 0}, 150 << 10},
	            {{3, 65, 6, 2, 40, ELEMENT_BF16, 0, 0, 0}, 1 << 20},
	            {{1, 130, 2, 1, 128, ELEMENT_BF16, 0, 0, 0}, 1 << 20}};
	struct attention_shape shape = rows[_i].shape;
	struct kernel_context *c = target_open(4, rows[_i].workspace);
	const struct cuda_api *api = target_api();
	ck_assert(target_cudnn() || target_is_gpu());
	if (!target_cudnn() || c->major != 9) {
		target_close(c);
		return;
	}
	struct arrays a(shape);
	const reference want = forward_in_double(shape, a.qkv.numbers());
	ck_assert_int_eq(api->use_attention(c, CUDA_ATTENTION_CUDNN, false), 0);
	ck_assert_int_eq(api->attention_rung(c, &shape, false), CUDA_ATTENTION_CUDNN);
	ck_assert_int_eq(api->attention_rung(c, &shape, true), CUDA_ATTENTION_CUDNN);
	a.run(target_kernels(), c);
	/* gradients of heads that share keys are each rounded to the type before they are added up */
	a.check(&want, shape.heads > shape.kv_heads ? 2 : 1);
	struct arrays first = a;
	a.clear();
	a.run(target_kernels(), c);
	ck_assert(a.y.same(first.y) && a.log_sum_exp.same(first.log_sum_exp) && a.dqkv.same(first.dqkv));
	shape.window = 5;
	ck_assert_int_lt(api->attention_rung(c, &shape, false), CUDA_ATTENTION_CUDNN);
	shape = {1, 16, 1, 1, 200, ELEMENT_BF16, 0, 0, 0};
	ck_assert_int_eq(api->attention_rung(c, &shape, false), CUDA_ATTENTION_PLAIN);
	(void)api->use_attention(c, CUDA_ATTENTION_AUTO, false);
	target_close(c);
}

/* A rung that does not take a shape leaves it to those below. */
START_TEST(rungs)
{
	static const struct {
		enum element type;
		int64_t head;
		enum cuda_attention most, gets;
	} rows[] = {{ELEMENT_BF16, 64, CUDA_ATTENTION_PLAIN, CUDA_ATTENTION_PLAIN},
	            {ELEMENT_BF16, 64, CUDA_ATTENTION_SIMPLE, CUDA_ATTENTION_SIMPLE},
	            {ELEMENT_BF16, 64, CUDA_ATTENTION_TENSOR, CUDA_ATTENTION_TENSOR},
	            {ELEMENT_BF16, 20, CUDA_ATTENTION_TENSOR, CUDA_ATTENTION_SIMPLE},
	            {ELEMENT_BF16, 200, CUDA_ATTENTION_HOPPER, CUDA_ATTENTION_PLAIN},
	            {ELEMENT_FP32, 64, CUDA_ATTENTION_HOPPER, CUDA_ATTENTION_SIMPLE},
	            {ELEMENT_FP32, 200, CUDA_ATTENTION_AUTO, CUDA_ATTENTION_PLAIN}};
	struct kernel_context *c = target_open(4, 1 << 20);
	for (const auto &r : rows) {
		const struct attention_shape s = {1, 16, 1, 1, r.head, r.type, 0, 0, 0};
		(void)target_api()->use_attention(c, r.most, false);
		ck_assert_int_eq(target_api()->attention_rung(c, &s, false), r.gets);
	}
	(void)target_api()->use_attention(c, CUDA_ATTENTION_AUTO, false);
	target_close(c);
}

/* Large scores, which need the maximum taken off; addresses that tensor cores do not take; a workspace that holds one
 * sample's rows at a time, and one that does not hold even that. */
START_LOOP_TEST(awkward, 0, 3)
{
	struct attention_shape s = {3, 20, 2, 2, 16, static_cast<enum element>(_i), 0, 0, 0};
	struct arrays a(s), small(s);
	struct kernel_context *c = target_open(4, 1 << 20), *tight = target_open(4, 20 * 2 * 4),
	                      *none = target_open(4, 64);
	small = a;
	a.run(target_kernels(), c);
	small.run(target_kernels(), tight);
	ck_assert(a.y.same(small.y) && a.dqkv.same(small.dqkv));
	ck_assert_int_eq(target_kernels()->attention_backward(none, nullptr, &s, a.dy.data(), a.qkv.data(), a.y.data(),
	                                                      static_cast<float *>(a.log_sum_exp.data()),
	                                                      a.dqkv.data()),
	                 CUDA_ERROR_WORKSPACE);

	a.clear();
	a.qkv.fill(60);
	reference want = forward_in_double(s, a.qkv.numbers());
	a.run(target_kernels(), c);
	std::vector<double> sums = a.log_sum_exp.numbers();
	for (size_t i = 0; i < sums.size(); i++)
		ck_assert_double_eq_tol(sums[i], want.log_sum_exp[i], 0x1p-20 * fabs(want.log_sum_exp[i]) + 0x1p-9);

	/* one element further on in memory */
	target_bytes moved(a.qkv.size() + 16);
	struct arrays b(s);
	size_t step = static_cast<size_t>(element_bytes(s.type));
	memcpy(moved.data() + step, b.qkv.data(), b.qkv.size());
	want = forward_in_double(s, b.qkv.numbers());
	ck_assert_int_eq(target_kernels()->attention_forward(c, nullptr, &s, moved.data() + step, b.y.data(),
	                                                     static_cast<float *>(b.log_sum_exp.data())),
	                 0);
	ck_assert_int_eq(target_wait(c, 0), 0);
	assert_close("y", b.y, want.y, want.y_size, want.y_size, s, 1);
	target_close(c);
	target_close(tight);
	target_close(none);
}

} // namespace

int main(void)
{
	return target_run("cuda_attention", 120);
}
