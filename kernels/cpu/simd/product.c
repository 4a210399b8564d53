/* Matrix products of 16-bit elements, c = a · b, in blocks (Goto and van de Geijn, ACM TOMS 34(3), 2008):
 *
 *                    n: blocks of 128 columns, with pairs 256
 *                   ┌────────┬───            b's block is packed once, in panels of 2 vectors of columns,
 *              k: ≤ │ b      │               and stays in the second cache;
 *              1024 └────────┴───            32 rows of a are packed beside it;
 *     m   ┌───────┐ ┌────────┐               8 rows of a (4, where registers are few) against a panel of b keep
 *    32 ► │ a     │ │ sums   │               their sums in registers (tile.h), and the sums go to a tile in fp32,
 *     ▼   └───────┘ └────────┘               which is rounded once it is complete.
 *
 * Packing turns elements into pairs of bf16 where the processor multiplies these, else into fp32. One product therefore
 * serves all types, levels and layouts. Each element of the result is a sum in the order of k, so its bits do not
 * depend on how rows are given to threads.
 *
 * Depths beyond 1024 are taken in parts, the sums of 128 rows staying in fp32 meanwhile. The workspace, 0.7 MiB, is on
 * the stack of the thread and touched as far as the product is large: kernels_have_stack asks for it.
 */
#include <assert.h>

#include "kernels/cpu/simd/simd.h"

#if ELEMENT_16BIT

#include "kernels/cpu/simd/pack.h"

#define PANEL (2 * LANES)
#define ROWS 32
#define DEPTH 1024                    /* elements */
#define UNITS (DEPTH / UNIT_ELEMENTS) /* what is multiplied in one step */
#define COLUMNS (UNIT_ELEMENTS * 128) /* a multiple of PANEL */
#define A_ROW (UNITS + 16)            /* rows apart by no power of two: they would share places in the cache */
#define STRIPE 128                    /* rows whose sums are kept while the depth is taken in parts */

struct workspace {
	_Alignas(64) float b[UNITS * COLUMNS];
	_Alignas(64) float a[ROWS * A_ROW];
	_Alignas(64) float sums[STRIPE * COLUMNS];
};

_Static_assert(COLUMNS % PANEL == 0 && STRIPE % ROWS == 0 && ROWS % TILE_ROWS == 0, "blocks are made of whole tiles");
_Static_assert(sizeof(struct workspace) <= KERNELS_STACK_BYTES * 3 / 4, "the rest is for those who call");
_Static_assert(ROWS % LANES == 0, "a transposed takes whole vectors of rows");

/* b's panels: panel after panel, in each the units of the depth one after another. */
static void pack_b(const struct product_task *t, int64_t k, int64_t depth, int64_t column, int64_t columns, float *out)
{
	const element *b = t->b;
	for (int64_t j = 0; j < columns; j += PANEL, out += units(depth) * PANEL) {
		int64_t n = smaller(PANEL, columns - j);
		if (!t->b_transposed) {
			pack_across(depth, n, 2, b + k * t->ldb + column + j, t->ldb, out, PANEL);
			continue;
		}
		for (int v = 0; v < 2; v++)
			pack_along(depth, smaller(LANES, n - v * LANES), b + (column + j + v * LANES) * t->ldb + k,
			           t->ldb, out + v * LANES, PANEL);
	}
}

/* Packs ROWS rows of a, 0 for rows beyond the last: as they are, or units[depth, ROWS] if a is transposed. */
static void pack_a(const struct product_task *t, int64_t k, int64_t depth, int64_t row, int64_t rows, float *out)
{
	const element *a = t->a;
	int64_t used = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
	if (t->a_transposed) {
		pack_across(depth, rows, ROWS / LANES, a + k * t->lda + row, t->lda, out, ROWS);
		return;
	}
	pack_rows(depth, rows, a + row * t->lda + k, t->lda, out, A_ROW);
	for (int64_t r = rows; r < used; r++)
		memset(out + r * A_ROW, 0, (size_t)units(depth) * sizeof *out);
}

/* A whole tile. (Not inlined: with a caller's variables besides, the addresses of the rows would not fit the
 * registers.)
 */
static __attribute__((noinline)) void multiply_tile(int64_t length, const float *a, int64_t a_row, int64_t a_depth,
                                                    const float *b, float *sums, bool accumulate)
{
	tile_block(TILE_ROWS, 2, PANEL, length, a, a_row, a_depth, b, PANEL, sums, COLUMNS, accumulate);
}

