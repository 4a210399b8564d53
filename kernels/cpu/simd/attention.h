/* Attention for all types of elements: the places of a head's rows, and the softmax of a row. Tiles and their products
 * differ: attention_*.c for fp32, attention16_*.c for 16 bits. */
#ifndef SHARDLAB_SIMD_ATTENTION_H
#define SHARDLAB_SIMD_ATTENTION_H

#include <math.h>

#include "kernels/alibi.h"
#include "kernels/cpu/simd/math.h"
#include "kernels/cpu/simd/tile.h"

/* One head of one sample; its rows are qkv_row or y_row elements apart. */
struct head {
	const element *q, *k, *v, *y, *dy;
	element *y_out, *dq, *dk, *dv;
	const float *log_sum_exp;
	float *log_sum_exp_out;
	int64_t qkv_row, y_row, tokens, size;
	float scale;
	int64_t window; /* tokens where there is none */
	float slope;    /* of ALiBi, divided by scale as scores are; 0: none */
	bool local;     /* it has a window or ALiBi */
	bool shares;    /* backward: a head of its group has written dk and dv already */
};

/* The number of query heads that share a head of keys. */
ALWAYS_INLINE int64_t group_of(const struct attention_shape *s)
{
	return s->heads / s->kv_heads;
}

ALWAYS_INLINE float slope_of(const struct attention_shape *s, int64_t head)
{
	return s->alibi_heads ? alibi_slope(s->alibi_heads, s->first_head + head) * sqrtf((float)s->head_size) : 0;
}

/* Head `i` of all samples' heads: its q, k and v, and at *y its elements of y. */
ALWAYS_INLINE struct head head_of(const struct attention_shape *s, const element *qkv, int64_t i, int64_t *y)
{
	int64_t width = s->heads * s->head_size, row = width + 2 * s->kv_heads * s->head_size;
	int64_t first = i / s->heads * s->tokens, head = i % s->heads;
	const element *rows = qkv + first * row, *k = rows + width + head / group_of(s) * s->head_size;
	*y = first * width + head * s->head_size;
	return (struct head){.q = rows + head * s->head_size,
	                     .k = k,
	                     .v = k + s->kv_heads * s->head_size,
	                     .qkv_row = row,
	                     .y_row = width,
	                     .tokens = s->tokens,
	                     .size = s->head_size,
	                     .scale = 1.0f / sqrtf((float)s->head_size),
	                     .window = s->window > 0 && s->window < s->tokens ? s->window : s->tokens,
	                     .slope = slope_of(s, head),
	                     .local = s->window > 0 || s->alibi_heads > 0};
}

ALWAYS_INLINE struct head head_forward_of(const struct attention_forward_task *t, int64_t i)
{
	int64_t y;
	struct head h = head_of(t->shape, t->qkv, i, &y);
	h.y_out = (element *)t->y + y;
	h.log_sum_exp_out = t->log_sum_exp + i * h.tokens;
	return h;
}

ALWAYS_INLINE struct head head_backward_of(const struct attention_backward_task *t, int64_t i)
{
	int64_t y;
	struct head h = head_of(t->shape, t->qkv, i, &y);
	h.dq = (element *)t->dqkv + (h.q - (const element *)t->qkv);
	h.dk = (element *)t->dqkv + (h.k - (const element *)t->qkv);
	h.dv = (element *)t->dqkv + (h.v - (const element *)t->qkv);
	h.shares = i % group_of(t->shape) > 0;
	h.y = (const element *)t->y + y;
	h.dy = (const element *)t->dy + y;
	h.log_sum_exp = t->log_sum_exp + i * h.tokens;
	return h;
}

/* ---- the window, and ALiBi ---- */

ALWAYS_INLINE bool has_window(const struct head *h)
{
	return h->window < h->tokens;
}

/* The beginning of the first tile, of so many keys, of which the query sees any. */
ALWAYS_INLINE int64_t first_tile(const struct head *h, int64_t query, int64_t keys)
{
	int64_t first = query - h->window + 1;
	return first > 0 ? first / keys * keys : 0;
}

/* Behind the last query that sees one of the keys up to `key`. */
ALWAYS_INLINE int64_t queries_end(const struct head *h, int64_t key)
{
	return key + h->window;
}

/* How many of n keys from k0 on lie before the query's window. */
ALWAYS_INLINE int64_t keys_hidden(const struct head *h, int64_t query, int64_t k0, int64_t n)
{
	int64_t hidden = query - h->window + 1 - k0;
	return hidden < 0 ? 0 : smaller(hidden, n);
}

