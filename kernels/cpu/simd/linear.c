/* The work around the matrix products of a linear layer. */
#include "kernels/cpu/simd/math.h"

#if !ELEMENT_16BIT /* there, product.c does it */

void SIMD_BODY(linear_prefill)(const void *task, int64_t begin, int64_t end)
{
	const struct linear_prefill_task *t = task;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		float *y = (float *)t->y + row * width;
		const float *residual = t->residual ? (const float *)t->residual + row * width : NULL, *bias = t->bias;
		if (!residual)
			memcpy(y, bias, (size_t)width * sizeof *y);
		else if (bias)
			for (int64_t i = 0; i < width; i++)
				y[i] = residual[i] + bias[i];
		else if (residual != y)
			memcpy(y, residual, (size_t)width * sizeof *y);
	}
}

#endif

void SIMD_BODY(sum_finish)(const void *task, int64_t begin, int64_t end)
{
	const struct sum_finish_task *t = task;
	int64_t width = t->width;
	if (!t->bias && !t->residual)
		return;
	for (int64_t row = begin; row < end; row++) {
		element *sum = (element *)t->sum + row * width;
		const element *bias = t->bias, *residual = t->residual;
		if (residual)
			residual += row % t->residual_rows * width;
		for (int64_t i = 0; i < width; i += LANES) {
			int64_t n = smaller(LANES, width - i);
			vector add = element_load_part((bias ? bias : residual) + i, n);
			if (bias && residual)
				add += element_load_part(residual + i, n);
			element_store_part(sum + i, element_load_part(sum + i, n) + add, n);
		}
	}
}

/* y = activation(x) of n vectors. `activation` is known where this is compiled, so that nothing is chosen here. */
ALWAYS_INLINE void vectors_activation(const enum activation activation, const vector *x, vector *y, const int n)
{
	if (activation == ACTIVATION_GELU_TANH)
		vectors_gelu(x, y, n);
	else if (activation == ACTIVATION_GELU)
		vectors_gelu_exact(x, y, n);
	else
		vectors_relu(x, y, n);
}

ALWAYS_INLINE void vectors_derivative(const enum activation activation, const vector *x, vector *y, const int n)
{
	if (activation == ACTIVATION_GELU_TANH)
		vectors_gelu_derivative(x, y, n);
	else if (activation == ACTIVATION_GELU)
		vectors_gelu_exact_derivative(x, y, n);
	else
		vectors_relu_derivative(x, y, n);
}

ALWAYS_INLINE void elements_activation(const enum activation activation, const element *source, element *out,
                                       int64_t begin, int64_t end)
{
	int64_t i = begin;
	vector x[TOGETHER], y[TOGETHER];
	for (; i + TOGETHER * LANES <= end; i += TOGETHER * LANES) {
		EACH(TOGETHER) x[j] = element_load(source + i + j * LANES);
		vectors_activation(activation, x, y, TOGETHER);
		EACH(TOGETHER) element_store(out + i + j * LANES, y[j]);
	}
	for (; i < end; i += LANES) {
		int64_t n = smaller(LANES, end - i);
		x[0] = element_load_part(source + i, n);
		vectors_activation(activation, x, y, 1);
		element_store_part(out + i, y[0], n);
	}
}

void SIMD_BODY(activation_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct activation_task *t = task;
	if (t->activation == ACTIVATION_GELU_TANH)
		elements_activation(ACTIVATION_GELU_TANH, t->x, t->y, begin, end);
	else if (t->activation == ACTIVATION_GELU)
		elements_activation(ACTIVATION_GELU, t->x, t->y, begin, end);
	else
		elements_activation(ACTIVATION_RELU, t->x, t->y, begin, end);
}

