/* Causal attention, forward (FlashAttention, algorithm 1), for one head of one sample at a time:
 *
 *                keys ►  k0      k0+64
 *     queries  q0 ┌───────┬───────┬───      for each tile of queries, over the tiles of keys up to the diagonal:
 *        ▼        │ S  ╲  │ never │           S = Q · Kᵀ
 *        q0+64    ├───────┼───────┼───        m, l: running maximum and sum of exponentials of each row
 *                 │ S     │ S  ╲  │           P = exp(S/√d − m), 0 right of the diagonal
 *                 └───────┴───────┴───        y = y · exp(m_old − m) + P · V
 *                                           then y /= l, and log_sum_exp = m + log l
 *
 * Inside the diagonal tile, a block of rows takes only the vectors of keys that it can see. With a window, tiles that
 * lie before that of the first query are left out; in those that its edge crosses, P is 0 left of it. Heads wider than
 * DEPTH are taken in chunks.
 */
#include "kernels/cpu/simd/simd.h"

#if !ELEMENT_16BIT /* for those see attention16_forward.c */

#include <assert.h>

#include "kernels/cpu/simd/attention.h"

#define QUERIES 64
#define KEYS 64
#define DEPTH 64

struct workspace {                                 /* 48 KiB of stack */
	_Alignas(64) float scores[QUERIES * KEYS]; /* S, then P */
	_Alignas(64) float keys[DEPTH * KEYS];     /* transposed */
	_Alignas(64) float values[KEYS * DEPTH];
	float maximum[QUERIES], sum[QUERIES];
	int64_t first; /* the first tile of keys that these queries see */
};

/* The keys from k0 on that the query sees; they may exceed the tile. */
ALWAYS_INLINE int64_t visible_keys(int64_t query, int64_t k0)
{
	return query - k0 + 1;
}

static void tile_scores(const struct head *h, struct workspace *w, int64_t q0, int64_t queries, int64_t k0,
                        int64_t keys)
{
	assert(h->size > 0 && queries > 0); /* so every score is written */
	for (int64_t d = 0; d < h->size; d += DEPTH) {
		int64_t depth = smaller(DEPTH, h->size - d);
		tile_pack_transposed(keys, depth, h->k + k0 * h->qkv_row + d, h->qkv_row, w->keys, KEYS);
		for (int64_t r = 0; r < queries; r += TILE_ROWS) {
			int64_t rows = smaller(TILE_ROWS, queries - r);
			int64_t columns = round_up_lanes(smaller(keys, visible_keys(q0 + r + rows - 1, k0)));
			tile_multiply(rows, columns, depth, h->q + (q0 + r) * h->qkv_row + d, h->qkv_row, 1, w->keys,
			              KEYS, w->scores + r * KEYS, KEYS, d > 0);
		}
	}
}

/* A row that sees nothing of a tile. */
static void row_unseen(struct workspace *w, int64_t r, int64_t k0, int64_t keys)
{
	memset(w->scores + r * KEYS, 0, (size_t)keys * sizeof *w->scores);
	if (k0 > w->first)
		return;
	w->maximum[r] = -INFINITY;
	w->sum[r] = 0;
}

/* One row of S becomes P; the running maximum, sum and y follow. */
static void row_softmax(const struct head *h, struct workspace *w, int64_t q0, int64_t r, int64_t k0, int64_t keys)
{
	float *s = w->scores + r * KEYS;
	int64_t n = smaller(keys, visible_keys(q0 + r, k0));
	if (!row_scores(h, s, q0 + r, k0, n)) {
		row_unseen(w, r, k0, n);
		return;
	}
	float maximum = row_maximum(s, n) * h->scale;
	if (k0 > w->first) {
		maximum = w->maximum[r] > maximum ? w->maximum[r] : maximum;
		float correction = vector_exp(vector_all(w->maximum[r] - maximum))[0];
		w->sum[r] *= correction;
		float *y = h->y_out + (q0 + r) * h->y_row;
		for (int64_t j = 0; j < h->size; j++)
			y[j] *= correction;
	} else {
		w->sum[r] = 0;
	}
	w->maximum[r] = maximum;
	w->sum[r] += row_exponentials(s, s, n, h->scale, maximum);
}

static void tile_output(const struct head *h, struct workspace *w, int64_t q0, int64_t queries, int64_t k0,
                        int64_t keys)
{
	for (int64_t d = 0; d < h->size; d += DEPTH) {
		int64_t columns = smaller(DEPTH, h->size - d);
		int64_t length = tile_pack(keys, columns, h->v + k0 * h->qkv_row + d, h->qkv_row, w->values);
		for (int64_t r = 0; r < queries; r += TILE_ROWS) {
			int64_t rows = smaller(TILE_ROWS, queries - r);
			int64_t depth = smaller(keys, visible_keys(q0 + r + rows - 1, k0));
			tile_multiply(rows, columns, depth, w->scores + r * KEYS, KEYS, 1, w->values, length,
			              h->y_out + (q0 + r) * h->y_row + d, h->y_row, k0 > w->first);
		}
	}
}

static void head_forward(const struct head *h, struct workspace *w)
{
	for (int64_t q0 = 0; q0 < h->tokens; q0 += QUERIES) {
		int64_t queries = smaller(QUERIES, h->tokens - q0);
		int64_t k0 = w->first = first_tile(h, q0, KEYS);
		do {
			int64_t keys = smaller(KEYS, h->tokens - k0);
			tile_scores(h, w, q0, queries, k0, keys);
			for (int64_t r = 0; r < queries; r++)
				row_softmax(h, w, q0, r, k0, keys);
			tile_output(h, w, q0, queries, k0, keys);
			k0 += KEYS;
		} while (k0 <= q0);
		for (int64_t r = 0; r < queries; r++) {
			float *y = h->y_out + (q0 + r) * h->y_row, inverse = 1.0f / w->sum[r];
			for (int64_t j = 0; j < h->size; j++)
				y[j] *= inverse;
			h->log_sum_exp_out[q0 + r] = w->maximum[r] + logf(w->sum[r]);
		}
	}
}

/* Tiles of queries and keys begin at the same places, so the diagonal crosses only tiles with k0 = q0. */
_Static_assert(QUERIES == KEYS, "the loop over keys ends with the tile on the diagonal");

void SIMD_BODY(attention_forward)(const void *task, int64_t begin, int64_t end)
{
	struct workspace w;
	for (int64_t i = begin; i < end; i++) {
		struct head h = head_forward_of(task, i);
		head_forward(&h, &w);
	}
}

#endif
