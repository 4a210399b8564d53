/* Small matrix products on tiles, all operands in the first cache: the arithmetic of attention.
 *
 * A product adds one row of B after another, each scaled by one element of A, onto sums held in registers:
 *
 *                      B row k:  [ vector ][ vector ]        B is a packed tile: rows are aligned, padded with zeros
 *                                    ×         ×
 *     A[r, k] for R rows  ───►   [ sum r,0 ][ sum r,1 ]      R × 2 sums stay in registers for the whole depth
 *
 * A is read one element at a time, so any strides do: A transposed costs nothing.
 *
 * With TILE_PAIRS an element of A and of B is a pair of bf16, (2k, 2k + 1) along the depth, in 32 bits that travel as a
 * float; a step multiplies both and adds both products (vdpbf16ps). `depth` then counts pairs.
 */
#ifndef SHARDLAB_KERNELS_CPU_SIMD_TILE_H
#define SHARDLAB_KERNELS_CPU_SIMD_TILE_H

#include "kernels/cpu/simd/simd.h"

/* Rows per register block: with 2 vectors of sums each, 2 of B and one of A they fill the registers that there are (32
 * or 16). */
#if SIMD_LEVEL >= 2
#define TILE_ROWS 8
#else
#define TILE_ROWS 4
#endif

#if defined(SIMD_TYPE_bf16) && SIMD_LEVEL == 3
#define TILE_PAIRS 1
#else
#define TILE_PAIRS 0
#endif

ALWAYS_INLINE vector tile_step(vector sum, float a, vector b)
{
#if TILE_PAIRS
	return (vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_ps(a), (__m512bh)b);
#else
	return sum + a * b;
#endif
}

/* Causal limits are rounded up from rows to whole vectors and from blocks to whole blocks: the first must cover the
 * second. */
_Static_assert(LANES % TILE_ROWS == 0, "a row block must not reach beyond its rows' last vectors");

/* C[rows, columns] = or += A[rows, depth] · B[depth, columns], with `rows` and `vectors` known when compiling; columns
 * <= vectors·LANES. */
ALWAYS_INLINE void tile_block(const int rows, const int vectors, int64_t columns, int64_t depth, const float *a,
                              int64_t a_row, int64_t a_depth, const float *b, int64_t b_row, float *c, int64_t c_row,
                              bool accumulate)
{
	vector sum[TILE_ROWS][2];
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (int v = 0; v < vectors; v++)
			sum[r][v] = (vector){0};

	for (int64_t k = 0; k < depth; k++) {
		vector line[2];
#pragma GCC unroll 2
		for (int v = 0; v < vectors; v++)
			line[v] = *(const vector *)(const void *)(b + v * LANES);
#pragma GCC unroll 8
		for (int r = 0; r < rows; r++) {
			float factor = a[r * a_row];
#pragma GCC unroll 2
			for (int v = 0; v < vectors; v++)
				sum[r][v] = tile_step(sum[r][v], factor, line[v]);
		}
		a += a_depth;
		b += b_row;
	}

	int64_t last = columns - (vectors - 1) * LANES; /* lanes of the last vector that exist in C */
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++) {
		float *out = c + r * c_row;
#pragma GCC unroll 2
		for (int v = 0; v < vectors; v++, out += LANES) {
			if (v < vectors - 1 || last == LANES)
				vector_store(out, accumulate ? vector_load(out) + sum[r][v] : sum[r][v]);
			else
				vector_store_part(out, accumulate ? vector_load_part(out, last) + sum[r][v] : sum[r][v],
				                  last);
		}
	}
}

/* The same for up to TILE_ROWS rows and any number of columns. (Not inlined, nor are the two below: with a caller's
 * variables besides, the addresses of the rows would not fit the registers.) */
