/* Causal attention of 16-bit elements, backward: the formulas of attention_backward.c. Its sums cannot stand in dqkv,
 * which has 16 bits; they are fp32 in the workspace, and each is rounded once. So for each tile of 32 keys, over the
 * queries from the diagonal down, of all heads that share the keys, dK and dV are summed; dQ of all these queries is
 * summed meanwhile if it fits:
 *
 *     it fits     for k0 { for q0 ≥ k0 { S, P, dP, dS;  dV, dK, dQ[q0] }  dV, dK done }  dQ done        5 products a
 * tile else        for k0 { for q0 ≥ k0 { S, P, dP, dS;  dV, dK }  done } for q0 { for k0 ≤ q0 { S, P, dP, dS;  dQ }
 * done }                                    7
 *
 * With a window, tiles beyond it are left out.
 *
 * P and dS are multiplied as bf16 where there are pairs (pack.h), as fp32 elsewhere. Heads wider than DEPTH make scores
 * in chunks, and gradients in groups of columns, everything else anew for each.
 */
#include "kernels/cpu/simd/simd.h"

#if ELEMENT_16BIT

#include "kernels/cpu/simd/attention.h"
#include "kernels/cpu/simd/pack.h"

#define QUERIES 64
#define KEYS 32
#define DEPTH 128
#define UNITS (DEPTH / UNIT_ELEMENTS)
#define ROW (UNITS + 16)
#define QUERY_SUMS 65536 /* elements of dQ that are kept: 2048 tokens of 32 */
#define DELTAS 4096

struct workspace { /* 0.5 MiB of stack, touched as far as there are tokens */
	_Alignas(64) float q[QUERIES * ROW], dy[QUERIES * ROW]; /* left operands: rows of units */
	_Alignas(64) float keys[UNITS * KEYS], values[UNITS * KEYS];
	_Alignas(64) float panel[QUERIES / UNIT_ELEMENTS * DEPTH]; /* dY, Q or K as right operand */
	_Alignas(64) float p[QUERIES * KEYS], ds[QUERIES * KEYS];
#if TILE_PAIRS
	_Alignas(64) float p_pairs[QUERIES / 2 * KEYS], ds_pairs[QUERIES / 2 * KEYS]; /* of queries */
	_Alignas(64) element ds_rows[QUERIES * KEYS];                                 /* pairs of keys */
#endif
	_Alignas(64) float dk[KEYS * DEPTH], dv[KEYS * DEPTH];
	_Alignas(64) float dq[QUERY_SUMS];
	float delta[DELTAS];
};

_Static_assert(sizeof(struct workspace) <= KERNELS_STACK_BYTES * 3 / 4, "the rest is for those who call");

struct tile {
	int64_t q0, queries, k0, keys;
	int64_t column, vectors; /* of the gradients: the first column of the group, and how many vectors */
	bool diagonal;           /* q0 = k0 */
	bool first_queries;      /* nothing is in the keys' sums yet */
	bool new_queries, new_keys;
	bool key_sums, query_sums; /* the sums that are wanted */
	const float *delta;        /* of the queries */
	float *dq;                 /* the queries' sums */
	bool first_keys;           /* nothing is in them yet */
};

ALWAYS_INLINE int64_t keys_seen(const struct tile *t, int64_t row)
{
	return t->diagonal ? smaller(t->keys, row + 1) : t->keys;
}

/* The first row that sees a key: 8 keys that begin at `key` (a multiple of 8) share it. */
ALWAYS_INLINE int64_t first_row(const struct tile *t, int64_t key)
{
	return t->diagonal ? smaller(t->queries, key) : 0;
}

static void pack_keys(const struct head *h, const struct tile *t, int64_t d, int64_t depth, struct workspace *w)
{
	for (int64_t j = 0; j < t->keys; j += LANES) {
		int64_t place = (t->k0 + j) * h->qkv_row + d, n = smaller(LANES, t->keys - j);
		pack_along(depth, n, h->k + place, h->qkv_row, w->keys + j, KEYS);
		pack_along(depth, n, h->v + place, h->qkv_row, w->values + j, KEYS);
	}
}

