/* Whole vectors. */
#include "kernels/cpu/simd/simd.h"

void SIMD_BODY(elements_add)(const void *task, int64_t begin, int64_t end)
{
	const struct elements_add_task *t = task;
	const element *x = t->x, *y = t->y;
	element *sum = t->sum;
	int64_t i = begin;
	for (; i + LANES <= end; i += LANES)
		element_store(sum + i, element_load(x + i) + element_load(y + i));
	if (i < end)
		element_store_part(sum + i, element_load_part(x + i, end - i) + element_load_part(y + i, end - i),
		                   end - i);
}

void SIMD_BODY(narrow)(const void *task, int64_t begin, int64_t end)
{
	const struct narrow_task *t = task;
	element *y = t->y;
	int64_t i = begin;
	for (; i < end; i += LANES) {
		int64_t n = smaller(LANES, end - i);
		vector v = vector_load_part(t->x + i, n);
		if (t->accumulate)
			v += element_load_part(y + i, n);
		element_store_part(y + i, v, n);
	}
}

void SIMD_BODY(widen)(const void *task, int64_t begin, int64_t end)
{
	const struct widen_task *t = task;
	const element *x = t->x;
	int64_t i = begin;
	for (; i + LANES <= end; i += LANES)
		vector_store(t->y + i, element_load(x + i));
	if (i < end)
		vector_store_part(t->y + i, element_load_part(x + i, end - i), end - i);
}

/* Sixteen sums of doubles: a fixed order at every level, and enough of them to hide the latency of addition. */
void SIMD_BODY(sum_of_squares)(const void *task, int64_t begin, int64_t end)
{
	const struct sum_of_squares_task *t = task;
	const element *values = t->x;
	for (int64_t part = begin; part < end; part++) {
		int64_t i = part_begin(t->count, part), last = part_begin(t->count, part + 1);
		double sum[16] = {0};
		for (; i + 16 <= last; i += 16) {
#if ELEMENT_16BIT
			float x[16];
			for (int j = 0; j < 16; j += LANES)
				vector_store(x + j, element_load(values + i + j));
#else
			const float *x = values + i;
#endif
			for (int j = 0; j < 16; j++)
				sum[j] += (double)x[j] * (double)x[j];
		}
		for (int j = 0; i < last; i++, j++) {
			double one = (double)element_get(values + i);
			sum[j] += one * one;
		}
		double total = 0;
		for (int j = 0; j < 16; j++)
			total += sum[j];
		t->parts[part] = total;
	}
}

/* x − x is 0, or NaN where x is infinite or a NaN. */
void SIMD_BODY(is_finite)(const void *task, int64_t begin, int64_t end)
{
	const struct is_finite_task *t = task;
	const element *x = t->x;
	for (int64_t part = begin; part < end; part++) {
		int64_t i = part_begin(t->count, part), last = part_begin(t->count, part + 1);
		vector sum = {0};
		for (; i + LANES <= last; i += LANES) {
			vector v = element_load(x + i);
			sum += v - v;
		}
		if (i < last) {
			vector v = element_load_part(x + i, last - i);
			sum += v - v;
		}
		t->parts[part] = vector_reduce_sum(sum) == 0;
	}
}
