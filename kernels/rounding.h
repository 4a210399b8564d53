/* Stochastic rounding of fp32 master weights to 16-bit parameters: up with the probability of how far a number is from
 * the 16-bit one below it, so that the mean of many roundings is the number itself, and updates that are small beside a
 * parameter are not lost every time (Gupta et al. 2015, arXiv 1502.02551, section 3).
 *
 * mix64() makes the random bits from the seed, the step and the element's number in the whole model, so every rank and
 * device rounds an element alike. The arithmetic is in integers, and CPU and GPU share this source.
 */
#ifndef SHARDLAB_ROUNDING_H
#define SHARDLAB_ROUNDING_H

#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/mix64.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of consecutive elements of a tensor, or of a slice of one. With j = begin + i, element i has number
 *
 *     first + j / row · row_step + j % row / piece · piece_step + j % row % piece
 *
 * A tensor that is whole is one row of one piece. */
struct element_numbers {
	int64_t begin, first, row, row_step, piece, piece_step;
};

struct rounding {
	uint64_t seed;
	struct element_numbers numbers;
};

/* y = x, rounded stochastically with the bits of the update `step`. to: 16 bits. */
void vector_round(enum element to, const struct rounding *r, int64_t step, int64_t n, const float *x, void *y);

ON_ANY_DEVICE uint64_t rounding_key(uint64_t seed, int64_t step)
{
	return mix64(seed + mix64((uint64_t)step));
}

ON_ANY_DEVICE uint32_t rounding_bits(uint64_t key, int64_t number)
{
	return (uint32_t)(mix64(key + (uint64_t)number) >> 32);
}

ON_ANY_DEVICE int64_t element_number(const struct element_numbers *e, int64_t i)
{
	int64_t j = e->begin + i;
	if (e->piece == e->row && e->row == e->row_step)
		return e->first + j;
	return e->first + j / e->row * e->row_step + j % e->row / e->piece * e->piece_step + j % e->row % e->piece;
}

/* From the bits of an fp32 number to those of a bf16 one, with 32 random bits: what is cut off is compared with them by
 * adding them. */
ON_ANY_DEVICE uint16_t round_to_bf16(uint32_t x, uint32_t random)
{
	uint32_t size = x & 0x7fffffffU;
	if (size >= 0x7f800000U) /* infinite; or a NaN, which stays one */
		return (uint16_t)(x >> 16 | (size > 0x7f800000U ? 0x40U : 0U));
	return (uint16_t)((x + (random & 0xffffU)) >> 16);
}

/* The same for fp16. From its largest number on there is none above to choose: rounded to the nearest. */
ON_ANY_DEVICE uint16_t round_to_fp16(uint32_t x, uint32_t random)
{
	enum { REBIAS = (127 - 15) << 10, LARGEST = 0x7bff, INFINITE = 0x7c00, NO_NUMBER = 0x7e00 };
	uint32_t size = x & 0x7fffffffU, sign = x >> 16 & 0x8000U;
	if (size > 0x7f800000U)
		return (uint16_t)(sign | NO_NUMBER);
	if (size >= 0x477fe000U) /* 65504 */
		return (uint16_t)(sign | (size < 0x477ff000U ? LARGEST : INFINITE));
	if (size >= 0x38800000U) /* 2^-14 */
		return (uint16_t)(sign | (((size + (random & 0x1fffU)) >> 13) - REBIAS));
	/* Whole steps of 2^-24, and 2^32 of the rest: a number of exponent e counts 2^-(126 - e) of them. */
	uint32_t exponent = size >> 23, shift = 126 - (exponent ? exponent : 1);
	uint64_t digits = exponent ? (size & 0x7fffffU) | 0x800000U : size;
	uint64_t steps = shift < 64 ? digits << 32 >> shift : 0;
	return (uint16_t)(sign | ((steps >> 32) + ((steps & 0xffffffffU) > random)));
}

#ifdef __cplusplus
}
#endif
#endif
