/* Softmax cross-entropy: per row the maximum, then the exponentials and their sum, then the gradient. */
#include <math.h>

#include "kernels/cpu/simd/math.h"

static float row_maximum(int64_t classes, const float *x)
{
	vector top = vector_all(x[0]);
	int64_t i = 0;
	for (; i + LANES <= classes; i += LANES)
		top = vector_maximum(top, vector_load(x + i));
	float maximum = vector_reduce_maximum(top);
	for (; i < classes; i++)
		maximum = x[i] > maximum ? x[i] : maximum;
	return maximum;
}

/* The sum of e^(x − maximum), which is also stored to `out` unless that is NULL. Long rows are summed in double across
 * blocks. */
ALWAYS_INLINE double row_exponentials(int64_t classes, const float *x, float maximum, float *out)
{
	double sum = 0;
	int64_t i = 0, whole = classes - classes % LANES;
	while (i < whole) {
		vector part = {0}, e4[TOGETHER];
		int64_t block = smaller(whole, i + 64 * LANES);
		for (; i + TOGETHER * LANES <= block; i += TOGETHER * LANES) {
			EACH(TOGETHER) e4[j] = vector_load(x + i + j * LANES) - maximum;
			vectors_exp(e4, TOGETHER);
			part += (e4[0] + e4[1]) + (e4[2] + e4[3]);
			if (out)
				EACH(TOGETHER) vector_store(out + i + j * LANES, e4[j]);
		}
		for (; i < block; i += LANES) {
			vector e = vector_exp(vector_load(x + i) - maximum);
			part += e;
			if (out)
				vector_store(out + i, e);
		}
		sum += (double)vector_reduce_sum(part);
	}
	if (i < classes) {
		int64_t n = classes - i;
		vector e = vector_exp(vector_load_part(x + i, n) - maximum);
		if (out)
			vector_store_part(out + i, e, n);
		sum += (double)vector_reduce_sum(vector_select(vector_below(n), e, (vector){0}));
	}
	return sum;
}

void SIMD_BODY(classifier)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_task *t = task;
	int64_t classes = t->classes;
	for (int64_t part = begin; part < end; part++) {
		double loss = 0;
		int64_t last = part_begin(t->rows, part + 1);
		for (int64_t row = part_begin(t->rows, part); row < last; row++) {
			float *x = t->gradient + row * classes;
			int32_t target = t->targets[row];
			float maximum = row_maximum(classes, x), chosen = x[target];
			double sum = row_exponentials(classes, x, maximum, x);
			float factor = (float)(t->scale / sum);
			for (int64_t i = 0; i < classes; i++)
				x[i] *= factor;
			x[target] -= (float)t->scale;
			loss += log(sum) + (double)maximum - (double)chosen;
		}
		t->loss_parts[part] = loss;
	}
}

void SIMD_BODY(classifier_evaluate)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_task *t = task;
	int64_t classes = t->classes;
	for (int64_t part = begin; part < end; part++) {
		double loss = 0;
		int64_t correct = 0, last = part_begin(t->rows, part + 1);
		for (int64_t row = part_begin(t->rows, part); row < last; row++) {
			const float *x = t->logits + row * classes;
			int32_t target = t->targets[row], first = 0;
			float maximum = row_maximum(classes, x);
			loss += log(row_exponentials(classes, x, maximum, NULL)) + (double)maximum - (double)x[target];
			if (x[target] ==
			    maximum) { /* of equal logits the first counts as the largest, as in torch.argmax */
				while (x[first] != maximum)
					first++;
				correct += first == target;
			}
		}
		t->loss_parts[part] = loss;
		t->correct_parts[part] = correct;
	}
}

/* ---- a slice of the classes ---- */

void SIMD_BODY(classifier_maxima)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_slice_task *t = task;
	for (int64_t row = begin; row < end; row++)
		t->maxima_out[row] =
		        t->slice.count ? row_maximum(t->slice.count, t->logits + row * t->slice.stride) : -INFINITY;
}

void SIMD_BODY(classifier_sums)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_slice_task *t = task;
	int64_t classes = t->slice.count;
	for (int64_t row = begin; row < end; row++) {
		const float *x = t->logits + row * t->slice.stride;
		int64_t target = t->targets[row] - t->slice.first;
		float *sums = t->sums_out + row * t->sums_width, maximum = t->maxima[row];
		sums[0] = (float)row_exponentials(classes, x, maximum, NULL);
		sums[1] = target >= 0 && target < classes ? x[target] : 0;
		if (t->sums_width < 3)
			continue;
		sums[2] = 0;
		for (int64_t i = 0; i < classes && i < target; i++)
			sums[2] += x[i] == maximum;
	}
}

void SIMD_BODY(classifier_gradient)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_slice_task *t = task;
	int64_t classes = t->slice.count, stride = t->slice.stride;
	for (int64_t row = begin; row < end; row++) {
		float *x = t->gradient + row * stride, factor = (float)(t->scale / (double)t->sums[2 * row]);
		int64_t target = t->targets[row] - t->slice.first;
		row_exponentials(classes, x, t->maxima[row], x);
		for (int64_t i = 0; i < classes; i++)
			x[i] *= factor;
		memset(x + classes, 0, (size_t)(stride - classes) * sizeof *x);
		if (target >= 0 && target < classes)
			x[target] -= (float)t->scale;
	}
}
