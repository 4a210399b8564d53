/* A linear layer's backward pass that goes through the GELU before it: the gradient of x is made that of GELU's
 * argument by the product's epilogue, or by a pass of its own where cuBLASLt has none for the shape, which is counted.
 * Against the two steps one after another in double. */
#include <cmath>
#include <vector>

#include "kernels/cuda/context.h"
#include "kernels/cuda/product.h"
#include "tests/gpu/target.h"
#include "tests/kernels/kernels_reference.h"
#include "tests/support/elements.hpp"
#include "tests/support/suite.h"

namespace
{

/* Inputs of 8 fit the epilogue in 16 bits; others do not. */
const struct linear_shape SHAPES[] = {
        {5, 24, 40, false, ACTIVATION_NONE, ELEMENT_FP32, 0},
        {17, 33, 8, true, ACTIVATION_NONE, ELEMENT_FP32, 0},
        {40, 16, 33, true, ACTIVATION_NONE, ELEMENT_FP32, 0},
        {19, 264, 12, false, ACTIVATION_GELU_TANH, ELEMENT_FP32, 0},
        {9, 16, 24, true, ACTIVATION_GELU_TANH, ELEMENT_FP32, 0},
        {1, 1, 1, false, ACTIVATION_NONE, ELEMENT_FP32, 0},
};
enum { CASES = 3 * sizeof SHAPES / sizeof *SHAPES };

struct layer {
	struct linear_shape shape;
	elements dy, x, weight, pre, x_pre, dx, dweight, dbias;

	explicit layer(const struct linear_shape &s)
	    : shape(s), dy(s.type, s.rows * s.out), x(s.type, s.rows * s.in), weight(s.type, s.in * s.out),
	      pre(s.type, s.rows * s.out), x_pre(s.type, s.rows * s.in), dx(s.type, s.rows * s.in),
	      dweight(s.type, s.in * s.out), dbias(s.type, s.out)
	{
		for (elements *e : {&dy, &x, &weight, &pre})
			e->fill(1);
		x_pre.fill(4);
	}
};

void run(struct kernel_context *c, struct layer *l, bool through)
{
	const struct linear_shape *s = &l->shape;
	int error = target_kernels()->linear_backward(
	        c, nullptr, s, l->dy.data(), l->x.data(), l->weight.data(), s->activation ? l->pre.data() : nullptr,
	        through ? l->x_pre.data() : nullptr, l->dx.data(), l->dweight.data(), false, l->dbias.data(), false);
	ck_assert_int_eq(target_wait(c, error), 0);
}

/* l->dy is the gradient after the layer's own GELU by now. `roundings` of the product to the type. A GPU's cuBLASLt has
 * the slope by tanh.approx, which is up to 2^-11 off (PTX ISA). */
void check(struct layer *l, int roundings)
{
	const struct linear_shape &s = l->shape;
	std::vector<double> dy = l->dy.numbers(), w = l->weight.numbers(), x = l->x_pre.numbers(), dx = l->dx.numbers();
	std::vector<double> sum(dx.size()), size(dx.size());
	reference_product(s.rows, s.in, s.out, dy.data(), s.out, 1, w.data(), s.weight_in_out ? 1 : s.in,
	                  s.weight_in_out ? s.out : 1, sum.data(), size.data());
	for (size_t i = 0; i < dx.size(); i++) {
		double want = sum[i] * reference_gelu_slope(x[i]);
		double limit = roundings * unit(s.type) * fabs(want) + 2e-6 * size[i] + 0x1p-25 +
		               (target_is_gpu() ? 0x1p-11 * fabs(sum[i]) : 0);
		ck_assert_msg(fabs(dx[i] - want) <= limit, "dx[%zu] is %.9g, not %.9g", i, dx[i], want);
	}
	ck_assert(l->dx.intact());
}

START_LOOP_TEST(through_gelu, 0, CASES)
{
	struct linear_shape s = SHAPES[_i / 3];
	s.type = static_cast<enum element>(_i % 3);
	struct kernel_context *c = target_open(4, 1 << 16);
	struct layer apart(s), fused = apart, without = apart;
	const bool fits = s.type != ELEMENT_FP32 && s.in % 8 == 0;
	int64_t passes = c->products.gelu_passes;
	if (target_products(c, 0)) {
		run(c, &apart, true);
		check(&apart, 2);
		ck_assert_int_eq(c->products.gelu_passes, ++passes);
	}
	const bool emulated = target_products(c, ~0U); /* a GPU's cuBLASLt may lack it for more shapes */
	run(c, &fused, true);
	const bool in_one = c->products.gelu_passes == passes;
	ck_assert(emulated ? in_one == fits : fits || !in_one);
	check(&fused, in_one && emulated ? 1 : 2); /* cuBLASLt may round the product before the slope */
	passes += !in_one;
	run(c, &without, false);
	ck_assert_int_eq(c->products.gelu_passes, passes);
	ck_assert(fused.dweight.same(without.dweight) && fused.dbias.same(without.dbias) && fused.dy.same(without.dy));
	ck_assert(!fused.dx.same(without.dx));
	target_products(c, 0);
	target_close(c);
}

} // namespace

int main()
{
	return target_run("cuda_gelu", 60);
}
