/* Parameter updates, one element at a time, bound by memory. */
#include "kernels/cpu/simd/simd.h"

ALWAYS_INLINE vector adamw_vector(const struct adamw_task *t, vector p, vector g, vector *m, vector *v)
{
	*m = *m * t->beta1 + g * t->rest1;
	*v = *v * t->beta2 + g * g * t->rest2;
	vector denominator = vector_square_root(*v) * t->root_correction + t->epsilon;
	return p * t->decay - t->step_size * *m / denominator;
}

void SIMD_BODY(adamw)(const void *task, int64_t begin, int64_t end)
{
	const struct adamw_task *t = task;
	struct adamw_task local = *t; /* the stores below cannot change it, so it stays in registers */
	const element *gradients = t->gradients;
	int64_t i = begin;
	for (; i + LANES <= end; i += LANES) {
		vector m = vector_load(t->first_moment + i), v = vector_load(t->second_moment + i);
		vector g = element_load(gradients + i) * local.gradient_factor;
		vector p = adamw_vector(&local, vector_load(t->master + i), g, &m, &v);
		vector_store(t->first_moment + i, m);
		vector_store(t->second_moment + i, v);
		vector_store(t->master + i, p);
		if (ELEMENT_16BIT)
			element_store((element *)local.parameters + i, p);
	}
	if (i < end) {
		int64_t n = end - i;
		vector m = vector_load_part(t->first_moment + i, n), v = vector_load_part(t->second_moment + i, n);
		vector g = element_load_part(gradients + i, n) * local.gradient_factor;
		vector p = adamw_vector(&local, vector_load_part(t->master + i, n), g, &m, &v);
		vector_store_part(t->first_moment + i, m, n);
		vector_store_part(t->second_moment + i, v, n);
		vector_store_part(t->master + i, p, n);
		if (ELEMENT_16BIT)
			element_store_part((element *)local.parameters + i, p, n);
	}
}

void SIMD_BODY(sgd)(const void *task, int64_t begin, int64_t end)
{
	const struct sgd_task *t = task;
	struct sgd_task local = *t;
	const element *gradients = local.gradients;
	float *master = local.master, rate = local.learning_rate, factor = local.gradient_factor;
	int64_t i = begin;
	for (; i + LANES <= end; i += LANES) {
		vector p = vector_load(master + i) - rate * (element_load(gradients + i) * factor);
		vector_store(master + i, p);
		if (ELEMENT_16BIT)
			element_store((element *)local.parameters + i, p);
	}
	if (i < end) {
		int64_t n = end - i;
		vector p = vector_load_part(master + i, n) - rate * (element_load_part(gradients + i, n) * factor);
		vector_store_part(master + i, p, n);
		if (ELEMENT_16BIT)
			element_store_part((element *)local.parameters + i, p, n);
	}
}
