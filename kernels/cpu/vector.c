/* Whole vectors: addition, copies, scaling, norms. */
#include <string.h>

#include "kernels/cpu/bodies.h"

#define GRAIN 4096

void vector_add(int64_t n, const float *x, float *y)
{
	struct elementwise_task t = {x, y};
	parallel_for(kernel_bodies()->vector_add, &t, n, GRAIN);
}

static void copy_range(const void *task, int64_t begin, int64_t end)
{
	const struct elementwise_task *t = task;
	if (end > begin)
		memcpy(t->y + begin, t->x + begin, (size_t)(end - begin) * sizeof *t->y);
}

static void zero_range(const void *task, int64_t begin, int64_t end)
{
	const struct elementwise_task *t = task;
	if (end > begin)
		memset(t->y + begin, 0, (size_t)(end - begin) * sizeof *t->y);
}

void vector_copy(int64_t n, const float *x, float *y)
{
	struct elementwise_task t = {x, y};
	parallel_for(copy_range, &t, n, GRAIN);
}

void vector_zero(int64_t n, float *y)
{
	struct elementwise_task t = {NULL, y};
	parallel_for(zero_range, &t, n, GRAIN);
}

void vector_scale(int64_t n, float factor, float *y)
{
	struct scale_task t = {factor, NULL, y};
	parallel_for(kernel_bodies()->vector_scale, &t, n, GRAIN);
}

double vector_sum_of_squares(int64_t n, const float *x)
{
	double parts[SUM_PARTS], sum = 0;
	struct sum_of_squares_task t = {n, x, parts};
	parallel_for(kernel_bodies()->sum_of_squares, &t, SUM_PARTS, 1);
	for (int i = 0; i < SUM_PARTS; i++)
		sum += parts[i];
	return sum;
}
