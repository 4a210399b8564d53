/* `auto` takes the rung of attention that was the fastest: times are what a test says (emulated_times). */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "kernels/cuda/context.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/table.h"
#include "tests/emulate/emulate.h"
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

/* Simple, tensor, hopper and cuDNN, forward and then backward, in milliseconds. */
START_LOOP_TEST(the_choice_follows_the_times, 0, 4)
{
	static const struct {
		float times[8];
		enum cuda_attention forward, backward;
	} rows[] = {{{4, 3, 2, 1, 4, 3, 2, 1}, CUDA_ATTENTION_CUDNN, CUDA_ATTENTION_CUDNN},
	            {{4, 3, 1, 2, 4, 1, 3, 2}, CUDA_ATTENTION_HOPPER, CUDA_ATTENTION_TENSOR},
	            {{1, 2, 3, 4, 4, 3, 2, 1}, CUDA_ATTENTION_SIMPLE, CUDA_ATTENTION_CUDNN},
	            {{4, 3, -1, -1, -1, -1, 2, -1}, CUDA_ATTENTION_TENSOR, CUDA_ATTENTION_HOPPER}};
	struct kernel_context *c = emulated_open(4, 1 << 20), *later = emulated_open(4, 1 << 20);
	struct cuda_algorithm kept[4];
	struct pass p;
	ck_assert(target_cudnn());
	ck_assert_int_eq(emulated_api()->use_attention(c, CUDA_ATTENTION_AUTO, true), 0);
	ck_assert_int_eq(choice_of(c, false).why, CUDA_ATTENTION_HIGHEST);
	emulated_times(rows[_i].times, 8);
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

/* What is asked for is not timed; what was measured with another cuDNN, or says what cannot be, is not taken. */
START_TEST(choices_that_are_not_heeded)
{
	static const float times[] = {1, 2, 3, 4, 1, 2, 3, 4};
	struct kernel_context *c = emulated_open(4, 1 << 20), *later = emulated_open(4, 1 << 20);
	struct cuda_algorithm kept[2], other;
	struct pass p;
	ck_assert(target_cudnn());
	emulated_times(times, 8);
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
	ck_assert_int_eq(choice_of(later, false).why, CUDA_ATTENTION_HIGHEST);
	emulated_close(c);
	emulated_close(later);
}

} // namespace

SUITE("cuda choice", 0)
