/* What surrounds the matrix products of a linear layer. */
#include "kernels/cpu/simd/math.h"

void SIMD_BODY(linear_prefill)(const void *task, int64_t begin, int64_t end)
{
	const struct linear_prefill_task *t = task;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		float *y = t->y + row * width;
		const float *residual = t->residual ? t->residual + row * width : NULL;
		if (!residual)
			memcpy(y, t->bias, (size_t)width * sizeof *y);
		else if (t->bias)
			for (int64_t i = 0; i < width; i++)
				y[i] = residual[i] + t->bias[i];
		else if (residual != y)
			memcpy(y, residual, (size_t)width * sizeof *y);
	}
}

void SIMD_BODY(sum_finish)(const void *task, int64_t begin, int64_t end)
{
	const struct sum_finish_task *t = task;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		float *restrict sum = t->sum + row * width;
		const float *restrict bias = t->bias;
		const float *restrict residual = t->residual ? t->residual + row % t->residual_rows * width : NULL;
		if (bias && residual)
			for (int64_t i = 0; i < width; i++)
				sum[i] += bias[i] + residual[i];
		else if (bias || residual)
			for (int64_t i = 0; i < width; i++)
				sum[i] += (bias ? bias : residual)[i];
	}
}

void SIMD_BODY(gelu_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct elementwise_task *t = task;
	const float *source = t->x;
	float *out = t->y;
	int64_t i = begin;
	vector x[TOGETHER], y[TOGETHER];
	for (; i + TOGETHER * LANES <= end; i += TOGETHER * LANES) {
		EACH(TOGETHER) x[j] = vector_load(source + i + j * LANES);
		vectors_gelu(x, y, TOGETHER);
		EACH(TOGETHER) vector_store(out + i + j * LANES, y[j]);
	}
	for (; i < end; i += LANES) {
		int64_t n = smaller(LANES, end - i);
		x[0] = vector_load_part(source + i, n);
		vectors_gelu(x, y, 1);
		vector_store_part(out + i, y[0], n);
	}
}

/* `rows` rows at once, for columns [begin, end): dy becomes dy · gelu'(pre), and is added to sum unless that is NULL.
 */
ALWAYS_INLINE void gelu_backward_rows(const int rows, int64_t width, int64_t begin, int64_t end, const float *pre,
                                      float *dy, float *sum)
{
	vector d[TOGETHER], slope[TOGETHER];
	int64_t i = begin;
	for (; i + LANES <= end; i += LANES) {
		EACH(rows) d[j] = vector_load(pre + j * width + i);
		vectors_gelu_derivative(d, slope, rows);
		EACH(rows) d[j] = slope[j] * vector_load(dy + j * width + i);
		EACH(rows) vector_store(dy + j * width + i, d[j]);
		if (sum)
			vector_store(sum + i,
			             vector_load(sum + i) + (rows == 4 ? (d[0] + d[1]) + (d[2] + d[3]) : d[0]));
	}
	for (int j = 0; i < end && j < rows; j++) {
		int64_t n = end - i;
		d[0] = vector_load_part(pre + j * width + i, n);
		vectors_gelu_derivative(d, slope, 1);
		d[0] = slope[0] * vector_load_part(dy + j * width + i, n);
		vector_store_part(dy + j * width + i, d[0], n);
		if (sum)
			vector_store_part(sum + i, vector_load_part(sum + i, n) + d[0], n);
	}
}

void SIMD_BODY(gelu_backward)(const void *task, int64_t begin, int64_t end)
{
	const struct gelu_backward_task *t = task;
	int64_t row = 0, width = t->width;
	if (t->sum && !t->accumulate)
		memset(t->sum + begin, 0, (size_t)(end - begin) * sizeof *t->sum);
	for (; row + TOGETHER <= t->rows; row += TOGETHER)
		gelu_backward_rows(TOGETHER, width, begin, end, t->pre + row * width, t->dy + row * width, t->sum);
	for (; row < t->rows; row++)
		gelu_backward_rows(1, width, begin, end, t->pre + row * width, t->dy + row * width, t->sum);
}

/* Adds the sums of `rows` rows to `sum`: four vectors of columns at a time down the rows, in registers. */
static void column_sum_block(int64_t rows, int64_t width, int64_t begin, int64_t end, const float *x, float *sum)
{
	int64_t column = begin;
	for (; column + 4 * LANES <= end; column += 4 * LANES) {
		vector part[4] = {{0}};
		for (int64_t row = 0; row < rows; row++)
			for (int i = 0; i < 4; i++)
				part[i] += vector_load(x + row * width + column + i * LANES);
		for (int i = 0; i < 4; i++)
			vector_store(sum + column + i * LANES, vector_load(sum + column + i * LANES) + part[i]);
	}
	for (; column < end; column += LANES) {
		int64_t n = smaller(LANES, end - column);
		vector part = {0};
		for (int64_t row = 0; row < rows; row++)
			part += vector_load_part(x + row * width + column, n);
		vector_store_part(sum + column, vector_load_part(sum + column, n) + part, n);
	}
}

/* In blocks of rows: sums of sums round less, and the memory is read in order. */
void SIMD_BODY(column_sum)(const void *task, int64_t begin, int64_t end)
{
	const struct column_sum_task *t = task;
	if (!t->accumulate)
		memset(t->sum + begin, 0, (size_t)(end - begin) * sizeof *t->sum);
	for (int64_t row = 0; row < t->rows; row += ROW_BLOCK)
		column_sum_block(smaller(ROW_BLOCK, t->rows - row), t->width, begin, end, t->x + row * t->width,
		                 t->sum);
}
