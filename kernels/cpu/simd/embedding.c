/* Token and position embedding: gathers forward, sums in the order of the tokens backward. */
#include "kernels/cpu/simd/simd.h"

ALWAYS_INLINE void row_add(int64_t n, const element *a, const element *b, element *y)
{
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		element_store(y + i, element_load(a + i) + element_load(b + i));
	if (i < n)
		element_store_part(y + i, element_load_part(a + i, n - i) + element_load_part(b + i, n - i), n - i);
}

void SIMD_BODY(embedding_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_forward_task *t = task;
	const element *token = t->token_table, *position = t->position_table;
	element *y = t->y;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		const element *of_token = token + t->ids[row] * width;
		if (position)
			row_add(width, of_token, position + row % t->tokens * width, y + row * width);
		else
			memcpy(y + row * width, of_token, (size_t)width * sizeof *y);
	}
}

/* Adds up a column of vectors, `count` of them, `stride` apart. */
ALWAYS_INLINE vector column_part(const element *x, int64_t stride, int64_t count, vector sum, int64_t n)
{
	for (int64_t i = 0; i < count; i++)
		sum += elements_load(x + i * stride, n);
	return sum;
}

void SIMD_BODY(embedding_position_rows)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_task *t = task;
	const element *dy = t->dy;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		element *sum = (element *)t->dtable + row * width;
		int64_t token = row - t->first, samples = token >= 0 && token < t->tokens ? t->samples : 0;
		for (int64_t i = 0; i < width; i += LANES) {
			int64_t n = smaller(LANES, width - i);
			vector v = t->accumulate ? element_load_part(sum + i, n) : (vector){0};
			v = column_part(dy + (samples ? token : 0) * width + i, t->tokens * width, samples, v, n);
			element_store_part(sum + i, v, n);
		}
	}
}

/* Threads take columns of the table, so each id's row collects its tokens in their order at any number of threads. */
#if !ELEMENT_16BIT

void SIMD_BODY(embedding_token_rows)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_task *t = task;
	const float *dy = t->dy;
	for (int64_t row = 0; row < t->samples * t->tokens; row++) {
		int64_t id = t->ids[row] - t->slice->first;
		float *sum = (float *)t->dtable + id * t->width;
		if (id >= 0 && id < t->slice->count)
			row_add(end - begin, sum + begin, dy + row * t->width + begin, sum + begin);
	}
}

#else

/* A sum of many tokens would lose most of them if each were rounded into the table. Tokens are therefore taken in
 * blocks, those with the same id are chained, and a chain is summed in registers. */
#define BLOCK 1024
#define SLOTS 2048

struct chains {
	int16_t next[BLOCK]; /* the next token with the same id; -1: none */
	bool inner[BLOCK];   /* there is one before it */
	int16_t slot[SLOTS]; /* by id, open addressing: the first token known to have it */
};

static void chains_make(struct chains *c, int64_t count, const int32_t *ids)
{
	memset(c->slot, -1, sizeof c->slot);
	memset(c->inner, 0, sizeof c->inner);
	for (int64_t i = count - 1; i >= 0; i--) {
		uint32_t s = (uint32_t)ids[i] * 2654435769u >> 21; /* 11 bits: SLOTS */
		while (c->slot[s] >= 0 && ids[c->slot[s]] != ids[i])
			s = (s + 1) % SLOTS;
		c->next[i] = c->slot[s];
		if (c->next[i] >= 0)
			c->inner[c->next[i]] = true;
		c->slot[s] = (int16_t)i;
	}
}

/* sum += all tokens of the chain that begins at `token`. */
static void add_chain(const struct chains *c, int64_t token, const element *dy, int64_t width, element *sum,
                      int64_t begin, int64_t end)
{
	for (int64_t i = begin; i < end; i += LANES) {
		int64_t n = smaller(LANES, end - i);
		vector v = element_load_part(sum + i, n);
		for (int64_t next = token; next >= 0; next = c->next[next])
			v += elements_load(dy + next * width + i, n);
		element_store_part(sum + i, v, n);
	}
}

void SIMD_BODY(embedding_token_rows)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_task *t = task;
	const element *dy = t->dy;
	int64_t rows = t->samples * t->tokens;
	struct chains chains;
	for (int64_t block = 0; block < rows; block += BLOCK) {
		int64_t count = smaller(BLOCK, rows - block);
		chains_make(&chains, count, t->ids + block);
		for (int64_t i = 0; i < count; i++) {
			int64_t id = t->ids[block + i] - t->slice->first;
			if (!chains.inner[i] && id >= 0 && id < t->slice->count)
				add_chain(&chains, i, dy + block * t->width, t->width,
				          (element *)t->dtable + id * t->width, begin, end);
		}
	}
}

#endif

/* ---- a slice of the token table ---- */

void SIMD_BODY(embedding_sliced_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_sliced_forward_task *t = task;
	const element *table = t->token_table;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		int64_t id = t->ids[row] - t->slice->first;
		element *y = (element *)t->y + row * width;
		if (id >= 0 && id < t->slice->count)
			memcpy(y, table + id * width, (size_t)width * sizeof *y);
		else
			memset(y, 0, (size_t)width * sizeof *y);
	}
}
