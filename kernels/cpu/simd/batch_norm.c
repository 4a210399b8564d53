/* Batch normalization. For a feature, with x̂ = (x − mean) / std, u = weight·x̂ + bias, y = u or gelu(u), over n rows:
 *     dweight = Σ du·x̂,   dbias = Σ du,   dx = weight / std · (du − Σ du / n − x̂ · Σ du·x̂ / n).
 *
 * Sums go down the columns in blocks of rows: sums of sums round less than one long sum.
 */
#include "kernels/cpu/simd/math.h"

/* ---- statistics ---- */

/* Σ of x − shift, or of its square, down one vector of columns. */
ALWAYS_INLINE vector column_sum(const struct batch_norm_shape *s, const element *x, int64_t n, vector shift,
                                bool square)
{
	vector sum = {0};
	for (int64_t row = 0; row < s->rows;) {
		int64_t end = smaller(row + ROW_BLOCK, s->rows);
		vector part = {0};
		for (; row < end; row++) {
			vector d = elements_load(x + row * s->width, n) - shift;
			part += square ? d * d : d;
		}
		sum += part;
	}
	return sum;
}

/* Two passes: the variance of differences from the mean does not cancel. */
void SIMD_BODY(batch_norm_statistics)(const void *task, int64_t begin, int64_t end)
{
	const struct batch_norm_statistics_task *t = task;
	const struct batch_norm_shape *s = t->shape;
	const element *x = t->x;
	float rows = (float)s->rows;
	if (begin == 0)
		t->local[2 * s->width] = rows;
	for (int64_t c = begin; c < end; c += LANES) {
		int64_t n = smaller(LANES, end - c);
		vector mean = column_sum(s, x + c, n, (vector){0}, false) / rows;
		vector variance = column_sum(s, x + c, n, mean, true) / rows;
		vector_store_part(t->local + c, mean, n);
		vector_store_part(t->local + s->width + c, variance, n);
	}
}

/* ---- forward ---- */

/* u of n ≤ vectors · LANES columns from c on. */
ALWAYS_INLINE void normalized(const struct batch_norm_forward_task *t, const element *x, int64_t c, vector *u,
                              const int vectors, int64_t n)
{
	const float *mean = t->statistics + c, *inverse = mean + t->shape->width;
	const element *weight = (const element *)t->weight + c, *bias = (const element *)t->bias + c;
	if (vectors == 1) {
		vector normal =
		        (element_load_part(x + c, n) - vector_load_part(mean, n)) * vector_load_part(inverse, n);
		u[0] = normal * element_load_part(weight, n) + element_load_part(bias, n);
		return;
	}
	EACH(vectors)
	{
		int64_t i = j * LANES;
		vector normal = (element_load(x + c + i) - vector_load(mean + i)) * vector_load(inverse + i);
		u[j] = normal * element_load(weight + i) + element_load(bias + i);
	}
}

void SIMD_BODY(batch_norm_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct batch_norm_forward_task *t = task;
	int64_t width = t->shape->width;
	vector u[TOGETHER], y[TOGETHER];
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->x + row * width;
		element *out = (element *)t->y + row * width;
		int64_t c = 0;
		for (; c + TOGETHER * LANES <= width; c += TOGETHER * LANES) {
			normalized(t, x, c, u, TOGETHER, TOGETHER * LANES);
			if (t->shape->gelu)
				vectors_gelu(u, y, TOGETHER);
			else
				EACH(TOGETHER) y[j] = u[j];
			EACH(TOGETHER) element_store(out + c + j * LANES, y[j]);
		}
		for (; c < width; c += LANES) {
			int64_t n = smaller(LANES, width - c);
			normalized(t, x, c, u, 1, n);
			if (t->shape->gelu)
				vectors_gelu(u, y, 1);
			else
				y[0] = u[0];
			element_store_part(out + c, y[0], n);
		}
	}
}

/* ---- backward ---- */

