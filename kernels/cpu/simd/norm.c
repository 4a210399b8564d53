/* LayerNorm. With x̂ = (x − mean) / std and g = dy · weight:
 *     dx = (g − mean(g) − x̂ · mean(g · x̂)) / std,   dweight = Σ dy · x̂,   dbias = Σ dy.
 */
#include <math.h>

#include "kernels/cpu/simd/simd.h"

#define EPSILON 1e-5f

/* Two passes over the row, which is in the first cache: the variance of differences from the mean does not cancel. */
static void row_statistics(int64_t width, const element *x, float *mean, float *inverse)
{
	vector sum = {0}, squares = {0};
	int64_t i = 0, whole = width - width % LANES;
	for (; i < whole; i += LANES)
		sum += element_load(x + i);
	if (i < width)
		sum += element_load_part(x + i, width - i);
	*mean = vector_reduce_sum(sum) / (float)width;

	for (i = 0; i < whole; i += LANES) {
		vector d = element_load(x + i) - *mean;
		squares += d * d;
	}
	if (i < width) {
		vector d = vector_select(vector_below(width - i), element_load_part(x + i, width - i) - *mean,
		                         (vector){0});
		squares += d * d;
	}
	*inverse = 1.0f / sqrtf(vector_reduce_sum(squares) / (float)width + EPSILON);
}

void SIMD_BODY(norm_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct norm_forward_task *t = task;
	const element *weight = t->weight, *bias = t->bias;
	int64_t width = t->width, whole = width - width % LANES;
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->x + row * width;
		element *y = (element *)t->y + row * width;
		float mean, inverse;
		row_statistics(width, x, &mean, &inverse);
		t->statistics[2 * row] = mean;
		t->statistics[2 * row + 1] = inverse;
		int64_t i = 0;
		for (; i < whole; i += LANES) {
			vector normal = (element_load(x + i) - mean) * inverse;
			vector scaled = normal * element_load(weight + i);
			element_store(y + i, bias ? scaled + element_load(bias + i) : scaled);
		}
		if (i < width) {
			int64_t n = width - i;
			vector normal = (element_load_part(x + i, n) - mean) * inverse;
			vector scaled = normal * element_load_part(weight + i, n);
			element_store_part(y + i, bias ? scaled + element_load_part(bias + i, n) : scaled, n);
		}
	}
}

void SIMD_BODY(norm_backward_input)(const void *task, int64_t begin, int64_t end)
{
	const struct norm_backward_task *t = task;
	const element *weight = t->weight;
	int64_t width = t->width, whole = width - width % LANES, rest = width - whole;
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->x + row * width, *dy = (const element *)t->dy + row * width;
		element *dx = (element *)t->dx + row * width;
		float mean = t->statistics[2 * row], inverse = t->statistics[2 * row + 1];
		vector sum = {0}, product = {0};
		int64_t i = 0;
		for (; i < whole; i += LANES) {
			vector g = element_load(dy + i) * element_load(weight + i);
			sum += g;
			product += g * ((element_load(x + i) - mean) * inverse);
		}
		if (rest) { /* g is 0 in the lanes beyond the row */
			vector g = element_load_part(dy + i, rest) * element_load_part(weight + i, rest);
			sum += g;
			product += g * ((element_load_part(x + i, rest) - mean) * inverse);
		}
		float mean_g = vector_reduce_sum(sum) / (float)width;
		float mean_product = vector_reduce_sum(product) / (float)width;
		for (i = 0; i < whole; i += LANES) {
			vector g = element_load(dy + i) * element_load(weight + i);
			vector normal = (element_load(x + i) - mean) * inverse;
			vector d = (g - mean_g - normal * mean_product) * inverse;
			element_store(dx + i, t->accumulate_x ? element_load(dx + i) + d : d);
		}
		if (rest) {
			vector g = element_load_part(dy + i, rest) * element_load_part(weight + i, rest);
			vector normal = (element_load_part(x + i, rest) - mean) * inverse;
			vector d = (g - mean_g - normal * mean_product) * inverse;
			if (t->accumulate_x)
				d += element_load_part(dx + i, rest);
			element_store_part(dx + i, d, rest);
		}
	}
}

/* Two vectors of columns down the rows, sums in registers. */
ALWAYS_INLINE void weight_columns(const struct norm_backward_task *t, int64_t column, int64_t n, const int vectors)
{
	vector weight[2] = {{0}}, bias[2] = {{0}};
	bool whole = n == vectors * LANES;
	for (int64_t row = t->row_begin; row < t->row_end; row++) {
		float mean = t->statistics[2 * row], inverse = t->statistics[2 * row + 1];
		const element *x = (const element *)t->x + row * t->width + column;
		const element *dy = (const element *)t->dy + row * t->width + column;
		for (int v = 0; v < vectors; v++) {
			vector d = whole ? element_load(dy + v * LANES) : element_load_part(dy, n);
			vector normal =
			        ((whole ? element_load(x + v * LANES) : element_load_part(x, n)) - mean) * inverse;
			weight[v] += d * normal;
			bias[v] += d;
		}
	}
	for (int v = 0; v < vectors; v++) {
		int64_t place = column - t->sum_begin + v * LANES;
		float *dweight = t->dweight + place, *dbias = t->dbias ? t->dbias + place : NULL;
		int64_t lanes = whole ? LANES : n;
		if (t->accumulate_weight)
			weight[v] += vector_load_part(dweight, lanes);
		if (dbias && t->accumulate_bias)
			bias[v] += vector_load_part(dbias, lanes);
		vector_store_part(dweight, weight[v], lanes);
		if (dbias)
			vector_store_part(dbias, bias[v], lanes);
	}
}

void SIMD_BODY(norm_backward_weight)(const void *task, int64_t begin, int64_t end)
{
	const struct norm_backward_task *t = task;
	int64_t column = begin;
	for (; column + 2 * LANES <= end; column += 2 * LANES)
		weight_columns(t, column, 2 * LANES, 2);
	for (; column < end; column += LANES)
		weight_columns(t, column, smaller(LANES, end - column), 1);
}
