/* Attention of new tokens against a cache, one query of one head at a time, over tiles of keys with the running maximum
 * and sum of attention_forward.c:
 *
 *     keys ►  0      64      128    query        a tile's scores, their exponentials, and the values times those,
 *             ├───────┼───────┼──────┤           added to y, which was corrected to the new maximum
 *
 * A head's keys, and its values, are read once in the order in which they stand. With a window they begin where it
 * does.
 */
#include "kernels/cpu/simd/simd.h"

#if !ELEMENT_16BIT

#include "kernels/cpu/simd/attention.h"

#define KEYS 64

struct cached_head {
	const float *q, *keys, *values;
	float *y;
	int64_t size;
	float scale, slope; /* slope: of ALiBi, divided by the scale; 0: none */
};

static float product_of(int64_t size, const float *a, const float *b)
{
	vector sum = {0};
	int64_t i = 0;
	for (; i + LANES <= size; i += LANES)
		sum += vector_load(a + i) * vector_load(b + i);
	if (i < size)
		sum += vector_load_part(a + i, size - i) * vector_load_part(b + i, size - i);
	return vector_reduce_sum(sum);
}

/* y = y · correction + P · V of n values */
static void add_values(const struct cached_head *h, int64_t n, const float *values, const float *p, float correction)
{
	for (int64_t d = 0; d < h->size; d += LANES) {
		int64_t part = smaller(LANES, h->size - d);
		vector sum = correction > 0 ? vector_load_part(h->y + d, part) * correction : (vector){0};
		for (int64_t j = 0; j < n; j++) {
			const float *v = values + j * h->size + d;
			sum += p[j] * (part == LANES ? vector_load(v) : vector_load_part(v, part));
		}
		vector_store_part(h->y + d, sum, part);
	}
}

/* The keys [from, end), of which the last is the query's own. */
static void query_forward(const struct cached_head *h, int64_t from, int64_t end)
{
	_Alignas(64) float p[KEYS];
	float maximum = 0, sum = 0, correction = 0;
	for (int64_t k = from; k < end; k += KEYS) {
		int64_t n = smaller(KEYS, end - k);
		for (int64_t j = 0; j < n; j++)
			p[j] = product_of(h->size, h->q, h->keys + (k + j) * h->size) +
			       h->slope * (float)(k + j - (end - 1));
		float top = row_maximum(p, n) * h->scale;
		if (k > from) {
			top = maximum > top ? maximum : top;
			correction = vector_exp(vector_all(maximum - top))[0];
		}
		maximum = top;
		sum = sum * correction + row_exponentials(p, p, n, h->scale, maximum);
		add_values(h, n, h->values + k * h->size, p, correction);
	}
	for (int64_t d = 0; d < h->size; d++)
		h->y[d] /= sum;
}

void SIMD_BODY(attention_cached)(const void *task, int64_t begin, int64_t end)
{
	const struct attention_cached_task *t = task;
	const struct attention_shape *s = &t->shape->of;
	for (int64_t i = begin; i < end; i++) {
		int64_t query = i / s->heads, y;
		struct head of = head_of(s, t->qkv, i % s->heads, &y);
		int64_t cached = i % s->heads / group_of(s) * t->shape->capacity * s->head_size;
		const struct cached_head h = {.q = of.q + query * of.qkv_row,
		                              .keys = t->keys + cached,
		                              .values = t->values + cached,
		                              .y = t->y + i * s->head_size,
		                              .size = s->head_size,
		                              .scale = of.scale,
		                              .slope = of.slope};
		int64_t seen = t->shape->first + query + 1;
		query_forward(&h, s->window > 0 && s->window < seen ? seen - s->window : 0, seen);
	}
}

#endif