/* Makes S and dP for the visible part. */
static void tile_scores(const struct head *h, const struct tile *t, struct workspace *w)
{
	for (int64_t d = 0; d < h->size; d += DEPTH) {
		int64_t depth = smaller(DEPTH, h->size - d);
		bool chunks = h->size > DEPTH; /* else what was packed is still there */
		if (t->new_keys || chunks)
			pack_keys(h, t, d, depth, w);
		if (t->new_queries || chunks) {
			pack_rows(depth, t->queries, h->q + t->q0 * h->qkv_row + d, h->qkv_row, w->q, ROW);
			pack_rows(depth, t->queries, h->dy + t->q0 * h->y_row + d, h->y_row, w->dy, ROW);
		}
		for (int64_t r = 0; r < t->queries; r += TILE_ROWS) {
			int64_t rows = smaller(TILE_ROWS, t->queries - r),
			        n = round_up_lanes(keys_seen(t, r + rows - 1));
			tile_multiply(rows, n, units(depth), w->q + r * ROW, ROW, 1, w->keys, KEYS, w->p + r * KEYS,
			              KEYS, d > 0);
			tile_multiply(rows, n, units(depth), w->dy + r * ROW, ROW, 1, w->values, KEYS, w->ds + r * KEYS,
			              KEYS, d > 0);
		}
	}
}

_Static_assert(KEYS % (2 * LANES) == 0, "vectors go in pairs where all keys are visible");

static void tile_softmax(const struct head *h, const struct tile *t, struct workspace *w)
{
	for (int64_t r = 0; r < t->queries; r++)
		row_backward(h, w->p + r * KEYS, w->ds + r * KEYS, t->q0 + r, t->k0, keys_seen(t, r), t->delta[r]);
}

#if TILE_PAIRS

/* P and dS as pairs of queries, dS as pairs of keys too. Vectors that no row of a pair sees hold what they hold: no
 * product reads them. */
static void tile_pairs(const struct tile *t, struct workspace *w)
{
	const vector none = {0};
	for (int64_t r = 0; r < t->queries; r += 2) {
		bool two = r + 1 < t->queries;
		int64_t n = keys_seen(t, r), n_next = two ? keys_seen(t, r + 1) : 0;
		for (int64_t i = 0; i < KEYS && i < (n_next > n ? n_next : n); i += LANES) {
			int64_t place = r * KEYS + i, next = place + KEYS;
			halves p = halves_narrow(i < n ? vector_load(w->p + place) : none);
			halves ds = halves_narrow(i < n ? vector_load(w->ds + place) : none);
			halves p_next = halves_narrow(i < n_next ? vector_load(w->p + next) : none);
			halves ds_next = halves_narrow(i < n_next ? vector_load(w->ds + next) : none);
			vector_store(w->p_pairs + r / 2 * KEYS + i, halves_pair(p, p_next));
			vector_store(w->ds_pairs + r / 2 * KEYS + i, halves_pair(ds, ds_next));
			*(halves_unaligned *)(w->ds_rows + place) = ds;
			*(halves_unaligned *)(w->ds_rows + next) = ds_next;
		}
	}
}

#endif

/* sums[keys, columns] += weightsᵀ · right, with weights P or dS and right dY or Q. */
static void tile_to_keys(const struct head *h, const struct tile *t, const float *weights, const element *right,
                         int64_t right_row, struct workspace *w, float *sums)
{
	int64_t length = t->vectors * LANES;
	pack_across(t->queries, h->size - t->column, t->vectors, right + t->column, right_row, w->panel, length);
	for (int64_t r = 0; r < t->keys; r += TILE_ROWS) {
		int64_t rows = smaller(TILE_ROWS, t->keys - r), first = first_row(t, r) / UNIT_ELEMENTS;
		tile_multiply(rows, length, units(t->queries) - first, weights + first * KEYS + r, 1, KEYS,
		              w->panel + first * length, length, sums + r * DEPTH, DEPTH, !t->first_queries);
	}
}

