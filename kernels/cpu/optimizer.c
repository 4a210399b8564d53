/* AdamW and SGD. What depends on the step alone is worked out once, in double. */
#include <math.h>

#include "kernels/cpu/bodies.h"

#define GRAIN 4096

void adamw_update(enum element type, const struct adamw *a, int64_t step, int64_t n, void *parameters,
                  const void *gradients, float gradient_factor, float *first_moment, float *second_moment,
                  float *master)
{
	double beta1 = (double)a->beta1, beta2 = (double)a->beta2, rate = (double)a->learning_rate;
	struct adamw_task t = {
	        .decay = (float)(1.0 - rate * (double)a->weight_decay),
	        .beta1 = a->beta1,
	        .beta2 = a->beta2,
	        .rest1 = (float)(1.0 - beta1),
	        .rest2 = (float)(1.0 - beta2),
	        .step_size = (float)(rate / (1.0 - pow(beta1, (double)step))),
	        .root_correction = (float)(1.0 / sqrt(1.0 - pow(beta2, (double)step))),
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
