/* AdamW and SGD. Values that depend on the step alone are worked out once, in double. */
#include "kernels/cpu/bodies.h"
#include "kernels/update.h"

#define GRAIN 4096

void adamw_update(enum element type, const struct adamw *a, int64_t step, int64_t n, void *parameters,
                  const void *gradients, float gradient_factor, float *first_moment, float *second_moment,
                  float *master)
{
	struct adamw_factors f = adamw_factors_of(a, step);
	struct adamw_task t = {
	        .decay = f.decay,
	        .beta1 = a->beta1,
	        .beta2 = a->beta2,
	        .rest1 = f.rest1,
	        .rest2 = f.rest2,
	        .step_size = f.step_size,
	        .root_correction = f.root_correction,
	        .epsilon = a->epsilon,
	        .gradient_factor = gradient_factor,
	        .parameters = parameters,
	        .master = type == ELEMENT_FP32 ? parameters : master,
	        .gradients = gradients,
	        .first_moment = first_moment,
	        .second_moment = second_moment,
	};
	parallel_for(kernel_bodies(type)->adamw, &t, n, GRAIN);
}

void sgd_update(enum element type, float learning_rate, int64_t n, void *parameters, const void *gradients,
                float gradient_factor, float *master)
{
	struct sgd_task t = {.learning_rate = learning_rate,
	                     .gradient_factor = gradient_factor,
	                     .gradients = gradients,
	                     .parameters = parameters,
	                     .master = type == ELEMENT_FP32 ? parameters : master};
	parallel_for(kernel_bodies(type)->sgd, &t, n, GRAIN);
}
