/* RMSNorm. With r = 1/sqrt(mean(x²) + ε) and g = dy · weight:
 *     dx = r·(g − x·r²·mean(g · x)),   dweight = Σ dy · x·r.
 */
#include <math.h>

#include "kernels/cpu/simd/simd.h"

static float row_inverse(int64_t width, const element *x, float epsilon)
{
	vector squares = {0};
	for (int64_t i = 0; i < width; i += LANES) {
		vector v = elements_load(x + i, smaller(LANES, width - i));
		squares += v * v;
	}
	return 1.0f / sqrtf(vector_reduce_sum(squares) / (float)width + epsilon);
}

void SIMD_BODY(rms_norm_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct rms_norm_forward_task *t = task;
	const element *weight = t->weight;
	int64_t width = t->width, whole = width - width % LANES, rest = width - whole;
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->x + row * width;
		element *y = (element *)t->y + row * width;
		float inverse = row_inverse(width, x, t->epsilon);
		t->statistics[row] = inverse;
		for (int64_t i = 0; i < whole; i += LANES)
			element_store(y + i, element_load(x + i) * inverse * element_load(weight + i));
		if (rest)
			element_store_part(y + whole,
			                   element_load_part(x + whole, rest) * inverse *
			                           element_load_part(weight + whole, rest),
			                   rest);
	}
}

void SIMD_BODY(rms_norm_backward_input)(const void *task, int64_t begin, int64_t end)
{
	const struct norm_backward_task *t = task;
	const element *weight = t->weight;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->x + row * width, *dy = (const element *)t->dy + row * width;
		element *dx = (element *)t->dx + row * width;
		float inverse = t->statistics[row];
		vector product = {0};
		for (int64_t i = 0; i < width; i += LANES) {
			int64_t n = smaller(LANES, width - i);
			product += elements_load(dy + i, n) * elements_load(weight + i, n) * elements_load(x + i, n);
		}
		float slope = vector_reduce_sum(product) / (float)width * inverse * inverse;
		for (int64_t i = 0; i < width; i += LANES) {
			int64_t n = smaller(LANES, width - i);
			vector g = elements_load(dy + i, n) * elements_load(weight + i, n);
			vector d = (g - elements_load(x + i, n) * slope) * inverse;
			if (t->accumulate_x)
				d += elements_load(dx + i, n);
			elements_store(dx + i, d, n);
		}
	}
}

/* Two vectors of columns down the rows, sums in registers. */
ALWAYS_INLINE void weight_columns(const struct norm_backward_task *t, int64_t column, int64_t n, const int vectors)
{
	vector weight[2] = {{0}};
	bool whole = n == vectors * LANES;
	for (int64_t row = t->row_begin; row < t->row_end; row++) {
		float inverse = t->statistics[row];
		const element *x = (const element *)t->x + row * t->width + column;
		const element *dy = (const element *)t->dy + row * t->width + column;
		for (int v = 0; v < vectors; v++) {
			vector d = whole ? element_load(dy + v * LANES) : element_load_part(dy, n);
			weight[v] += d * ((whole ? element_load(x + v * LANES) : element_load_part(x, n)) * inverse);
		}
	}
	for (int v = 0; v < vectors; v++) {
		float *dweight = t->dweight + column - t->sum_begin + v * LANES;
		int64_t lanes = whole ? LANES : n;
		if (t->accumulate_weight)
			weight[v] += vector_load_part(dweight, lanes);
		vector_store_part(dweight, weight[v], lanes);
	}
}

void SIMD_BODY(rms_norm_backward_weight)(const void *task, int64_t begin, int64_t end)
{
	const struct norm_backward_task *t = task;
	int64_t column = begin;
	for (; column + 2 * LANES <= end; column += 2 * LANES)
		weight_columns(t, column, 2 * LANES, 2);
	for (; column < end; column += LANES)
		weight_columns(t, column, smaller(LANES, end - column), 1);
}
