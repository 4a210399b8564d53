/* Causal attention of 16-bit elements, forward: the tiles and the order of attention_forward.c with other operands. Q,
 * K and V are packed as units (pack.h); scores, maximum, sum and y are fp32, y in a tile that is rounded when its last
 * keys were seen. P is multiplied as bf16 where there are pairs, as fp32 elsewhere.
 *
 * Heads wider than DEPTH make their scores in chunks, and y in groups of columns, the scores anew for each.
 */
#include "kernels/cpu/simd/simd.h"

#if ELEMENT_16BIT

#include "kernels/cpu/simd/attention.h"
#include "kernels/cpu/simd/pack.h"

#define QUERIES 64
#define KEYS 64
#define DEPTH 128
#define UNITS (DEPTH / UNIT_ELEMENTS)
#define Q_ROW (UNITS + 16)
#define P_ROW (KEYS / UNIT_ELEMENTS)

struct workspace { /* 168 KiB of stack, with pairs 120; with heads of 32 half of it is in use */
	_Alignas(64) float queries[QUERIES * Q_ROW];
	_Alignas(64) float keys[UNITS * KEYS];
	_Alignas(64) float values[KEYS / UNIT_ELEMENTS * DEPTH];
	_Alignas(64) float scores[QUERIES * KEYS]; /* S, and P as fp32 */
#if TILE_PAIRS
	_Alignas(64) element pairs[QUERIES * KEYS]; /* P as pairs */
#endif
	_Alignas(64) float y[QUERIES * DEPTH];
	float maximum[QUERIES], sum[QUERIES];
};

struct tile {
	int64_t q0, queries, k0, keys;
	int64_t first;           /* the first tile of keys that these queries see */
	int64_t column, vectors; /* of y: the first column of the group, and how many vectors */
};

/* The keys of the tile that its row sees. */
ALWAYS_INLINE int64_t keys_seen(const struct tile *t, int64_t row)
{
	return smaller(t->keys, t->q0 + row - t->k0 + 1);
}

static void tile_scores(const struct head *h, const struct tile *t, struct workspace *w)
{
	for (int64_t d = 0; d < h->size; d += DEPTH) {
		int64_t depth = smaller(DEPTH, h->size - d);
		const element *q = h->q + t->q0 * h->qkv_row + d, *k = h->k + t->k0 * h->qkv_row + d;
		if (t->k0 == t->first || h->size > DEPTH) /* else they are still there */
			pack_rows(depth, t->queries, q, h->qkv_row, w->queries, Q_ROW);
		for (int64_t j = 0; j < t->keys; j += LANES)
			pack_along(depth, smaller(LANES, t->keys - j), k + j * h->qkv_row, h->qkv_row, w->keys + j,
			           KEYS);
		for (int64_t r = 0; r < t->queries; r += TILE_ROWS) {
			int64_t rows = smaller(TILE_ROWS, t->queries - r);
			tile_multiply(rows, round_up_lanes(keys_seen(t, r + rows - 1)), units(depth),
			              w->queries + r * Q_ROW, Q_ROW, 1, w->keys, KEYS, w->scores + r * KEYS, KEYS,
			              d > 0);
		}
	}
}

/* A row that sees nothing of a tile, whose P is 0. */
static void row_unseen(const struct tile *t, int64_t r, struct workspace *w)
{
	if (t->k0 > t->first)
		return;
	w->maximum[r] = -INFINITY;
	w->sum[r] = 0;
}

/* One row of S becomes P; the running maximum, sum and y follow. Lanes of the last vector that the row does not see are
 * 0. */
