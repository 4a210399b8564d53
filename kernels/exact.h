/* Sums that no order changes: of micro-batches' losses, and of squares that other numbers of ranks cut into other
 * parts.
 *
 * A sum is a number in fixed point, wide enough for every square of an fp32 number: EXACT_DIGITS digits of 12 bits,
 * from 2^-300 on. A digit is a whole number in an fp32, so that ranks add up digits as they add up any vector: up to
 * 4096 of them without rounding, since 4096 · 4095 < 2^24. What is not finite stands in the first digit and stays
 * there.
 *
 *     float sum[EXACT_DIGITS] = {0};
 *     exact_add(sum, 0.1); exact_add(sum, 1e-30);          in any order
 *     double both = exact_value(sum);                      rounded once
 *
 * After Kulisch's accumulator (Computer Arithmetic and Validity, 2013).
 */
#ifndef SHARDLAB_EXACT_H
#define SHARDLAB_EXACT_H

#include "kernels/kernels.h"

enum { EXACT_DIGITS = 48 };

/* The sum, or nothing yet unless `adds`. */
static inline float *exact_begin(float *sum, bool adds)
{
	for (int i = 0; i < EXACT_DIGITS && !adds; i++)
		sum[i] = 0;
	return sum;
}
/* value: an fp32 number, or the product of two. */
void exact_add(float *sum, double value);
void exact_add_squares(enum element type, int64_t n, const void *x, float *sum);
double exact_value(const float *sum);

#endif
