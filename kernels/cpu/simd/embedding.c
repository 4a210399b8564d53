/* Token and position embedding: gathers forward, sums in the order of the tokens backward. */
#include "kernels/cpu/simd/simd.h"

void SIMD_BODY(embedding_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_task *t = task;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		const float *restrict token = t->token_table + t->ids[row] * width;
		const float *restrict position = t->position_table + row % t->tokens * width;
		float *restrict y = t->y + row * width;
		for (int64_t i = 0; i < width; i++)
			y[i] = token[i] + position[i];
	}
}

/* Threads take columns of the table: each id's row collects its tokens in their order, whoever else works. */
void SIMD_BODY(embedding_token_rows)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_task *t = task;
	int64_t rows = t->samples * t->tokens;
	for (int64_t row = 0; row < rows; row++) {
		float *restrict sum = t->dtable + t->ids[row] * t->width;
		const float *restrict dy = t->dy + row * t->width;
		for (int64_t i = begin; i < end; i++)
			sum[i] += dy[i];
	}
}

void SIMD_BODY(embedding_position_rows)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_task *t = task;
	int64_t width = t->width;
	for (int64_t position = begin; position < end; position++) {
		float *restrict sum = t->dtable + position * width;
		if (!t->accumulate)
			memset(sum, 0, (size_t)width * sizeof *sum);
		if (position >= t->tokens)
			continue;
		for (int64_t sample = 0; sample < t->samples; sample++) {
			const float *restrict dy = t->dy + (sample * t->tokens + position) * width;
			for (int64_t i = 0; i < width; i++)
				sum[i] += dy[i];
		}
	}
}

/* ---- a slice of the token table ---- */

void SIMD_BODY(embedding_slice_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_slice_task *t = task;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		int64_t id = t->ids[row] - t->slice.first;
		float *restrict y = t->y + row * width;
		if (id >= 0 && id < t->slice.count)
			memcpy(y, t->table + id * width, (size_t)width * sizeof *y);
		else
			memset(y, 0, (size_t)width * sizeof *y);
	}
}

/* As embedding_token_rows. */
void SIMD_BODY(embedding_slice_rows)(const void *task, int64_t begin, int64_t end)
{
	const struct embedding_slice_task *t = task;
	for (int64_t row = 0; row < t->rows; row++) {
		int64_t id = t->ids[row] - t->slice.first;
		if (id < 0 || id >= t->slice.count)
			continue;
		float *restrict sum = t->dtable + id * t->width;
		const float *restrict dy = t->dy + row * t->width;
		for (int64_t i = begin; i < end; i++)
			sum[i] += dy[i];
	}
}