static void row_softmax(const struct head *h, const struct tile *t, int64_t r, struct workspace *w)
{
	float *s = w->scores + r * KEYS;
	int64_t n = keys_seen(t, r);
#if TILE_PAIRS
	element *p = w->pairs + r * KEYS;
#else
	float *p = s;
#endif
	if (!row_scores(h, s, t->q0 + r, t->k0, n)) {
		memset(p, 0, (size_t)n * sizeof *p);
		row_unseen(t, r, w);
		return;
	}
	float maximum = row_maximum(s, n) * h->scale;
	if (t->k0 > t->first) {
		maximum = w->maximum[r] > maximum ? w->maximum[r] : maximum;
		float correction = vector_exp(vector_all(w->maximum[r] - maximum))[0];
		float *y = w->y + r * DEPTH;
		w->sum[r] *= correction;
		for (int64_t v = 0; v < t->vectors; v++)
			vector_store(y + v * LANES, vector_load(y + v * LANES) * correction);
	} else {
		w->sum[r] = 0;
	}
	w->maximum[r] = maximum;
	w->sum[r] += row_exponentials(s, p, n, h->scale, maximum);
}

static void tile_output(const struct head *h, const struct tile *t, struct workspace *w)
{
	const element *v = h->v + t->k0 * h->qkv_row + t->column;
	int64_t length = t->vectors * LANES;
#if TILE_PAIRS
	const float *p = (const float *)(const void *)w->pairs;
#else
	const float *p = w->scores;
#endif
	pack_across(t->keys, h->size - t->column, t->vectors, v, h->qkv_row, w->values, length);
	for (int64_t r = 0; r < t->queries; r += TILE_ROWS) {
		int64_t rows = smaller(TILE_ROWS, t->queries - r);
		tile_multiply(rows, length, units(keys_seen(t, r + rows - 1)), p + r * P_ROW, P_ROW, 1, w->values,
		              length, w->y + r * DEPTH, DEPTH, t->k0 > t->first);
	}
}

static void finish_rows(const struct head *h, const struct tile *t, const struct workspace *w)
{
	int64_t n = smaller(DEPTH, h->size - t->column);
	for (int64_t r = 0; r < t->queries; r++) {
		element *y = h->y_out + (t->q0 + r) * h->y_row + t->column;
		const float *sums = w->y + r * DEPTH;
		float inverse = 1.0f / w->sum[r];
		int64_t i = 0;
		for (; i + LANES <= n; i += LANES)
			element_store(y + i, vector_load(sums + i) * inverse);
		if (i < n)
			element_store_part(y + i, vector_load(sums + i) * inverse, n - i);
		h->log_sum_exp_out[t->q0 + r] = w->maximum[r] + logf(w->sum[r]);
	}
}

static void queries_forward(const struct head *h, int64_t q0, int64_t column, struct workspace *w)
{
	struct tile t = {.q0 = q0,
	                 .queries = smaller(QUERIES, h->tokens - q0),
	                 .k0 = first_tile(h, q0, KEYS),
	                 .first = first_tile(h, q0, KEYS),
	                 .column = column,
	                 .vectors = round_up_lanes(smaller(DEPTH, h->size - column)) / LANES};
	do {
		t.keys = smaller(KEYS, h->tokens - t.k0);
		tile_scores(h, &t, w);
		for (int64_t r = 0; r < t.queries; r++)
			row_softmax(h, &t, r, w);
		tile_output(h, &t, w);
		t.k0 += KEYS;
	} while (t.k0 <= q0);
	finish_rows(h, &t, w);
}

/* Tiles of queries and keys begin at the same places, so the diagonal crosses only tiles with k0 = q0. */
_Static_assert(QUERIES == KEYS, "the loop over keys ends with the tile on the diagonal");

void SIMD_BODY(attention_forward)(const void *task, int64_t begin, int64_t end)
{
	struct workspace w;
	for (int64_t i = begin; i < end; i++) {
		struct head h = head_forward_of(task, i);
		for (int64_t group = 0; group < h.size; group += DEPTH)
			for (int64_t q0 = 0; q0 < h.tokens; q0 += QUERIES)
				queries_forward(&h, q0, group, &w);
	}
}

#endif
