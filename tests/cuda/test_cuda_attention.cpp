/* The GPU's attention: every version against the same formulas in double, and against the CPU's kernel;
 * that runs repeat to the bit, whatever the order of blocks and threads; that nothing beside the results is written.
 *
 * How far a result may be off follows from how it is made. It is a sum of terms: of P·V, for instance. Tensor cores
 * take P and dS rounded to the type, which costs each term at most a unit of its size; then the result is rounded. */
#include <check.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cuda/context.h"
#include "tests/support/elements.hpp"

extern "C" {
#include "tests/support/suite.h"
}

namespace
{

const struct attention_shape SHAPES[] = {
        {1, 1, 1, 8, ELEMENT_FP32},    {2, 7, 3, 32, ELEMENT_FP32},   {1, 64, 2, 64, ELEMENT_FP32},
        {1, 65, 1, 40, ELEMENT_FP32},  {1, 130, 1, 96, ELEMENT_FP32}, {1, 130, 1, 128, ELEMENT_FP32},
        {1, 200, 1, 64, ELEMENT_FP32}, {3, 33, 1, 16, ELEMENT_FP32},  {2, 33, 2, 13, ELEMENT_FP32},
        {1, 20, 2, 136, ELEMENT_FP32},
};
enum { CASES = 3 * sizeof SHAPES / sizeof *SHAPES };

struct attention_shape shape_of(int test)
{
	struct attention_shape s = SHAPES[test / 3];
	s.type = static_cast<enum element>(test % 3);
	return s;
}

/* Results in double, and the sums of their terms' sizes. dS is a difference of sums, of which fp32 loses digits by
 * their own size, which `dqkv_lost` has in place of the difference's. */
struct reference {
	std::vector<double> y, y_size, log_sum_exp, dqkv, dqkv_size, dqkv_lost;
};

reference forward_in_double(const struct attention_shape &s, const std::vector<double> &qkv)
{
	int64_t width = s.heads * s.head_size;
	size_t n = static_cast<size_t>(s.samples * s.tokens * width);
	reference r = {std::vector<double>(n), std::vector<double>(n), {}, {}, {}, {}};
	for (int64_t head = 0; head < s.samples * s.heads; head++)
		for (int64_t i = 0; i < s.tokens; i++) {
			int64_t first = head / s.heads * s.tokens, column = head % s.heads * s.head_size;
			const double *q = &qkv[static_cast<size_t>((first + i) * 3 * width + column)];
			std::vector<double> p;
			double sum = 0, largest = -INFINITY;
			for (int64_t j = 0; j <= i; j++) {
				const double *k = &qkv[static_cast<size_t>((first + j) * 3 * width + width + column)];
				double dot = 0;
				for (int64_t d = 0; d < s.head_size; d++)
					dot += q[d] * k[d];
				p.push_back(dot / sqrt(static_cast<double>(s.head_size)));
				largest = fmax(largest, p.back());
			}
			for (double &x : p)
				sum += x = exp(x - largest);
			r.log_sum_exp.push_back(largest + log(sum));
			for (int64_t j = 0; j <= i; j++)
				for (int64_t d = 0; d < s.head_size; d++) {
					double v = qkv[static_cast<size_t>((first + j) * 3 * width + 2 * width +
					                                   column + d)];
					size_t place = static_cast<size_t>((first + i) * width + column + d);
					r.y[place] += p[static_cast<size_t>(j)] / sum * v;
					r.y_size[place] += p[static_cast<size_t>(j)] / sum * fabs(v);
				}
		}
	return r;
}

void backward_in_double(const struct attention_shape &s, const std::vector<double> &qkv, const std::vector<double> &y,
                        const std::vector<double> &dy, const float *log_sum_exp, reference *r)
{
	int64_t width = s.heads * s.head_size;
	double scale = 1 / sqrt(static_cast<double>(s.head_size));
	r->dqkv.assign(qkv.size(), 0);
	r->dqkv_size.assign(qkv.size(), 0);
	r->dqkv_lost.assign(qkv.size(), 0);
	for (int64_t head = 0; head < s.samples * s.heads; head++)
		for (int64_t i = 0; i < s.tokens; i++)
			for (int64_t j = 0; j <= i; j++) {
				int64_t first = head / s.heads * s.tokens, column = head % s.heads * s.head_size;
				size_t q = static_cast<size_t>((first + i) * 3 * width + column);
				size_t k = static_cast<size_t>((first + j) * 3 * width + width + column);
				size_t v = k + static_cast<size_t>(width);
				size_t o = static_cast<size_t>((first + i) * width + column);
				size_t size = static_cast<size_t>(s.head_size);
				double dot = 0, dp = 0, delta = 0, sizes = 0;
				for (size_t d = 0; d < size; d++) {
					dot += qkv[q + d] * qkv[k + d];
					dp += dy[o + d] * qkv[v + d];
					delta += dy[o + d] * y[o + d];
					sizes += fabs(dy[o + d] * qkv[v + d]) + fabs(dy[o + d] * y[o + d]);
				}
				double p = exp(dot * scale - static_cast<double>(log_sum_exp[head * s.tokens + i]));
				double ds = p * (dp - delta) * scale;
				for (size_t d = 0; d < size; d++) {
					double dq = ds * qkv[k + d], dk = ds * qkv[q + d], dv = p * dy[o + d];
					r->dqkv[q + d] += dq;
					r->dqkv[k + d] += dk;
					r->dqkv[v + d] += dv;
					r->dqkv_size[q + d] += fabs(dq);
					r->dqkv_size[k + d] += fabs(dk);
					r->dqkv_size[v + d] += fabs(dv);
					r->dqkv_lost[q + d] += p * scale * sizes * fabs(qkv[k + d]);
					r->dqkv_lost[k + d] += p * scale * sizes * fabs(qkv[q + d]);
					r->dqkv_lost[v + d] += fabs(dv);
				}
			}
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
	int64_t rows, width;
	elements qkv, dy, y, log_sum_exp, dqkv;

	explicit arrays(const struct attention_shape &s)
	    : shape(s), rows(s.samples * s.tokens), width(s.heads * s.head_size), qkv(s.type, 3 * rows * width),
	      dy(s.type, rows * width), y(s.type, rows * width), log_sum_exp(ELEMENT_FP32, rows * s.heads),
	      dqkv(s.type, 3 * rows * width)
	{
		qkv.fill(2);
		dy.fill(1);
	}
	void clear()
	{
		y = elements(shape.type, rows * width);
		log_sum_exp = elements(ELEMENT_FP32, rows * shape.heads);
		dqkv = elements(shape.type, 3 * rows * width);
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

START_LOOP_TEST(versions, 0, CASES)
{
	struct arrays a(shape_of(_i));
	reference want = forward_in_double(a.shape, a.qkv.numbers());
	struct kernel_context *c = target_open(4, 1 << 20);
	target_order(false);
	a.run(target_plain(), c);
	a.check(&want, 1);
	a.clear();
	a.run(target_kernels(), c);
	a.check(&want, 1);
	struct arrays first = a;
	a.clear();
	target_order(true);
	a.run(target_kernels(), c);
	target_order(false);
	ck_assert(a.y.same(first.y) && a.log_sum_exp.same(first.log_sum_exp) && a.dqkv.same(first.dqkv));
	target_close(c);
}
END_TEST

START_LOOP_TEST(cpu, 0, SUITE_CASES(CASES, CASES / 4))
{
	struct arrays a(shape_of(_i));
	struct kernel_context *c = target_open(4, 1 << 20);
	a.run(target_kernels(), c);
	struct arrays on_cpu = a;
	on_cpu.clear();
	float *sums = static_cast<float *>(on_cpu.log_sum_exp.data());
	attention_forward(&a.shape, a.qkv.data(), on_cpu.y.data(), sums);
	reference want = forward_in_double(a.shape, a.qkv.numbers());
	assert_close("y", a.y, on_cpu.y.numbers(), want.y_size, want.y_size, a.shape, 2);
	/* from one y and one log_sum_exp, the GPU's */
	attention_backward(&a.shape, a.dy.data(), a.qkv.data(), a.y.data(), static_cast<float *>(a.log_sum_exp.data()),
	                   on_cpu.dqkv.data());
	backward_in_double(a.shape, a.qkv.numbers(), a.y.numbers(), a.dy.numbers(),
	                   static_cast<float *>(a.log_sum_exp.data()), &want);
	assert_close("dqkv", a.dqkv, on_cpu.dqkv.numbers(), want.dqkv_size, want.dqkv_lost, a.shape, 2);
	target_close(c);
}
END_TEST

/* The ladder's step for compute capability 9.0: alone, and its log_sum_exp with the backward pass. Heads of whole rows
 * and of less, one tile of keys, two whole ones, and several of which the last is not whole. */
START_LOOP_TEST(hopper, 0, 12)
{
	static const struct attention_shape shapes[] = {
	        {1, 1, 1, 128, ELEMENT_BF16},   {2, 130, 2, 128, ELEMENT_BF16}, {1, 256, 1, 64, ELEMENT_BF16},
	        {1, 260, 1, 128, ELEMENT_BF16}, {2, 63, 3, 40, ELEMENT_BF16},   {1, 390, 1, 96, ELEMENT_BF16},
	};
	struct attention_shape shape = shapes[_i / 2];
	shape.type = _i % 2 ? ELEMENT_FP16 : ELEMENT_BF16;
	struct arrays a(shape);
	const reference want = forward_in_double(shape, a.qkv.numbers());
	/* of other sizes, so that they are two on a GPU too */
	struct kernel_context *c = target_open(4, 1 << 20), *other = target_open(4, 2 << 20);
	const struct cuda_api *api = target_api();
	float *sums = static_cast<float *>(a.log_sum_exp.data());
	if (c->major == 9) {
		ck_assert_int_eq(api->attention_forward_hopper(c, nullptr, &shape, a.qkv.data(), a.y.data(), sums), 0);
		ck_assert_int_eq(api->kernels.attention_backward(c, nullptr, &shape, a.dy.data(), a.qkv.data(),
		                                                 a.y.data(), sums, a.dqkv.data()),
		                 0);
		ck_assert_int_eq(target_wait(c, 0), 0);
		a.check(&want, 1);
		struct arrays first = a;
		a.clear();
		sums = static_cast<float *>(a.log_sum_exp.data());
		target_order(true);
		ck_assert_int_eq(api->attention_forward_hopper(c, nullptr, &shape, a.qkv.data(), a.y.data(), sums), 0);
		ck_assert_int_eq(target_wait(c, 0), 0);
		target_order(false);
		ck_assert(a.y.same(first.y) && a.log_sum_exp.same(first.log_sum_exp));
	}
	other->major = 8;
	ck_assert_int_eq(api->attention_forward_hopper(other, nullptr, &shape, a.qkv.data(), a.y.data(), sums),
	                 CUDA_ERROR_SHAPE);
	target_close(c);
	target_close(other);
}
END_TEST

/* Large scores, which need the maximum taken off; addresses that tensor cores do not take; a workspace that holds one
 * sample's rows at a time, and one that does not hold even that. */
START_LOOP_TEST(awkward, 0, 3)
{
	struct attention_shape s = {3, 20, 2, 16, static_cast<enum element>(_i)};
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
END_TEST

} // namespace

int main(void)
{
	return target_run("cuda_attention", 120);
}