static __attribute__((noinline, unused)) void tile_multiply(int64_t rows, int64_t columns, int64_t depth,
                                                            const float *a, int64_t a_row, int64_t a_depth,
                                                            const float *b, int64_t b_row, float *c, int64_t c_row,
                                                            bool accumulate)
{
	for (; columns > 0; columns -= 2 * LANES, b += 2 * LANES, c += 2 * LANES) {
		bool two = columns > LANES;
		int64_t n = smaller(columns, 2 * LANES);
		if (rows == TILE_ROWS) {
			if (two)
				tile_block(TILE_ROWS, 2, n, depth, a, a_row, a_depth, b, b_row, c, c_row, accumulate);
			else
				tile_block(TILE_ROWS, 1, n, depth, a, a_row, a_depth, b, b_row, c, c_row, accumulate);
			continue;
		}
		for (int64_t r = 0; r < rows; r++) {
			if (two)
				tile_block(1, 2, n, depth, a + r * a_row, 0, a_depth, b, b_row, c + r * c_row, 0,
				           accumulate);
			else
				tile_block(1, 1, n, depth, a + r * a_row, 0, a_depth, b, b_row, c + r * c_row, 0,
				           accumulate);
		}
	}
}

/* Copy source[rows, columns] into a packed tile; columns are padded with zeros to whole vectors. Returns the tile's row
 * length. */
static __attribute__((noinline, unused)) int64_t tile_pack(int64_t rows, int64_t columns, const float *source,
                                                           int64_t source_row, float *tile)
{
	int64_t length = round_up_lanes(columns);
	for (int64_t r = 0; r < rows; r++, source += source_row, tile += length) {
		int64_t i = 0;
		for (; i + LANES <= columns; i += LANES)
			vector_store(tile + i, vector_load(source + i));
		if (i < columns)
			vector_store(tile + i, vector_load_part(source + i, columns - i));
	}
	return length;
}

/* A square of LANES × LANES is transposed in log2(LANES) steps: step s exchanges, between rows i and i + s, the lanes
 * whose bit s is set in the first and clear in the second. */
#define LANE_UPPER(lane, s) (((lane) & (s)) ? LANES + (lane) - (s) : (lane))
#define LANE_LOWER(lane, s) (((lane) & (s)) ? LANES + (lane) : (lane) + (s))
#define TRANSPOSE_STEP(row, s)                                                                                         \
	_Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) if (!(i & (s)))                                       \
	{                                                                                                              \
		vector upper = VECTOR_SHUFFLE(row[i], row[i + (s)], LANE_LIST(LANE_UPPER, s));                         \
		row[i + (s)] = VECTOR_SHUFFLE(row[i], row[i + (s)], LANE_LIST(LANE_LOWER, s));                         \
		row[i] = upper;                                                                                        \
	}

ALWAYS_INLINE void tile_transpose(vector row[LANES])
{
	TRANSPOSE_STEP(row, 1)
	TRANSPOSE_STEP(row, 2)
#if LANES > 4
	TRANSPOSE_STEP(row, 4)
#endif
#if LANES > 8
	TRANSPOSE_STEP(row, 8)
#endif
}

/* tile[columns, tile_row] = source[rows, columns] transposed. The tile is padded with zeros: rows to whole vectors of
 * the tile, columns to a multiple of LANES of its rows. */
static __attribute__((noinline, unused)) void tile_pack_transposed(int64_t rows, int64_t columns, const float *source,
                                                                   int64_t source_row, float *tile, int64_t tile_row)
{
	for (int64_t r = 0; r < rows; r += LANES)
		for (int64_t c = 0; c < columns; c += LANES) {
			vector row[LANES];
			const float *corner = source + r * source_row + c;
			if (r + LANES <= rows && c + LANES <= columns) {
#pragma GCC unroll 16
				for (int i = 0; i < LANES; i++)
					row[i] = vector_load(corner + i * source_row);
			} else {
				int64_t n = smaller(LANES, columns - c);
				for (int i = 0; i < LANES; i++)
					row[i] = r + i < rows ? vector_load_part(corner + i * source_row, n)
					                      : (vector){0};
			}
			tile_transpose(row);
#pragma GCC unroll 16
			for (int i = 0; i < LANES; i++)
				vector_store(tile + (c + i) * tile_row + r, row[i]);
		}
}

#endif
