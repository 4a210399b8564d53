/* Causal attention, backward (FlashAttention, appendix B.2 and algorithm 4), for one head of one sample at a time.
 * Nothing of tokens × tokens was kept: P comes again from S and the log-sum-exp. For each tile of keys, over the tiles
 * of queries from the diagonal down:
 *
 *                keys ►  k0   k0+32
 *     queries  k0 ┌─────┐                     P  = exp(Q · Kᵀ/√d − log_sum_exp)
 *        ▼        │╲    │                     dV += Pᵀ · dY
 *        k0+64    ├─────┤                     dS = P ∘ (dY · Vᵀ − δ)/√d     with δ = rowsum(dY ∘ Y)
 *                 │     │                     dK += dSᵀ · Q
 *                 └─────┘                     dQ += dS · K
 *
 * Queries are taken in stripes of 512, for which δ is worked out once.
 *
 * The sums go to dqkv itself: every query sees key 0, so the first tile of keys writes dQ and later ones add; likewise
 * the first tile of queries (the one on the diagonal) writes dK and dV. Heads that share keys come one after another,
 * and the first writes. With a window, tiles beyond it are left out, queries of one tile begin with different keys, and
 * dQ is 0 first and always added to.
 */
#include "kernels/cpu/simd/simd.h"

#if !ELEMENT_16BIT /* for those see attention16_backward.c */

#include "kernels/cpu/simd/attention.h"

#define QUERIES 64
#define KEYS 32
#define DEPTH 64
#define STRIPE 512

struct workspace { /* 58 KiB of stack; with heads of 32, the 38 KiB in use fit the first cache */
	_Alignas(64) float p[QUERIES * KEYS];
	_Alignas(64) float ds[QUERIES * KEYS];
	_Alignas(64) float keys[DEPTH * KEYS];     /* K, transposed */
	_Alignas(64) float values[DEPTH * KEYS];   /* V, transposed */
	_Alignas(64) float panel[QUERIES * DEPTH]; /* dY, Q or K as right operand */
	float delta[STRIPE];
};

struct tile {
	int64_t q0, queries, k0, keys;
	bool diagonal;      /* q0 = k0 */
	const float *delta; /* of the queries */
};

/* Keys of the tile that its rows up to `row` see, and the first row that sees key `key`. */
ALWAYS_INLINE int64_t keys_seen(const struct tile *t, int64_t row)
{
	return t->diagonal ? smaller(t->keys, row + 1) : t->keys;
}

ALWAYS_INLINE int64_t first_row(const struct tile *t, int64_t key)
{
	return t->diagonal ? smaller(t->queries, key) : 0;
}

/* `out` (p or ds) = left · rightᵀ for the part that is visible; right is K or V, packed transposed. */
static void tile_scores(const struct tile *t, int64_t depth, const float *left, int64_t left_row, const float *packed,
                        float *out, bool accumulate)
{
	for (int64_t r = 0; r < t->queries; r += TILE_ROWS) {
		int64_t rows = smaller(TILE_ROWS, t->queries - r);
		tile_multiply(rows, round_up_lanes(keys_seen(t, r + rows - 1)), depth, left + r * left_row, left_row, 1,
		              packed, KEYS, out + r * KEYS, KEYS, accumulate);
	}
}

_Static_assert(KEYS % (2 * LANES) == 0, "vectors go in pairs where all keys are visible");

static void tile_softmax(const struct head *h, const struct tile *t, struct workspace *w)
{
	for (int64_t r = 0; r < t->queries; r++)
		row_backward(h, w->p + r * KEYS, w->ds + r * KEYS, t->q0 + r, t->k0, keys_seen(t, r), t->delta[r]);
}

/* out[keys, head size] (+)= weightsᵀ · right, with weights P or dS and right dY or Q. */
static void tile_to_keys(const struct head *h, const struct tile *t, const float *weights, const float *right,
                         int64_t right_row, float *panel, float *out)
{
	for (int64_t d = 0; d < h->size; d += DEPTH) {
		int64_t columns = smaller(DEPTH, h->size - d);
		int64_t length = tile_pack(t->queries, columns, right + d, right_row, panel);
		for (int64_t r = 0; r < t->keys; r += TILE_ROWS) {
			int64_t rows = smaller(TILE_ROWS, t->keys - r), first = first_row(t, r);
			tile_multiply(rows, columns, t->queries - first, weights + first * KEYS + r, 1, KEYS,
			              panel + first * length, length, out + r * h->qkv_row + d, h->qkv_row,
			              !t->diagonal || h->shares);
		}
	}
}

