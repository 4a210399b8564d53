/* The CPU's kernels as a device's table. Calls are done on return, so there is no context and no stream. */
#include "kernels/table.h"

#include <string.h>

#include "kernels/cpu/bodies.h"

/* Each function run_NAME is called with the row's parameters. */
#define FUNCTION(name)                                                                                                 \
	static int run_##name(UNUSED struct kernel_context *c,                                                         \
	                      UNUSED kernel_stream s PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE))
#define UNUSED __attribute__((unused))

#define ARGUMENT(type, name) , name

/* ---- kernels that are one body ---- */

#define TASK(...) TASK_OF(__VA_ARGS__)
#define TASK_OF(name, ...) const struct name##_task t = {__VA_ARGS__}
#define BODY_KERNEL(name, place, type, count, grain)                                                                   \
	KERNEL_FUNCTION(name)                                                                                          \
	{                                                                                                              \
		TASK(name PARAMETERS_##name(ARGUMENT, ARGUMENT));                                                      \
		parallel_for(kernel_bodies(type)->name, &t, count, grain);                                             \
	}
#define OWN_KERNEL(name, place)
#include "kernels/table.def"

/* ---- kernels of kernels.h as they are ---- */

#define CALL(...) CALL_FUNCTION(__VA_ARGS__)
#define CALL_FUNCTION(function, ...) function(__VA_ARGS__)
#define KERNEL(name, place)                                                                                            \
	FUNCTION(name)                                                                                                 \
	{                                                                                                              \
		CALL(name PARAMETERS_##name(ARGUMENT, ARGUMENT));                                                      \
		return 0;                                                                                              \
	}
#define OWN_KERNEL(name, place)
#include "kernels/table.def"

/* ---- kernels that read or add to what steps carry ---- */

static double scale_of(const float *scaler)
{
	return scaler ? (double)scaler[SCALER_SCALE] : 1;
}

/* No layer before this one is fused with it here: x_pre is NULL. */
FUNCTION(linear_backward)
{
	(void)x_pre;
	linear_backward(shape, dy, x, weight, pre, dx, dweight, accumulate_weight, dbias, accumulate_bias);
	return 0;
}

FUNCTION(classifier)
{
	classifier(type, rows, classes, stride, logits, targets, scale, scale * scale_of(scaler), loss, accumulate);
	return 0;
}

FUNCTION(classifier_gradient)
{
	classifier_gradient(type, rows, slice, logits, targets, maxima, sums, scale, scale * scale_of(scaler), loss,
	                    accumulate);
	return 0;
}

/* Parameters without an update are made again from the master weights, rounded as the update before rounded them;
 * initial ones are rounded to the nearest. */
static int keep_parameters(enum element type, const struct update *u, int64_t step, int64_t n, const float *master,
                           void *parameters)
{
	if (!u->keep_parameters)
		return 0;
	vector_convert(n, ELEMENT_FP32, master, type, parameters);
	if (u->stochastic && step > 1)
		vector_round(type, &u->rounding, step - 1, n, master, parameters);
	return 0;
}

static void round_parameters(enum element type, const struct update *u, int64_t step, int64_t n, const float *master,
                             void *parameters)
{
	if (u->stochastic)
		vector_round(type, &u->rounding, step, n, master, parameters);
}

FUNCTION(adamw_update)
{
	struct update_now now = update_now_of(update);
	struct adamw a = {now.rate, update->beta1, update->beta2, update->epsilon, update->weight_decay};
	if (now.kept)
		return keep_parameters(type, update, now.step, n, master, parameters);
	adamw_update(type, &a, now.step, n, parameters, gradients, now.gradient_factor, first_moment, second_moment,
	             master);
	round_parameters(type, update, now.step, n, master, parameters);
	return 0;
}

FUNCTION(sgd_update)
{
	struct update_now now = update_now_of(update);
	if (now.kept)
		return keep_parameters(type, update, now.step, n, master, parameters);
	sgd_update(type, now.rate, n, parameters, gradients, now.gradient_factor, master);
	round_parameters(type, update, now.step, n, master, parameters);
	return 0;
}

FUNCTION(vector_squares)
{
	double squares = vector_sum_of_squares(type, n, x);
	*sum = (float)(accumulate ? *sum + squares : squares);
	return 0;
}

FUNCTION(vector_overflow)
{
	bool before = accumulate && *overflow > 0;
	*overflow = !vector_is_finite(type, n, x) || before;
	return 0;
}

FUNCTION(advance)
{
	++*step;
	return 0;
}

FUNCTION(scaler_update)
{
	if (!scaler_end_step(rule, *overflow > 0, scaler))
		*gave_up = 1;
	return 0;
}

/* ---- the table ---- */

static int copy(UNUSED struct kernel_context *c, UNUSED kernel_stream s, void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return 0;
}

static int fill(UNUSED struct kernel_context *c, UNUSED kernel_stream s, void *to, int byte, size_t bytes)
{
	memset(to, byte, bytes);
	return 0;
}

const struct kernel_table cpu_kernels = {
        .copy = copy,
        .fill = fill,
#define KERNEL(name, place) .name = run_##name,
#include "kernels/table.def"
};
