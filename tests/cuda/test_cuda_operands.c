/* What a test on a GPU says of kernels that write where they must not (tests/gpu/operands.h). Kernels of a card are
 * told wrong sizes here; without one the card is tests/gpu/card.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/operands.h"
#include "tests/gpu/target.h"
#include "tests/support/suite.h"

enum { N = 64, WORKSPACE = 1 << 16 };

static char said[512];

static void note(const char *what)
{
	size_t n = strlen(said);
	snprintf(said + n, sizeof said - n, "%s\n", what);
}

static struct kernel_context *begin(void)
{
	operands_tell(note);
	said[0] = 0;
	return target_open(3, WORKSPACE);
}

static float *numbers(int n, float first)
{
	float *x = target_memory((size_t)n * sizeof *x);
	for (int i = 0; i < n; i++)
		x[i] = first + (float)i;
	return x;
}

START_TEST(there_and_back)
{
	struct kernel_context *c = begin();
	float *x = numbers(N, 1), *y = numbers(N, 100);
	int error = target_kernels()->vector_add(c, NULL, ELEMENT_FP32, N - 2, x + 1, y + 1);
	ck_assert_int_eq(target_wait(c, error), 0);
	for (int i = 0; i < N; i++) {
		ck_assert_float_eq(x[i], (float)(i + 1));
		ck_assert_float_eq(y[i], (float)(i + 100 + (i > 0 && i < N - 1 ? i + 1 : 0)));
	}
	ck_assert_str_eq(said, "");
	target_release(x);
	target_release(y);
}

/* One operand that two parameters name, and one that is not given. */
START_TEST(aliases)
{
	struct kernel_context *c = begin();
	float *x = numbers(N, 1);
	int error = target_kernels()->vector_add(c, NULL, ELEMENT_FP32, N, x, x);
	error |= target_kernels()->linear_finish(c, NULL, ELEMENT_FP32, (enum activation)0, 1, N, NULL, x, x, NULL);
	ck_assert_int_eq(target_wait(c, error), 0);
	for (int i = 0; i < N; i++)
		ck_assert_float_eq(x[i], 4 * (float)(i + 1));
	ck_assert_str_eq(said, "");
	target_release(x);
}

START_TEST(behind)
{
	struct kernel_context *c = begin();
	float *x = numbers(2 * N, 1), *y = numbers(N, 1);
	ck_assert_int_eq(target_kernels()->vector_add(c, NULL, ELEMENT_FP32, N + 1, x, y), 0);
	ck_assert_ptr_nonnull(strstr(said, "vector_add wrote "));
	ck_assert_ptr_nonnull(strstr(said, " bytes behind the last of y, which has 256\n"));
	target_release(x);
	target_release(y);
}

/* So far that it is another operand. */
START_TEST(only_read)
{
	struct kernel_context *c = begin();
	int far = OPERANDS_GUARD / 4 + 2 * N;
	float *gradients = numbers(far, 1), *parameters = numbers(N, 1);
	struct update u = {.learning_rate = 1, .step = NULL};
	int64_t *step = target_memory(sizeof *step);
	*step = 1;
	u.step = step;
	ck_assert_int_eq(target_kernels()->sgd_update(c, NULL, ELEMENT_FP32, &u, far, parameters, gradients, NULL), 0);
	ck_assert_ptr_nonnull(strstr(said, "sgd_update wrote "));
	ck_assert_ptr_nonnull(strstr(said, "sgd_update changed gradients, which it only reads\n"));
	target_release(gradients);
	target_release(parameters);
	target_release(step);
}

START_TEST(other_memory)
{
	struct kernel_context *c = begin();
	float *x = numbers(N, 1), here[N] = {0};
	(void)target_kernels()->vector_add(c, NULL, ELEMENT_FP32, 0, here, x);
	ck_assert_str_eq(said, "vector_add: x is no target_memory()\n");
	target_release(x);
}

/* Sums lie at the workspace's beginning. */
START_TEST(workspace)
{
	struct kernel_context *c = begin();
	float *x = numbers(5000, 1), *sum = numbers(1, 0);
	ck_assert_int_eq(target_kernels()->vector_squares(c, NULL, ELEMENT_FP32, 5000, x, sum, false), 0);
	ck_assert_str_eq(said, "");
	c->workspace_bytes = 0;
	ck_assert_int_eq(target_kernels()->vector_add(c, NULL, ELEMENT_FP32, 1, x, sum), 0);
	c->workspace_bytes = WORKSPACE;
	ck_assert_str_eq(said, "vector_add wrote behind the workspace of 0 bytes\n");
	target_release(x);
	target_release(sum);
}

int main(void)
{
	return target_run("cuda_operands", 60);
}
