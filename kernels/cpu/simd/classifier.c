/* Softmax cross-entropy: per row the maximum, then the exponentials and their sum, then the gradient. */
#include <assert.h>
#include <math.h>

#include "kernels/cpu/simd/math.h"

static float row_maximum(int64_t classes, const element *x)
{
	vector top = vector_all(element_get(x));
	int64_t i = 0;
	for (; i + LANES <= classes; i += LANES)
		top = vector_maximum(top, element_load(x + i));
	float maximum = vector_reduce_maximum(top);
	for (; i < classes; i++) {
		float one = element_get(x + i);
		maximum = one > maximum ? one : maximum;
	}
	return maximum;
}

/* The sum of e^(x − maximum), which is also stored to `out` unless that is NULL. Long rows are summed in double across
 * blocks. */
ALWAYS_INLINE double row_exponentials(int64_t classes, const element *x, float maximum, float *out)
{
	double sum = 0;
	int64_t i = 0, whole = classes - classes % LANES;
	while (i < whole) {
		vector part = {0}, e4[TOGETHER];
		int64_t block = smaller(whole, i + 64 * LANES);
		for (; i + TOGETHER * LANES <= block; i += TOGETHER * LANES) {
			EACH(TOGETHER) e4[j] = element_load(x + i + j * LANES) - maximum;
			vectors_exp(e4, TOGETHER);
			part += (e4[0] + e4[1]) + (e4[2] + e4[3]);
			if (out)
				EACH(TOGETHER) vector_store(out + i + j * LANES, e4[j]);
		}
		for (; i < block; i += LANES) {
			vector e = vector_exp(element_load(x + i) - maximum);
			part += e;
			if (out)
				vector_store(out + i, e);
		}
		sum += (double)vector_reduce_sum(part);
	}
	if (i < classes) {
		int64_t n = classes - i;
		vector e = vector_exp(element_load_part(x + i, n) - maximum);
		if (out)
			vector_store_part(out + i, e, n);
		sum += (double)vector_reduce_sum(vector_select(vector_below(n), e, (vector){0}));
	}
	return sum;
}

/* Logits become scale × the probability of each class. In fp32 the exponentials are in place already; in 16 bits they
 * would have been rounded twice, so they are computed again. */
static void row_gradient(int64_t classes, element *x, float maximum, double sum, double scale)
{
	float factor = (float)(scale / sum);
	int64_t i = 0;
	for (; ELEMENT_16BIT && i + TOGETHER * LANES <= classes; i += TOGETHER * LANES) {
		vector e[TOGETHER];
		EACH(TOGETHER) e[j] = element_load(x + i + j * LANES) - maximum;
		vectors_exp(e, TOGETHER);
		EACH(TOGETHER) element_store(x + i + j * LANES, e[j] * factor);
	}
	for (; i < classes; i += LANES) {
		int64_t n = smaller(LANES, classes - i);
		vector e = element_load_part(x + i, n);
		if (ELEMENT_16BIT)
			e = vector_exp(e - maximum);
		element_store_part(x + i, e * factor, n);
	}
}

/* Subtracts 1 at the target. In 16 bits this starts from fp32 again, because a rounded probability near 1 has lost its
 * distance from 1. */
static void target_gradient(element *x, float chosen, float maximum, double sum, double scale)
{
	float p = ELEMENT_16BIT ? vector_exp(vector_all(chosen - maximum))[0] * (float)(scale / sum) : element_get(x);
	element_store_part(x, vector_all(p - (float)scale), 1);
}

/* The sum of a row whose gradient is wanted. */
static double row_sum(int64_t classes, element *x, float maximum)
{
	assert(x); /* a NULL would mean that nothing is kept */
#if ELEMENT_16BIT
	return row_exponentials(classes, x, maximum, NULL);
#else
	return row_exponentials(classes, x, maximum, x);
#endif
}

void SIMD_BODY(classifier)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_task *t = task;
	int64_t classes = t->classes;
	for (int64_t part = begin; part < end; part++) {
		double loss = 0;
		int64_t last = part_begin(t->rows, part + 1);
		for (int64_t row = part_begin(t->rows, part); row < last; row++) {
			element *x = (element *)t->gradient + row * t->stride;
			int32_t target = t->targets[row];
			float maximum = row_maximum(classes, x), chosen = element_get(x + target);
			double sum = row_sum(classes, x, maximum);
			row_gradient(classes, x, maximum, sum, t->scale);
			target_gradient(x + target, chosen, maximum, sum, t->scale);
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
			const element *x = (const element *)t->logits + row * t->stride;
			int32_t target = t->targets[row], first = 0;
			float maximum = row_maximum(classes, x), chosen = element_get(x + target);
			loss += log(row_exponentials(classes, x, maximum, NULL)) + (double)maximum - (double)chosen;
			/* of equal logits the first counts as the largest, as in torch.argmax */
			if (chosen == maximum) {
				while (element_get(x + first) != maximum)
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
	const struct classifier_maxima_task *t = task;
	const element *logits = t->logits;
	for (int64_t row = begin; row < end; row++)
		t->maxima[row] =
		        t->slice->count ? row_maximum(t->slice->count, logits + row * t->slice->stride) : -INFINITY;
}

/* A row's sum of exponentials, and the target's logit if the slice has it. Returns the target's place in the slice. */
static int64_t row_sums(const struct class_slice *slice, const element *x, int32_t target, float maximum, float *sums)
{
	int64_t place = target - slice->first;
	sums[0] = (float)row_exponentials(slice->count, x, maximum, NULL);
	sums[1] = place >= 0 && place < slice->count ? element_get(x + place) : 0;
	return place;
}

void SIMD_BODY(classifier_sums)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_sums_task *t = task;
	const element *logits = t->logits;
	for (int64_t row = begin; row < end; row++)
		(void)row_sums(t->slice, logits + row * t->slice->stride, t->targets[row], t->maxima[row],
		               t->sums + 2 * row);
}

void SIMD_BODY(evaluate_sums)(const void *task, int64_t begin, int64_t end)
{
	const struct evaluate_sums_task *t = task;
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->logits + row * t->slice->stride;
		float *sums = t->sums + 3 * row, maximum = t->maxima[row];
		int64_t target = row_sums(t->slice, x, t->targets[row], maximum, sums);
		sums[2] = 0;
		for (int64_t i = 0; i < t->slice->count && i < target; i++)
			sums[2] += element_get(x + i) == maximum;
	}
}

void SIMD_BODY(classifier_gradient)(const void *task, int64_t begin, int64_t end)
{
	const struct classifier_gradient_task *t = task;
	int64_t classes = t->slice->count, stride = t->slice->stride;
	for (int64_t row = begin; row < end; row++) {
		element *x = (element *)t->logits + row * stride;
		int64_t target = t->targets[row] - t->slice->first;
		bool here = target >= 0 && target < classes;
		float maximum = t->maxima[row], chosen = here ? element_get(x + target) : 0;
		double sum = (double)t->sums[2 * row];
		(void)row_sum(classes, x, maximum);
		row_gradient(classes, x, maximum, sum, t->scale);
		memset(x + classes, 0, (size_t)(stride - classes) * sizeof *x);
		if (here)
			target_gradient(x + target, chosen, maximum, sum, t->scale);
	}
}
