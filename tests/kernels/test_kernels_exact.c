/* Exact sums: no order and no cut into parts changes a bit, and the sum is the true one. */
#include <math.h>
#include <string.h>

#include "kernels/exact.h"
#include "tests/kernels/kernels_check.h"

enum { NUMBERS = 3000, PARTS = 7 };

/* Numbers of every size that fp32 has, denormal ones too, and of both signs. */
static float *numbers_of_every_size(void)
{
	float *x = filled(NUMBERS);
	for (int i = 0; i < NUMBERS; i++)
		x[i] = ldexpf(x[i], i % 270 - 145);
	return x;
}

START_TEST(order_is_nothing)
{
	const float *x = numbers_of_every_size();
	float up[EXACT_DIGITS] = {0}, down[EXACT_DIGITS] = {0};
	for (int i = 0; i < NUMBERS; i++) {
		exact_add(up, (double)x[i]);
		exact_add(down, (double)x[NUMBERS - 1 - i]);
	}
	ck_assert(!memcmp(up, down, sizeof up));
	for (int i = 0; i < NUMBERS; i++)
		exact_add(up, -(double)x[i]);
	ck_assert(exact_value(up) == 0);
}

/* Adds like the ranks: each its part, then the digits are added up, and nobody carries. */
START_TEST(parts_are_nothing)
{
	const float *x = numbers_of_every_size();
	float whole[EXACT_DIGITS] = {0}, sum[EXACT_DIGITS] = {0};
	exact_add_squares(ELEMENT_FP32, NUMBERS, x, whole);
	for (int p = 0; p < PARTS; p++) {
		float part[EXACT_DIGITS] = {0};
		int begin = NUMBERS * p / PARTS, end = NUMBERS * (p + 1) / PARTS;
		exact_add_squares(ELEMENT_FP32, end - begin, x + begin, part);
		for (int i = 0; i < EXACT_DIGITS; i++)
			sum[i] += part[i];
	}
	ck_assert(exact_value(whole) == exact_value(sum));
	ck_assert(exact_value(whole) > 0);
}

START_TEST(sums_are_true)
{
	float sum[EXACT_DIGITS] = {0}, ones[1000], small = ldexpf(1, -149), large = ldexpf(1, 127);
	exact_add_squares(ELEMENT_FP32, 1, &small, sum);
	ck_assert(exact_value(sum) == ldexp(1, -298));
	exact_add_squares(ELEMENT_FP32, 1, &large, sum);
	ck_assert(exact_value(sum) == ldexp(1, 254));
	exact_add(sum, -ldexp(1, 254));
	ck_assert(exact_value(sum) == ldexp(1, -298));
	exact_add(sum, -ldexp(1, -298));
	for (int i = 0; i < 1000; i++)
		ones[i] = i % 2 ? 3 : -0.5F;
	exact_add_squares(ELEMENT_FP32, 1000, ones, sum);
	ck_assert(exact_value(sum) == 4625);
	exact_add(sum, -4626.5);
	ck_assert(exact_value(sum) == -1.5);
}

/* bf16: 3; fp16: -2. */
START_TEST(sixteen_bits)
{
	uint16_t bf16 = 0x4040, fp16 = 0xc000;
	float sum[EXACT_DIGITS] = {0};
	exact_add_squares(ELEMENT_BF16, 1, &bf16, sum);
	exact_add_squares(ELEMENT_FP16, 1, &fp16, sum);
	ck_assert(exact_value(sum) == 13);
}

START_TEST(what_is_not_finite_stays)
{
	const float x[] = {1, INFINITY, 2};
	float sum[EXACT_DIGITS] = {0};
	exact_add(sum, (double)NAN);
	exact_add(sum, 1);
	ck_assert(isnan(exact_value(sum)));
	ck_assert(exact_begin(sum, false) == sum && exact_value(sum) == 0);
	exact_add_squares(ELEMENT_FP32, 3, x, sum);
	exact_add_squares(ELEMENT_FP32, 1, x, sum);
	ck_assert(!isfinite(exact_value(sum)));
}

SUITE_WITH("exact", 60, buffers_init, buffers_release)