/* dQ += dS · K */
static void tile_to_queries(const struct head *h, const struct tile *t, struct workspace *w)
{
	int64_t length = t->vectors * LANES;
#if TILE_PAIRS
	const float *ds = (const float *)(const void *)w->ds_rows;
#else
	const float *ds = w->ds;
#endif
	pack_across(t->keys, h->size - t->column, t->vectors, h->k + t->k0 * h->qkv_row + t->column, h->qkv_row,
	            w->panel, length);
	for (int64_t r = 0; r < t->queries; r += TILE_ROWS) {
		int64_t rows = smaller(TILE_ROWS, t->queries - r);
		tile_multiply(rows, length, units(keys_seen(t, r + rows - 1)), ds + r * (KEYS / UNIT_ELEMENTS),
		              KEYS / UNIT_ELEMENTS, 1, w->panel, length, t->dq + r * length, length, !t->first_keys);
	}
}

static void tile_backward(const struct head *h, const struct tile *t, struct workspace *w)
{
	tile_scores(h, t, w);
	tile_softmax(h, t, w);
#if TILE_PAIRS
	const float *p = w->p_pairs, *ds = w->ds_pairs;
	tile_pairs(t, w);
#else
	const float *p = w->p, *ds = w->ds;
#endif
	if (t->key_sums) {
		tile_to_keys(h, t, p, h->dy + t->q0 * h->y_row, h->y_row, w, w->dv);
		tile_to_keys(h, t, ds, h->q + t->q0 * h->qkv_row, h->qkv_row, w, w->dk);
	}
	if (t->query_sums)
		tile_to_queries(h, t, w);
}

/* Rounds sums[rows, columns of the group] into a part of dqkv. */
static void finish_rows(const struct head *h, const struct tile *t, int64_t rows, const float *sums, int64_t sums_row,
                        element *out)
{
	int64_t n = smaller(DEPTH, h->size - t->column);
	for (int64_t r = 0; r < rows; r++, sums += sums_row, out += h->qkv_row) {
		struct narrow_task row = {sums, out + t->column, false};
		SIMD_BODY(narrow)(&row, 0, n);
	}
}

static void make_delta(const struct head *h, int64_t q0, int64_t queries, float *delta)
{
	for (int64_t q = 0; q < queries; q++)
		delta[q] = row_delta(h, q0 + q);
}

/* The query heads that share one head of keys. */
struct group {
	const struct attention_backward_task *task;
	int64_t first, heads;
};

ALWAYS_INLINE struct head head_in(const struct group *g, int64_t i)
{
	return head_backward_of(g->task, g->first + i);
}

/* The queries that see the keys from t->k0 on, of one of the heads. What is kept of it, δ and dQ, begins at
 * head·tokens. */
static void queries_of_head(const struct group *g, int64_t head, struct tile *t, bool keep, struct workspace *w)
{
	const struct head h = head_in(g, head);
	int64_t length = t->vectors * LANES, first = keep ? head * h.tokens : 0;
	int64_t end = smaller(h.tokens, queries_end(&h, t->k0 + t->keys - 1));
	for (t->q0 = t->k0; t->q0 < end; t->q0 += QUERIES) {
		t->queries = smaller(QUERIES, h.tokens - t->q0);
		t->diagonal = t->q0 == t->k0;
		t->first_queries = t->new_keys = t->diagonal && head == 0;
		t->delta = keep ? w->delta + first + t->q0 : w->delta;
		t->dq = w->dq + (keep ? (first + t->q0) * length : 0);
		if (!keep)
			make_delta(&h, t->q0, t->queries, w->delta);
		tile_backward(&h, t, w);
	}
}

