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
 * the first tile of queries (the one on the diagonal) writes dK and dV.
 */
#include "kernels/cpu/simd/simd.h"

#if !ELEMENT_16BIT /* for those see attention16_backward.c */

#include <math.h>

#include "kernels/cpu/simd/math.h"
#include "kernels/cpu/simd/tile.h"

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

struct head {
	const float *q, *k, *v, *y, *dy, *log_sum_exp;
	float *dq, *dk, *dv;
	int64_t qkv_row, y_row, tokens, size;
	float scale;
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

static float row_product(int64_t n, const float *a, const float *b)
{
	vector sum = {0};
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		sum += vector_load(a + i) * vector_load(b + i);
	if (i < n)
		sum += vector_load_part(a + i, n - i) * vector_load_part(b + i, n - i);
	return vector_reduce_sum(sum);
}

/* n vectors of S and dP become P and dS. */
ALWAYS_INLINE void probabilities(float *p, float *ds, const int n, float scale, float log_sum_exp, float delta)
{
	vector e[TOGETHER];
	EACH(n) e[j] = vector_load(p + j * LANES) * scale - log_sum_exp;
	vectors_exp(e, n);
	EACH(n) vector_store(p + j * LANES, e[j]);
	EACH(n) vector_store(ds + j * LANES, e[j] * (vector_load(ds + j * LANES) - delta) * scale);
}

_Static_assert(KEYS % (2 * LANES) == 0, "vectors go in pairs where all keys are visible");

/* What is not visible in a row's last vector becomes 0. */
static void tile_softmax(const struct head *h, const struct tile *t, struct workspace *w)
{
	for (int64_t r = 0; r < t->queries; r++) {
		float *p = w->p + r * KEYS, *ds = w->ds + r * KEYS;
		float log_sum_exp = h->log_sum_exp[t->q0 + r], delta = t->delta[r];
		int64_t n = keys_seen(t, r), i = 0;
		for (; i + 2 * LANES <= n; i += 2 * LANES)
			probabilities(p + i, ds + i, 2, h->scale, log_sum_exp, delta);
		for (; i < n; i += LANES) {
			probabilities(p + i, ds + i, 1, h->scale, log_sum_exp, delta);
			if (n - i < LANES) {
				mask tail = vector_below(n - i);
				vector_store(p + i, vector_select(tail, vector_load(p + i), (vector){0}));
				vector_store(ds + i, vector_select(tail, vector_load(ds + i), (vector){0}));
			}
		}
	}
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
			              !t->diagonal);
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
			              length, h->dq + (t->q0 + r) * h->qkv_row + d, h->qkv_row, t->k0 > 0);
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

static void head_backward(const struct head *h, struct workspace *w)
{
	for (int64_t stripe = 0; stripe < h->tokens; stripe += STRIPE) {
		int64_t end = smaller(h->tokens, stripe + STRIPE);
		for (int64_t query = stripe; query < end; query++)
			w->delta[query - stripe] =
			        row_product(h->size, h->dy + query * h->y_row, h->y + query * h->y_row);
		for (int64_t k0 = 0; k0 < end; k0 += KEYS) {
			int64_t first = k0 < stripe ? stripe : k0;
			for (int64_t q0 = first; q0 < end; q0 += QUERIES) {
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
	const struct attention_task *t = task;
	const struct attention_shape *s = &t->shape;
	struct workspace w;
	int64_t width = s->heads * s->head_size;

	for (int64_t i = begin; i < end; i++) {
		int64_t column = i % s->heads * s->head_size;
		int64_t qkv = i / s->heads * s->tokens * 3 * width + column;
		int64_t y = i / s->heads * s->tokens * width + column;
		struct head h = {.q = (const float *)t->qkv + qkv,
		                 .k = (const float *)t->qkv + qkv + width,
		                 .v = (const float *)t->qkv + qkv + 2 * width,
		                 .dq = (float *)t->dqkv + qkv,
		                 .dk = (float *)t->dqkv + qkv + width,
		                 .dv = (float *)t->dqkv + qkv + 2 * width,
		                 .y = (const float *)t->output + y,
		                 .dy = (const float *)t->dy + y,
		                 .log_sum_exp = t->log_sum_exp + i * s->tokens,
		                 .qkv_row = 3 * width,
		                 .y_row = width,
		                 .tokens = s->tokens,
		                 .size = s->head_size,
		                 .scale = 1.0f / sqrtf((float)s->head_size)};
		head_backward(&h, &w);
	}
}

#endif