/* sums[TILE_ROWS, COLUMNS] = or += a's rows · b's panels */
static void multiply_rows(const struct product_task *t, int64_t depth, int64_t row, int64_t columns,
                          const struct workspace *w, float *sums, bool accumulate)
{
	int64_t a_row = t->a_transposed ? 1 : A_ROW, a_depth = t->a_transposed ? ROWS : 1, length = units(depth);
	for (int64_t j = 0; j < columns; j += PANEL)
		multiply_tile(length, w->a + row * a_row, a_row, a_depth, w->b + j * length, sums + j, accumulate);
}

/* n columns of a row of the result, from its sums. */
static void finish_row(const struct product_task *t, int64_t row, int64_t column, int64_t n, const float *sums)
{
	int64_t place = row * t->ldc + column;
	element *c = (element *)t->c + place;
	assert(c); /* a NULL would be no residual */
	const element *bias = t->bias ? (const element *)t->bias + column : NULL;
	const element *residual = t->residual ? (const element *)t->residual + place : t->accumulate ? c : NULL;
	struct activation_task activation = {t->activation, c, t->activated ? (element *)t->activated + place : NULL};
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES) {
		vector v = vector_load(sums + i);
		if (bias)
			v += element_load(bias + i);
		if (residual)
			v += element_load(residual + i);
		element_store(c + i, v);
	}
	if (i < n) {
		vector v = vector_load_part(sums + i, n - i);
		if (bias)
			v += element_load_part(bias + i, n - i);
		if (residual)
			v += element_load_part(residual + i, n - i);
		element_store_part(c + i, v, n - i);
	}
	if (activation.y)
		SIMD_BODY(activation_forward)(&activation, 0, n);
}

static void finish_rows(const struct product_task *t, int64_t row, int64_t rows, int64_t column, int64_t columns,
                        const float *sums)
{
	for (int64_t r = 0; r < rows; r++)
		finish_row(t, row + r, column, columns, sums + r * COLUMNS);
}

/* Rows [begin, end) of `columns` columns, where the whole depth is one block: b is packed once. */
static void shallow(const struct product_task *t, struct workspace *w, int64_t begin, int64_t end, int64_t column,
                    int64_t columns)
{
	pack_b(t, 0, t->k, column, columns, w->b);
	for (int64_t row = begin; row < end; row += ROWS) {
		int64_t rows = smaller(ROWS, end - row);
		pack_a(t, 0, t->k, row, rows, w->a);
		for (int64_t r = 0; r < rows; r += TILE_ROWS) {
			multiply_rows(t, t->k, r, columns, w, w->sums, false);
			finish_rows(t, row + r, smaller(TILE_ROWS, rows - r), column, columns, w->sums);
		}
	}
}

static void deep(const struct product_task *t, struct workspace *w, int64_t begin, int64_t end, int64_t column,
                 int64_t columns)
{
	for (int64_t stripe = begin; stripe < end; stripe += STRIPE) {
		int64_t last = smaller(end, stripe + STRIPE);
		for (int64_t k = 0; k < t->k; k += DEPTH) {
			int64_t depth = smaller(DEPTH, t->k - k);
			pack_b(t, k, depth, column, columns, w->b);
			for (int64_t row = stripe; row < last; row += ROWS) {
				int64_t rows = smaller(ROWS, last - row);
				float *sums = w->sums + (row - stripe) * COLUMNS;
				pack_a(t, k, depth, row, rows, w->a);
				for (int64_t r = 0; r < rows; r += TILE_ROWS)
					multiply_rows(t, depth, r, columns, w, sums + r * COLUMNS, k > 0);
				if (k + depth == t->k)
					finish_rows(t, row, rows, column, columns, sums);
			}
		}
	}
}

void SIMD_BODY(product)(const void *task, int64_t begin, int64_t end)
{
	const struct product_task *t = task;
	struct workspace w;
	for (int64_t column = 0; column < t->n; column += COLUMNS) {
		int64_t columns = smaller(COLUMNS, t->n - column);
		if (t->k <= DEPTH)
			shallow(t, &w, begin, end, column, columns);
		else
			deep(t, &w, begin, end, column, columns);
	}
}

#endif
