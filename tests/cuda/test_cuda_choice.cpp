/* What is chosen by a measurement: the rung of attention, and the way of a bias's gradient. Times are what a test says
 * (emulated_times). */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

#include "kernels/cuda/context.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/table.h"
#include "tests/emulate/emulate.h"
#include "tests/gpu/target.h"
#include "tests/support/elements.hpp"
#include "tests/support/suite.h"

namespace
{

const struct attention_shape SHAPE = {1, 9, 1, 1, 64, ELEMENT_BF16, 0, 0, 0};
enum { ROWS = 9, WIDTH = 64 };

struct pass {
	elements qkv, y, dy, dqkv, log_sum_exp;
	pass()
	    : qkv(ELEMENT_BF16, 3 * ROWS * WIDTH), y(ELEMENT_BF16, ROWS * WIDTH), dy(ELEMENT_BF16, ROWS * WIDTH),
	      dqkv(ELEMENT_BF16, 3 * ROWS * WIDTH), log_sum_exp(ELEMENT_FP32, ROWS)
	{
		qkv.fill(2);
		dy.fill(1);
	}
	void run(struct kernel_context *c)
	{
		const struct kernel_table *k = &emulated_api()->kernels;
		float *sums = static_cast<float *>(log_sum_exp.data());
		ck_assert_int_eq(k->attention_forward(c, nullptr, &SHAPE, qkv.data(), y.data(), sums), 0);
		ck_assert_int_eq(
		        k->attention_backward(c, nullptr, &SHAPE, dy.data(), qkv.data(), y.data(), sums, dqkv.data()),
		        0);
	}
};

struct cuda_attention_choice choice_of(struct kernel_context *c, bool backward)
{
	struct cuda_attention_choice out;
	emulated_api()->attention_choice(c, &SHAPE, backward, &out);
	return out;
}

/* No variable says which, and python3 is a link that leads elsewhere, as in a virtual environment. */
START_TEST(cudnn_is_found_beside_the_python_of_the_path)
{
	ck_assert(target_cudnn());
	char there[4096], folder[] = "/tmp/shardlab-pythonXXXXXX";
	ck_assert_ptr_nonnull(realpath(getenv("SHARDLAB_CUDNN"), there));
	ck_assert_ptr_nonnull(mkdtemp(folder));
	const std::string root = folder, library = root + "/lib/python3.99/site-packages/nvidia/cudnn/lib";
	const std::string make = "mkdir -p " + root + "/bin " + library + " && ln -s /bin/true " + root +
	                         "/bin/python3 && ln -s " + there + " " + library + "/libcudnn.so.9";
	const std::string path = root + "/nothing:" + root + "/bin:" + getenv("PATH");
	ck_assert_int_eq(system(make.c_str()), 0);
	setenv("PATH", path.c_str(), 1);
	for (const char *name : {"SHARDLAB_CUDNN", "VIRTUAL_ENV", "HOME"})
		unsetenv(name);
	const int error = cudnn_open();
	ck_assert_int_eq(system(("rm -rf " + root).c_str()), 0);
	ck_assert_int_eq(error, 0);
	ck_assert_int_gt(cudnn_version(), 0);
}

/* Simple, tensor, hopper and cuDNN's plans 0 and 3, forward and then backward, in milliseconds. */
START_LOOP_TEST(the_choice_follows_the_times, 0, 4)
{
	static const struct {
		float times[10];
		enum cuda_attention forward, backward;
	} rows[] = {{{4, 3, 2, 1, 5, 4, 3, 2, 5, 1}, CUDA_ATTENTION_CUDNN, CUDA_ATTENTION_CUDNN},
	            {{4, 3, 1, 2, 2, 4, 1, 3, 2, 2}, CUDA_ATTENTION_HOPPER, CUDA_ATTENTION_TENSOR},
	            {{1, 2, 3, 4, 4, 4, 3, 2, -1, 1}, CUDA_ATTENTION_SIMPLE, CUDA_ATTENTION_CUDNN},
	            {{4, 3, -1, -1, -1, -1, -1, 2, -1, -1}, CUDA_ATTENTION_TENSOR, CUDA_ATTENTION_HOPPER}};
	struct kernel_context *c = emulated_open(4, 1 << 20), *later = emulated_open(4, 1 << 20);
	struct cuda_algorithm kept[4];
	struct pass p;
	ck_assert(target_cudnn());
	ck_assert_int_eq(emulated_api()->use_attention(c, CUDA_ATTENTION_AUTO, true), 0);
	ck_assert_int_eq(choice_of(c, false).why, CUDA_ATTENTION_HIGHEST);
	emulated_times(rows[_i].times, 10);
	p.run(c);
	emulated_times(nullptr, 0);
	ck_assert_int_eq(choice_of(c, false).rung, rows[_i].forward);
	ck_assert_int_eq(choice_of(c, true).rung, rows[_i].backward);
	ck_assert_int_eq(choice_of(c, true).why, CUDA_ATTENTION_MEASURED);
	ck_assert_double_eq_tol(choice_of(c, false).seconds[CUDA_ATTENTION_TENSOR], 1e-3 * (double)rows[_i].times[1],
	                        1e-9);
	p.run(c); /* there are no more times: nothing is timed again */

	/* Kept, and given to a later run, which times nothing. */
	ck_assert_int_eq(cuda_attention_tell(c, kept, 4), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert(cuda_attention_is_word(&kept[i]));
		cuda_attention_give(later, &kept[i]);
	}
	ck_assert_int_eq(choice_of(later, false).rung, rows[_i].forward);
	ck_assert_int_eq(choice_of(later, true).rung, rows[_i].backward);
	ck_assert_int_eq(choice_of(later, true).why, CUDA_ATTENTION_MEASURED);
	emulated_close(c);
	emulated_close(later);
}

/* ---- cuDNN's plans ---- */

/* The place of the plan that the stand-in ran last. */
int64_t ran()
{
	void *library = dlopen(getenv("SHARDLAB_CUDNN"), RTLD_NOW | RTLD_NOLOAD);
	const int64_t *last = library ? static_cast<int64_t *>(dlsym(library, "cudnn_stand_in_ran")) : nullptr;
	ck_assert_ptr_nonnull(last);
	const int64_t place = *last;
	dlclose(library);
	return place;
}

/* Of four that are advised, the second notes that its sums have no order, and the third is of stream-K: they are not
 * even timed. The fastest of the others runs then and later, whether cuDNN is measured or asked for. */
START_LOOP_TEST(the_fastest_of_cudnns_plans_is_kept, 0, 2)
{
	static const float times[2][10] = {{9, 9, 9, 1, 2, 9, 9, 9, 1, 2}, {9, 9, 9, 2, 1, 9, 9, 9, 2, 1}};
	const int64_t fastest = _i ? 3 : 0;
	struct kernel_context *c = emulated_open(4, 1 << 20), *later = emulated_open(4, 1 << 20),
	                      *asked = emulated_open(4, 1 << 20), *first = emulated_open(4, 1 << 20);
	struct cuda_algorithm kept[2];
	struct pass measured, again, other;
	ck_assert(target_cudnn());
	ck_assert_int_eq(emulated_api()->use_attention(c, CUDA_ATTENTION_AUTO, true), 0);
	emulated_times(times[_i], 10);
	measured.run(c);
	emulated_times(nullptr, 0);
	ck_assert_int_eq(ran(), fastest);
	ck_assert_int_eq(choice_of(c, true).cudnn_plan, fastest);
	ck_assert_double_eq_tol(choice_of(c, false).seconds[CUDA_ATTENTION_CUDNN], 1e-3, 1e-9);

	ck_assert_int_eq(cuda_attention_tell(c, kept, 2), 2);
	for (struct kernel_context *given : {later, asked})
		for (const struct cuda_algorithm &a : kept)
			cuda_attention_give(given, &a);
	ck_assert_int_eq(emulated_api()->use_attention(asked, CUDA_ATTENTION_CUDNN, false), 0);
	ck_assert_int_eq(emulated_api()->use_attention(first, CUDA_ATTENTION_CUDNN, false), 0);
	for (struct kernel_context *given : {later, asked}) {
		again.run(given);
		ck_assert_int_eq(ran(), fastest);
		ck_assert_int_eq(choice_of(given, false).rung, CUDA_ATTENTION_CUDNN);
	}
	other.run(first);
	ck_assert_int_eq(ran(), 0);
	for (struct kernel_context *given : {c, later, asked, first})
		emulated_close(given);
}

/* What is asked for is not timed; what was measured with another cuDNN, or says what cannot be, is not taken. */
START_TEST(choices_that_are_not_heeded)
{
	static const float times[] = {1, 2, 3, 4, 4, 1, 2, 3, 4, 4};
	struct kernel_context *c = emulated_open(4, 1 << 20), *later = emulated_open(4, 1 << 20);
	struct cuda_algorithm kept[2], other;
	struct pass p;
	ck_assert(target_cudnn());
	emulated_times(times, 10);
	ck_assert_int_eq(emulated_api()->use_attention(c, CUDA_ATTENTION_TENSOR, true), 0);
	p.run(c);
	ck_assert_int_eq(choice_of(c, false).rung, CUDA_ATTENTION_TENSOR);
	ck_assert_int_eq(choice_of(c, false).why, CUDA_ATTENTION_ASKED);
	ck_assert_int_eq(emulated_api()->use_attention(c, CUDA_ATTENTION_AUTO, true), 0);
	p.run(c);
	emulated_times(nullptr, 0);
	ck_assert_int_eq(cuda_attention_tell(c, kept, 2), 2);
	other = kept[0];
	other.algorithm[1]++;
	cuda_attention_give(later, &other);
	other = kept[0];
	other.algorithm[0] = CUDA_ATTENTIONS;
	cuda_attention_give(later, &other);
	other = kept[0];
	other.algorithm[7] = CUDNN_MOST_PLANS + 1;
	cuda_attention_give(later, &other);
	ck_assert_int_eq(choice_of(later, false).why, CUDA_ATTENTION_HIGHEST);
	emulated_close(c);
	emulated_close(later);
}

/* ---- the gradient of a bias ---- */

const struct linear_shape BIASED[] = {{40, 24, 16, false, ACTIVATION_NONE, ELEMENT_BF16, 0}, /* the rule: epilogue */
                                      {40, 16, 48, false, ACTIVATION_NONE, ELEMENT_FP16, 0}, /* a pass */
                                      {40, 24, 16, true, ACTIVATION_NONE, ELEMENT_FP16, 0},
                                      {40, 16, 48, true, ACTIVATION_NONE, ELEMENT_BF16, 0}};
enum { BIASED_SHAPES = sizeof BIASED / sizeof *BIASED };

struct gradients {
	struct linear_shape shape;
	elements dy, x, weight, dweight, dbias;
	explicit gradients(const struct linear_shape &s)
	    : shape(s), dy(s.type, s.rows * s.out), x(s.type, s.rows * s.in), weight(s.type, s.in * s.out),
	      dweight(s.type, s.in * s.out), dbias(s.type, s.out)
	{
		for (elements *e : {&dy, &x, &weight, &dweight})
			e->fill(1);
	}
	/* Whether it took a pass, whose partial sums begin at the workspace's start. */
	bool pass(struct kernel_context *c, bool accumulate)
	{
		uint32_t start;
		memset(c->workspace, 0xff, sizeof start);
		ck_assert_int_eq(emulated_api()->kernels.linear_backward(
		                         c, nullptr, &shape, dy.data(), x.data(), weight.data(), nullptr, nullptr,
		                         nullptr, dweight.data(), accumulate, dbias.data(), false),
		                 0);
		memcpy(&start, c->workspace, sizeof start);
		return start != UINT32_MAX;
	}
};

struct kernel_context *open_products()
{
	struct kernel_context *c = emulated_open(4, 1 << 16);
	ck_assert(target_products(c, ~0U >> 1));
	return c;
}

/* The words that a file keeps (tests/real/test_cuda_speed.c), to another device. */
int give_later(struct kernel_context *c, struct kernel_context *later)
{
	struct cuda_algorithm kept[8];
	const int count = emulated_api()->algorithms(c, kept, 8);
	emulated_api()->use_algorithms(later, kept, count, false);
	return count;
}

/* Of either time, the epilogue's and then the pass's. */
START_LOOP_TEST(the_way_of_a_bias_follows_the_times, 0, 2 * 2 * BIASED_SHAPES)
{
	static const float times[2][2] = {{1, 2}, {2, 1}};
	const bool pass = _i & 1, accumulate = _i & 2;
	struct gradients rule(BIASED[_i / 4]), timed = rule, after = rule;
	struct kernel_context *c = open_products(), *later = open_products();
	struct cuda_bias_choice choice[2];
	ck_assert(rule.pass(later, accumulate) == (rule.shape.out > rule.shape.in));
	emulated_api()->use_algorithms(c, nullptr, 0, true);
	emulated_times(times[pass], 2);
	const int64_t so_far = c->products.by[CUDA_PRODUCT_CUBLASLT];
	(void)timed.pass(c, accumulate);
	emulated_times(nullptr, 0);
	ck_assert_int_eq(c->products.by[CUDA_PRODUCT_CUBLASLT], so_far + 1); /* what was timed is none of a step's */
	ck_assert_int_eq(emulated_api()->bias_choices(c, choice, 2), 1);
	ck_assert_int_eq(choice[0].way, pass ? CUDA_BIAS_PASS : CUDA_BIAS_EPILOGUE);
	ck_assert_double_eq_tol(choice[0].seconds[CUDA_BIAS_PASS], 1e-3 * (double)times[pass][1], 1e-9);

	ck_assert_int_eq(give_later(c, later), 1);
	ck_assert_int_eq(emulated_api()->bias_choices(later, choice, 2), 0); /* until a layer has it */
	ck_assert(after.pass(later, accumulate) == pass);
	ck_assert_int_eq(emulated_api()->bias_choices(later, choice, 2), 1);
	ck_assert(choice[0].accumulates == accumulate && choice[0].shape.out == rule.shape.out);
	/* The same bits as where it was timed, and by rule but for the order of a sum. */
	ck_assert(after.dbias.same(timed.dbias) && after.dweight.same(timed.dweight));
	ck_assert(after.dweight.same(rule.dweight));
	for (int64_t i = 0; i < rule.shape.out; i++) {
		const double a = after.dbias.numbers()[static_cast<size_t>(i)];
		const double b = rule.dbias.numbers()[static_cast<size_t>(i)];
		ck_assert_double_le(fabs(a - b), 2 * unit(rule.shape.type) * fabs(b) + 1e-5);
	}
	emulated_close(c);
	emulated_close(later);
}

/* Without an epilogue there is nothing to choose; one that a card turns out not to have is not waited for; and words
 * that say what cannot be are not taken. */
START_TEST(ways_that_are_not_there)
{
	static const float times[] = {1, 1, 1};
	struct linear_shape narrow = BIASED[0];
	narrow.type = ELEMENT_FP32;
	struct gradients exact(narrow), layer(BIASED[0]);
	struct kernel_context *c = open_products(), *later = open_products();
	struct cuda_bias_choice choice;
	struct cuda_algorithm kept;
	emulated_api()->use_algorithms(c, nullptr, 0, true);
	emulated_times(times, 3);
	ck_assert(exact.pass(c, false));
	ck_assert_int_eq(emulated_api()->algorithms(c, &kept, 1), 0);
	ck_assert(target_products(c, 1U << PRODUCT_PLAIN));
	ck_assert(layer.pass(c, false));
	emulated_times(nullptr, 0);
	ck_assert_int_eq(emulated_api()->bias_choices(c, &choice, 1), 1);
	ck_assert(choice.seconds[CUDA_BIAS_EPILOGUE] <= 0 && choice.way == CUDA_BIAS_PASS);
	ck_assert_int_eq(emulated_api()->algorithms(c, &kept, 1), 1);
	kept.algorithm[0] = CUDA_BIAS_WAYS;
	emulated_api()->use_algorithms(later, &kept, 1, false);
	ck_assert(target_products(c, ~0U >> 1));
	ck_assert(!layer.pass(later, false));
	emulated_close(c);
	emulated_close(later);
}

} // namespace

SUITE("cuda choice", 0)