/* Adds ALiBi to the scores of n keys from k0 on. */
ALWAYS_INLINE void row_bias(const struct head *h, float *s, int64_t query, int64_t k0, int64_t n)
{
	float nearest = (float)(k0 - query);
	for (int i = 0; h->slope > 0 && i < (int)n; i++)
		s[i] += h->slope * (nearest + (float)i);
}

/* ---- forward ---- */

/* Makes the scores of n keys from k0 on what the softmax is of. False if the query sees none of them. */
ALWAYS_INLINE bool row_scores(const struct head *h, float *s, int64_t query, int64_t k0, int64_t n)
{
	if (!h->local)
		return true;
	int64_t hidden = keys_hidden(h, query, k0, n);
	row_bias(h, s, query, k0, n);
	for (int64_t i = 0; i < hidden; i++)
		s[i] = -INFINITY;
	return hidden < n;
}

/* The largest of n scores. */
ALWAYS_INLINE float row_maximum(const float *s, int64_t n)
{
	int64_t whole = n - n % LANES, i;
	vector top = vector_all(-INFINITY);
	for (i = 0; i < whole; i += LANES)
		top = vector_maximum(top, vector_load(s + i));
	if (i < n)
		top = vector_maximum(top, vector_select(vector_below(n - whole), vector_load(s + i), top));
	return vector_reduce_maximum(top);
}

/* The form of P until it is multiplied: pairs of 16 bits where there are products of them. */
#if TILE_PAIRS
typedef element probability;
#define probability_store element_store
#else
typedef float probability;
#define probability_store vector_store
#endif

/* p = exp(s · scale − maximum) of n scores, and their sum; p may be s. In its last vector, lanes beyond n are 0.
 */
ALWAYS_INLINE float row_exponentials(const float *s, probability *p, int64_t n, float scale, float maximum)
{
	int64_t whole = n - n % LANES, i;
	vector x[TOGETHER], sum = {0};
	for (i = 0; i + TOGETHER * LANES <= n; i += TOGETHER * LANES) {
		EACH(TOGETHER) x[j] = vector_load(s + i + j * LANES) * scale - maximum;
		vectors_exp(x, TOGETHER);
		EACH(TOGETHER) probability_store(p + i + j * LANES, x[j]);
		sum += (x[0] + x[1]) + (x[2] + x[3]);
	}
	for (; i < n; i += LANES) {
		vector e = vector_exp(vector_load(s + i) * scale - maximum);
		if (i == whole)
			e = vector_select(vector_below(n - whole), e, (vector){0});
		probability_store(p + i, e);
		sum += e;
	}
	return vector_reduce_sum(sum);
}

/* ---- backward ---- */

/* δ = Σ dy ∘ y of a row */
ALWAYS_INLINE float row_delta(const struct head *h, int64_t query)
{
	const element *y = h->y + query * h->y_row, *dy = h->dy + query * h->y_row;
	vector sum = {0};
	int64_t i = 0;
	for (; i + LANES <= h->size; i += LANES)
		sum += element_load(dy + i) * element_load(y + i);
	if (i < h->size)
		sum += element_load_part(dy + i, h->size - i) * element_load_part(y + i, h->size - i);
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

/* n scores and dP of a row become P and dS; lanes beyond n become 0. */
ALWAYS_INLINE void row_gradients(float *p, float *ds, int64_t n, float scale, float log_sum_exp, float delta)
{
	int64_t i = 0;
	for (; i + 2 * LANES <= n; i += 2 * LANES)
		probabilities(p + i, ds + i, 2, scale, log_sum_exp, delta);
	for (; i < n; i += LANES) {
		probabilities(p + i, ds + i, 1, scale, log_sum_exp, delta);
		if (n - i < LANES) {
			mask tail = vector_below(n - i);
			vector_store(p + i, vector_select(tail, vector_load(p + i), (vector){0}));
			vector_store(ds + i, vector_select(tail, vector_load(ds + i), (vector){0}));
		}
	}
}

/* The same of the n keys from k0 on that the query sees, or that lie before its window. */
ALWAYS_INLINE void row_backward(const struct head *h, float *p, float *ds, int64_t query, int64_t k0, int64_t n,
                                float delta)
{
	int64_t hidden = h->local ? keys_hidden(h, query, k0, n) : 0;
	if (h->local)
		row_bias(h, p, query, k0, n);
	row_gradients(p, ds, n, h->scale, h->log_sum_exp[query], delta);
	for (int64_t i = 0; i < hidden; i++)
		p[i] = ds[i] = 0;
}

#endif