/* The values that all rows of one vector of columns share. */
struct column {
	vector mean, inverse, weight, bias;
	int64_t n; /* lanes in use */
};

ALWAYS_INLINE vector load(const float *p, int64_t n)
{
	return n == LANES ? vector_load(p) : vector_load_part(p, n);
}

/* `rows` rows at once: dy becomes du, and is added to the sums. */
ALWAYS_INLINE void sums_of_rows(const int rows, const struct batch_norm_sums_task *t, const struct column *k,
                                int64_t at, vector *sum, vector *product)
{
	int64_t width = t->shape->width;
	const element *x = t->x;
	element *dy = t->dy;
	vector from_mean[TOGETHER], u[TOGETHER], d[TOGETHER];
	EACH(rows) from_mean[j] = elements_load(x + at + j * width, k->n) - k->mean;
	EACH(rows) d[j] = elements_load(dy + at + j * width, k->n);
	if (t->shape->gelu) {
		vector slope[TOGETHER];
		EACH(rows) u[j] = from_mean[j] * k->inverse * k->weight + k->bias;
		vectors_gelu_derivative(u, slope, rows);
		EACH(rows) d[j] = d[j] * slope[j];
		EACH(rows) element_store_part(dy + at + j * width, d[j], k->n);
	}
	EACH(rows) *sum += d[j];
	EACH(rows) *product += d[j] * from_mean[j];
}

void SIMD_BODY(batch_norm_sums)(const void *task, int64_t begin, int64_t end)
{
	const struct batch_norm_sums_task *t = task;
	int64_t width = t->shape->width, rows = t->shape->rows;
	const element *weight = t->weight, *bias = t->bias;
	element *dweight = t->dweight, *dbias = t->dbias;
	for (int64_t c = begin; c < end; c += LANES) {
		int64_t n = smaller(LANES, end - c);
		struct column k = {vector_load_part(t->statistics + c, n),
		                   vector_load_part(t->statistics + width + c, n), element_load_part(weight + c, n),
		                   element_load_part(bias + c, n), n};
		vector sum = {0}, product = {0};
		for (int64_t row = 0; row < rows;) {
			int64_t block = smaller(row + ROW_BLOCK, rows);
			vector part = {0}, part_product = {0};
			for (; row + TOGETHER <= block; row += TOGETHER)
				sums_of_rows(TOGETHER, t, &k, row * width + c, &part, &part_product);
			for (; row < block; row++)
				sums_of_rows(1, t, &k, row * width + c, &part, &part_product);
			sum += part;
			product += part_product;
		}
		vector_store_part(t->sums + c, sum, n);
		vector_store_part(t->sums + width + c, product, n);
		product = product * k.inverse;
		if (t->accumulate_weight)
			product += element_load_part(dweight + c, n);
		if (t->accumulate_bias)
			sum += element_load_part(dbias + c, n);
		element_store_part(dweight + c, product, n);
		element_store_part(dbias + c, sum, n);
	}
}

void SIMD_BODY(batch_norm_backward)(const void *task, int64_t begin, int64_t end)
{
	const struct batch_norm_backward_task *t = task;
	int64_t width = t->shape->width;
	const element *weight = t->weight;
	float part = 1.0f / t->statistics[2 * width];
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->x + row * width, *du = (const element *)t->dy + row * width;
		element *dx = (element *)t->dx + row * width;
		for (int64_t c = 0; c < width; c += LANES) {
			int64_t n = smaller(LANES, width - c);
			vector inverse = load(t->statistics + width + c, n);
			vector from_mean = elements_load(x + c, n) - load(t->statistics + c, n);
			vector slope = load(t->sums + width + c, n) * part * inverse * inverse;
			vector d = elements_load(du + c, n) - load(t->sums + c, n) * part - from_mean * slope;
			element_store_part(dx + c, d * inverse * elements_load(weight + c, n), n);
		}
	}
}
