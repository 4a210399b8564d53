/* Attention against a cache: the new keys and values are stored, then every query has its own. */
#include <string.h>

#include "kernels/cpu/bodies.h"

/* Stores all heads of one token; `from` and `cache` are its keys or its values. */
static void store(const struct attention_cached_shape *s, const float *from, int64_t token, float *cache)
{
	int64_t size = s->of.head_size;
	for (int64_t h = 0; h < s->of.kv_heads; h++)
		memcpy(cache + (h * s->capacity + token) * size, from + h * size, (size_t)size * sizeof *from);
}

void attention_cached(const struct attention_cached_shape *s, const float *qkv, float *keys, float *values, float *y)
{
	struct attention_cached_task t = {s, qkv, keys, values, y};
	int64_t q = s->of.heads * s->of.head_size, k = s->of.kv_heads * s->of.head_size, tokens = s->of.tokens;
	for (int64_t i = 0; i < tokens; i++) {
		const float *row = qkv + i * (q + 2 * k);
		store(s, row + q, s->first + i, keys);
		store(s, row + q + k, s->first + i, values);
	}
	parallel_for(kernel_bodies(ELEMENT_FP32)->attention_cached, &t, tokens * s->of.heads, 1);
}
