/* Packing of 16-bit elements for the products of tile.h. One step multiplies a *unit* along the depth: a pair of bf16,
 * (2k, 2k + 1), with TILE_PAIRS, else one element widened to fp32. Units are 32 bits and travel as floats. A depth that
 * is odd ends with half a pair, the other half 0.
 */
#ifndef SHARDLAB_KERNELS_CPU_SIMD_PACK_H
#define SHARDLAB_KERNELS_CPU_SIMD_PACK_H

#include "kernels/cpu/simd/tile.h"

#define UNIT_ELEMENTS (TILE_PAIRS ? 2 : 1)
#define VECTOR_ELEMENTS (UNIT_ELEMENTS * LANES) /* of a vector of units */

ALWAYS_INLINE int64_t units(int64_t elements)
{
	return (elements + UNIT_ELEMENTS - 1) / UNIT_ELEMENTS;
}

#if TILE_PAIRS
typedef float pairs_unaligned __attribute__((vector_size(4 * LANES), aligned(2), may_alias));

ALWAYS_INLINE vector halves_pair(halves first, halves second)
{
	return (vector)(__builtin_convertvector(first, words) | __builtin_convertvector(second, words) << 16);
}
#endif

/* Units that lie along the depth in memory: of `n` elements, the rest 0. */
ALWAYS_INLINE vector load_along(const element *p, int64_t n)
{
#if TILE_PAIRS
	vector v = {0};
	if (n >= VECTOR_ELEMENTS)
		return *(const pairs_unaligned *)(const void *)p;
	memcpy(&v, p, (size_t)n * sizeof *p);
	return v;
#else
	return n >= LANES ? element_load(p) : element_load_part(p, n);
#endif
}

/* Units of n neighbouring columns, of which the depth is the rows: those at p, and the one below where a unit is a
 * pair. */
ALWAYS_INLINE vector load_across(const element *p, int64_t row, bool second, int64_t n)
{
#if TILE_PAIRS
	halves upper = {0}, lower = {0};
	if (n >= LANES) {
		upper = *(const halves_unaligned *)p;
		if (second)
			lower = *(const halves_unaligned *)(p + row);
	} else {
		memcpy(&upper, p, (size_t)n * sizeof *p);
		if (second)
			memcpy(&lower, p + row, (size_t)n * sizeof *p);
	}
	return halves_pair(upper, lower);
#else
	(void)row;
	(void)second;
	return n >= LANES ? element_load(p) : element_load_part(p, n);
#endif
}

/* out[units of depth, out_row] from stored[depth, columns]; columns are padded with zeros to `vectors`·LANES. */
ALWAYS_INLINE void pack_across(int64_t depth, int64_t columns, int64_t vectors, const element *stored, int64_t row,
                               float *out, int64_t out_row)
{
	for (int64_t k = 0; k < depth; k += UNIT_ELEMENTS, out += out_row, stored += UNIT_ELEMENTS * row)
		for (int64_t v = 0; v < vectors; v++) {
			int64_t n = columns - v * LANES;
			vector line = {0};
			if (n > 0)
				line = load_across(stored + v * LANES, row, k + 1 < depth, n);
			vector_store(out + v * LANES, line);
		}
}

/* out[rows, out_row] from stored[rows, depth]: the units of a row side by side, whole vectors of them. */
ALWAYS_INLINE void pack_rows(int64_t depth, int64_t rows, const element *stored, int64_t row, float *out,
                             int64_t out_row)
{
	for (int64_t r = 0; r < rows; r++, stored += row, out += out_row)
		for (int64_t i = 0; i < depth; i += VECTOR_ELEMENTS)
			vector_store(out + i / UNIT_ELEMENTS, load_along(stored + i, depth - i));
}

/* out[units of depth, out_row] from stored[columns, depth], LANES columns: squares of units are transposed. */
static __attribute__((unused)) void pack_along(int64_t depth, int64_t columns, const element *stored, int64_t row,
                                               float *out, int64_t out_row)
{
	for (int64_t k = 0; k < depth; k += VECTOR_ELEMENTS) {
		vector square[LANES];
		int64_t n = smaller(VECTOR_ELEMENTS, depth - k), lines = units(n);
#pragma GCC unroll 16
		for (int i = 0; i < LANES; i++)
			square[i] = i < columns ? load_along(stored + i * row + k, n) : (vector){0};
		tile_transpose(square);
		for (int i = 0; i < lines; i++, out += out_row)
			vector_store(out, square[i]);
	}
}

#endif