/* `rows` rows at once, n columns: dy becomes dy · activation'(pre), and is added to sum unless that is NULL. */
ALWAYS_INLINE void derivative_rows(const enum activation activation, const int rows, int64_t width, int64_t columns,
                                   const element *pre, element *dy, float *sum)
{
	vector d[TOGETHER], slope[TOGETHER];
	int64_t i = 0;
	for (; i + LANES <= columns; i += LANES) {
		EACH(rows) d[j] = element_load(pre + j * width + i);
		vectors_derivative(activation, d, slope, rows);
		EACH(rows) d[j] = slope[j] * element_load(dy + j * width + i);
		EACH(rows) element_store(dy + j * width + i, d[j]);
		if (sum)
			vector_store(sum + i,
			             vector_load(sum + i) + (rows == 4 ? (d[0] + d[1]) + (d[2] + d[3]) : d[0]));
	}
	for (int j = 0; i < columns && j < rows; j++) {
		int64_t n = columns - i;
		d[0] = element_load_part(pre + j * width + i, n);
		vectors_derivative(activation, d, slope, 1);
		d[0] = slope[0] * element_load_part(dy + j * width + i, n);
		element_store_part(dy + j * width + i, d[0], n);
		if (sum)
			vector_store_part(sum + i, vector_load_part(sum + i, n) + d[0], n);
	}
}

ALWAYS_INLINE void derivative_columns(const enum activation activation, const struct activation_backward_task *t,
                                      int64_t begin, int64_t end)
{
	int64_t row = 0, width = t->width, columns = end - begin;
	const element *pre = (const element *)t->pre + begin;
	element *dy = (element *)t->dy + begin;
	float *sum = t->sum ? t->sum + (begin - t->sum_begin) : NULL;
	if (sum && !t->accumulate)
		memset(sum, 0, (size_t)columns * sizeof *sum);
	for (; row + TOGETHER <= t->rows; row += TOGETHER)
		derivative_rows(activation, TOGETHER, width, columns, pre + row * width, dy + row * width, sum);
	for (; row < t->rows; row++)
		derivative_rows(activation, 1, width, columns, pre + row * width, dy + row * width, sum);
}

void SIMD_BODY(activation_backward)(const void *task, int64_t begin, int64_t end)
{
	const struct activation_backward_task *t = task;
	if (t->activation == ACTIVATION_GELU_TANH)
		derivative_columns(ACTIVATION_GELU_TANH, t, begin, end);
	else if (t->activation == ACTIVATION_GELU)
		derivative_columns(ACTIVATION_GELU, t, begin, end);
	else
		derivative_columns(ACTIVATION_RELU, t, begin, end);
}

/* Adds the sums of `rows` rows to `sum`: four vectors of columns at a time down the rows, in registers. */
static void column_sum_block(int64_t rows, int64_t width, int64_t columns, const element *x, float *sum)
{
	int64_t column = 0;
	for (; column + 4 * LANES <= columns; column += 4 * LANES) {
		vector part[4] = {{0}};
		for (int64_t row = 0; row < rows; row++)
			for (int i = 0; i < 4; i++)
				part[i] += element_load(x + row * width + column + i * LANES);
		for (int i = 0; i < 4; i++)
			vector_store(sum + column + i * LANES, vector_load(sum + column + i * LANES) + part[i]);
	}
	for (; column < columns; column += LANES) {
		int64_t n = smaller(LANES, columns - column);
		vector part = {0};
		for (int64_t row = 0; row < rows; row++)
			part += element_load_part(x + row * width + column, n);
		vector_store_part(sum + column, vector_load_part(sum + column, n) + part, n);
	}
}

/* In blocks of rows: sums of sums round less, and the memory is read in order. */
void SIMD_BODY(column_sum)(const void *task, int64_t begin, int64_t end)
{
	const struct column_sum_task *t = task;
	const element *x = (const element *)t->x + begin;
	float *sum = t->sum + (begin - t->sum_begin);
	if (!t->accumulate)
		memset(sum, 0, (size_t)(end - begin) * sizeof *sum);
	for (int64_t row = 0; row < t->rows; row += ROW_BLOCK)
		column_sum_block(smaller(ROW_BLOCK, t->rows - row), t->width, end - begin, x + row * t->width, sum);
}
