/* Products in fp8: which, and what is read and written for them, by hand. */

#include "strategy/plan/operation.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

#define SMALL "gpt:layers=1,width=16,heads=2,vocabulary=32,context=8 "
enum { ROWS = 8, WIDTH = 16, BF16 = 2, SCALE = 4, HISTORY = 2 * 4 * 1024 };

static int count_of(const struct plan *p, enum op_kind kind)
{
	int n = 0;
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++)
		n += r->ops[i].kind == kind;
	return n;
}

static int64_t bytes_of(const struct plan *p, enum op_kind kind)
{
	int64_t bytes = 0;
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++)
		bytes += r->ops[i].kind == kind ? op_bytes(p, r, &r->ops[i]) : 0;
	return bytes;
}

/* Elements of x, w and dy of the block's four products: qkv, proj, fc and out. x and w are cast in both passes. */
static const int64_t shape[][2] = {{WIDTH, 3 * WIDTH}, {WIDTH, WIDTH}, {WIDTH, 4 * WIDTH}, {4 * WIDTH, WIDTH}};
enum { PRODUCTS = COUNT(shape), CASTS = PRODUCTS * 5 };

static int64_t elements_cast(void)
{
	int64_t n = 0;
	for (int i = 0; i < PRODUCTS; i++)
		n += 2 * (ROWS * shape[i][0] + shape[i][0] * shape[i][1]) + ROWS * shape[i][1];
	return n;
}

START_TEST(dynamic_scaling_reads_a_tensor_twice)
{
	const struct plan *p = right_plan(SMALL "single micro_batch=1 precision=fp8");
	int64_t n = elements_cast();
	ck_assert_int_eq(count_of(p, OP_CAST), CASTS);
	ck_assert_int_eq(count_of(p, OP_AMAX), CASTS);
	ck_assert_int_eq(bytes_of(p, OP_AMAX), BF16 * n + SCALE * CASTS);
	ck_assert_int_eq(bytes_of(p, OP_CAST), BF16 * n + n + SCALE * CASTS);
}

START_TEST(delayed_scaling_reads_it_once_and_keeps_a_history)
{
	const struct plan *p = right_plan(SMALL "single micro_batch=1 precision=bf16 fp8=delayed");
	int64_t n = elements_cast();
	ck_assert_int_eq(count_of(p, OP_CAST), CASTS);
	ck_assert_int_eq(count_of(p, OP_AMAX), 0);
	ck_assert_int_eq(bytes_of(p, OP_CAST), BF16 * n + n + HISTORY * CASTS);
}

/* Those of the block, and not that of the logits: it reads 16 bits. */
START_TEST(products_of_blocks_are_in_fp8)
{
	const struct plan *p = right_plan(SMALL "single micro_batch=1 precision=fp8"),
	                  *half = right_plan(SMALL "single micro_batch=1 precision=bf16");
	const struct role *r = &p->roles[0];
	int fp8 = 0;
	int64_t read = 0;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (op_is_fp8(p, &r->ops[i])) {
			ck_assert_int_eq(op_compute_type(p, r, &r->ops[i]), TYPE_FP8);
			fp8++;
		}
	for (int i = 0; i < PRODUCTS; i++)
		read += 2 * (ROWS * shape[i][0] + shape[i][0] * shape[i][1]) + ROWS * shape[i][1];
	ck_assert_int_eq(fp8, 2 * PRODUCTS);
	int64_t saved = bytes_of(half, OP_LINEAR_FORWARD) + bytes_of(half, OP_LINEAR_BACKWARD) -
	                bytes_of(p, OP_LINEAR_FORWARD) - bytes_of(p, OP_LINEAR_BACKWARD);
	ck_assert_int_eq(saved,
	                 read + ROWS * 4 * WIDTH); /* dy of fc is turned into the gradient before GELU in place */
}

SUITE("fp8", 0)
