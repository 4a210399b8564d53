/* Whole vectors. The loops are plain enough for the compiler to vectorize. */
#include "kernels/cpu/simd/simd.h"

void SIMD_BODY(vector_add)(const void *task, int64_t begin, int64_t end)
{
	const struct elementwise_task *t = task;
	const float *restrict x = t->x;
	float *restrict y = t->y;
	for (int64_t i = begin; i < end; i++)
		y[i] += x[i];
}

void SIMD_BODY(vector_scale)(const void *task, int64_t begin, int64_t end)
{
	const struct scale_task *t = task;
	float *y = t->y, factor = t->factor;
	for (int64_t i = begin; i < end; i++)
		y[i] *= factor;
}

/* Sixteen sums of doubles: a fixed order at every level, and enough of them to hide the latency of addition. */
void SIMD_BODY(sum_of_squares)(const void *task, int64_t begin, int64_t end)
{
	const struct sum_of_squares_task *t = task;
	for (int64_t part = begin; part < end; part++) {
		int64_t i = part_begin(t->count, part), last = part_begin(t->count, part + 1);
		double sum[16] = {0};
		for (; i + 16 <= last; i += 16)
			for (int j = 0; j < 16; j++)
				sum[j] += (double)t->x[i + j] * (double)t->x[i + j];
		for (int j = 0; i < last; i++, j++)
			sum[j] += (double)t->x[i] * (double)t->x[i];
		double total = 0;
		for (int j = 0; j < 16; j++)
			total += sum[j];
		t->parts[part] = total;
	}
}
