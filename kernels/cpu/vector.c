/* Operations on whole vectors: addition, copies, norms, infinities, conversion. */
#include <string.h>

#include "kernels/cpu/bodies.h"

#define GRAIN 4096

KERNEL_FUNCTION(vector_add)
{
	struct elements_add_task t = {y, x, y};
	parallel_for(kernel_bodies(type)->elements_add, &t, n, GRAIN);
}

void elements_add(enum element type, int64_t n, const void *x, const void *y, void *sum)
{
	struct elements_add_task t = {x, y, sum};
	kernel_bodies(type)->elements_add(&t, 0, n);
}

/* Bytes, whatever they are. */
static void copy_range(const void *task, int64_t begin, int64_t end)
{
	const struct elementwise_task *t = task;
	if (end > begin)
		memcpy((char *)t->y + begin, (const char *)t->x + begin, (size_t)(end - begin));
}

static void zero_range(const void *task, int64_t begin, int64_t end)
{
	const struct elementwise_task *t = task;
	if (end > begin)
		memset((char *)t->y + begin, 0, (size_t)(end - begin));
}

void vector_copy(enum element type, int64_t n, const void *x, void *y)
{
	struct elementwise_task t = {x, y};
	parallel_for(copy_range, &t, n * element_bytes(type), 4 * GRAIN);
}

void vector_zero(enum element type, int64_t n, void *y)
{
	struct elementwise_task t = {NULL, y};
	parallel_for(zero_range, &t, n * element_bytes(type), 4 * GRAIN);
}

double vector_sum_of_squares(enum element type, int64_t n, const void *x)
{
	double parts[SUM_PARTS], sum = 0;
	struct sum_of_squares_task t = {n, x, parts};
	parallel_for(kernel_bodies(type)->sum_of_squares, &t, SUM_PARTS, 1);
	for (int i = 0; i < SUM_PARTS; i++)
		sum += parts[i];
	return sum;
}

bool vector_is_finite(enum element type, int64_t n, const void *x)
{
	bool parts[SUM_PARTS], finite = true;
	struct is_finite_task t = {n, x, parts};
	parallel_for(kernel_bodies(type)->is_finite, &t, SUM_PARTS, 1);
	for (int i = 0; i < SUM_PARTS; i++)
		finite &= parts[i];
	return finite;
}

/* Between two 16-bit types, by way of fp32 that stays in the first cache. */
struct convert_task {
	enum element from, to;
	const void *x;
	void *y;
};

static void convert_range(const void *task, int64_t begin, int64_t end)
{
	const struct convert_task *t = task;
	float tile[1024];
	for (int64_t i = begin; i < end; i += 1024) {
		int64_t n = end - i < 1024 ? end - i : 1024;
		/* cppcheck-suppress legacyUninitvar ; this is where it is written */
		struct widen_task w = {element_at_const(t->from, t->x, i), tile};
		struct narrow_task r = {tile, element_at(t->to, t->y, i), false};
		kernel_bodies(t->from)->widen(&w, 0, n);
		kernel_bodies(t->to)->narrow(&r, 0, n);
	}
}

KERNEL_FUNCTION(vector_convert)
{
	struct convert_task both = {from, to, x, y};
	struct widen_task widen = {x, y};
	struct narrow_task narrow = {x, y, false};
	if (from == to)
		vector_copy(from, n, x, y);
	else if (to == ELEMENT_FP32)
		parallel_for(kernel_bodies(from)->widen, &widen, n, GRAIN);
	else if (from == ELEMENT_FP32)
		parallel_for(kernel_bodies(to)->narrow, &narrow, n, GRAIN);
	else
		parallel_for(convert_range, &both, n, GRAIN);
}