/* dQ (+)= dS · K */
static void tile_to_queries(const struct head *h, const struct tile *t, struct workspace *w)
{
	for (int64_t d = 0; d < h->size; d += DEPTH) {
		int64_t columns = smaller(DEPTH, h->size - d);
		int64_t length = tile_pack(t->keys, columns, h->k + t->k0 * h->qkv_row + d, h->qkv_row, w->panel);
		for (int64_t r = 0; r < t->queries; r += TILE_ROWS) {
			int64_t rows = smaller(TILE_ROWS, t->queries - r);
			tile_multiply(rows, columns, keys_seen(t, r + rows - 1), w->ds + r * KEYS, KEYS, 1, w->panel,
			              length, h->dq + (t->q0 + r) * h->qkv_row + d, h->qkv_row,
			              t->k0 > 0 || has_window(h));
		}
	}
}

static void tile_backward(const struct head *h, const struct tile *t, struct workspace *w, bool new_keys)
{
	const float *q = h->q + t->q0 * h->qkv_row, *k = h->k + t->k0 * h->qkv_row, *v = h->v + t->k0 * h->qkv_row;
	const float *dy = h->dy + t->q0 * h->y_row;
	for (int64_t d = 0; d < h->size; d += DEPTH) {
		int64_t depth = smaller(DEPTH, h->size - d);
		if (new_keys || h->size > DEPTH) { /* else they are still packed from the tile above */
			tile_pack_transposed(t->keys, depth, k + d, h->qkv_row, w->keys, KEYS);
			tile_pack_transposed(t->keys, depth, v + d, h->qkv_row, w->values, KEYS);
		}
		tile_scores(t, depth, q + d, h->qkv_row, w->keys, w->p, d > 0);
		tile_scores(t, depth, dy + d, h->y_row, w->values, w->ds, d > 0);
	}
	tile_softmax(h, t, w);
	tile_to_keys(h, t, w->p, dy, h->y_row, w->panel, h->dv + t->k0 * h->qkv_row);
	tile_to_keys(h, t, w->ds, q, h->qkv_row, w->panel, h->dk + t->k0 * h->qkv_row);
	tile_to_queries(h, t, w);
}

static void begin_stripe(const struct head *h, int64_t stripe, int64_t end, struct workspace *w)
{
	for (int64_t query = stripe; query < end; query++) {
		w->delta[query - stripe] = row_delta(h, query);
		if (has_window(h))
			memset(h->dq + query * h->qkv_row, 0, (size_t)h->size * sizeof *h->dq);
	}
}

static void head_backward(const struct head *h, struct workspace *w)
{
	for (int64_t stripe = 0; stripe < h->tokens; stripe += STRIPE) {
		int64_t end = smaller(h->tokens, stripe + STRIPE);
		begin_stripe(h, stripe, end, w);
		for (int64_t k0 = first_tile(h, stripe, KEYS); k0 < end; k0 += KEYS) {
			int64_t first = k0 < stripe ? stripe : k0, last = smaller(end, queries_end(h, k0 + KEYS - 1));
			for (int64_t q0 = first; q0 < last; q0 += QUERIES) {
				struct tile t = {q0,       smaller(QUERIES, end - q0),
				                 k0,       smaller(KEYS, h->tokens - k0),
				                 q0 == k0, w->delta + (q0 - stripe)};
				tile_backward(h, &t, w, q0 == first);
			}
		}
	}
}

/* A tile of keys must not reach into the next stripe: its first tile of queries would then lie in two. */
_Static_assert(STRIPE % KEYS == 0 && STRIPE % QUERIES == 0, "stripes are made of whole tiles");

void SIMD_BODY(attention_backward)(const void *task, int64_t begin, int64_t end)
{
	const struct attention_backward_task *t = task;
	int64_t group = group_of(t->shape);
	struct workspace w;
	for (int64_t i = begin * group; i < end * group; i++) {
		struct head h = head_backward_of(t, i);
		head_backward(&h, &w);
	}
}

#endif