/* Computes dK and dV of one tile of keys. */
static void keys_backward(const struct group *g, struct tile *t, bool keep, struct workspace *w)
{
	const struct head h = head_in(g, 0);
	t->keys = smaller(KEYS, h.tokens - t->k0);
	t->first_keys = t->k0 == 0 && !has_window(&h);
	for (int64_t i = 0; i < g->heads; i++)
		queries_of_head(g, i, t, keep, w);
	finish_rows(&h, t, t->keys, w->dk, DEPTH, h.dk + t->k0 * h.qkv_row);
	finish_rows(&h, t, t->keys, w->dv, DEPTH, h.dv + t->k0 * h.qkv_row);
}

/* dK and dV; and dQ if all of it is kept, with δ of all queries made before. */
static void by_keys(const struct group *g, struct tile t, bool keep, struct workspace *w)
{
	int64_t length = t.vectors * LANES, tokens = g->task->shape->tokens;
	t.key_sums = true;
	t.query_sums = keep;
	t.new_queries = true;
	for (int64_t i = 0; keep && i < g->heads; i++) {
		const struct head h = head_in(g, i);
		make_delta(&h, 0, tokens, w->delta + i * tokens);
	}
	/* Queries of one tile may begin with different keys. */
	if (keep && g->task->shape->window)
		memset(w->dq, 0, (size_t)(g->heads * tokens * length) * sizeof *w->dq);
	for (t.k0 = 0; t.k0 < tokens; t.k0 += KEYS)
		keys_backward(g, &t, keep, w);
	for (int64_t i = 0; keep && i < g->heads; i++) {
		const struct head h = head_in(g, i);
		finish_rows(&h, &t, tokens, w->dq + i * tokens * length, length, h.dq);
	}
}

/* dQ alone, in tiles as high as they are wide, so that the diagonal goes through corners. */
static void by_queries(const struct head *h, struct tile t, struct workspace *w)
{
	t.query_sums = true;
	t.new_keys = true;
	t.dq = w->dq;
	t.delta = w->delta;
	for (t.q0 = 0; t.q0 < h->tokens; t.q0 += KEYS) {
		t.queries = smaller(KEYS, h->tokens - t.q0);
		make_delta(h, t.q0, t.queries, w->delta);
		int64_t first = first_tile(h, t.q0, KEYS);
		for (t.k0 = first; t.k0 <= t.q0; t.k0 += KEYS) {
			t.keys = smaller(KEYS, h->tokens - t.k0);
			t.diagonal = t.k0 == t.q0;
			t.first_keys = t.new_queries = t.k0 == first;
			tile_backward(h, &t, w);
		}
		finish_rows(h, &t, t.queries, w->dq, t.vectors * LANES, h->dq + t.q0 * h->qkv_row);
	}
}

static void group_backward(const struct group *g, struct workspace *w)
{
	int64_t size = g->task->shape->head_size, tokens = g->task->shape->tokens;
	for (int64_t column = 0; column < size; column += DEPTH) {
		struct tile t = {.column = column, .vectors = round_up_lanes(smaller(DEPTH, size - column)) / LANES};
		bool keep = g->heads * tokens <= DELTAS && g->heads * tokens * t.vectors * LANES <= QUERY_SUMS;
		by_keys(g, t, keep, w);
		for (int64_t i = 0; !keep && i < g->heads; i++) {
			const struct head h = head_in(g, i);
			by_queries(&h, t, w);
		}
	}
}

void SIMD_BODY(attention_backward)(const void *task, int64_t begin, int64_t end)
{
	const struct attention_backward_task *t = task;
	int64_t heads = group_of(t->shape);
	struct workspace w;
	for (int64_t i = begin; i < end; i++) {
		struct group g = {t, i * heads, heads};
		group_backward(&g, &w);
	}
}

#endif
