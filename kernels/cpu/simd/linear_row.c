/* A linear layer of one row: the product of a vector and a matrix, as a model needs it that writes token by token. All
 * of the weight is read for each, so memory is the limit, and OpenBLAS's matrix products, which copy it first, take
 * several times as long. An output does not depend on the range that it is in, nor so on the number of threads.
 */
#include "kernels/cpu/simd/simd.h"

#if !ELEMENT_16BIT

/* Outputs of [out,in] at once, and rows of [in,out]. */
#define ROWS 4

ALWAYS_INLINE void outputs(const int rows, int64_t in, const float *x, const float *weight, float *y)
{
	vector sum[ROWS] = {{0}}, more[ROWS] = {{0}};
	int64_t i = 0;
	for (; i + 2 * LANES <= in; i += 2 * LANES) {
		vector first = vector_load(x + i), second = vector_load(x + i + LANES);
#pragma GCC unroll 4
		for (int r = 0; r < rows; r++) {
			sum[r] += first * vector_load(weight + r * in + i);
			more[r] += second * vector_load(weight + r * in + i + LANES);
		}
	}
	for (; i < in; i += LANES) {
		int64_t n = smaller(LANES, in - i);
		vector part = vector_load_part(x + i, n);
#pragma GCC unroll 4
		for (int r = 0; r < rows; r++)
			sum[r] += part * vector_load_part(weight + r * in + i, n);
	}
#pragma GCC unroll 4
	for (int r = 0; r < rows; r++)
		y[r] += vector_reduce_sum(sum[r] + more[r]);
}

/* Adds `rows` rows of [in,out], each times its element of x, to y. */
ALWAYS_INLINE void add_rows(const int rows, int64_t out, int64_t n, const float *x, const float *weight, float *y)
{
	for (int64_t i = 0; i < n; i += LANES) {
		int64_t part = smaller(LANES, n - i);
		vector sum = part == LANES ? vector_load(y + i) : vector_load_part(y + i, part);
#pragma GCC unroll 4
		for (int r = 0; r < rows; r++) {
			const float *w = weight + r * out + i;
			sum += x[r] * (part == LANES ? vector_load(w) : vector_load_part(w, part));
		}
		if (part == LANES)
			vector_store(y + i, sum);
		else
			vector_store_part(y + i, sum, part);
	}
}

void SIMD_BODY(linear_row)(const void *task, int64_t begin, int64_t end)
{
	enum { COLUMNS = 2048 }; /* of y at once: they stay in the first cache */
	const struct linear_row_task *t = task;
	int64_t i;
	if (!t->weight_in_out) {
		for (i = begin; i + ROWS <= end; i += ROWS)
			outputs(ROWS, t->in, t->x, t->weight + i * t->in, t->y + i);
		for (; i < end; i++)
			outputs(1, t->in, t->x, t->weight + i * t->in, t->y + i);
		return;
	}
	for (; begin < end; begin += COLUMNS) {
		int64_t n = smaller(COLUMNS, end - begin);
		for (i = 0; i + ROWS <= t->in; i += ROWS)
			add_rows(ROWS, t->out, n, t->x + i, t->weight + i * t->out + begin, t->y + begin);
		for (; i < t->in; i++)
			add_rows(1, t->out, n, t->x + i, t->weight + i * t->out + begin, t->y + begin);
	}
}

#endif
